/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/doubles.cu - bitpack of doubles.
 *
 * A warp takes rows of 128 values, 4 by each lane with two 16-byte loads. The 4 codes of K bytes of
 * a lane are K words, which go through shared memory, so that what the warp loads and stores of
 * them is whole lines. What is left behind the last row, or everything where a buffer does not lie
 * at a multiple of its vectors (elements 16 bytes, codes 4), is done value by value.
 */
#include "runtime/codec/cuda/device.h"

#define DOUBLES_EACH  4 /* values that a thread takes, before there are too many thread blocks */
#define DOUBLES_DEPTH 2 /* rows whose loads a warp starts before it works on the first */

typedef uint32_t doubles_words_t[8 * TW_CUDA_WARP]; /* a warp's codes of a row */

/* ---- value by value ---------------------------------------------------------------------------
 */

/* *residual becomes v - decode(code) of v = src + residual where both are finite. */
TW_DEVICE uint64_t double_feedback(uint64_t src, uint64_t *residual, int k, int round)
{
    const uint64_t v    = tw_cuda_sum64(src, *residual);
    const uint64_t code = tw_cuda_pack64(v, k, round), back = tw_cuda_unpack64(code, k, round);

    if ((v >> 52 & 0x7ff) != 0x7ff && (back >> 52 & 0x7ff) != 0x7ff) {
        *residual = tw_cuda_bits64(tw_cuda_double(v) - tw_cuda_double(back));
    }
    return code;
}

TW_DEVICE uint64_t double_add(uint64_t old, uint64_t v)
{
    return tw_cuda_bits64(tw_cuda_double(old) + tw_cuda_double(v));
}

TW_DEVICE void double_one(const tw_cuda_work_t *work, int verb, size_t i)
{
    const int k = work->k, round = work->round;
    uint64_t  v, code;

    switch (verb) {
    case TW_CUDA_ENCODE:
        tw_store_bytes(work->dst + (size_t)k * i,
                       tw_cuda_pack64(tw_load_bytes(work->src + 8 * i, 8), k, round), k);
        break;
    case TW_CUDA_ENCODE_FEEDBACK:
        v    = tw_load_bytes(work->residual + 8 * i, 8);
        code = double_feedback(tw_load_bytes(work->src + 8 * i, 8), &v, k, round);
        tw_store_bytes(work->residual + 8 * i, v, 8);
        tw_store_bytes(work->dst + (size_t)k * i, code, k);
        break;
    default:
        v = tw_cuda_unpack64(tw_load_bytes(work->src + (size_t)k * i, k), k, round);
        if (verb == TW_CUDA_DECODE_ADD) {
            v = double_add(tw_load_bytes(work->dst + 8 * i, 8), v);
        }
        tw_store_bytes(work->dst + 8 * i, v, 8);
        break;
    }
}

/* ---- rows -------------------------------------------------------------------------------------
 */

/* A lane's 4 values of the row at p, and back. */
TW_DEVICE void doubles_load(uint64_t *v, const uint8_t *p)
{
    uint32_t w[2 * TW_CUDA_GROUP];

    tw_load_group(w, p + 32 * tw_lane());
    tw_load_group(w + TW_CUDA_GROUP, p + 32 * tw_lane() + 16);
    TW_UNROLL
    for (int i = 0; i < TW_CUDA_GROUP; i++) {
        v[i] = (uint64_t)w[2 * i + 1] << 32 | w[2 * i];
    }
}

TW_DEVICE void doubles_store(uint8_t *p, const uint64_t *v)
{
    uint32_t w[2 * TW_CUDA_GROUP];

    TW_UNROLL
    for (int i = 0; i < TW_CUDA_GROUP; i++) {
        w[2 * i]     = (uint32_t)v[i];
        w[2 * i + 1] = (uint32_t)(v[i] >> 32);
    }
    tw_store_group(p + 32 * tw_lane(), w);
    tw_store_group(p + 32 * tw_lane() + 16, w + TW_CUDA_GROUP);
}

/* 4 codes of k bytes, one behind the other, as k words. The last one has no bits beyond. */
TW_DEVICE void doubles_join(uint32_t *w, const uint64_t *code, int k)
{
    TW_UNROLL
    for (int j = 0; j < k; j++) {
        w[j] = 0;
    }
    TW_UNROLL
    for (int i = 0; i < TW_CUDA_GROUP; i++) {
        const int at = k * i / 4, bit = k * i % 4 * 8;

        w[at] |= (uint32_t)(code[i] << bit);
        if (bit + 8 * k > 32) {
            w[at + 1] |= (uint32_t)(code[i] << bit >> 32);
        }
        if (bit + 8 * k > 64) {
            w[at + 2] |= (uint32_t)(code[i] >> (64 - bit));
        }
    }
}

