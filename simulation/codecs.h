/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/codecs.h - codecs that have the sizes of real ones and take their time, but touch
 * nothing; and the values they would touch, which are addresses without contents.
 */
#ifndef SIMULATION_CODECS_H
#define SIMULATION_CODECS_H

#include <stddef.h>

#include <thinwire/thinwire.h>

#include "scaling/script.h"

/** Reserve addresses for two buffers of so many bytes and for the nodes' shared memory. */
void values_open(const script_t *script, size_t bytes);

/* The two: all ranks have the same. */
void *values_send(void);
void *values_receive(void);

/** A codec as these facts have it; it lives as long as the process. NULL: there is no such
 * codec. */
const tw_codec_t *codec_make(tw_context_t *ctx, const tw_codec_facts_t *facts);

/** Seconds of coding, adding and copying of a rank so far. */
double codec_seconds(int rank);

#endif /* SIMULATION_CODECS_H */
