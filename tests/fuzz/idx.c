/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/idx.c - pairs of IDX files, plain or gzipped.
 *
 * Input: the number of bytes of the images' file (2 bytes), what the model takes, the two files.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/fuzz/target.h"
#include "train/input/readers.h"

static bool run(const uint8_t *data, size_t size)
{
    fuzz_bytes_t from   = {data, size};
    const size_t wanted = fuzz_word(&from), pixels = fuzz_byte(&from) % 2 == 0 ? 0 : 6;
    const size_t images  = wanted < from.left ? wanted : from.left;
    tw_problem_t problem = {0};
    tw_set_t     set;
    tw_shape_t   shape;
    char         name[64];
    FILE        *labels = tmpfile();
    bool         taken;

    fuzz_check(labels != NULL &&
                   fwrite(from.data + images, 1, from.left - images, labels) ==
                       from.left - images &&
                   fflush(labels) == 0,
               "there is a file");
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fileno(labels));
    taken =
        tw_idx_read(&set, fuzz_file(from.data, images), name, pixels, 10, &shape, &problem) == 0;
    if (taken) {
        uint64_t sum = 0;

        for (size_t i = 0; i < set.n * tw_shape_size(shape); i++) {
            sum += set.pixels[i];
        }
        for (size_t i = 0; i < set.n; i++) {
            fuzz_check(set.labels[i] < 10, "labels are below the classes");
        }
        fuzz_check(set.n > 0 && sum < UINT64_MAX, "there are images");
        tw_set_destroy(&set);
    } else {
        fuzz_check(problem.set && problem.text[0] != '\0', "a refusal says why");
    }
    fclose(labels);
    return taken;
}

static size_t zipped(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    z_stream z = {0};

    fuzz_check(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
    z.next_in   = (Bytef *)(uintptr_t)from;
    z.avail_in  = (uInt)n;
    z.next_out  = to;
    z.avail_out = (uInt)room;
    fuzz_check(deflate(&z, Z_FINISH) == Z_STREAM_END, "zlib");
    deflateEnd(&z);
    return room - z.avail_out;
}

static size_t seed(int index, uint8_t *data)
{
    static const uint8_t images[28] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3};
    static const uint8_t labels[10] = {0, 0, 8, 1, 0, 0, 0, 2, 9, 0};
    size_t               n = sizeof(images), m = sizeof(labels);

    if (index > 1) {
        return 0;
    }
    if (index == 0) {
        memcpy(data + 3, images, n);
        memcpy(data + 3 + n, labels, m);
    } else {
        n = zipped(images, sizeof(images), data + 3, 1000);
        m = zipped(labels, sizeof(labels), data + 3 + n, 1000);
    }
    data[0] = (uint8_t)n;
    data[1] = 0;
    data[2] = (uint8_t)index;
    return 3 + n + m;
}

const fuzz_target_t fuzz_idx = {"idx", false, NULL, run, seed};
