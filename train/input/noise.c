/* SPDX-License-Identifier: BSD-3-Clause
 * input/noise.c - images of noise, to measure speed with: nothing in them can be learned.
 *
 * Each image is a function of (seed, stream, index) alone, eight pixels from each number: 150 MB,
 * a thousand photographs, take a tenth of a second.
 */
#include "config.h"

#include <string.h>

#include "train/input/readers.h"
#include "train/base/random.h"

static void draw_pixels(uint8_t *pixels, size_t n, uint64_t key)
{
    const size_t words = n / 8;

    for (size_t i = 0; i < words; i++) {
        const uint64_t bits = tw_random_bits(key, i);

        for (unsigned k = 0; k < 8; k++) {
            pixels[8 * i + k] = (uint8_t)(bits >> 8 * k);
        }
    }
    for (size_t k = 8 * words; k < n; k++) {
        pixels[k] = (uint8_t)(tw_random_bits(key, words) >> 8 * (k % 8));
    }
}

void tw_noise_draw(tw_set_t *set, size_t pixels, size_t classes, uint64_t seed, uint64_t stream)
{
    for (size_t i = 0; i < set->n; i++) {
        const uint64_t key = tw_random_key(seed, TW_RANDOM_IMAGES, stream, i);

        set->labels[i] = (uint16_t)tw_random_below(key, UINT64_MAX / 2, (uint32_t)classes);
        draw_pixels(set->pixels + i * pixels, pixels, key);
    }
}
