/* SPDX-License-Identifier: BSD-3-Clause
 * input/folder.c - a folder for each class: "folder:DIR[,split=F][,seed=S][,empty=allow]".
 *
 *     DIR/CLASS/IMAGE          split=F of each class is for training, by the seed; the rest for
 *                              tests
 *     DIR/train/CLASS/IMAGE    with DIR/val, DIR/validation or DIR/test (the first of these) beside
 *                              it: the parts as they stand
 *
 * Classes and images are in the order of the bytes of their names, which is the same on every
 * machine and in every locale. An image is what ends in .jpg, .jpeg or .png; files of other names,
 * files beside the class folders and names that begin with a dot are passed over; links are
 * followed. A class folder without images is refused, unless empty=allow: then it is a class all
 * the same.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "train/input/files.h"
#include "train/input/names.h"
#include "train/input/path_options.h"
#include "train/input/sources.h"

#define TW_FOLDER_FORM     "folder:DIR[,split=F][,seed=S][,empty=allow]"
#define TW_FOLDER_ACCEPTED "accepted is DIR/CLASS/IMAGE or DIR/train/CLASS/IMAGE"

enum { PATH = 4096 };

/* ---- names ---------------------------------------------------------------------------------- */

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int names_create(tw_names_t *names, const char *folder, tw_problem_t *problem)
{
    return tw_names_create(names, folder, is_shown) == 0
               ? 0
               : tw_problem_set(problem, "cannot read the folder '%s': %s", folder,
                                strerror(errno));
}

static int join(char path[PATH], const char *folder, const char *name, tw_problem_t *problem)
{
    if (snprintf(path, PATH, "%s/%s", folder, name) >= PATH) {
        return tw_problem_set(problem, "the path is too long: '%.200s...'", path);
    }
    return 0;
}

static int is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int is_image(const char *name)
{
    const char *end = strrchr(name, '.');

    return end != NULL && (strcasecmp(end, ".jpg") == 0 || strcasecmp(end, ".jpeg") == 0 ||
                           strcasecmp(end, ".png") == 0);
}

/* Names go into lines and lists of names. */
static int check_name(const char *folder, const char *name, tw_problem_t *problem)
{
    const char *at = name;

    while (*at != '\0' && (unsigned char)*at >= ' ' && *at != 0x7f) {
        at++;
    }
    return *at == '\0' ? 0
                       : tw_problem_set(problem,
                                        "the name '%.*s...' in '%s' holds a line break or another "
                                        "control character: give it another one",
                                        (int)(at - name), name, folder);
}

/* The folders in a folder. */
static int read_classes(tw_names_t *names, const char *folder, tw_problem_t *problem)
{
    char path[PATH];
    int  n = 0, status;

    status = names_create(names, folder, problem);
    for (int k = 0; k < names->n; k++) {
        if (status == 0) {
            status = join(path, folder, names->entry[k]->d_name, problem);
        }
        if (status == 0 && is_folder(path)) {
            struct dirent *entry = names->entry[k];

            status            = check_name(folder, entry->d_name, problem);
            names->entry[k]   = names->entry[n];
            names->entry[n++] = entry;
        }
    }
    for (int k = n; k < names->n; k++) {
        free(names->entry[k]);
    }
    names->n = n;
    return status;
}

/* ---- images --------------------------------------------------------------------------------- */

/* What is no image: nothing to mind, but a folder may hide images. */
static int pass_over(const char *path, tw_problem_t *problem)
{
    return is_folder(path)
               ? tw_problem_set(
                     problem, "the folder '%s' is inside a class folder; " TW_FOLDER_ACCEPTED, path)
               : 0;
}

