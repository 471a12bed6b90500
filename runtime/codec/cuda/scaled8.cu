/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/scaled8.cu - tree8 and int8: blocks with a scale from their maximum.
 *
 * A team encodes a block: a warp up to 512 values, else a thread block. Each thread keeps 16 values
 * in registers, so a block of up to 4096 is read once; the maximum is found by shuffles, and in a
 * thread block through 8 words of shared memory. Larger blocks are read twice. Maxima are compared
 * as integers: their order does not matter. tree8 finds a level by the one look-up of
 * codec/levels.h, in shared memory. Decoders share out units of 16 values a thread, of which a
 * block has one or more.
 */
#include "runtime/codec/cuda/device.h"

#define SCALED8_HEADER 4
#define SCALED8_GROUPS (TW_CUDA_TILE / TW_CUDA_GROUP)

typedef struct scaled8_shared {
    tw_cuda_shared_t levels;
    uint32_t         most[2][TW_CUDA_WARPS];
} scaled8_shared_t;

/* A team of `size` threads, and the first value of group g of thread t in a tile. */
TW_DEVICE size_t group_at(unsigned size, unsigned t, int g)
{
    return (size_t)TW_CUDA_GROUP * ((size_t)g * size + t);
}

/* Which NaN it may be does not matter here: the block is poison. */
TW_DEVICE uint32_t scaled8_sum(uint32_t src, uint32_t residual)
{
    return tw_cuda_bits(tw_cuda_float(src) + tw_cuda_float(residual));
}

/* One tile of a block of m values at src, from value i0 on: src, or src + residual if there is one;
 * beyond m zeros. */
TW_DEVICE void tile_load(uint32_t *v, const uint8_t *src, const uint8_t *residual, size_t m,
                         size_t i0, unsigned size, unsigned t, int vector)
{
    uint32_t r[TW_CUDA_GROUP];

    if (vector && i0 + (size_t)TW_CUDA_TILE * size <= m) {
        TW_UNROLL
        for (int g = 0; g < SCALED8_GROUPS; g++) {
            tw_load_group(v + TW_CUDA_GROUP * g, src + 4 * (i0 + group_at(size, t, g)));
        }
        if (residual != NULL) {
            TW_UNROLL
            for (int g = 0; g < SCALED8_GROUPS; g++) {
                tw_load_group(r, residual + 4 * (i0 + group_at(size, t, g)));
                TW_UNROLL
                for (int j = 0; j < TW_CUDA_GROUP; j++) {
                    v[TW_CUDA_GROUP * g + j] = scaled8_sum(v[TW_CUDA_GROUP * g + j], r[j]);
                }
            }
        }
        return;
    }
    TW_UNROLL
    for (int g = 0; g < SCALED8_GROUPS; g++) {
        TW_UNROLL
        for (int j = 0; j < TW_CUDA_GROUP; j++) {
            const size_t i = i0 + group_at(size, t, g) + (size_t)j;
            uint32_t     u = 0;

            if (i < m) {
                u = tw_load32(src + 4 * i);
                u = residual != NULL ? scaled8_sum(u, tw_load32(residual + 4 * i)) : u;
            }
            v[TW_CUDA_GROUP * g + j] = u;
        }
    }
}

/* The largest of all threads of a team. turn alternates from one call to the next: whoever writes
 * for the call after the next has seen everyone read this one's. */
TW_DEVICE uint32_t team_most(uint32_t most, unsigned size, scaled8_shared_t *shared, int turn)
{
    uint32_t *all = shared->most[turn];

    most = __reduce_max_sync(TW_CUDA_ALL, most);
    if (size == TW_CUDA_WARP) {
        return most;
    }
    if (tw_lane() == 0) {
        all[tw_warp()] = most;
    }
    __syncthreads();
    TW_UNROLL
    for (int w = 0; w < TW_CUDA_WARPS; w++) {
        most = all[w] > most ? all[w] : most;
    }
    return most;
}

TW_DEVICE uint32_t scaled8_code(int type, const scaled8_shared_t *shared,
                                const tw_cuda_levels_t *levels, uint32_t x, float factor)
{
    return type == TW_CUDA_TREE8
               ? tw_cuda_tree8(shared->levels.bins, levels->low, levels->high, x, factor)
               : tw_cuda_int8(x, factor);
}