TW_DEVICE void doubles_split(uint64_t *code, const uint32_t *w, int k)
{
    TW_UNROLL
    for (int i = 0; i < TW_CUDA_GROUP; i++) {
        const int at = k * i / 4, bit = k * i % 4 * 8;

        code[i] = w[at];
        if (bit + 8 * k > 32) {
            code[i] |= (uint64_t)w[at + 1] << 32;
        }
        code[i] >>= bit;
        if (bit + 8 * k > 64) {
            code[i] |= (uint64_t)w[at + 2] << (64 - bit);
        }
        code[i] = k < 8 ? code[i] & (((uint64_t)1 << 8 * k) - 1) : code[i];
    }
}

/* The lanes' words of a row to its codes at p. Every lane of the warp calls. */
TW_DEVICE void doubles_put_codes(uint8_t *p, const uint32_t *w, int k, uint32_t *words)
{
    const unsigned lane = tw_lane();

    TW_UNROLL
    for (int j = 0; j < k; j++) {
        words[(unsigned)k * lane + (unsigned)j] = w[j];
    }
    __syncwarp(TW_CUDA_ALL);
    TW_UNROLL
    for (unsigned j = 0; j < (unsigned)k; j++) {
        *(tw_cu_word_t *)(p + 4 * (j * TW_CUDA_WARP + lane)) = words[j * TW_CUDA_WARP + lane];
    }
    __syncwarp(TW_CUDA_ALL);
}

/* What the lane loads of a row of codes, and the words of its own 4. */
TW_DEVICE void doubles_get_codes(uint32_t *w, const uint8_t *p, int k)
{
    TW_UNROLL
    for (unsigned j = 0; j < (unsigned)k; j++) {
        w[j] = *(const tw_cu_word_t *)(p + 4 * (j * TW_CUDA_WARP + tw_lane()));
    }
}

TW_DEVICE void doubles_spread(uint32_t *w, int k, uint32_t *words)
{
    const unsigned lane = tw_lane();

    TW_UNROLL
    for (unsigned j = 0; j < (unsigned)k; j++) {
        words[j * TW_CUDA_WARP + lane] = w[j];
    }
    __syncwarp(TW_CUDA_ALL);
    TW_UNROLL
    for (unsigned j = 0; j < (unsigned)k; j++) {
        w[j] = words[(unsigned)k * lane + j];
    }
    __syncwarp(TW_CUDA_ALL);
}

TW_DEVICE void doubles_encode(const tw_cuda_work_t *work, int feedback, int k, uint32_t *words,
                              size_t first)
{
    uint64_t v[DOUBLES_DEPTH][TW_CUDA_GROUP], r[DOUBLES_DEPTH][TW_CUDA_GROUP];
    uint32_t w[8];

    TW_UNROLL
    for (size_t d = 0; d < DOUBLES_DEPTH; d++) {
        if (first + d < work->rows) {
            doubles_load(v[d], work->src + 8 * TW_CUDA_ROW * (first + d));
            if (feedback) {
                doubles_load(r[d], work->residual + 8 * TW_CUDA_ROW * (first + d));
            }
        }
    }
    TW_UNROLL
    for (size_t d = 0; d < DOUBLES_DEPTH; d++) {
        if (first + d < work->rows) {
            TW_UNROLL
            for (int i = 0; i < TW_CUDA_GROUP; i++) {
                v[d][i] = feedback ? double_feedback(v[d][i], &r[d][i], k, work->round)
                                   : tw_cuda_pack64(v[d][i], k, work->round);
            }
            if (feedback) {
                doubles_store(work->residual + 8 * TW_CUDA_ROW * (first + d), r[d]);
            }
            doubles_join(w, v[d], k);
            doubles_put_codes(work->dst + (size_t)k * TW_CUDA_ROW * (first + d), w, k, words);
        }
    }
}

