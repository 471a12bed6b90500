/* SPDX-License-Identifier: BSD-3-Clause
 * codec/tree8/tree8_avx512.c - tree8 by AVX-512.
 *
 * Encoding: the levels are equally spaced within each segment, a decade's lower or upper part, so
 * the rank of |y| is a line there: one fma gives it in fixed point with 16 bits of fraction, 2^23
 * in the offset putting it into the low bits of the float. Which segment: an octave holds at most
 * one end of a segment; the octave's bias, added to the bits of |y|, puts the segment's number into
 * the place of the exponent, and is such that numbers from that end on carry into the next one. The
 * end is the exact threshold, and what lies between a segment's last level and its end is cut off
 * by a minimum. Why it is exact: slope, offset and fma are off by less than 3 / 65536 of a step in
 * all; the offset is 4 too large, so that a number within 4 / 65536 of a threshold has fraction 0
 * to 7: then, about once in 100 groups, the group is encoded by the search for any table, which
 * compares with the thresholds. Decoding: the levels times the scale, bit for bit those of tree8.c,
 * looked up by planes of bytes. Twin of: tree8.c; same bytes and bits for every input
 * (tests/codec/test_twins.c).
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/codec/absmax_avx512.h"
#include "runtime/codec/levels_avx512.h"
#include "runtime/codec/tree8/tree8.h"

#define LOWEST   0x1p-31f /* below every threshold; its octave is the first of 32, up to 2 */
#define OCTAVES  32
#define SEGMENTS 16
#define STEP     65536.0 /* of the fixed point, for one rank */
#define NEAR     0xfff8  /* fraction bits that are 0 next to a threshold */

typedef struct tree8_tables {
    uint32_t       bias[OCTAVES];
    float          slope[SEGMENTS], offset[SEGMENTS], most[SEGMENTS];
    tw_search512_t search;
} tree8_tables_t;

/* What the loops keep in registers within a block. */
typedef struct tree8_state {
    __m512         factor;
    __m512i        table[5];
    tw_planes512_t planes;
} tree8_state_t;

/* The last rank of the segment that starts at `first`: up to there the levels are equally far
 * apart. */
static int tree8_last(const tw_levels_t *levels, int first)
{
    const float *level = levels->value;
    int          last  = first;

    while (last + 1 < levels->count) {
        const float ratio = (level[last + 1] - level[last]) / (level[first + 1] - level[first]);

        if (ratio < 0.999f || ratio > 1.001f) {
            break;
        }
        last++;
    }
    return last;
}

/* The line through the levels first .. last; the top level alone is flat. */
static void tree8_line(tree8_tables_t *tables, const tw_levels_t *levels, int segment, int first,
                       int last)
{
    const double low = (double)levels->value[first], high = (double)levels->value[last];
    const double step = last > first ? (high - low) / (last - first) : 0.0;
    const double at   = step > 0.0 ? low / step : 0.0;

    tables->slope[segment]  = step > 0.0 ? (float)(STEP / step) : 0.0f;
    tables->offset[segment] = (float)(0x1p23 + 4.0 + STEP * (first + 0.5 - at));
    tables->most[segment]   = (float)(0x1p23 + STEP * (last + 0.5));
}

/* Octaves up to the one that holds `end` start in `segment`; that one carries into the next
 * segment. */
static void tree8_octaves(tree8_tables_t *tables, uint32_t *octave, int segment, uint32_t end)
{
    const uint32_t lowest = tw_float_bits(LOWEST) >> 23;

    for (; *octave < OCTAVES && *octave + lowest <= end >> 23; (*octave)++) {
        tables->bias[*octave] = ((uint32_t)segment - *octave - lowest) << 23;
    }
    if (end >> 23 < lowest + OCTAVES) {
        tables->bias[(end >> 23) - lowest] += (1u << 23) - (end & 0x7fffffu);
    }
}

static bool tree8_prepare(tw_codec_t *codec)
{
    const tw_levels_t *levels = codec->table;
    tree8_tables_t    *tables = calloc(1, sizeof(*tables));
    uint32_t           octave = 0;
    int                last;

    if (tables == NULL) {
        return false;
    }
    for (int first = 0, segment = 0; first < levels->count; first = last + 1, segment++) {
        last = tree8_last(levels, first);
        tree8_line(tables, levels, segment, first, last);
        tree8_octaves(tables, &octave, segment,
                      last + 1 < levels->count ? levels->threshold[last + 1] : 0x7fffffffu);
    }
    tw_search_build512(&tables->search, levels);
    codec->vectors = tables;
    return true;
}

