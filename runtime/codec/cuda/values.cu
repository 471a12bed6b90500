/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/values.cu - codecs without blocks: bitpack, bf16, fp16, static8, mantissa8, and what
 * fp32 adds.
 *
 * A warp takes rows of 128 values, 4 by each lane with one 16-byte load. The 4 codes of a lane are
 * 1, 2 or 4 words, stored at once. At 3 bytes a value the lanes' words go through shared memory, so
 * that what the warp loads and stores is whole lines; 3 and 32 have no common factor, so no bank is
 * hit twice. What is left behind the last row, or everything where a buffer does not lie at a
 * multiple of its vectors, is done value by value.
 */
#include "runtime/codec/cuda/device.h"

typedef struct values_shared {
    tw_cuda_shared_t levels;
    uint32_t         words[TW_CUDA_WARPS][3 * TW_CUDA_WARP];
} values_shared_t;

TW_DEVICE int values_width(int kind)
{
    switch (kind) {
    case TW_CUDA_CUT2:
    case TW_CUDA_ROUND2:
    case TW_CUDA_FP16:
        return 2;
    case TW_CUDA_CUT3:
    case TW_CUDA_ROUND3:
        return 3;
    case TW_CUDA_CUT4:
        return 4;
    default:
        return 1;
    }
}

TW_DEVICE uint32_t values_encode(int kind, const tw_cuda_shared_t *shared,
                                 const tw_cuda_levels_t *levels, uint32_t u)
{
    switch (kind) {
    case TW_CUDA_CUT1:
        return u >> 24;
    case TW_CUDA_CUT2:
        return u >> 16;
    case TW_CUDA_CUT3:
        return u >> 8;
    case TW_CUDA_ROUND1:
        return tw_cuda_round_byte(u);
    case TW_CUDA_ROUND2:
        return tw_cuda_round(u, 16);
    case TW_CUDA_ROUND3:
        return tw_cuda_round(u, 8);
    case TW_CUDA_FP16:
        return tw_cuda_to_half(u);
    case TW_CUDA_FIXED8:
        return tw_cuda_fixed8(shared->bins, shared->code, levels->low, levels->high, u);
    default:
        return u;
    }
}

TW_DEVICE uint32_t values_decode(int kind, const tw_cuda_shared_t *shared, uint32_t code)
{
    switch (kind) {
    case TW_CUDA_CUT1:
        return code << 24;
    case TW_CUDA_CUT2:
    case TW_CUDA_ROUND2:
        return code << 16;
    case TW_CUDA_CUT3:
    case TW_CUDA_ROUND3:
        return code << 8;
    case TW_CUDA_ROUND1:
        return tw_cuda_expand_byte(code);
    case TW_CUDA_FP16:
        return tw_cuda_from_half(code);
    case TW_CUDA_FIXED8:
        return shared->value[code];
    default:
        return code;
    }
}

/* ---- rows -------------------------------------------------------------------------------------
 */

/* The 4 codes of a lane to the row's codes at dst. Every lane of the warp calls. */
TW_DEVICE void row_store(uint8_t *dst, const uint32_t *code, int width, uint32_t *words)
{
    const unsigned lane = tw_lane();
    uint2          two;

    switch (width) {
    case 1:
        *(tw_cu_word_t *)(dst + 4 * lane) = code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24;
        break;
    case 2:
        two.x                      = code[0] | code[1] << 16;
        two.y                      = code[2] | code[3] << 16;
        *(uint2 *)(dst + 8 * lane) = two;
        break;
    case 3:
        words[3 * lane]     = code[0] | code[1] << 24;
        words[3 * lane + 1] = code[1] >> 8 | code[2] << 16;
        words[3 * lane + 2] = code[2] >> 16 | code[3] << 8;
        __syncwarp(TW_CUDA_ALL);
        TW_UNROLL
        for (unsigned i = 0; i < 3; i++) {
            *(tw_cu_word_t *)(dst + 4 * (i * TW_CUDA_WARP + lane)) = words[i * TW_CUDA_WARP + lane];
        }
        __syncwarp(TW_CUDA_ALL);
        break;
    default:
        tw_store_group(dst + 16 * lane, code);
        break;
    }
}

/* What the lane loads of a row of codes, to be spread by row_spread(). */
TW_DEVICE void row_load(uint32_t *raw, const uint8_t *src, int width)
{
    const unsigned lane = tw_lane();
    uint2          two;

    switch (width) {
    case 1:
        raw[0] = *(const tw_cu_word_t *)(src + 4 * lane);
        break;
    case 2:
        two    = *(const uint2 *)(src + 8 * lane);
        raw[0] = two.x;
        raw[1] = two.y;
        break;
    case 3:
        TW_UNROLL
        for (unsigned i = 0; i < 3; i++) {
            raw[i] = *(const tw_cu_word_t *)(src + 4 * (i * TW_CUDA_WARP + lane));
        }
        break;
    default:
        tw_load_group(raw, src + 16 * lane);
        break;
    }
}

