/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/same.h - check that arguments are equal on all ranks.
 */
#ifndef TW_SCHEDULER_SAME_H
#define TW_SCHEDULER_SAME_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/transport/comm/comm.h"

#define TW_SAME_MAX 8

/* Checksum of a value that must be equal on all ranks. */
typedef struct tw_same {
    const char *name; /* name in the log           */
    uint64_t    hash; /* tw_fnv1a()                */
} tw_same_t;

/* Collective, one small message. TW_OK; TW_ERR_MISMATCH on all ranks (rank 0 logs the fields of
 * `what` that differ); or the error of the message. */
tw_status_t tw_same_everywhere(tw_comm_t *comm, const char *what, const tw_same_t *fields,
                               size_t n);

/* Checksums of a text, NULL allowed, and of a codec, NULL for fp32. */
uint64_t tw_same_text(uint64_t hash, const char *text);
uint64_t tw_same_codec(const tw_codec_t *codec);

#endif /* TW_SCHEDULER_SAME_H */
