/* SPDX-License-Identifier: BSD-3-Clause
 * codec/auto.h - the wish for the fastest codec, which collectives resolve.
 */
#ifndef TW_CODEC_AUTO_H
#define TW_CODEC_AUTO_H

#include <stdbool.h>

#include <thinwire/codec.h>

#define TW_AUTO_ERROR     0.02 /* where `auto` names none: tree8, int8 and all that is more exact */
#define TW_AUTO_ERROR_MAX 1

/* Is this `auto`? Then *max_error_p is its wish. */
bool tw_codec_auto(const tw_codec_t *codec, double *max_error_p);

#endif /* TW_CODEC_AUTO_H */