TW_DEVICE void row_spread(uint32_t *code, const uint32_t *raw, int width, uint32_t *words)
{
    const unsigned lane = tw_lane();
    uint32_t       w[3];

    switch (width) {
    case 1:
        TW_UNROLL
        for (int i = 0; i < TW_CUDA_GROUP; i++) {
            code[i] = raw[0] >> 8 * i & 0xffu;
        }
        break;
    case 2:
        code[0] = raw[0] & 0xffffu;
        code[1] = raw[0] >> 16;
        code[2] = raw[1] & 0xffffu;
        code[3] = raw[1] >> 16;
        break;
    case 3:
        TW_UNROLL
        for (unsigned i = 0; i < 3; i++) {
            words[i * TW_CUDA_WARP + lane] = raw[i];
        }
        __syncwarp(TW_CUDA_ALL);
        TW_UNROLL
        for (unsigned i = 0; i < 3; i++) {
            w[i] = words[3 * lane + i];
        }
        __syncwarp(TW_CUDA_ALL);
        code[0] = w[0] & 0xffffffu;
        code[1] = w[0] >> 24 | (w[1] & 0xffffu) << 8;
        code[2] = w[1] >> 16 | (w[2] & 0xffu) << 16;
        code[3] = w[2] >> 8;
        break;
    default:
        TW_UNROLL
        for (int i = 0; i < TW_CUDA_GROUP; i++) {
            code[i] = raw[i];
        }
        break;
    }
}

/* ---- loops ------------------------------------------------------------------------------------
 */

#define VALUES_DEPTH 4 /* rows whose loads a warp starts before it works on the first */

/* Rows [first, first + VALUES_DEPTH), of which those below `rows` exist. */
TW_DEVICE void rows_encode(const tw_cuda_work_t *work, int kind, const tw_cuda_shared_t *shared,
                           uint32_t *words, size_t first)
{
    const int    width = values_width(kind);
    const size_t at    = first * TW_CUDA_ROW;
    uint32_t     v[VALUES_DEPTH][TW_CUDA_GROUP];

    TW_UNROLL
    for (size_t d = 0; d < VALUES_DEPTH; d++) {
        if (first + d < work->rows) {
            tw_load_group(v[d], work->src + 4 * (at + d * TW_CUDA_ROW) + 16 * tw_lane());
        }
    }
    TW_UNROLL
    for (size_t d = 0; d < VALUES_DEPTH; d++) {
        if (first + d < work->rows) {
            TW_UNROLL
            for (int i = 0; i < TW_CUDA_GROUP; i++) {
                v[d][i] = values_encode(kind, shared, &work->levels, v[d][i]);
            }
            row_store(work->dst + (size_t)width * (at + d * TW_CUDA_ROW), v[d], width, words);
        }
    }
}

TW_DEVICE void rows_decode(const tw_cuda_work_t *work, int kind, int add,
                           const tw_cuda_shared_t *shared, uint32_t *words, size_t first)
{
    const int    width = values_width(kind);
    const size_t at    = first * TW_CUDA_ROW;
    uint32_t raw[VALUES_DEPTH][TW_CUDA_GROUP], old[VALUES_DEPTH][TW_CUDA_GROUP], v[TW_CUDA_GROUP];

    TW_UNROLL
    for (size_t d = 0; d < VALUES_DEPTH; d++) {
        if (first + d < work->rows) {
            row_load(raw[d], work->src + (size_t)width * (at + d * TW_CUDA_ROW), width);
            if (add) {
                tw_load_group(old[d], work->dst + 4 * (at + d * TW_CUDA_ROW) + 16 * tw_lane());
            }
        }
    }
    TW_UNROLL
    for (size_t d = 0; d < VALUES_DEPTH; d++) {
        if (first + d < work->rows) {
            row_spread(v, raw[d], width, words);
            TW_UNROLL
            for (int i = 0; i < TW_CUDA_GROUP; i++) {
                v[i] = values_decode(kind, shared, v[i]);
                v[i] = add ? tw_cuda_bits(tw_cuda_float(old[d][i]) + tw_cuda_float(v[i])) : v[i];
            }
            tw_store_group(work->dst + 4 * (at + d * TW_CUDA_ROW) + 16 * tw_lane(), v);
        }
    }
}

