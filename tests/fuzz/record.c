/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/record.c - images and headers of a database.
 *
 * Input: a header if the first byte is odd, else the record of an image.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"
#include "train/input/record.h"

static bool run_header(const uint8_t *bytes, size_t size)
{
    tw_stored_t stored;
    uint64_t    sum   = 0;
    size_t      names = 0;

    if (tw_stored_take_header(bytes, size, &stored) != NULL) {
        return false;
    }
    fuzz_check(tw_stored_header_size(&stored) == size, "a header is as long as it says");
    fuzz_check(stored.classes >= 1 && stored.classes <= TW_SOURCE_CLASSES_MAX, "there are classes");
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        fuzz_check(stored.n[part] >= 1, "there are images");
        for (size_t i = 0; i < stored.n[part]; i++) {
            fuzz_check(tw_stored_label(&stored, part, i) < stored.classes,
                       "labels are below the classes");
        }
    }
    for (size_t at = 0; at < stored.names_n; names++) {
        const size_t length = strlen(stored.names + at);

        fuzz_check(length > 0 && at + length < stored.names_n, "names end");
        at += length + 1;
    }
    fuzz_check(stored.names_n == 0 || names == stored.classes, "each class has a name");
    for (size_t i = 0; i < stored.note_n; i++) {
        sum += (uint8_t)stored.note[i];
    }
    return tw_stored_hash(&stored) + sum > 0;
}

static bool run_image(const uint8_t *bytes, size_t size)
{
    tw_image_record_t record = {.n = 0};
    uint16_t          label  = 0;
    uint64_t          sum    = 0;

    if (tw_stored_take(bytes, size, &record, &label) != NULL) {
        return false;
    }
    fuzz_check(record.n > 0 && record.n <= TW_SOURCE_FILE_MAX, "there are bytes");
    fuzz_check(record.file ? tw_shape_size(record.shape) == 0
                           : tw_shape_size(record.shape) == record.n,
               "pixels have a shape");
    for (size_t i = 0; i < record.n; i++) {
        sum += record.bytes[i];
    }
    return sum < UINT64_MAX;
}

/* In memory of its own, so that whoever reads behind its end is seen. */
static bool run(const uint8_t *data, size_t size)
{
    uint8_t *bytes;
    bool     taken;

    if (size == 0) {
        return false;
    }
    bytes = malloc(size);
    fuzz_check(bytes != NULL, "there is memory");
    memcpy(bytes, data + 1, size - 1);
    taken = (data[0] % 2 != 0 ? run_header : run_image)(bytes, size - 1);
    free(bytes);
    return taken;
}

static size_t seed_image(int index, uint8_t *data)
{
    const tw_image_record_t record = {
        .file = index == 0, .shape = {3, 4, 5}, .n = index == 0 ? 17 : 60};

    tw_stored_put(&record, 3, data);
    memset(data + TW_STORED_RECORD, 0x5a, record.n);
    return TW_STORED_RECORD + record.n;
}

static size_t seed_header(int index, uint8_t *data)
{
    static const uint16_t labels[] = {0, 1, 2, 2, 0};
    const tw_stored_t     stored   = {
              .classes = 3,
              .n       = {3, 2},
              .shape   = {index == 2 ? 0 : 3, index == 3 ? 2 : 0, index == 3 ? 4 : 0},
              .note    = "folder:a",
              .note_n  = 8,
              .names   = "ant\0bee\0cow",
              .names_n = index == 3 ? 0 : 12};

    return (size_t)(tw_stored_put_labels(labels, 5, tw_stored_put_header(&stored, data)) - data);
}

static size_t seed(int index, uint8_t *data)
{
    if (index > 4) {
        return 0;
    }
    data[0] = index > 1;
    return 1 + (index > 1 ? seed_header : seed_image)(index, data + 1);
}

const fuzz_target_t fuzz_record = {"record", false, NULL, run, seed};
