/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/levels.h - the instruction sets that this processor and this build have.
 */
#ifndef TW_TESTS_LEVELS_H
#define TW_TESTS_LEVELS_H

#include <string.h>

#include <thinwire/thinwire.h>

#include "train/compute/kernels.h"

enum { LEVELS = 3 };

/* Kernels of the k-th of scalar, avx2, avx512; NULL where there are none. */
static inline const tw_compute_kernels_t *kernels_at(int k)
{
    static const char *const    levels[LEVELS] = {"scalar", "avx2", "avx512"};
    const tw_compute_kernels_t *kernels        = tw_kernels_for(levels[k]);
    tw_context_t               *ctx;
    int                         best = 0;

    if (tw_context_create(&ctx) != TW_OK) {
        return NULL;
    }
    while (best + 1 < LEVELS && strcmp(levels[best], tw_cpu_level(ctx)) != 0) {
        best++;
    }
    tw_context_destroy(ctx);
    return k <= best && strcmp(kernels->isa, levels[k]) == 0 ? kernels : NULL;
}

/* Those of the last that there are. */
static inline const tw_compute_kernels_t *best_kernels(void)
{
    int k = LEVELS - 1;

    while (kernels_at(k) == NULL) {
        k--;
    }
    return kernels_at(k);
}

#endif /* TW_TESTS_LEVELS_H */