TW_DEVICE void doubles_decode(const tw_cuda_work_t *work, int add, int k, uint32_t *words,
                              size_t first)
{
    uint64_t v[TW_CUDA_GROUP], old[DOUBLES_DEPTH][TW_CUDA_GROUP];
    uint32_t w[DOUBLES_DEPTH][8];

    TW_UNROLL
    for (size_t d = 0; d < DOUBLES_DEPTH; d++) {
        if (first + d < work->rows) {
            doubles_get_codes(w[d], work->src + (size_t)k * TW_CUDA_ROW * (first + d), k);
            if (add) {
                doubles_load(old[d], work->dst + 8 * TW_CUDA_ROW * (first + d));
            }
        }
    }
    TW_UNROLL
    for (size_t d = 0; d < DOUBLES_DEPTH; d++) {
        if (first + d < work->rows) {
            doubles_spread(w[d], k, words);
            doubles_split(v, w[d], k);
            TW_UNROLL
            for (int i = 0; i < TW_CUDA_GROUP; i++) {
                v[i] = tw_cuda_unpack64(v[i], k, work->round);
                v[i] = add ? double_add(old[d][i], v[i]) : v[i];
            }
            doubles_store(work->dst + 8 * TW_CUDA_ROW * (first + d), v);
        }
    }
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

TW_DEVICE void doubles_rows(const tw_cuda_work_t *work, int verb, int k, uint32_t *words)
{
    for (size_t first = tw_thread() / TW_CUDA_WARP * DOUBLES_DEPTH; first < work->rows;
         first += tw_threads() / TW_CUDA_WARP * DOUBLES_DEPTH) {
        if (verb == TW_CUDA_ENCODE || verb == TW_CUDA_ENCODE_FEEDBACK) {
            doubles_encode(work, verb == TW_CUDA_ENCODE_FEEDBACK, k, words, first);
        } else {
            doubles_decode(work, verb == TW_CUDA_DECODE_ADD, k, words, first);
        }
    }
}

#define DOUBLE_CASE(verb, K)                                                                       \
    case K:                                                                                        \
        doubles_rows(&work, verb, K, words[tw_warp()]);                                            \
        break;

#define DOUBLE_KERNEL(verb)                                                                        \
    TW_KERNEL(double_##verb, TW_CUDA_THREADS, 4)                                                   \
    {                                                                                              \
        __shared__ doubles_words_t words[TW_CUDA_WARPS];                                           \
                                                                                                   \
        switch (work.rows > 0 ? work.k : 0) {                                                      \
            DOUBLE_CASE(TW_CUDA_##verb, 1)                                                         \
            DOUBLE_CASE(TW_CUDA_##verb, 2)                                                         \
            DOUBLE_CASE(TW_CUDA_##verb, 3)                                                         \
            DOUBLE_CASE(TW_CUDA_##verb, 4)                                                         \
            DOUBLE_CASE(TW_CUDA_##verb, 5)                                                         \
            DOUBLE_CASE(TW_CUDA_##verb, 6)                                                         \
            DOUBLE_CASE(TW_CUDA_##verb, 7)                                                         \
            DOUBLE_CASE(TW_CUDA_##verb, 8)                                                         \
        default:                                                                                   \
            break;                                                                                 \
        }                                                                                          \
        for (size_t i = work.rows * TW_CUDA_ROW + tw_thread(); i < work.n; i += tw_threads()) {    \
            double_one(&work, TW_CUDA_##verb, i);                                                  \
        }                                                                                          \
    }

DOUBLE_KERNEL(ENCODE)
DOUBLE_KERNEL(DECODE)
DOUBLE_KERNEL(DECODE_ADD)
DOUBLE_KERNEL(ENCODE_FEEDBACK)

tw_cuda_launch_t tw_cuda_double_launch(tw_cuda_work_t *work, tw_cuda_verb_t verb, int processors)
{
    static const tw_cuda_kernel_t kernels[] = {double_ENCODE, double_DECODE, double_DECODE_ADD,
                                               double_ENCODE_FEEDBACK};
    const int                     decode    = verb == TW_CUDA_DECODE || verb == TW_CUDA_DECODE_ADD;
    const void *elements = decode ? (const void *)work->dst : (const void *)work->src;
    const void *codes    = decode ? (const void *)work->src : (const void *)work->dst;

    (void)processors;
    work->rows = tw_cuda_aligned(elements, 16) && tw_cuda_aligned(codes, 4) &&
                         (verb != TW_CUDA_ENCODE_FEEDBACK || tw_cuda_aligned(work->residual, 16))
                     ? work->n / TW_CUDA_ROW
                     : 0;
    return tw_cuda_launch(
        kernels[verb],
        work->rows > 0
            ? tw_cuda_blocks(work->rows, DOUBLES_DEPTH * TW_CUDA_WARPS, (size_t)1 << 30)
            : tw_cuda_blocks(work->n, (size_t)TW_CUDA_THREADS * DOUBLES_EACH, (size_t)1 << 30),
        TW_CUDA_THREADS);
}
