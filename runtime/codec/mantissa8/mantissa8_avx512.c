/* SPDX-License-Identifier: BSD-3-Clause
 * codec/mantissa8/mantissa8_avx512.c - mantissa8 by AVX-512: see fixed8_avx512.h.
 * Twin of: mantissa8.c; same bytes and bits for every input (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/fixed8_avx512.h"

TW_FIXED8_KERNELS512(mantissa8);