/* Add the images of a class. @param inside  its path from the folder of the source. */
static int add_class(tw_files_t *files, const char *inside, uint16_t label, tw_subset_t part,
                     int empty, tw_problem_t *problem)
{
    const size_t before = files->n;
    tw_names_t   names  = {.n = 0};
    char         folder[PATH], path[PATH];
    int          status = join(folder, files->folder, inside, problem) == 0
                              ? names_create(&names, folder, problem)
                              : -1;

    for (int k = 0; k < names.n && status == 0; k++) {
        const char *name  = names.entry[k]->d_name;
        const int   image = is_image(name);

        status = image ? check_name(folder, name, problem) : 0;
        if (status == 0) {
            status = join(path, image ? inside : folder, name, problem);
        }
        if (status == 0) {
            status = image ? tw_files_add(files, "", path, label, part, problem)
                           : pass_over(path, problem);
        }
    }
    tw_names_destroy(&names);
    if (status == 0 && files->n == before && !empty) {
        return tw_problem_set(problem,
                              "no image (*.jpg, *.jpeg, *.png) in the class folder '%s'; with "
                              "empty=allow it is a class without",
                              folder);
    }
    return status;
}

/* Add the images of all classes. @param inside  the folder of the part, or NULL: there are none. */
static int add_classes(tw_files_t *files, const char *inside, const tw_names_t *classes,
                       tw_subset_t part, int empty, tw_problem_t *problem)
{
    char path[PATH];

    for (int k = 0; k < classes->n; k++) {
        const char *name = classes->entry[k]->d_name;

        if ((inside != NULL && join(path, inside, name, problem) != 0) ||
            add_class(files, inside != NULL ? path : name, (uint16_t)k, part, empty, problem) !=
                0) {
            return -1;
        }
    }
    return 0;
}

/* ---- the source ----------------------------------------------------------------------------- */

static int keep_names(tw_source_t *source, const tw_names_t *classes, tw_problem_t *problem)
{
    source->class_names = calloc((size_t)classes->n, sizeof(*source->class_names));
    if (source->class_names == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    source->classes = (size_t)classes->n;
    for (int k = 0; k < classes->n; k++) {
        source->class_names[k] = strdup(classes->entry[k]->d_name);
        if (source->class_names[k] == NULL) {
            return tw_problem_set(problem, "out of memory");
        }
    }
    return 0;
}

/* Two sorted lists: the first name that only one of them has. */
static int same_classes(const tw_names_t *a, const char *a_folder, const tw_names_t *b,
                        const char *b_folder, tw_problem_t *problem)
{
    for (int k = 0; k < a->n || k < b->n; k++) {
        const char *of_a  = k < a->n ? a->entry[k]->d_name : NULL;
        const char *of_b  = k < b->n ? b->entry[k]->d_name : NULL;
        const int   order = of_a == NULL ? 1 : of_b == NULL ? -1 : strcmp(of_a, of_b);

        if (order != 0) {
            return tw_problem_set(problem, "class '%s' of '%s' is missing in '%s'",
                                  order < 0 ? of_a : of_b, order < 0 ? a_folder : b_folder,
                                  order < 0 ? b_folder : a_folder);
        }
    }
    return 0;
}

/* The folder for tests that stands beside DIR/train, or NULL. */
static const char *tests_beside(const char *folder)
{
    static const char *const names[] = {"val", "validation", "test"};
    char                     path[PATH];

    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (snprintf(path, sizeof(path), "%s/%s", folder, names[k]) < PATH && is_folder(path)) {
            return names[k];
        }
    }
    return NULL;
}

/* A folder whose parts stand apart. @param classes  those of DIR/train. */
static int open_parts(tw_source_t *source, const tw_names_t *classes, const char *train_path,
                      const char *test, int empty, tw_problem_t *problem)
{
    tw_files_t *files = source->state;
    tw_names_t  other = {.n = 0};
    char        test_path[PATH];
    int         status = join(test_path, files->folder, test, problem);

    if (status == 0) {
        status = read_classes(&other, test_path, problem);
    }
    if (status == 0 && other.n == 0) {
        status = tw_problem_set(problem, "'%s' has no class folders, as '%s' has", test_path,
                                train_path);
    }
    if (status == 0) {
        status = same_classes(classes, train_path, &other, test_path, problem);
    }
    tw_names_destroy(&other);
    if (status == 0) {
        status = add_classes(files, "train", classes, TW_SUBSET_TRAIN, empty, problem);
    }
    return status == 0 ? add_classes(files, test, classes, TW_SUBSET_TEST, empty, problem) : -1;
}

