/* SPDX-License-Identifier: BSD-3-Clause
 * codec/square_sum.c - the sum of squares of a vector, in plain C: the definition.
 * Twins: square_sum_avx2.c, square_sum_avx512.c, square_sum_vec4.c, the same bits
 * (tests/codec/test_square_sum.c, tests/cross).
 */
#include "config.h"

#include "runtime/codec/chunk.h"
#include "runtime/codec/square_sum.h"

double tw_square_sum_scalar(const uint8_t *src, size_t n)
{
    double lane[TW_SQUARE_LANES] = {0.0};
    float  v[TW_CHUNK];

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        tw_chunk_read(v, src + sizeof(float) * i, m);
        for (size_t g = 0; g < m; g += TW_SQUARE_LANES) {
            for (size_t j = 0; j < TW_SQUARE_LANES; j++) {
                lane[j] += (double)v[g + j] * (double)v[g + j];
            }
        }
    }
    return tw_square_tree(lane);
}
