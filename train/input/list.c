/* SPDX-License-Identifier: BSD-3-Clause
 * input/list.c - a file that lists images and labels:
 * "list:FILE[,test=FILE][,root=DIR][,split=F][,seed=S][,classes=N]".
 *
 * A line is "PATH LABEL", where PATH may hold spaces; empty lines and lines that begin with # are
 * passed over, as is a byte order mark of UTF-8. Paths start from root, or from the folder of FILE.
 * Without a list of images for tests, split=F of each class is for training, by the seed; the rest
 * for tests.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/text.h"
#include "train/input/files.h"
#include "train/input/path_options.h"
#include "train/input/sources.h"

#define TW_LIST_FORM     "list:FILE[,test=FILE][,root=DIR][,split=F][,seed=S][,classes=N]"
#define TW_LIST_ACCEPTED "accepted is PATH LABEL"

enum { LINE_MOST = 8192 };

typedef struct tw_list {
    FILE       *stream;
    const char *path;
    size_t      number; /* of the line   */
    char        line[LINE_MOST];
    char        where[LINE_MOST + 32]; /* "FILE:LINE: "   */
} tw_list_t;

static int open_list(tw_list_t *list, const char *path, tw_problem_t *problem)
{
    struct stat info;

    *list = (tw_list_t){.path = path};
    if (strlen(path) > LINE_MOST / 2) {
        return tw_problem_set(problem, "the path is too long: '%.200s...'", path);
    }
    list->stream = fopen(path, "r");
    if (list->stream == NULL || fstat(fileno(list->stream), &info) != 0) {
        return tw_problem_set(problem, "cannot read the list '%s': %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return tw_problem_set(problem, "cannot read the list '%s': it is not a regular file", path);
    }
    return 0;
}

static int wrong(const tw_list_t *list, const char *what, tw_problem_t *problem)
{
    return tw_problem_set(problem, "%s%s; " TW_LIST_ACCEPTED, list->where, what);
}

/* Read a line, without its end and without blanks around it.
 * @return 1; 0 at the end of the file; -1 with the problem set. */
static int read_line(tw_list_t *list, char **text_p, tw_problem_t *problem)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t            n      = 0;
    int               c;

    list->number++;
    snprintf(list->where, sizeof(list->where), "%s:%zu: ", list->path, list->number);
    while ((c = getc_unlocked(list->stream)) != EOF && c != '\n') {
        if (c == '\0') {
            return wrong(list, "the line holds a zero byte", problem);
        }
        if (n + 1 == LINE_MOST) {
            return wrong(list, "the line is too long", problem);
        }
        list->line[n++] = (char)c;
    }
    if (c == EOF && ferror(list->stream)) {
        return tw_problem_set(problem, "cannot read the list '%s': %s", list->path,
                              strerror(errno));
    }
    while (n > 0 && strchr(" \t\r", list->line[n - 1]) != NULL) {
        n--;
    }
    list->line[n] = '\0';
    *text_p       = list->line;
    if (list->number == 1 && strncmp(*text_p, mark, strlen(mark)) == 0) {
        *text_p += strlen(mark);
    }
    *text_p += strspn(*text_p, " \t\r");
    return c != EOF || n > 0;
}

/* Take the label off the end of a line. */
static int take_label(const tw_list_t *list, char *text, uint64_t classes, uint16_t *label_p,
                      tw_problem_t *problem)
{
    char    *label = text + strlen(text);
    uint64_t value;

    while (label > text && label[-1] != ' ' && label[-1] != '\t') {
        label--;
    }
    if (label == text) {
        return tw_problem_set(problem, "%s'%.200s' has no label; " TW_LIST_ACCEPTED, list->where,
                              text);
    }
    if (!tw_text_whole(label, 0, classes - 1, &value)) {
        return tw_problem_set(problem,
                              "%s'%.200s' is no label; " TW_LIST_ACCEPTED
                              " with a whole number from 0 to %u",
                              list->where, label, (unsigned)(classes - 1));
    }
    while (label > text && (label[-1] == ' ' || label[-1] == '\t')) {
        label--;
    }
    *label   = '\0';
    *label_p = (uint16_t)value;
    return 0;
}

static int read_lines(tw_list_t *list, tw_files_t *files, uint64_t classes, tw_subset_t part,
                      size_t *above_p, tw_problem_t *problem)
{
    char    *text  = NULL;
    uint16_t label = 0;
    int      got;

    while ((got = read_line(list, &text, problem)) > 0) {
        if (*text == '\0' || *text == '#') {
            continue;
        }
        if (take_label(list, text, classes, &label, problem) != 0 ||
            tw_files_add(files, list->where, text, label, part, problem) != 0) {
            return -1;
        }
        *above_p = label >= *above_p ? (size_t)label + 1 : *above_p;
    }
    return got;
}

