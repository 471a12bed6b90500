/* SPDX-License-Identifier: BSD-3-Clause
 * input/cifar.c - CIFAR-10 in its binary version, whole or a part, plain or gzipped, from hands
 * that need not be friendly.
 *
 * A file is a row of records of 3073 bytes: a label 0 to 9, then the planes of red, green and blue,
 * 32 lines of 32 pixels each. There is no header, so that a file cut between records is a smaller
 * data set, and memory grows with what was read.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "train/input/names.h"
#include "train/input/readers.h"

enum { PIXELS = 3 * 32 * 32, RECORD = 1 + PIXELS, CLASSES = 10, CHUNK = 128 };

#define TW_CIFAR_RECORDS_MOST 1000000u
#define TW_CIFAR_ACCEPTED     "accepted are records of 3073 bytes, a label 0 to 9 and 3x32x32 pixels"

/* ---- names --------------------------------------------------------------------------------- */

static int ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static int is_file_of(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 &&
           (ends_with(name, ".bin") || ends_with(name, ".bin.gz"));
}

/* Whether name k is the gzipped twin of another one, which is then read instead. */
static int is_twin(const tw_names_t *names, int k)
{
    const char *name = names->entry[k]->d_name;

    for (int i = 0; i < k; i++) { /* a beginning sorts before the whole */
        const char  *other = names->entry[i]->d_name;
        const size_t n     = strlen(other);

        if (strncmp(name, other, n) == 0 && strcmp(name + n, ".gz") == 0) {
            return 1;
        }
    }
    return 0;
}

/* ---- records ------------------------------------------------------------------------------- */

static int grow(tw_set_t *set, size_t *room_p, size_t n, const char *path, tw_problem_t *problem)
{
    size_t room = *room_p;
    void  *more;

    if (n > TW_CIFAR_RECORDS_MOST) {
        return tw_problem_set(problem, "'%s': more than %u records in one set", path,
                              TW_CIFAR_RECORDS_MOST);
    }
    if (n <= room) {
        return 0;
    }
    while (room < n) {
        room = room == 0 ? 1024 : 2 * room;
    }
    more = realloc(set->pixels, room * PIXELS);
    if (more != NULL) {
        set->pixels = more;
        more        = realloc(set->labels, room * sizeof(*set->labels));
    }
    if (more == NULL) {
        return tw_problem_set(problem, "out of memory for '%s'", path);
    }
    set->labels = more;
    *room_p     = room;
    return 0;
}

static int append(tw_set_t *set, const uint8_t *record, size_t number, const char *path,
                  tw_problem_t *problem)
{
    if (record[0] >= CLASSES) {
        return tw_problem_set(problem, "'%s': label %u of record %zu; " TW_CIFAR_ACCEPTED, path,
                              (unsigned)record[0], number);
    }
    set->labels[set->n] = record[0];
    memcpy(set->pixels + set->n * PIXELS, record + 1, PIXELS);
    set->n++;
    return 0;
}

/* Append the records of an open file. */
static int read_records(tw_set_t *set, size_t *room_p, gzFile file, const char *path,
                        uint8_t *chunk, tw_problem_t *problem)
{
    size_t number = 0;
    int    got, code;

    while ((got = gzread(file, chunk, CHUNK * RECORD)) > 0) {
        if (grow(set, room_p, set->n + (size_t)got / RECORD, path, problem) != 0) {
            return -1;
        }
        for (int at = 0; at + RECORD <= got; at += RECORD) {
            if (append(set, chunk + at, number++, path, problem) != 0) {
                return -1;
            }
        }
        if (got % RECORD != 0) {
            break; /* only at the end of the file, or where it is damaged */
        }
    }
    if (got < 0 || (gzerror(file, &code), code != Z_OK && code != Z_STREAM_END)) {
        const char *why = gzerror(file, &code);

        return tw_problem_set(problem, "cannot read '%s': %s", path,
                              code == Z_ERRNO       ? strerror(errno)
                              : code == Z_BUF_ERROR ? "it ends too early"
                                                    : why);
    }
    if (got > 0 || number == 0) {
        return tw_problem_set(problem, "'%s' holds %zu records and %d bytes; " TW_CIFAR_ACCEPTED,
                              path, number, got % RECORD);
    }
    return 0;
}

static int read_file(tw_set_t *set, size_t *room_p, const char *path, tw_problem_t *problem)
{
    uint8_t    *chunk  = NULL;
    gzFile      file   = NULL;
    int         status = -1;
    struct stat info;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return tw_problem_set(problem, "'%s' is not a regular file", path);
    }
    errno = 0;
    file  = gzopen(path, "rb");
    chunk = malloc((size_t)CHUNK * RECORD);
    if (file == NULL || chunk == NULL) {
        tw_problem_set(problem, "cannot open '%s': %s", path,
                       errno == 0 ? "out of memory" : strerror(errno));
    } else {
        gzbuffer(file, 1u << 17);
        status = read_records(set, room_p, file, path, chunk, problem);
    }
    free(chunk);
    if (file != NULL && gzclose(file) != Z_OK && status == 0) {
        status = tw_problem_set(problem, "cannot read '%s': it ends too early", path);
    }
    return status;
}

static int read_set(tw_set_t *set, const char *folder, const tw_names_t *names, const char *prefix,
                    tw_problem_t *problem)
{
    size_t room = 0;
    char   path[4096];

    for (int k = 0; k < names->n; k++) {
        const char *name = names->entry[k]->d_name;

        if (!is_file_of(name, prefix) || is_twin(names, k)) {
            continue;
        }
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path)) {
            return tw_problem_set(problem, "the path of the data is too long: '%.200s...'", path);
        }
        if (read_file(set, &room, path, problem) != 0) {
            return -1;
        }
    }
    if (set->n == 0) {
        return tw_problem_set(problem,
                              "--data cifar10: no file %s*.bin or %s*.bin.gz in '%s'; accepted is "
                              "the folder of the binary version of CIFAR-10 or of a part of it",
                              prefix, prefix, folder);
    }
    return 0;
}

int tw_cifar_read(tw_data_t *data, const char *folder, tw_problem_t *problem)
{
    tw_names_t names;
    int        status;

    if (tw_names_create(&names, folder, NULL) != 0) {
        return tw_problem_set(problem, "--data cifar10: cannot read the folder '%s': %s", folder,
                              strerror(errno));
    }
    status = read_set(&data->train, folder, &names, "data_batch", problem);
    if (status == 0) {
        status = read_set(&data->test, folder, &names, "test_batch", problem);
    }
    tw_names_destroy(&names);
    return status;
}
