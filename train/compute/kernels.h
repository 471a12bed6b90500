/* SPDX-License-Identifier: BSD-3-Clause
 * compute/kernels.h - what the loops over single values that surround the matrix products share.
 *
 * One source, compiled once per instruction set. All of it is element by element, in IEEE
 * operations that are correctly rounded and never contracted, and sums run over rows in order:
 * every instruction set gives the same bits, so ranks on unlike machines keep identical weights.
 */
#ifndef TW_COMPUTE_KERNELS_H
#define TW_COMPUTE_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Dropout of one row of units: unit i is kept if a hash of (key, i) is not below threshold / 2^31,
 * and then multiplied by scale = 1 / keep (inverted dropout). */
typedef struct tw_drop {
    uint64_t key;
    int32_t  threshold; /* rate * 2^31; 0 keeps all */
    float    scale;
} tw_drop_t;

/* An instruction set that loops were compiled for: "scalar", "avx2", "avx512". */
typedef struct tw_compute_kernels {
    const char *isa;
} tw_compute_kernels_t;

/* That for a level which tw_cpu_level() names; what was not built falls to the next below. */
const tw_compute_kernels_t *tw_kernels_for(const char *level);

/* What stands once per instruction set that was built, for that of kernels: the address of
 * x_scalar, x_avx2 or x_avx512. */
#ifdef HAVE_AVX2
#define TW_KERNELS_AVX2(kernels, x) (strcmp((kernels)->isa, "avx2") == 0 ? &x##_avx2 : &x##_scalar)
#else
#define TW_KERNELS_AVX2(kernels, x) ((void)(kernels), &x##_scalar)
#endif
#ifdef HAVE_AVX512
#define TW_KERNELS_OF(kernels, x)                                                                  \
    (strcmp((kernels)->isa, "avx512") == 0 ? &x##_avx512 : TW_KERNELS_AVX2(kernels, x))
#else
#define TW_KERNELS_OF(kernels, x) TW_KERNELS_AVX2(kernels, x)
#endif

/* e^x as the loops compute it: relative error below 3e-7 for |x| <= 87, clamped beyond. */
float tw_kernels_exp(float x);

/* The rate of a layer in a pass that takes the share `less` of it off; at most 0.9999, as much as a
 * layer may have. */
float tw_drop_rate(float rate, float less);

/* Dropout with a rate in [0, 1). */
tw_drop_t tw_drop_make(uint64_t key, float rate);

#endif /* TW_COMPUTE_KERNELS_H */