TW_DEVICE uint32_t scaled8_value(int type, const scaled8_shared_t *shared, uint32_t code,
                                 float scale)
{
    return type == TW_CUDA_TREE8 ? tw_cuda_bits(tw_cuda_float(shared->levels.value[code]) * scale)
                                 : tw_cuda_bits(tw_cuda_from_int8(code, scale));
}

/* The codes of a tile, and with a residual what they leave. codes and residual begin with the
 * block. */
TW_DEVICE void tile_encode(const tw_cuda_work_t *work, int type, const scaled8_shared_t *shared,
                           const uint32_t *v, tw_cuda_scaling_t scaling, uint8_t *codes,
                           uint8_t *residual, size_t m, size_t i0, unsigned size, unsigned t)
{
    TW_UNROLL
    for (int g = 0; g < SCALED8_GROUPS; g++) {
        const size_t i = i0 + group_at(size, t, g);
        uint32_t     code[TW_CUDA_GROUP], rest[TW_CUDA_GROUP];

        if (i >= m) {
            continue;
        }
        TW_UNROLL
        for (int j = 0; j < TW_CUDA_GROUP; j++) {
            const uint32_t x = v[TW_CUDA_GROUP * g + j];

            code[j] =
                scaling.poison ? 0 : scaled8_code(type, shared, &work->levels, x, scaling.factor);
            if (residual != NULL) {
                const uint32_t back =
                    scaled8_value(type, shared, code[j], tw_cuda_float(scaling.scale));

                rest[j] = tw_cuda_bits(tw_cuda_float(x) - tw_cuda_float(back));
            }
        }
        if (work->vector && i + TW_CUDA_GROUP <= m) {
            *(tw_cu_word_t *)(codes + i) = code[0] | code[1] << 8 | code[2] << 16 | code[3] << 24;
        } else {
            TW_UNROLL
            for (size_t j = 0; j < TW_CUDA_GROUP; j++) {
                if (i + j < m) {
                    codes[i + j] = (uint8_t)code[j];
                }
            }
        }
        if (residual != NULL && !scaling.poison) {
            tw_put_group(residual + 4 * i, rest, m - i, work->vector, 0);
        }
    }
}

/* many: blocks may be larger than a tile, and are then read twice. */
TW_DEVICE void scaled8_encode(const tw_cuda_work_t *work, int type, int feedback, unsigned size,
                              int many, scaled8_shared_t *shared)
{
    const unsigned t     = threadIdx.x % size;
    const size_t   tile  = (size_t)TW_CUDA_TILE * size;
    const size_t   teams = tw_threads() / size;
    int            turn  = 0;

    if (type == TW_CUDA_TREE8) {
        tw_cuda_shared_fill(&shared->levels, &work->levels, 1, feedback);
    }
    for (size_t b = tw_thread() / size; b < work->blocks; b += teams) {
        const size_t      first    = b * work->block;
        const size_t      m        = work->n - first < work->block ? work->n - first : work->block;
        const uint8_t    *src      = work->src + 4 * first;
        uint8_t          *residual = feedback ? work->residual + 4 * first : NULL;
        uint8_t          *dst      = work->dst + b * (SCALED8_HEADER + work->block);
        tw_cuda_scaling_t scaling;
        uint32_t          v[TW_CUDA_TILE], most = 0;

        for (size_t i0 = 0; i0 < (many ? m : 1); i0 += tile) {
            tile_load(v, src, residual, m, i0, size, t, work->vector);
            TW_UNROLL
            for (int i = 0; i < TW_CUDA_TILE; i++) {
                most = (v[i] & 0x7fffffffu) > most ? v[i] & 0x7fffffffu : most;
            }
        }
        scaling = tw_cuda_scale((tw_cuda_scaled_t)type, team_most(most, size, shared, turn));
        turn    = 1 - turn;
        if (t == 0) {
            tw_store32(dst, scaling.scale);
        }
        for (size_t i0 = 0; i0 < (many ? m : 1); i0 += tile) {
            if (many && m > tile) {
                tile_load(v, src, residual, m, i0, size, t, work->vector);
            }
            tile_encode(work, type, shared, v, scaling, dst + SCALED8_HEADER, residual, m, i0, size,
                        t);
        }
    }
}

