/* SPDX-License-Identifier: BSD-3-Clause
 * input/idx.c - the IDX files of MNIST, plain or gzipped, from hands that need not be friendly.
 *
 * Layout, big-endian: magic 00 00 08 D (08: unsigned bytes, D: dimensions, 3 for images and 1 for
 * labels), D sizes of 32 bits, then the bytes. The header is not believed before the bytes have
 * come: memory grows with what was read.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "train/input/readers.h"

#define TW_IDX_COUNT_MAX ((uint32_t)1 << 24)
#define TW_IDX_SIDE_MAX  4096u

typedef struct tw_idx {
    const char *path; /* as the user named it; the file may be path.gz */
    gzFile      file;
    uint32_t    size[3];
} tw_idx_t;

static int open_either(tw_idx_t *idx, tw_problem_t *problem)
{
    char        zipped[4096];
    struct stat info;
    const char *path = idx->path;

    if (strlen(path) + 4 > sizeof(zipped)) {
        return tw_problem_set(problem, "the path of the data is too long: '%.200s...'", path);
    }
    strcat(strcpy(zipped, path), ".gz");
    if (stat(path, &info) != 0 && stat(zipped, &info) == 0) {
        path = zipped;
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return tw_problem_set(problem, "'%s' is not a regular file", path);
    }
    idx->file = gzopen(path, "rb");
    if (idx->file == NULL) {
        return tw_problem_set(problem, "cannot open '%s' (nor with .gz): %s", idx->path,
                              errno == 0 ? "out of memory" : strerror(errno));
    }
    gzbuffer(idx->file, 1u << 17);
    return 0;
}

/* Read exactly n bytes. */
static int idx_take(tw_idx_t *idx, void *bytes, size_t n, tw_problem_t *problem)
{
    int         got = gzread(idx->file, bytes, (unsigned)n), code;
    const char *why;

    if (got >= 0 && (size_t)got == n) {
        return 0;
    }
    why = gzerror(idx->file, &code);
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) {
        return tw_problem_set(problem, "'%s' ends too early", idx->path);
    }
    return tw_problem_set(problem, "cannot read '%s': %s", idx->path,
                          code == Z_ERRNO ? strerror(errno) : why);
}

static int read_header(tw_idx_t *idx, unsigned dimensions, tw_problem_t *problem)
{
    unsigned char bytes[16];

    if (idx_take(idx, bytes, 4 + 4 * dimensions, problem) != 0) {
        return -1;
    }
    if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 8 || bytes[3] != dimensions) {
        return tw_problem_set(problem,
                              "'%s' is not an IDX file of %s: it begins with %02x%02x%02x%02x, not "
                              "0000080%u",
                              idx->path, dimensions == 3 ? "images" : "labels", bytes[0], bytes[1],
                              bytes[2], bytes[3], dimensions);
    }
    for (unsigned k = 0; k < dimensions; k++) {
        const unsigned char *b = bytes + 4 + 4 * k;

        idx->size[k] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    if (idx->size[0] == 0 || idx->size[0] > TW_IDX_COUNT_MAX) {
        return tw_problem_set(problem, "'%s' says it holds %u %s; accepted are 1 to %u", idx->path,
                              (unsigned)idx->size[0], dimensions == 3 ? "images" : "labels",
                              (unsigned)TW_IDX_COUNT_MAX);
    }
    return 0;
}

/* Read the n bytes of the body, and see that nothing follows. */
static int read_body(tw_idx_t *idx, size_t n, uint8_t **bytes_p, tw_problem_t *problem)
{
    size_t   have = 0, room = n < ((size_t)1 << 20) ? n : (size_t)1 << 20;
    uint8_t *bytes = NULL, *more, extra;
    int      got;

    while (have < n) {
        more = realloc(bytes, room);
        if (more == NULL) {
            tw_problem_set(problem, "out of memory for '%s'", idx->path);
            goto err;
        }
        bytes = more;
        for (size_t part; have < room; have += part) {
            part = room - have < ((size_t)1 << 20) ? room - have : (size_t)1 << 20;
            if (idx_take(idx, bytes + have, part, problem) != 0) {
                goto err;
            }
        }
        room = n / 2 < room ? n : 2 * room;
    }
    got = gzread(idx->file, &extra, 1);
    if (got != 0) {
        tw_problem_set(problem, "'%s' %s", idx->path,
                       got > 0 ? "is longer than its header says" : "is damaged (gzip check sum)");
        goto err;
    }
    *bytes_p = bytes;
    return 0;
err:
    free(bytes);
    return -1;
}