/* The code of v = src + residual; *residual becomes v - decode(code) where both are finite. */
TW_DEVICE uint32_t value_feedback(int kind, const tw_cuda_shared_t *shared,
                                  const tw_cuda_levels_t *levels, uint32_t src, uint32_t *residual)
{
    const uint32_t v    = tw_cuda_sum(src, *residual);
    const uint32_t code = values_encode(kind, shared, levels, v);
    const uint32_t back = values_decode(kind, shared, code);

    if (tw_cuda_finite(v) && tw_cuda_finite(back)) {
        *residual = tw_cuda_bits(tw_cuda_float(v) - tw_cuda_float(back));
    }
    return code;
}

#define VALUES_FEEDBACK_DEPTH 2

TW_DEVICE void rows_feedback(const tw_cuda_work_t *work, int kind, const tw_cuda_shared_t *shared,
                             uint32_t *words, size_t first)
{
    const int    width = values_width(kind);
    const size_t at    = first * TW_CUDA_ROW;
    uint32_t     v[VALUES_FEEDBACK_DEPTH][TW_CUDA_GROUP], r[VALUES_FEEDBACK_DEPTH][TW_CUDA_GROUP];

    TW_UNROLL
    for (size_t d = 0; d < VALUES_FEEDBACK_DEPTH; d++) {
        if (first + d < work->rows) {
            tw_load_group(v[d], work->src + 4 * (at + d * TW_CUDA_ROW) + 16 * tw_lane());
            tw_load_group(r[d], work->residual + 4 * (at + d * TW_CUDA_ROW) + 16 * tw_lane());
        }
    }
    TW_UNROLL
    for (size_t d = 0; d < VALUES_FEEDBACK_DEPTH; d++) {
        if (first + d < work->rows) {
            TW_UNROLL
            for (int i = 0; i < TW_CUDA_GROUP; i++) {
                v[d][i] = value_feedback(kind, shared, &work->levels, v[d][i], &r[d][i]);
            }
            tw_store_group(work->residual + 4 * (at + d * TW_CUDA_ROW) + 16 * tw_lane(), r[d]);
            row_store(work->dst + (size_t)width * (at + d * TW_CUDA_ROW), v[d], width, words);
        }
    }
}

TW_DEVICE void value_one(const tw_cuda_work_t *work, int kind, int verb,
                         const tw_cuda_shared_t *shared, size_t i)
{
    const int width = values_width(kind);
    uint32_t  code, v;

    switch (verb) {
    case TW_CUDA_ENCODE:
        code = values_encode(kind, shared, &work->levels, tw_load32(work->src + 4 * i));
        tw_store_bytes(work->dst + (size_t)width * i, code, width);
        break;
    case TW_CUDA_ENCODE_FEEDBACK:
        v    = tw_load32(work->residual + 4 * i);
        code = value_feedback(kind, shared, &work->levels, tw_load32(work->src + 4 * i), &v);
        tw_store32(work->residual + 4 * i, v);
        tw_store_bytes(work->dst + (size_t)width * i, code, width);
        break;
    default:
        code = (uint32_t)tw_load_bytes(work->src + (size_t)width * i, width);
        v    = values_decode(kind, shared, code);
        tw_put_group(work->dst + 4 * i, &v, 1, 0, verb == TW_CUDA_DECODE_ADD);
        break;
    }
}

