/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_avx2.c - `int` of float32 by AVX2, a loop for each number of bits; blocks
 * of 8 bits are int8_avx2.c.
 * Twin of: int_f32.c; same bytes and bits for every input.
 */
#include "config.h"

#include "runtime/codec/int/int_avx2.h"

TW_INLINE void encode_group(const void *self, int bits, const uint8_t *src, uint8_t *residual,
                            uint8_t *dst)
{
    const tw_int_how_t *how   = self;
    const __m256        magic = _mm256_set1_ps(0x1.8p23f);

#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const __m256 x = _mm256_loadu_ps((const float *)(const void *)(src + 32 * j));
        float       *r = residual != NULL ? (float *)(void *)(residual + 32 * j) : NULL;
        const __m256 v = r != NULL ? _mm256_add_ps(x, _mm256_loadu_ps(r)) : x;
        const __m256 y = _mm256_add_ps(_mm256_mul_ps(v, how->factor), magic);

        if (r != NULL) {
            const __m256 back = _mm256_mul_ps(_mm256_sub_ps(y, magic), how->scale);

            _mm256_storeu_ps(r, _mm256_sub_ps(v, back));
        }
        tw_int_pack2(how, bits, _mm256_castps_si256(y), dst + bits * j);
    }
}

TW_INLINE void decode_group(const void *self, int bits, const uint8_t *src, uint8_t *dst, bool add,
                            bool stream)
{
    const tw_int_how_t *how = self;

#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const __m256i c = tw_int_unpack2(how, bits, src + bits * j);
        const __m256  v = _mm256_mul_ps(_mm256_cvtepi32_ps(c), how->scale);
        float        *p = (float *)(void *)(dst + 32 * j);

        tw_store_next(p, add ? _mm256_add_ps(_mm256_loadu_ps(p), v) : v, stream);
    }
}

static const tw_int_set_t float_set = TW_INT_SET2(encode_group, decode_group);

#define LOOPS(bits)    TW_INT_LOOPS2(float_##bits, float_set, bits, 4)
#define LOOPS_OF(bits) [bits] = &float_##bits,

TW_INT_EACH_F32(LOOPS)

static const tw_kernels_t *const tw_int32_avx2[TW_INT_BITS_F32 + 1] = {TW_INT_EACH_F32(LOOPS_OF)};

extern const tw_kernels_t tw_int8_avx2;

TW_KERNELS_CHOSEN(tw_int_avx2, codec->dtype == TW_F64 ? tw_int64_avx2[tw_int(codec)->bits]
                               : tw_int(codec)->bits == 8 && !tw_int(codec)->grid
                                   ? &tw_int8_avx2
                                   : tw_int32_avx2[tw_int(codec)->bits]);
