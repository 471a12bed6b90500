/* SPDX-License-Identifier: BSD-3-Clause
 * tests/cross/numbers.c - see numbers.h.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "tests/cross/numbers.h"

static uint64_t state;

void seed(uint64_t start)
{
    state = start;
}

uint32_t draw(void) /* splitmix64 */
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

static float draw_normal(void)
{
    int32_t sum = 0;

    for (int i = 0; i < 6; i++) {
        sum += (int32_t)(draw() >> 8) - (1 << 23);
    }
    return (float)sum * 0x1p-24f;
}

static uint32_t draw_tie(void)
{
    static const int drops[] = {8, 13, 16, 24};
    const int        drop    = drops[draw() % 4];

    return (draw() >> drop << drop) + (1u << (drop - 1)) + draw() % 5 - 2;
}

/* All of a vector near the same limit, and half of its vectors wholly below it. */
static uint32_t draw_edge(uint32_t same)
{
    static const float limits[] = {0x1p-126f, 0x1p-119f, 0x1p-24f, 0x1p-14f, 65520.0f, 0x1.8p-149f};

    return (tw_float_bits(limits[same % 6]) + same / 6 % 2 - draw() % 2) ^ (draw() & 0x80000000u);
}

static uint32_t draw_bits(kind_t kind, uint32_t same)
{
    const uint32_t u = draw();

    switch (kind) {
    case WIDE:
        return (u & 0x7f800000u) == 0x7f800000u ? u ^ 0x40000000u : u;
    case ZERO:
        return u & 0x80000000u;
    case DENORMAL:
        return u & 0x807fffffu;
    case HUGE_ONES:
        return (u & 0x81ffffffu) + 0x7d800000u;
    case EQUAL:
        return same;
    case SMALL:
        return u % 61 == 0 ? tw_float_bits(1.0f) : tw_float_bits(-1e-30f * (float)(u >> 8));
    case EDGE:
        return draw_edge(same);
    case TIES:
        return draw_tie();
    case BITS:
        return u;
    case RARE_INF:
        return u % 700 == 0 ? draw() | 0x7f800000u : tw_float_bits(draw_normal());
    default:
        return tw_float_bits(draw_normal());
    }
}

void fill(uint8_t *dst, kind_t kind, size_t n)
{
    const uint32_t same = tw_float_bits(draw_normal());

    for (size_t i = 0; i < n; i++) {
        const uint32_t u = draw_bits(kind, same);

        memcpy(dst + 4 * i, &u, 4);
    }
}