TW_DEVICE void values_loop(const tw_cuda_work_t *work, int kind, int verb, values_shared_t *shared)
{
    const size_t depth = verb == TW_CUDA_ENCODE_FEEDBACK ? VALUES_FEEDBACK_DEPTH : VALUES_DEPTH;
    uint32_t    *words = shared->words[tw_warp()];

    if (kind == TW_CUDA_FIXED8) {
        tw_cuda_shared_fill(&shared->levels, &work->levels,
                            verb == TW_CUDA_ENCODE || verb == TW_CUDA_ENCODE_FEEDBACK,
                            verb != TW_CUDA_ENCODE);
    }
    for (size_t first = tw_thread() / TW_CUDA_WARP * depth; first < work->rows;
         first += tw_threads() / TW_CUDA_WARP * depth) {
        if (verb == TW_CUDA_ENCODE) {
            rows_encode(work, kind, &shared->levels, words, first);
        } else if (verb == TW_CUDA_ENCODE_FEEDBACK) {
            rows_feedback(work, kind, &shared->levels, words, first);
        } else {
            rows_decode(work, kind, verb == TW_CUDA_DECODE_ADD, &shared->levels, words, first);
        }
    }
    for (size_t i = work->rows * TW_CUDA_ROW + tw_thread(); i < work->n; i += tw_threads()) {
        value_one(work, kind, verb, &shared->levels, i);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

#define VALUES_KERNEL(kind, verb)                                                                  \
    TW_KERNEL(values_##kind##_##verb, TW_CUDA_THREADS, 5)                                          \
    {                                                                                              \
        __shared__ values_shared_t shared;                                                         \
                                                                                                   \
        values_loop(&work, TW_CUDA_##kind, TW_CUDA_##verb, &shared);                               \
    }

/* Truncated and rounded codes decode alike but for one byte; four bytes are copied by cuda.c. */
#define VALUES_EACH(X)                                                                             \
    X(CUT1, ENCODE)                                                                                \
    X(CUT1, DECODE)                                                                                \
    X(CUT1, DECODE_ADD)                                                                            \
    X(CUT1, ENCODE_FEEDBACK)                                                                       \
    X(CUT2, ENCODE)                                                                                \
    X(CUT2, DECODE)                                                                                \
    X(CUT2, DECODE_ADD)                                                                            \
    X(CUT2, ENCODE_FEEDBACK)                                                                       \
    X(CUT3, ENCODE)                                                                                \
    X(CUT3, DECODE)                                                                                \
    X(CUT3, DECODE_ADD)                                                                            \
    X(CUT3, ENCODE_FEEDBACK)                                                                       \
    X(CUT4, DECODE_ADD)                                                                            \
    X(CUT4, ENCODE_FEEDBACK)                                                                       \
    X(ROUND1, ENCODE)                                                                              \
    X(ROUND1, DECODE)                                                                              \
    X(ROUND1, DECODE_ADD)                                                                          \
    X(ROUND1, ENCODE_FEEDBACK)                                                                     \
    X(ROUND2, ENCODE)                                                                              \
    X(ROUND2, ENCODE_FEEDBACK)                                                                     \
    X(ROUND3, ENCODE)                                                                              \
    X(ROUND3, ENCODE_FEEDBACK)                                                                     \
    X(FP16, ENCODE)                                                                                \
    X(FP16, DECODE)                                                                                \
    X(FP16, DECODE_ADD)                                                                            \
    X(FP16, ENCODE_FEEDBACK)                                                                       \
    X(FIXED8, ENCODE)                                                                              \
    X(FIXED8, DECODE)                                                                              \
    X(FIXED8, DECODE_ADD)                                                                          \
    X(FIXED8, ENCODE_FEEDBACK)

VALUES_EACH(VALUES_KERNEL)

#define VALUES_CHOOSE(k, v)                                                                        \
    if (kind == TW_CUDA_##k && verb == TW_CUDA_##v) {                                              \
        return values_##k##_##v;                                                                   \
    }

static tw_cuda_kernel_t values_kernel(tw_cuda_kind_t kind, tw_cuda_verb_t verb)
{
    if (verb == TW_CUDA_DECODE || verb == TW_CUDA_DECODE_ADD) {
        kind = kind == TW_CUDA_ROUND2 ? TW_CUDA_CUT2 : kind == TW_CUDA_ROUND3 ? TW_CUDA_CUT3 : kind;
    }
    VALUES_EACH(VALUES_CHOOSE)
    return NULL;
}

/* Bytes that a lane's codes must lie at a multiple of. */
static size_t values_code_vector(tw_cuda_kind_t kind)
{
    switch (kind) {
    case TW_CUDA_CUT2:
    case TW_CUDA_ROUND2:
    case TW_CUDA_FP16:
        return 8;
    case TW_CUDA_CUT4:
        return 16;
    default:
        return 4;
    }
}

/* Thread blocks that a processor works on at a time; with tables, no more than those are started,
 * for each fills in its own. */
#define VALUES_RESIDENT 5
#define VALUES_MOST     ((size_t)1 << 30)

tw_cuda_launch_t tw_cuda_values_launch(tw_cuda_work_t *work, tw_cuda_kind_t kind,
                                       tw_cuda_verb_t verb, int processors)
{
    const int    decode   = verb == TW_CUDA_DECODE || verb == TW_CUDA_DECODE_ADD;
    const void  *elements = decode ? (const void *)work->dst : (const void *)work->src;
    const void  *codes    = decode ? (const void *)work->src : (const void *)work->dst;
    const size_t depth    = verb == TW_CUDA_ENCODE_FEEDBACK ? VALUES_FEEDBACK_DEPTH : VALUES_DEPTH;
    const size_t most = kind == TW_CUDA_FIXED8 ? (size_t)processors * VALUES_RESIDENT : VALUES_MOST;
    size_t       blocks;

    work->rows = tw_cuda_aligned(elements, 16) &&
                         tw_cuda_aligned(codes, values_code_vector(kind)) &&
                         (verb != TW_CUDA_ENCODE_FEEDBACK || tw_cuda_aligned(work->residual, 16))
                     ? work->n / TW_CUDA_ROW
                     : 0;
    blocks     = work->rows > 0 ? tw_cuda_blocks(work->rows, depth * TW_CUDA_WARPS, most)
                                : tw_cuda_blocks(work->n, VALUES_DEPTH * TW_CUDA_THREADS, most);
    return tw_cuda_launch(values_kernel(kind, verb), blocks, TW_CUDA_THREADS);
}
