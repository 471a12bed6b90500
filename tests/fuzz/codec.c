/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/codec.c - any bytes as codes and as elements, by every codec and instruction set; the
 * scalar version says what must come out.
 *
 * Input: codec, offset of the buffers, number of values (2 bytes), then the bytes.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/codec.h>

#include "runtime/base/bytes.h"
#include "tests/codec/specs.h"
#include "tests/fuzz/target.h"

#define MOST  5000 /* values */
#define GUARD 64

enum { LEVELS = 3 };

/* [0] is scalar; the best that this processor has, and what THINWIRE_CPU=avx2 gives, behind it. */
static tw_codec_t *(*codecs)[LEVELS];

static void begin(void)
{
    static const char *const levels[LEVELS] = {"scalar", "auto", "avx2"};

    codecs = calloc((size_t)test_spec_count, sizeof(*codecs));
    fuzz_check(codecs != NULL, "there is memory");
    for (int l = 0; l < LEVELS; l++) {
        setenv("THINWIRE_CPU", levels[l], 1);
        for (int s = 0; s < test_spec_count; s++) {
            if (tw_codec_create(fuzz_context(), test_specs[s].spec, test_specs[s].dtype,
                                &codecs[s][l], NULL, 0) != TW_OK) {
                fuzz_check(l == 2, "every codec is there"); /* no x86: there is no avx2 */
                codecs[s][l] = codecs[s][0];
            }
        }
    }
}

/* Bytes at an odd address with a guard behind them. */
typedef struct room {
    uint8_t *base, *data;
    size_t   bytes;
} room_t;

static room_t room(size_t bytes, size_t offset)
{
    room_t r = {.base = malloc(bytes + offset + GUARD), .bytes = bytes};

    fuzz_check(r.base != NULL, "there is memory");
    r.data = r.base + offset;
    memset(r.data, 0x5a, bytes + GUARD);
    return r;
}

static void room_free(room_t *r)
{
    for (size_t i = 0; i < GUARD; i++) {
        fuzz_check(r->data[r->bytes + i] == 0x5a, "nothing is written behind the result");
    }
    free(r->base);
}

/* The same elements; where an addition was made, a NaN is any NaN. */
static bool same(const void *a, const void *b, size_t n, tw_dtype_t dtype, bool any_nan)
{
    const uint8_t *x = a, *y = b;
    const size_t   element = tw_dtype_size(dtype);

    if (memcmp(a, b, n * element) == 0) {
        return true;
    }
    for (size_t i = 0; any_nan && i < n; i++) {
        double p = 0, q = 0;
        float  f, g;

        if (memcmp(x + i * element, y + i * element, element) == 0) {
            continue;
        }
        memcpy(&f, x + i * element, sizeof(f));
        memcpy(&g, y + i * element, sizeof(g));
        memcpy(&p, x + i * element, element < sizeof(p) ? 0 : sizeof(p));
        memcpy(&q, y + i * element, element < sizeof(q) ? 0 : sizeof(q));
        if (dtype == TW_F32 ? f == f || g == g : p == p || q == q) {
            return false;
        }
    }
    return any_nan;
}

typedef struct outcome {
    room_t values, sum, codes, again, residual;
} outcome_t;

static bool has_nan(const void *values, size_t n, tw_dtype_t dtype)
{
    const uint8_t *at = values;

    for (size_t i = 0; i < n; i++) {
        const uint64_t wide = dtype == TW_F64 ? tw_load_le64(at + 8 * i) : 0;
        const uint32_t bits = dtype == TW_F32 ? tw_load_le32(at + 4 * i) : 0;

        if ((bits & 0x7fffffffu) > 0x7f800000u ||
            (wide & INT64_MAX) > UINT64_C(0x7ff0000000000000)) {
            return true;
        }
    }
    return false;
}

static outcome_t go(const tw_codec_t *codec, tw_dtype_t dtype, size_t n, size_t size, size_t offset,
                    const fuzz_bytes_t *from)
{
    const size_t bytes = n * tw_dtype_size(dtype);
    room_t       code = room(size, offset), element = room(bytes, offset);
    outcome_t    out = {room(bytes, offset), room(bytes, offset), room(size, offset),
                        room(size, offset), room(bytes, offset)};

    fuzz_fill(from, code.data, size);
    fuzz_fill(from, element.data, bytes);
    fuzz_fill(from, out.sum.data, bytes);
    memset(out.residual.data, 0, bytes);
    fuzz_check(tw_codec_decode(codec, NULL, code.data, n, out.values.data) == TW_OK &&
                   tw_codec_decode_add(codec, NULL, code.data, n, out.sum.data) == TW_OK &&
                   tw_codec_encode(codec, NULL, element.data, n, out.codes.data) == TW_OK &&
                   tw_codec_encode_feedback(codec, NULL, element.data, n, out.residual.data,
                                            out.again.data) == TW_OK &&
                   tw_codec_encode_feedback(codec, NULL, element.data, n, out.residual.data,
                                            out.again.data) == TW_OK,
               "any bytes are coded and decoded");
    room_free(&code);
    room_free(&element);
    return out;
}

static void outcome_free(outcome_t *out)
{
    room_free(&out->values);
    room_free(&out->sum);
    room_free(&out->codes);
    room_free(&out->again);
    room_free(&out->residual);
}

static bool run(const uint8_t *data, size_t size)
{
    fuzz_bytes_t from   = {data, size};
    const int    s      = fuzz_byte(&from) % test_spec_count;
    const size_t offset = fuzz_byte(&from) % 65, n = fuzz_word(&from) % MOST;
    size_t       bytes = 0;
    outcome_t    want;

    fuzz_check(tw_codec_size(codecs[s][0], n, &bytes) == TW_OK, "there is a size");
    want = go(codecs[s][0], test_specs[s].dtype, n, bytes, offset, &from);
    for (int l = 1; l < LEVELS; l++) {
        outcome_t got = go(codecs[s][l], test_specs[s].dtype, n, bytes, offset, &from);

        fuzz_check(same(got.values.data, want.values.data, n, test_specs[s].dtype, false),
                   "decoded bits are the scalar ones");
        fuzz_check(same(got.sum.data, want.sum.data, n, test_specs[s].dtype, true),
                   "sums are the scalar ones");
        fuzz_check(memcmp(got.codes.data, want.codes.data, bytes) == 0,
                   "codes are the scalar ones");
        if (!has_nan(want.sum.data, n,
                     test_specs[s].dtype)) { /* NaN + 0 has any sign and payload */
            fuzz_check(
                memcmp(got.again.data, want.again.data, bytes) == 0 &&
                    same(got.residual.data, want.residual.data, n, test_specs[s].dtype, true),
                "codes and residuals with feedback are the scalar ones");
        }
        outcome_free(&got);
    }
    outcome_free(&want);
    return true;
}

/* Per codec: short and long, of small numbers. */
static size_t seed(int index, uint8_t *data)
{
    const int    n     = index % 2 == 0 ? 67 : 4500;
    const size_t bytes = 4 + 4u * 67;

    if (index >= 2 * test_spec_count) {
        return 0;
    }
    data[0] = (uint8_t)(index / 2);
    data[1] = (uint8_t)index;
    data[2] = (uint8_t)n;
    data[3] = (uint8_t)(n >> 8);
    for (size_t i = 0; i < 67; i++) {
        const float x = (float)(i % 13) - 6.0f + (float)i * 1e-3f;

        memcpy(data + 4 + 4 * i, &x, sizeof(x));
    }
    return bytes;
}

const fuzz_target_t fuzz_codec = {"codec", false, begin, run, seed};
