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

#include "runtime/codec/scaled8_avx512.h"

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

TW_INLINE512 void tree8_start_encode(tw_state512_t *state, const tw_codec_t *codec)
{
    const tree8_tables_t *tables = codec->vectors;

    state->table[0] = _mm512_loadu_si512(tables->bias);
    state->table[1] = _mm512_loadu_si512(tables->bias + 16);
    state->table[2] = _mm512_loadu_si512(tables->slope);
    state->table[3] = _mm512_loadu_si512(tables->offset);
    state->table[4] = _mm512_loadu_si512(tables->most);
}

TW_INLINE512 void tree8_start_decode(tw_state512_t *state, const tw_codec_t *codec, float scale)
{
    const tw_levels_t *levels = codec->table;

    tw_planes_build512(&state->planes, levels->value, _mm512_set1_ps(scale));
}

/* Ranks in fixed point, 2^23 above. */
TW_INLINE512 __m512i tree8_line_at(const tw_state512_t *state, __m512 v)
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

TW_INLINE512 __m512i tree8_codes(const tw_state512_t *state, const tw_codec_t *codec,
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

TW_INLINE512 tw_group512_t tree8_values(const tw_state512_t *state, __m512i codes)
{
    return tw_planes_values512(&state->planes, codes);
}

static const tw_scaled512_t tree8_type = {
    .numerator    = 1.0f,
    .least        = 0x1p-126f,
    .start_encode = tree8_start_encode,
    .start_decode = tree8_start_decode,
    .codes        = tree8_codes,
    .values       = tree8_values,
};

TW_SCALED8_KERNELS512(tw_tree8_avx512, tree8_type, tree8_prepare);
