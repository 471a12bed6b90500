/* SPDX-License-Identifier: BSD-3-Clause
 * input/files.c - see files.h.
 *
 * A file is not opened before it is read, so one that is empty, too large or may not be read makes
 * its image a broken one, and not the source.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/bytes.h"
#include "train/base/hash.h"
#include "train/input/files.h"
#include "train/base/random.h"

#define TW_PATH_MOST 4096u

/* ---- the table ------------------------------------------------------------------------------ */

tw_files_t *tw_files_create(const char *folder, int skip, tw_problem_t *problem)
{
    tw_files_t *files = calloc(1, sizeof(*files));

    if (files == NULL || (files->folder = strdup(folder)) == NULL) {
        free(files);
        tw_problem_set(problem, "out of memory");
        return NULL;
    }
    files->skip = skip;
    files->fd   = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->fd < 0) {
        tw_problem_set(problem, "cannot read the folder '%s': %s", folder, strerror(errno));
        free(files->folder);
        free(files);
        return NULL;
    }
    return files;
}

/* Why a file cannot be an image, NULL for nothing. */
static const char *unfit_mode(mode_t mode)
{
    return S_ISREG(mode) ? NULL : S_ISDIR(mode) ? strerror(EISDIR) : "it is not a regular file";
}

/* How a file is called in messages. */
static void full_name(const tw_files_t *files, const char *path, char *name, size_t size)
{
    if (*path == '/' || strcmp(files->folder, ".") == 0) {
        snprintf(name, size, "%s", path);
    } else {
        snprintf(name, size, "%s/%s", files->folder, path);
    }
}

/* Room for one more row, and for a path. */
static int grow(tw_files_t *files, size_t length, tw_problem_t *problem)
{
    void *more;

    if (files->n == files->rows) {
        const size_t rows = files->rows == 0 ? 256 : 2 * files->rows;

        more = realloc(files->row, rows * sizeof(*files->row));
        if (more == NULL) {
            return tw_problem_set(problem, "out of memory for %zu files", rows);
        }
        files->row  = more;
        files->rows = rows;
    }
    if (files->room - files->used < length) {
        const size_t room = 2 * files->room + TW_PATH_MOST;

        more = realloc(files->arena, room);
        if (more == NULL) {
            return tw_problem_set(problem, "out of memory for %zu bytes of paths", room);
        }
        files->arena = more;
        files->room  = room;
    }
    return 0;
}