TW_INLINE512 void tree8_start_encode(tree8_state_t *state, const tw_codec_t *codec)
{
    const tree8_tables_t *tables = codec->vectors;

    state->table[0] = _mm512_loadu_si512(tables->bias);
    state->table[1] = _mm512_loadu_si512(tables->bias + 16);
    state->table[2] = _mm512_loadu_si512(tables->slope);
    state->table[3] = _mm512_loadu_si512(tables->offset);
    state->table[4] = _mm512_loadu_si512(tables->most);
}

TW_INLINE512 void tree8_start_decode(tree8_state_t *state, const tw_codec_t *codec, float scale)
{
    const tw_levels_t *levels = codec->table;

    tw_planes_build512(&state->planes, levels->value, _mm512_set1_ps(scale));
}

/* Ranks in fixed point, 2^23 above. */
TW_INLINE512 __m512i tree8_line_at(const tree8_state_t *state, __m512 v)
{
    const __m512  y    = _mm512_mul_ps(v, state->factor);
    const __m512  size = _mm512_range_ps(y, _mm512_set1_ps(LOWEST), 11); /* larger |.|, positive */
    const __m512i bits = _mm512_castps_si512(size);
    const __m512i bias =
        _mm512_permutex2var_epi32(state->table[0], _mm512_srli_epi32(bits, 23), state->table[1]);
    const __m512i segment = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 23);
    const __m512  slope   = _mm512_permutexvar_ps(segment, _mm512_castsi512_ps(state->table[2]));
    const __m512  offset  = _mm512_permutexvar_ps(segment, _mm512_castsi512_ps(state->table[3]));
    const __m512  most    = _mm512_permutexvar_ps(segment, _mm512_castsi512_ps(state->table[4]));

    return _mm512_castps_si512(_mm512_min_ps(_mm512_fmadd_ps(size, slope, offset), most));
}

TW_INLINE512 __mmask16 tree8_near(__m512i line)
{
    return _mm512_testn_epi32_mask(line, _mm512_set1_epi32(NEAR));
}

TW_INLINE512 __m512i tree8_search_at(const tw_search512_t *search, __m512 v, __m512 factor)
{
    const __m512i bits = _mm512_castps_si512(_mm512_mul_ps(v, factor));

    return tw_search512(search, _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff)));
}

static __attribute__((noinline, cold)) __m512i tree8_search(const tw_search512_t *search, __m512 v0,
                                                            __m512 v1, __m512 v2, __m512 v3,
                                                            __m512 factor)
{
    return tw_gather_bytes512(tw_byte_places512(0), tree8_search_at(search, v0, factor),
                              tree8_search_at(search, v1, factor),
                              tree8_search_at(search, v2, factor),
                              tree8_search_at(search, v3, factor));
}

TW_INLINE512 __m512i tree8_codes(const tree8_state_t *state, const tw_codec_t *codec,
                                 const tw_group512_t *g)
{
    const __m512i line0 = tree8_line_at(state, g->v[0]), line1 = tree8_line_at(state, g->v[1]);
    const __m512i line2 = tree8_line_at(state, g->v[2]), line3 = tree8_line_at(state, g->v[3]);
    const __m512i top = tw_gather_bytes512(
        tw_byte_places512(3), _mm512_castps_si512(g->v[0]), _mm512_castps_si512(g->v[1]),
        _mm512_castps_si512(g->v[2]), _mm512_castps_si512(g->v[3]));
    __m512i ranks = tw_gather_bytes512(tw_byte_places512(2), line0, line1, line2, line3);

    if (__builtin_expect(
            (tree8_near(line0) | tree8_near(line1) | tree8_near(line2) | tree8_near(line3)) != 0,
            0)) {
        const tree8_tables_t *tables = codec->vectors;

        ranks = tree8_search(&tables->search, g->v[0], g->v[1], g->v[2], g->v[3], state->factor);
    }
    return _mm512_ternarylogic_epi32(ranks, top, _mm512_set1_epi8((char)0x80),
                                     0xf8); /* a | (b & c) */
}

TW_INLINE512 void tree8_encode_group(const tree8_state_t *state, const tw_codec_t *codec,
                                     const uint8_t *src, size_t m, uint8_t *residual, uint8_t *dst,
                                     bool feedback)
{
    const tw_group512_t v = tw_load_sum512(src, residual, m, feedback);
    const __m512i       c = tree8_codes(state, codec, &v);

    tw_store_code512(dst, c, 0, m, false);
    if (feedback) {
        tw_store512(residual, tw_sub512(v, tw_planes_values512(&state->planes, c)), m, false);
    }
}

