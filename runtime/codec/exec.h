/* SPDX-License-Identifier: BSD-3-Clause
 * codec/exec.h - what a call's tw_exec_t says: is it valid, how many threads, what each takes.
 */
#ifndef TW_CODEC_EXEC_H
#define TW_CODEC_EXEC_H

#include <stdbool.h>

#include "runtime/codec/ops.h"

bool tw_exec_valid(const tw_exec_t *exec);

/* Threads for n values, at least 1; 1 inside a parallel region. */
int tw_exec_threads(const tw_codec_t *codec, const tw_exec_t *exec, size_t n);

/* Values of a thread's piece: whole blocks, and whole cache lines of codes and elements. */
size_t tw_exec_piece(const tw_codec_t *codec, int threads, size_t n);

#endif /* TW_CODEC_EXEC_H */