static uint32_t clipped(off_t bytes)
{
    return bytes < (off_t)UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

int tw_files_add(tw_files_t *files, const char *where, const char *path, uint16_t label,
                 tw_subset_t part, tw_problem_t *problem)
{
    const size_t length = strlen(path) + 1;
    char         name[TW_PATH_MOST];
    const char  *why;
    struct stat  info;

    if (length > TW_PATH_MOST) {
        return tw_problem_set(problem, "%sthe path is too long: '%.200s...'", where, path);
    }
    why = fstatat(files->fd, path, &info, 0) != 0 ? strerror(errno) : unfit_mode(info.st_mode);
    if (why != NULL && !files->skip) {
        full_name(files, path, name, sizeof(name));
        return tw_problem_set(problem, "%scannot read '%s': %s", where, name, why);
    }
    if (grow(files, length, problem) != 0) {
        return -1;
    }
    memcpy(files->arena + files->used, path, length);
    files->row[files->n++] = (tw_file_row_t){.path  = files->used,
                                             .bytes = why == NULL ? clipped(info.st_size) : 0,
                                             .label = label,
                                             .part  = (uint8_t)part};
    files->used += length;
    return 0;
}

/* ---- the parts ------------------------------------------------------------------------------ */

typedef struct tw_file_place {
    uint64_t key;
    size_t   row;
    uint16_t group;
} tw_file_place_t;

static int by_group_and_key(const void *left, const void *right)
{
    const tw_file_place_t *a = left, *b = right;

    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Byte by byte, so that machines of any byte order split alike. */
static uint64_t key_of(const char *path, uint64_t seed)
{
    return tw_random_key(seed, TW_RANDOM_ORDER, tw_fnv1a(TW_FNV_START, path, strlen(path)), 0);
}

/* Deal the sorted files to the parts; the largest number of files that a group has. */
static size_t deal(tw_files_t *files, const tw_file_place_t *place, double share)
{
    size_t most = 0;

    for (size_t from = 0, to; from < files->n; from = to) {
        size_t n, keep;

        for (to = from; to < files->n && place[to].group == place[from].group; to++) {
        }
        n    = to - from;
        most = n > most ? n : most;
        keep = (size_t)(share * (double)n + 0.5);
        keep = keep < 1 ? 1 : keep;
        keep = n > 1 && keep == n ? n - 1 : keep;
        for (size_t k = from; k < to; k++) {
            files->row[place[k].row].part = k - from < keep ? TW_SUBSET_TRAIN : TW_SUBSET_TEST;
        }
    }
    return most;
}

int tw_files_split(tw_files_t *files, double share, uint64_t seed, tw_problem_t *problem)
{
    tw_file_place_t *place = malloc((files->n + 1) * sizeof(*place));

    if (place == NULL) {
        return tw_problem_set(problem, "out of memory for %zu files", files->n);
    }
    for (size_t i = 0; i < files->n; i++) {
        place[i] = (tw_file_place_t){.key   = key_of(files->arena + files->row[i].path, seed),
                                     .row   = i,
                                     .group = files->row[i].label};
    }
    qsort(place, files->n, sizeof(*place), by_group_and_key);
    if (deal(files, place, share) == 1) {
        for (size_t i = 0; i < files->n; i++) {
            place[i].group = 0;
        }
        qsort(place, files->n, sizeof(*place), by_group_and_key);
        deal(files, place, share);
    }
    free(place);
    return 0;
}

/* ---- the source ----------------------------------------------------------------------------- */

/* Stable: files of a part stay in the order in which they were added. */
static int order_by_parts(tw_files_t *files, size_t n[TW_SUBSETS], tw_problem_t *problem)
{
    size_t         at[TW_SUBSETS] = {0, 0};
    tw_file_row_t *sorted;

    n[TW_SUBSET_TRAIN] = 0;
    for (size_t i = 0; i < files->n; i++) {
        n[TW_SUBSET_TRAIN] += files->row[i].part == TW_SUBSET_TRAIN;
    }
    n[TW_SUBSET_TEST]  = files->n - n[TW_SUBSET_TRAIN];
    at[TW_SUBSET_TEST] = n[TW_SUBSET_TRAIN];
    sorted             = malloc((files->n + 1) * sizeof(*sorted));
    if (sorted == NULL) {
        return tw_problem_set(problem, "out of memory for %zu files", files->n);
    }
    for (size_t i = 0; i < files->n; i++) {
        sorted[at[files->row[i].part]++] = files->row[i];
    }
    free(files->row);
    files->row  = sorted;
    files->rows = files->n + 1;
    return 0;
}

static uint64_t manifest_of(const tw_source_t *source)
{
    const tw_files_t *files = source->state;
    uint64_t          hash  = tw_hash(1, &files->n, sizeof(files->n));

    for (size_t k = 0; source->class_names != NULL && k < source->classes; k++) {
        hash = tw_hash(hash, source->class_names[k], strlen(source->class_names[k]));
    }
    for (size_t i = 0; i < files->n; i++) {
        const tw_file_row_t *row     = &files->row[i];
        const char          *path    = files->arena + row->path;
        const uint32_t       fact[3] = {row->bytes, row->label, row->part};

        hash = tw_hash(tw_hash(hash, path, strlen(path)), fact, sizeof(fact));
    }
    return hash;
}

int tw_files_finish(tw_source_t *source, tw_problem_t *problem)
{
    static const char *const purpose[TW_SUBSETS] = {"training", "tests"};
    tw_files_t              *files               = source->state;
    size_t                   n[TW_SUBSETS];
    const tw_file_row_t     *row;

    if (order_by_parts(files, n, problem) != 0) {
        return -1;
    }
    row = files->row;
    for (int part = 0; part < TW_SUBSETS; row += n[part], part++) {
        if (n[part] == 0 || n[part] > TW_SOURCE_IMAGES_MAX) {
            return tw_problem_set(problem, "'%s': %zu images for %s; accepted are 1 to %u",
                                  files->folder, n[part], purpose[part],
                                  (unsigned)TW_SOURCE_IMAGES_MAX);
        }
        if (tw_source_part_create(&source->part[part], n[part], problem) != 0) {
            return -1;
        }
        for (size_t i = 0; i < n[part]; i++) {
            source->part[part].labels[i] = row[i].label;
        }
    }
    source->manifest = manifest_of(source);
    return 0;
}

static const tw_file_row_t *row_of(const tw_source_t *source, tw_subset_t part, uint32_t index)
{
    const tw_files_t *files = source->state;

    return &files->row[(part == TW_SUBSET_TRAIN ? 0 : source->part[TW_SUBSET_TRAIN].n) + index];
}

/* What is wrong with an open file, NULL for nothing. */
static const char *unfit(int fd, const tw_file_row_t *row)
{
    struct stat info;

    if (fstat(fd, &info) != 0) {
        return strerror(errno);
    }
    return !S_ISREG(info.st_mode)                           ? unfit_mode(info.st_mode)
           : info.st_size == 0                              ? "it is empty"
           : (uint64_t)info.st_size > TW_SOURCE_FILE_MAX    ? "it has more than 256 MiB"
           : (uint64_t)info.st_size != (uint64_t)row->bytes ? "its size has changed"
                                                            : NULL;
}

/* Read n bytes; what is wrong, NULL for nothing. */
static const char *files_take(int fd, uint8_t *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t got = read(fd, bytes, n);

        if (got > 0) {
            bytes += got;
            n -= (size_t)got;
        } else if (got == 0) {
            return "its size has changed";
        } else if (errno != EINTR) {
            return strerror(errno);
        }
    }
    return NULL;
}

int tw_files_read(const tw_source_t *source, tw_subset_t part, uint32_t index,
                  tw_source_reader_t *reader, tw_image_record_t *record, tw_problem_t *problem)
{
    const tw_files_t    *files = source->state;
    const tw_file_row_t *row   = row_of(source, part, index);
    const char          *path  = files->arena + row->path;
    /* Not to wait for a pipe that took the place of a file. */
    const int   fd      = openat(files->fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int         machine = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
    const char *why     = fd < 0 ? strerror(errno) : unfit(fd, row);
    uint8_t    *bytes   = NULL;

    if (why == NULL && (bytes = tw_buffer_need(&reader->buffer, row->bytes)) == NULL) {
        why     = "out of memory";
        machine = 1;
    }
    if (why == NULL) {
        why = files_take(fd, bytes, row->bytes);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (why != NULL) {
        char name[TW_PATH_MOST];

        full_name(files, path, name, sizeof(name));
        return machine ? tw_problem_machine(problem, "cannot read '%s': %s", name, why)
                       : tw_problem_set(problem, "cannot read '%s': %s", name, why);
    }
    *record = (tw_image_record_t){.file = 1, .bytes = bytes, .n = row->bytes};
    return 0;
}

void tw_files_name_of(const tw_source_t *source, tw_subset_t part, uint32_t index, char *name,
                      size_t size)
{
    const tw_files_t *files = source->state;

    full_name(files, files->arena + row_of(source, part, index)->path, name, size);
}

void tw_files_close(tw_source_t *source)
{
    tw_files_t *files = source->state;

    if (files != NULL) {
        close(files->fd);
        free(files->folder);
        free(files->arena);
        free(files->row);
        free(files);
    }
    source->state = NULL;
}
