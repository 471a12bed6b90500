/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/decode.h - what the targets for JPEG and PNG files share.
 */
#ifndef TW_TESTS_FUZZ_DECODE_H
#define TW_TESTS_FUZZ_DECODE_H

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"
#include "tests/train/decode_files.h"
#include "train/input/decode.h"

enum { FUZZ_PIXELS = 1 << 20 };

/* A span of 1 .. size, by two bytes. */
static inline void fuzz_span(fuzz_bytes_t *from, size_t size, size_t *first, size_t *length)
{
    *first  = fuzz_byte(from) * size / 256;
    *length = 1 + fuzz_byte(from) * (size - *first) / 256;
}

static inline void fuzz_same_cut(const uint8_t *whole, size_t h, size_t w, tw_region_t region,
                                 size_t channels, const uint8_t *part)
{
    for (size_t c = 0; c < channels; c++) {
        for (size_t y = 0; y < region.h; y++) {
            fuzz_check(memcmp(part + (c * region.h + y) * region.w,
                              whole + (c * h + region.top + y) * w + region.left, region.w) == 0,
                       "a region is a cut of the whole");
        }
    }
}

/* Channels, region, file: is it taken as a whole? One decoder sees all inputs. */
static inline bool fuzz_decode(fuzz_bytes_t *from, int eighths)
{
    static tw_decoder_t *decoder;
    static tw_buffer_t   whole, part;
    const size_t         channels = fuzz_byte(from) % 2 == 0 ? 3 : 1;
    fuzz_bytes_t         spans    = *from;
    tw_file_facts_t      facts;
    tw_problem_t         problem = {0};
    tw_region_t          all     = {0, 0, 0, 0}, region;
    int                  status;

    decoder = decoder != NULL ? decoder : tw_decoder_create(&tw_pixels_scalar);
    fuzz_check(decoder != NULL, "there is memory");
    for (int i = 0; i < 4; i++) {
        fuzz_byte(from);
    }
    status = tw_decode_facts(decoder, from->data, from->left, FUZZ_PIXELS, &facts, &problem);
    if (status == 0) {
        fuzz_check(facts.h > 0 && facts.w > 0 && facts.h * facts.w <= FUZZ_PIXELS,
                   "sizes are as allowed");
        fuzz_check(facts.orientation >= 1 && facts.orientation <= 8, "there are 8 orientations");
        eighths = facts.jpeg ? eighths : 8;
        all.h   = tw_decode_scaled(facts.h, eighths);
        all.w   = tw_decode_scaled(facts.w, eighths);
        status  = tw_decode_region(decoder, from->data, from->left, &facts, channels, eighths, all,
                                   &whole, &problem);
    }
    fuzz_check(status == 0 || (problem.set && problem.text[0] != '\0'), "a refusal says why");
    if (status != 0) {
        return false;
    }
    fuzz_span(&spans, all.h, &region.top, &region.h);
    fuzz_span(&spans, all.w, &region.left, &region.w);
    fuzz_check(tw_decode_region(decoder, from->data, from->left, &facts, channels, eighths, region,
                                &part, &problem) == 0,
               "of a file that is taken, any region is");
    fuzz_same_cut(whole.bytes, all.h, all.w, region, channels, part.bytes);
    return true;
}

#endif /* TW_TESTS_FUZZ_DECODE_H */