/* The bits of 4 codes, packed, that stand at value i of m. */
TW_DEVICE uint32_t codes_load(const uint8_t *codes, size_t i, size_t m, int vector)
{
    uint32_t packed = 0;

    if (vector && i + TW_CUDA_GROUP <= m) {
        return *(const tw_cu_word_t *)(codes + i);
    }
    for (size_t j = 0; j < TW_CUDA_GROUP; j++) {
        packed |= i + j < m ? (uint32_t)codes[i + j] << 8 * j : 0;
    }
    return packed;
}

TW_DEVICE void scaled8_decode(const tw_cuda_work_t *work, int type, int add, unsigned size,
                              scaled8_shared_t *shared)
{
    const unsigned t     = threadIdx.x % size;
    const size_t   tile  = (size_t)TW_CUDA_TILE * size;
    const size_t   teams = tw_threads() / size;

    if (type == TW_CUDA_TREE8) {
        tw_cuda_shared_fill(&shared->levels, &work->levels, 0, 1);
    }
    for (size_t unit = tw_thread() / size; unit < work->units; unit += teams) {
        const size_t   b     = work->units_per_block > 1 ? unit / work->units_per_block : unit;
        const size_t   i0    = (unit - b * work->units_per_block) * tile;
        const size_t   first = b * work->block;
        const size_t   m     = work->n - first < work->block ? work->n - first : work->block;
        const uint8_t *src   = work->src + b * (SCALED8_HEADER + work->block);
        const uint32_t scale = tw_load32(src);
        uint32_t       packed[SCALED8_GROUPS];

        TW_UNROLL
        for (int g = 0; g < SCALED8_GROUPS; g++) {
            const size_t i = i0 + group_at(size, t, g);

            packed[g] = i < m ? codes_load(src + SCALED8_HEADER, i, m, work->vector) : 0;
        }
        TW_UNROLL
        for (int g = 0; g < SCALED8_GROUPS; g++) {
            const size_t i = i0 + group_at(size, t, g);
            uint32_t     v[TW_CUDA_GROUP];

            TW_UNROLL
            for (int j = 0; j < TW_CUDA_GROUP; j++) {
                v[j] =
                    scaled8_value(type, shared, packed[g] >> 8 * j & 0xffu, tw_cuda_float(scale));
                v[j] = tw_cuda_finite(scale) ? v[j] : TW_CUDA_NAN;
            }
            if (i < m) {
                tw_put_group(work->dst + 4 * (first + i), v, m - i, work->vector, add);
            }
        }
    }
}

/* ---- kernels ----------------------------------------------------------------------------------
 */

/* Thread blocks that a processor holds at a time; no more encoders are started, as each fills in a
 * table of its own. */
#define SCALED8_ENCODE   6
#define SCALED8_DECODE   4
#define SCALED8_FEEDBACK 4
/* Units of each team of the decoders, whose table is small: on an H100 one is the fastest, but four
 * where elements are read, too (2.04 -> 1.84 ps a value, and 3.42 -> 3.37, beside as many blocks as
 * it holds). */
#define SCALED8_DECODE_EACH 1
#define SCALED8_ADD_EACH    4

#define SCALED8_KERNEL(name, resident, call)                                                       \
    TW_KERNEL(name, TW_CUDA_THREADS, resident)                                                     \
    {                                                                                              \
        __shared__ scaled8_shared_t shared;                                                        \
                                                                                                   \
        call;                                                                                      \
    }
