/* SPDX-License-Identifier: BSD-3-Clause
 * codec/exec.c - see exec.h.
 */
#include "config.h"

#include "runtime/base/threads.h"
#include "runtime/codec/exec.h"

#define TW_PIECE_VALUES ((size_t)16384) /* least values a thread takes, before rounding to blocks */

bool tw_exec_valid(const tw_exec_t *exec)
{
    return exec == NULL ||
           ((exec->memory == TW_MEMORY_HOST || exec->memory == TW_MEMORY_CUDA) &&
            (exec->memory == TW_MEMORY_CUDA || exec->stream == NULL) && exec->threads >= 0);
}

int tw_exec_threads(const tw_codec_t *codec, const tw_exec_t *exec, size_t n)
{
    int          threads = exec != NULL && exec->threads > 0 ? exec->threads : codec->threads;
    const size_t pieces  = n / TW_PIECE_VALUES;

    if (n * codec->element < codec->omp_threshold || tw_threads_nested()) {
        return 1;
    }
    if ((size_t)threads > pieces) {
        threads = (int)pieces;
    }
    return threads > 1 ? threads : 1;
}

size_t tw_exec_piece(const tw_codec_t *codec, int threads, size_t n)
{
    const size_t piece = (n + (size_t)threads - 1) / (size_t)threads;
    const size_t whole = (piece + codec->block - 1) / codec->block * codec->block;

    return (whole + 63) / 64 * 64;
}