typedef struct tw_folder_options {
    double   share;
    uint64_t seed;
    int      given; /* one of them */
    int      empty; /* class folders may be */
} tw_folder_options_t;

/* A folder of classes, which are split here. */
static int open_whole(tw_source_t *source, const tw_names_t *classes,
                      const tw_folder_options_t *options, tw_problem_t *problem)
{
    tw_files_t *files = source->state;

    return add_classes(files, NULL, classes, TW_SUBSET_TRAIN, options->empty, problem) == 0
               ? tw_files_split(files, options->share, options->seed, problem)
               : -1;
}

/* The classes of a folder: of DIR/train where there are parts, else of DIR. */
static int find_classes(tw_names_t *classes, const char *folder, const char *train,
                        const char *test, int *parts_p, tw_problem_t *problem)
{
    int status = 0;

    if (test != NULL && is_folder(train)) {
        status = read_classes(classes, train, problem);
    }
    *parts_p = classes->n > 0;
    if (status == 0 && !*parts_p) {
        tw_names_destroy(classes);
        status = read_classes(classes, folder, problem);
    }
    if (status == 0 && (classes->n == 0 || classes->n > (int)TW_SOURCE_CLASSES_MAX)) {
        return tw_problem_set(problem, "'%s' has %d class folders, 1 to %u can be; %s", folder,
                              classes->n, TW_SOURCE_CLASSES_MAX, TW_FOLDER_ACCEPTED);
    }
    return status;
}

static int read_folder(tw_source_t *source, const char *spec, const tw_folder_options_t *options,
                       tw_problem_t *problem)
{
    const tw_files_t *files   = source->state;
    const char       *test    = tests_beside(files->folder);
    tw_names_t        classes = {.n = 0};
    char              train[PATH];
    int               parts, status = join(train, files->folder, "train", problem);

    if (status == 0) {
        status = find_classes(&classes, files->folder, train, test, &parts, problem);
    }
    if (status == 0 && parts && options->given) {
        status = tw_problem_set(problem,
                                "--data %s: the folder has its own parts, train and %s; accepted "
                                "is folder:DIR[,empty=allow]",
                                spec, test);
    }
    if (status == 0) {
        status = keep_names(source, &classes, problem);
    }
    if (status == 0) {
        status = parts ? open_parts(source, &classes, train, test, options->empty, problem)
                       : open_whole(source, &classes, options, problem);
    }
    tw_names_destroy(&classes);
    return status == 0 ? tw_files_finish(source, problem) : -1;
}

static int open_folder(tw_source_t *source, const char *spec, const char *arguments,
                       tw_problem_t *problem)
{
    tw_path_option_t    option[] = {{.name = "split="}, {.name = "seed="}, {.name = "empty="}};
    tw_folder_options_t options  = {.share = 0.9, .seed = 1};
    char               *path = tw_path_options(spec, arguments, TW_FOLDER_FORM, option, 3, problem);
    int                 status = -1;

    if (path != NULL && tw_path_option_share(spec, &option[0], &options.share, problem) == 0 &&
        tw_path_option_whole(spec, &option[1], 0, UINT64_MAX, &options.seed, problem) == 0) {
        options.given = option[0].text != NULL || option[1].text != NULL;
        options.empty = option[2].text != NULL;
        if (options.empty && strcmp(option[2].text, "allow") != 0) {
            tw_problem_set(problem, "--data %s: empty=%s: accepted is allow", spec, option[2].text);
        } else {
            source->state = tw_files_create(path, source->skip, problem);
        }
        status = source->state != NULL ? read_folder(source, spec, &options, problem) : -1;
    }
    free(path);
    return status;
}

const tw_source_ops_t tw_source_folder = {
    .name    = "folder",
    .form    = TW_FOLDER_FORM,
    .help    = "JPEG and PNG files in a folder for each class, DIR/CLASS/IMAGE, of which split=F "
               "(0.9) of each class is for training; or DIR/train/CLASS/IMAGE and "
               "DIR/val/CLASS/IMAGE",
    .open    = open_folder,
    .read    = tw_files_read,
    .name_of = tw_files_name_of,
    .close   = tw_files_close,
};