#define SCALED8_KERNELS(type)                                                                      \
    SCALED8_KERNEL(type##_encode_warp, SCALED8_ENCODE,                                             \
                   scaled8_encode(&work, TW_CUDA_##type, 0, TW_CUDA_WARP, 0, &shared))             \
    SCALED8_KERNEL(type##_encode, SCALED8_ENCODE,                                                  \
                   scaled8_encode(&work, TW_CUDA_##type, 0, TW_CUDA_THREADS, 0, &shared))          \
    SCALED8_KERNEL(type##_encode_many, SCALED8_ENCODE,                                             \
                   scaled8_encode(&work, TW_CUDA_##type, 0, TW_CUDA_THREADS, 1, &shared))          \
    SCALED8_KERNEL(type##_feedback_warp, SCALED8_FEEDBACK,                                         \
                   scaled8_encode(&work, TW_CUDA_##type, 1, TW_CUDA_WARP, 0, &shared))             \
    SCALED8_KERNEL(type##_feedback, SCALED8_FEEDBACK,                                              \
                   scaled8_encode(&work, TW_CUDA_##type, 1, TW_CUDA_THREADS, 0, &shared))          \
    SCALED8_KERNEL(type##_feedback_many, SCALED8_FEEDBACK,                                         \
                   scaled8_encode(&work, TW_CUDA_##type, 1, TW_CUDA_THREADS, 1, &shared))          \
    SCALED8_KERNEL(type##_decode_warp, SCALED8_DECODE,                                             \
                   scaled8_decode(&work, TW_CUDA_##type, 0, TW_CUDA_WARP, &shared))                \
    SCALED8_KERNEL(type##_decode, SCALED8_DECODE,                                                  \
                   scaled8_decode(&work, TW_CUDA_##type, 0, TW_CUDA_THREADS, &shared))             \
    SCALED8_KERNEL(type##_add_warp, SCALED8_DECODE,                                                \
                   scaled8_decode(&work, TW_CUDA_##type, 1, TW_CUDA_WARP, &shared))                \
    SCALED8_KERNEL(type##_add, SCALED8_DECODE,                                                     \
                   scaled8_decode(&work, TW_CUDA_##type, 1, TW_CUDA_THREADS, &shared))

SCALED8_KERNELS(TREE8)
SCALED8_KERNELS(INT8)

/* For blocks of up to 512 values, of up to 4096, and larger. */
typedef enum scaled8_size {
    SCALED8_BY_WARP,
    SCALED8_BY_BLOCK,
    SCALED8_BY_MANY,
    SCALED8_COUNT
} scaled8_size_t;

#define SCALED8_SIZES(type)                                                                        \
    {                                                                                              \
        {type##_encode_warp, type##_encode, type##_encode_many},                                   \
            {type##_decode_warp, type##_decode, type##_decode},                                    \
            {type##_add_warp, type##_add, type##_add},                                             \
        {                                                                                          \
            type##_feedback_warp, type##_feedback, type##_feedback_many                            \
        }                                                                                          \
    }

static const tw_cuda_kernel_t scaled8_kernels[TW_CUDA_SCALED][TW_CUDA_VERBS][SCALED8_COUNT] = {
    SCALED8_SIZES(TREE8), SCALED8_SIZES(INT8)};

tw_cuda_launch_t tw_cuda_scaled8_launch(tw_cuda_work_t *work, tw_cuda_scaled_t type,
                                        tw_cuda_verb_t verb, int processors)
{
    const int    decode   = verb == TW_CUDA_DECODE || verb == TW_CUDA_DECODE_ADD;
    const void  *elements = decode ? (const void *)work->dst : (const void *)work->src;
    const void  *codes    = decode ? (const void *)work->src : (const void *)work->dst;
    const size_t by_warp = TW_CUDA_TILE * TW_CUDA_WARP, by_block = TW_CUDA_TILE * TW_CUDA_THREADS;
    const scaled8_size_t size = work->block <= by_warp    ? SCALED8_BY_WARP
                                : work->block <= by_block ? SCALED8_BY_BLOCK
                                                          : SCALED8_BY_MANY;
    const size_t         team = size == SCALED8_BY_WARP ? TW_CUDA_WARP : TW_CUDA_THREADS,
                 tile         = TW_CUDA_TILE * team;
    const size_t rest         = work->n % work->block;
    const size_t teams        = TW_CUDA_THREADS / team;
    const size_t each         = verb == TW_CUDA_DECODE ? SCALED8_DECODE_EACH : SCALED8_ADD_EACH;
    const size_t resident     = verb == TW_CUDA_ENCODE ? SCALED8_ENCODE : SCALED8_FEEDBACK;

    work->vector = tw_cuda_aligned(elements, 16) && tw_cuda_aligned(codes, 4) &&
                   (verb != TW_CUDA_ENCODE_FEEDBACK || tw_cuda_aligned(work->residual, 16));
    work->blocks          = work->n / work->block + (rest > 0);
    work->units_per_block = (work->block + tile - 1) / tile;
    work->units = work->n / work->block * work->units_per_block + (rest + tile - 1) / tile;
    return tw_cuda_launch(scaled8_kernels[type][verb][size],
                          decode
                              ? tw_cuda_blocks(work->units, teams * each, (size_t)1 << 30)
                              : tw_cuda_blocks(work->blocks, teams, (size_t)processors * resident),
                          TW_CUDA_THREADS);
}
