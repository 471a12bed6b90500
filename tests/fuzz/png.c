/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/png.c - PNG files: any region is a cut of the whole image.
 *
 * Input: whether all checksums are set right first (few mutations would get past them), channels,
 * the region (4 bytes), the file.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/fuzz/decode.h"
#include "tests/fuzz/target.h"

static bool run(const uint8_t *data, size_t size)
{
    fuzz_bytes_t from = {data, size};
    const bool   mend = fuzz_byte(&from) % 4 != 3;
    uint8_t     *copy = malloc(from.left > 0 ? from.left : 1);
    bool         taken;

    fuzz_check(copy != NULL, "there is memory");
    memcpy(copy, from.data, from.left);
    from.data = copy;
    if (mend && from.left > 5) {
        made_png_mend(copy + 5, from.left - 5);
    }
    taken = fuzz_decode(&from, 8);
    free(copy);
    return taken;
}

static size_t seed(int index, uint8_t *data)
{
    const made_png_t *kind = made_pngs;
    plain_t           rgb, grey;
    size_t            n;

    for (int i = 0; i < index && kind->name != NULL; i++) {
        kind++;
    }
    if (kind->name == NULL) {
        return 0;
    }
    memset(data, index, 6);
    n = made_png(kind, 20, 21 + (size_t)index, data + 6, FUZZ_MOST - 6, &rgb, &grey);
    free(rgb.pixels);
    free(grey.pixels);
    return 6 + n;
}

const fuzz_target_t fuzz_png = {"png", false, NULL, run, seed};
