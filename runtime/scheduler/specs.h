/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/specs.h - codecs by their specs, each made once.
 */
#ifndef TW_SCHEDULER_SPECS_H
#define TW_SCHEDULER_SPECS_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/codec.h>

#include "runtime/transport/comm/comm.h"

/* Zero-initialise it. */
typedef struct tw_specs {
    tw_codec_t **codec; /* [count] */
    size_t       count;
} tw_specs_t;

/* The codec of float32 of a spec, which lives as long as the list. Local. TW_OK; TW_ERR_SPEC, which
 * is logged as "what 'name': why"; TW_ERR_NO_MEMORY. */
tw_status_t tw_specs_codec(tw_specs_t *specs, tw_comm_t *comm, const char *what, const char *name,
                           const char *spec, const tw_codec_t **codec_p);

/* The one that has this full spec, NULL if none has. Asks for no memory. */
const tw_codec_t *tw_specs_find(const tw_specs_t *specs, const char *spec);

/* The first `count` of them stay. */
void tw_specs_shorten(tw_specs_t *specs, size_t count);

void tw_specs_destroy(tw_specs_t *specs);

/* Of float32? */
bool tw_codec_of_f32(const tw_codec_t *codec);

/* NULL is fp32, which loses nothing. */
bool tw_codec_lossy(const tw_codec_t *codec);

#endif /* TW_SCHEDULER_SPECS_H */
