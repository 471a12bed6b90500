/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/specs.h - codecs by their specs, each created once.
 */
#ifndef TW_SCHEDULER_SPECS_H
#define TW_SCHEDULER_SPECS_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/codec.h>

#include "runtime/transport/api/scheduler.h"

/* Zero-initialise it. */
typedef struct tw_specs {
    tw_codec_t **codec; /* [count] */
    size_t       count;
    tw_dtype_t   dtype; /* of the elements */
} tw_specs_t;

/* The codec of a spec, owned by the list. Local. TW_OK; TW_ERR_SPEC, logged as
 * "what 'name': why"; TW_ERR_NO_MEMORY. */
tw_status_t tw_specs_codec(tw_specs_t *specs, tw_comm_t *comm, const char *what, const char *name,
                           const char *spec, const tw_codec_t **codec_p);

/* The codec with this full spec, or NULL. Does not allocate. */
const tw_codec_t *tw_specs_find(const tw_specs_t *specs, const char *spec);

/* Destroy all but the first `count` codecs. */
void tw_specs_shorten(tw_specs_t *specs, size_t count);

void tw_specs_destroy(tw_specs_t *specs);

/* Is it a codec of float32? TW_OK, TW_ERR_UNSUPPORTED (logged). */
tw_status_t tw_codec_check_f32(const tw_comm_t *comm, const char *who, const tw_codec_t *codec);

/* Of what elements it is; NULL: of float32. */
tw_dtype_t tw_codec_dtype_of(const tw_codec_t *codec);

/* Its full spec. */
const char *tw_codec_spec_of(const tw_codec_t *codec);

/* NULL is fp32, which is lossless. */
bool tw_codec_lossy(const tw_codec_t *codec);

#endif /* TW_SCHEDULER_SPECS_H */
