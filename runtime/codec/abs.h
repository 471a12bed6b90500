/* SPDX-License-Identifier: BSD-3-Clause
 * codec/abs.h - the wish for an absolute error bound, which collectives keep by a grid
 * (int:B,step=2^K) and by sending again, without loss, what it does not hold.
 */
#ifndef TW_CODEC_ABS_H
#define TW_CODEC_ABS_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/codec.h>

/* Is this `abs`? Then *error_p is the bound, in units of the values. */
bool tw_codec_abs(const tw_codec_t *codec, double *error_p);

/* The largest magnitude of n values of the codec's type; INFINITY if one is not finite. */
double tw_codec_largest(const tw_codec_t *codec, const void *values, size_t n);

#endif /* TW_CODEC_ABS_H */
