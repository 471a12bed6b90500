/* SPDX-License-Identifier: BSD-3-Clause
 * codec/static8/static8_avx512.c - static8 by AVX-512: see fixed8_avx512.h.
 * Twin of: static8.c; same bytes and bits for every input (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/fixed8_avx512.h"

TW_FIXED8_KERNELS512(static8);