static int check_size(const tw_idx_t *idx, size_t pixels, tw_problem_t *problem)
{
    const uint32_t h = idx->size[1], w = idx->size[2];

    if (pixels != 0 && (uint64_t)h * w != pixels) {
        return tw_problem_set(problem, "'%s' holds images of %ux%u; the model takes %zu pixels",
                              idx->path, (unsigned)h, (unsigned)w, pixels);
    }
    if (h < 1 || h > TW_IDX_SIDE_MAX || w < 1 || w > TW_IDX_SIDE_MAX) {
        return tw_problem_set(problem, "'%s' holds images of %ux%u; accepted are 1x1 to %ux%u",
                              idx->path, (unsigned)h, (unsigned)w, TW_IDX_SIDE_MAX,
                              TW_IDX_SIDE_MAX);
    }
    return 0;
}

static int read_file(const char *path, unsigned dimensions, uint32_t size[3], size_t pixels,
                     uint8_t **bytes_p, tw_problem_t *problem)
{
    tw_idx_t idx    = {.path = path, .size = {0, 1, 1}};
    int      status = open_either(&idx, problem);

    if (status == 0) {
        status = read_header(&idx, dimensions, problem);
    }
    if (status == 0) {
        status = check_size(&idx, pixels, problem);
    }
    if (status == 0) {
        status = read_body(&idx, (size_t)idx.size[0] * idx.size[1] * idx.size[2], bytes_p, problem);
    }
    if (idx.file != NULL && gzclose(idx.file) != Z_OK && status == 0) {
        free(*bytes_p);
        *bytes_p = NULL;
        status   = tw_problem_set(problem, "'%s' ends too early", path);
    }
    memcpy(size, idx.size, sizeof(idx.size));
    return status;
}

/* Labels from bytes; an error if one is not below classes. */
static int take_labels(tw_set_t *set, const uint8_t *bytes, size_t classes, const char *path,
                       tw_problem_t *problem)
{
    set->labels = malloc(set->n * sizeof(*set->labels));
    if (set->labels == NULL) {
        return tw_problem_set(problem, "out of memory for '%s'", path);
    }
    for (size_t i = 0; i < set->n; i++) {
        if (bytes[i] >= classes) {
            return tw_problem_set(problem, "'%s': label %u of image %zu is out of range (0 to %zu)",
                                  path, (unsigned)bytes[i], i, classes - 1);
        }
        set->labels[i] = bytes[i];
    }
    return 0;
}

int tw_idx_read(tw_set_t *set, const char *images, const char *labels, size_t pixels,
                size_t classes, tw_shape_t *shape_p, tw_problem_t *problem)
{
    uint32_t size[3], label_size[3];
    uint8_t *bytes = NULL;

    *set = (tw_set_t){.n = 0};
    if (read_file(images, 3, size, pixels, &set->pixels, problem) != 0 ||
        read_file(labels, 1, label_size, 1, &bytes, problem) != 0) {
        goto err;
    }
    set->n = size[0];
    if (label_size[0] != size[0]) {
        tw_problem_set(problem, "'%s' holds %u images, but '%s' %u labels", images,
                       (unsigned)size[0], labels, (unsigned)label_size[0]);
        goto err;
    }
    if (take_labels(set, bytes, classes, labels, problem) != 0) {
        goto err;
    }
    free(bytes);
    *shape_p = (tw_shape_t){1, size[1], size[2]};
    return 0;
err:
    free(bytes);
    tw_set_destroy(set);
    return -1;
}