/* @param above_p  grows to more than the labels. */
static int read_list(tw_files_t *files, const char *path, uint64_t classes, tw_subset_t part,
                     size_t *above_p, tw_problem_t *problem)
{
    const size_t before = files->n;
    tw_list_t   *list   = malloc(sizeof(*list));
    int          status =
        list != NULL ? open_list(list, path, problem) : tw_problem_set(problem, "out of memory");

    if (status == 0) {
        status = read_lines(list, files, classes, part, above_p, problem);
    }
    if (list != NULL && list->stream != NULL) {
        fclose(list->stream);
    }
    free(list);
    if (status == 0 && files->n == before) {
        return tw_problem_set(problem, "the list '%s' names no image; " TW_LIST_ACCEPTED, path);
    }
    return status;
}

/* ---- the source ----------------------------------------------------------------------------- */

enum { TEST, ROOT, SPLIT, SEED, CLASSES, OPTIONS };

typedef struct tw_list_settings {
    double   share;
    uint64_t seed, classes;
} tw_list_settings_t;

static int read_settings(const char *spec, const tw_path_option_t option[OPTIONS],
                         tw_list_settings_t *settings, tw_problem_t *problem)
{
    *settings = (tw_list_settings_t){.share = 0.9, .seed = 1, .classes = TW_SOURCE_CLASSES_MAX};
    if (option[TEST].text != NULL && (option[SPLIT].text != NULL || option[SEED].text != NULL)) {
        return tw_problem_set(problem, "--data %s: accepted is test=FILE, or split=F and seed=S",
                              spec);
    }
    return tw_path_option_share(spec, &option[SPLIT], &settings->share, problem) == 0 &&
                   tw_path_option_whole(spec, &option[SEED], 0, UINT64_MAX, &settings->seed,
                                        problem) == 0
               ? tw_path_option_whole(spec, &option[CLASSES], 1, TW_SOURCE_CLASSES_MAX,
                                      &settings->classes, problem)
               : -1;
}

/* The table of a list whose paths start from root, or from its own folder. */
static tw_files_t *create_table(const char *path, const char *root, int skip, tw_problem_t *problem)
{
    const char *slash  = strrchr(path, '/');
    char       *folder = root != NULL    ? strdup(root)
                         : slash == NULL ? strdup(".")
                         : slash == path ? strdup("/")
                                         : strndup(path, (size_t)(slash - path));
    tw_files_t *files  = folder != NULL ? tw_files_create(folder, skip, problem) : NULL;

    if (folder == NULL) {
        tw_problem_set(problem, "out of memory");
    }
    free(folder);
    return files;
}

static int fill(tw_source_t *source, const char *path, const char *test,
                const tw_list_settings_t *settings, int classes_given, tw_problem_t *problem)
{
    tw_files_t *files = source->state;
    size_t      above = 0;

    if (read_list(files, path, settings->classes, TW_SUBSET_TRAIN, &above, problem) != 0 ||
        (test != NULL &&
         read_list(files, test, settings->classes, TW_SUBSET_TEST, &above, problem) != 0) ||
        (test == NULL && tw_files_split(files, settings->share, settings->seed, problem) != 0)) {
        return -1;
    }
    source->classes = classes_given ? (size_t)settings->classes : above;
    return tw_files_finish(source, problem);
}

static int open_source(tw_source_t *source, const char *spec, const char *arguments,
                       tw_problem_t *problem)
{
    tw_path_option_t option[OPTIONS] = {[TEST]    = {.name = "test="},
                                        [ROOT]    = {.name = "root="},
                                        [SPLIT]   = {.name = "split="},
                                        [SEED]    = {.name = "seed="},
                                        [CLASSES] = {.name = "classes="}};
    char *path   = tw_path_options(spec, arguments, TW_LIST_FORM, option, OPTIONS, problem);
    int   status = -1;
    tw_list_settings_t settings;

    if (path != NULL && read_settings(spec, option, &settings, problem) == 0) {
        source->state = create_table(path, option[ROOT].text, source->skip, problem);
        if (source->state != NULL) {
            status = fill(source, path, option[TEST].text, &settings, option[CLASSES].text != NULL,
                          problem);
        }
    }
    free(path);
    return status;
}

const tw_source_ops_t tw_source_list = {
    .name    = "list",
    .form    = TW_LIST_FORM,
    .help    = "JPEG and PNG files that a text names, a line PATH LABEL for each, of which split=F "
               "(0.9) of each class is for training; test=FILE lists those for tests",
    .open    = open_source,
    .read    = tw_files_read,
    .name_of = tw_files_name_of,
    .close   = tw_files_close,
};