/* A block is read twice, for its maximum and for its codes, the second time from the first cache;
 * while it is encoded, the next block is prefetched, so that memory is never idle. */
TW_INLINE512 void tree8_encode_block(tree8_state_t *state, const tw_codec_t *codec,
                                     const uint8_t *src, size_t n, uint8_t *residual, uint8_t *dst,
                                     bool feedback)
{
    const uint32_t most = tw_absmax512(src, residual, n, feedback, false);
    float          factor, scale;
    size_t         i = 0;

    if (!tw_tree8_header(codec, most, n, dst, &factor, &scale)) {
        return;
    }
    dst += TW_TREE8_HEADER;
    state->factor = _mm512_set1_ps(factor);
    if (feedback) {
        tree8_start_decode(state, codec, scale);
    }
    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        tw_prefetch512(src + 4 * i);
        if (feedback) {
            tw_prefetch512(residual + 4 * i);
        }
        tree8_encode_group(state, codec, src + 4 * i, TW_GROUP, tw_at512(residual, i, feedback),
                           dst + i, feedback);
    }
    if (i < n) {
        tree8_encode_group(state, codec, src + 4 * i, n - i, tw_at512(residual, i, feedback),
                           dst + i, feedback);
    }
}

TW_INLINE512 void tree8_encode_blocks(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                      uint8_t *residual, uint8_t *dst, bool feedback)
{
    const size_t  block = codec->block;
    tree8_state_t state;

    tree8_start_encode(&state, codec);
    for (; n > 0; src += 4 * block, dst += TW_TREE8_HEADER + block) {
        const size_t m = n < block ? n : block;

        tree8_encode_block(&state, codec, src, m, residual, dst, feedback);
        residual = tw_at512(residual, block, feedback);
        n -= m;
    }
}

/* Groups of one block from i on, as long as they are whole. Returns where it stopped. */
TW_INLINE512 size_t tree8_decode_run(const tree8_state_t *state, const uint8_t *src, size_t i,
                                     size_t n, uint8_t *dst, bool stream, bool add)
{
    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        tw_group512_t g = tw_planes_values512(&state->planes, _mm512_loadu_si512(src + i));

        if (!stream) {
            tw_prefetch512(dst + 4 * i);
        }
        g = add ? tw_add512(tw_load512(dst + 4 * i, TW_GROUP), g) : g;
        tw_store512(dst + 4 * i, g, TW_GROUP, stream);
    }
    return i;
}

/* The m values of a block from i on, fewer than a group. */
TW_INLINE512 void tree8_decode_end(const tree8_state_t *state, const uint8_t *src, size_t i,
                                   size_t m, uint8_t *dst, bool add)
{
    const __m512i codes = _mm512_maskz_loadu_epi8(tw_first512(m), src + i);
    tw_group512_t g     = tw_planes_values512(&state->planes, codes);

    g = add ? tw_add512(tw_load512(dst + 4 * i, m), g) : g;
    tw_store512(dst + 4 * i, g, m, false);
}

TW_INLINE512 void tree8_decode_blocks(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                      uint8_t *dst, bool stream, bool add)
{
    const size_t  block = codec->block;
    tree8_state_t state;

    for (; n > 0; src += TW_TREE8_HEADER + block, dst += 4 * block) {
        const uint8_t *codes = src + TW_TREE8_HEADER;
        const size_t   m     = n < block ? n : block;
        const size_t   head  = stream ? tw_head512(dst, 4, m) : m;
        size_t         i     = 0;

        n -= m;
        if (tw_block_poison(src, sizeof(float), m, dst)) {
            continue;
        }
        tree8_start_decode(&state, codec, tw_bits_float(tw_load_le32(src)));
        if (head < m) {
            tree8_decode_end(&state, codes, 0, head, dst, false);
            i = tree8_decode_run(&state, codes, head, m, dst, true, false);
        } else {
            i = tree8_decode_run(&state, codes, 0, m, dst, false, add);
        }
        if (i < m) {
            tree8_decode_end(&state, codes, i, m - i, dst, add);
        }
    }
    if (stream) {
        _mm_sfence();
    }
}

TW_VERBS(tree8, tree8_encode_blocks(codec, src, n, residual, dst, feedback),
         tree8_decode_blocks(codec, src, n, dst, stream, add))

extern const tw_kernels_t tw_tree8_avx512;

const tw_kernels_t tw_tree8_avx512 = {.prepare = tree8_prepare, TW_VERBS_OF(tree8)};
