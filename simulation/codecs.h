/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/codecs.h - codecs that have the sizes of real ones and take their time, but touch
 * nothing; and the values they would touch, which are addresses without contents.
 */
#ifndef SIMULATION_CODECS_H
#define SIMULATION_CODECS_H

#include <stddef.h>

#include <thinwire/thinwire.h>

#include "runtime/base/dtype.h"
#include "runtime/base/reduction.h"
#include "scaling/script.h"

/** Reserve addresses for two buffers of so many bytes and for the nodes' shared memory. */
void values_open(const script_t *script, size_t bytes);

/* The two: all ranks have the same. */
void *values_send(void);
void *values_receive(void);

/* tw_system_ops_t, in which values are not touched. A copy between values, of more than a few
 * bytes, and a sum take their time; shared memory lies among the values, and needs no pages. */
void  values_copy(void *to, const void *from, size_t bytes);
void  values_combine(const tw_dtype_row_t *type, const tw_reduction_row_t *reduction, const void *a,
                     const void *b, size_t n, void *out);
int   values_reserve(int file, size_t bytes);
void *values_map(int file, size_t bytes);

/** A codec as these facts have it; it lives as long as the process. NULL: there is no such
 * codec. */
const tw_codec_t *codec_make(tw_context_t *ctx, const tw_codec_facts_t *facts);

/** Seconds of coding, adding and copying of a rank so far. */
double codec_seconds(int rank);

#endif /* SIMULATION_CODECS_H */
