/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_peers.h - what a user would otherwise take, measured in the same process: fixed-rate
 * zfp, blosc (bitshuffle and lz4), plain conversion loops, a binary search. One thread each.
 */
#ifndef TOOLS_BENCH_PEERS_H
#define TOOLS_BENCH_PEERS_H

#include "tools/bench_kernels.h"

typedef struct peer peer_t;

size_t        peers_count(void);
const peer_t *peers_at(size_t index);
const char   *peer_name(const peer_t *peer);

/* NULL, or why it cannot be measured: "not built in ...", "... no AVX2". */
const char *peer_missing(const peer_t *peer);

/* Whether all is as it should be with n values: the size fits its types. */
int peer_fits(const peer_t *peer, size_t n);

/* The levels of the search are those of a tree8 codec. */
tw_status_t peers_begin(tw_context_t *ctx);

/* Encode and decode n values between the arrays; codes holds at least PEERS_CODES(n) bytes. */
#define PEERS_CODES(n) ((n)*5 + 65536)
tw_status_t bench_peer(const arena_t *arena, const peer_t *peer, size_t n, codec_result_t *result);

#endif /* TOOLS_BENCH_PEERS_H */
