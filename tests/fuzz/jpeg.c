/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/jpeg.c - JPEG files: any region is a cut of the whole image.
 *
 * Input: scale, channels, the region (4 bytes), the file.
 */
#include "config.h"

#include <string.h>

#include "tests/fuzz/decode.h"
#include "tests/fuzz/target.h"

static bool run(const uint8_t *data, size_t size)
{
    static const int scales[] = {8, 4, 2, 1};
    fuzz_bytes_t     from     = {data, size};
    const int        eighths  = scales[fuzz_byte(&from) % 4];

    return fuzz_decode(&from, eighths);
}

static size_t seed(int index, uint8_t *data)
{
    const made_jpeg_t *kind = made_jpegs;
    uint8_t            exif[64];
    const size_t       length = made_exif(1 + index % 8, index % 2, exif);

    for (int i = 0; i < index && kind->name != NULL; i++) {
        kind++;
    }
    if (kind->name == NULL) {
        return 0;
    }
    memset(data, index, 6);
    return 6 + made_jpeg(kind, 20 + (size_t)index, 37, exif, length, data + 6, FUZZ_MOST - 6);
}

const fuzz_target_t fuzz_jpeg = {"jpeg", false, NULL, run, seed};
