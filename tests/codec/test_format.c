/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_format.c - docs/wire-format.md against the code: bytes worked out by hand, and
 * the level tables printed there.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/codec/common.h"
#include "tests/codec/format.h"

#define MOST 8

static const struct {
    const char *spec;
    size_t      n;
    float       values[MOST];
    size_t      bytes;
    uint8_t     codes[4 * MOST];
} examples[] = {
    {"fp32", 2, {1.0f, -2.5f}, 8, {0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x20, 0xc0}},
    {"bitpack:1", 2, {1.0f, -2.5f}, 2, {0x3f, 0xc0}},
    {"bitpack:2", 2, {1.0f, 0x1.921fb6p1f}, 4, {0x80, 0x3f, 0x49, 0x40}},
    {"bitpack:3", 2, {1.0f, 0x1.921fb6p1f}, 6, {0x00, 0x80, 0x3f, 0x0f, 0x49, 0x40}},
    {"bitpack:3,round", 1, {0x1.921fb6p1f}, 3, {0x10, 0x49, 0x40}},
    {"bitpack:4", 1, {0x1.921fb6p1f}, 4, {0xdb, 0x0f, 0x49, 0x40}},
    /* ties: 1 + 2^-8 is halfway from 1 to 1 + 2^-7, 1 + 3 * 2^-8 from there to 1 + 2^-6 */
    {"bitpack:2,round", 2, {0x1.01p0f, 0x1.03p0f}, 4, {0x80, 0x3f, 0x82, 0x3f}},
    {"bitpack:1,round", 4, {1.0f, -INFINITY, 0x1p126f, 0x1p122f}, 4, {0x40, 0xfe, 0x7e, 0x7c}},
    {"bf16", 3, {1.0f, 0x1.01p0f, -INFINITY}, 6, {0x80, 0x3f, 0x80, 0x3f, 0x80, 0xff}},
    {"fp16",
     4,
     {1.0f, -65504.0f, 0x1p-24f, 65520.0f},
     8,
     {0x00, 0x3c, 0xff, 0xfb, 0x01, 0x00, 0x00, 0x7c}},
    /* twice S1's numbers, so that the scale is 2: 0.2345678 is field 0x4c, 0.23671875 */
    {"tree8:block=64",
     8,
     {2.0f, -1.0f, 0.4691356f, -0.0f, 4.68e-5f, -2e-9f, 0.0f, 1.8f},
     12,
     {0x00, 0x00, 0x00, 0x40, 0x7f, 0xe2, 0x4c, 0x80, 0x04, 0x80, 0x00, 0x7a}},
    {"tree8:block=64", 2, {0x1p-127f, -0x1p-127f}, 6, {0x00, 0x00, 0x00, 0x00, 0x00, 0x80}},
    {"tree8:block=64", 2, {1.0f, INFINITY}, 6, {0x00, 0x00, 0xc0, 0x7f, 0x00, 0x00}},
    {"int8:block=64",
     6,
     {127.0f, -63.5f, 0.5f, 1.5f, -0.0f, -127.0f},
     10,
     {0x00, 0x00, 0x80, 0x3f, 0x7f, 0xc0, 0x00, 0x02, 0x00, 0x81}},
    {"int8:block=64", 2, {0x1p-120f, -0x1p-120f}, 6, {0}},
    {"int8:block=64", 2, {-1.0f, NAN}, 6, {0x00, 0x00, 0xc0, 0x7f, 0x00, 0x00}},
    {"static8",
     8,
     {0.2345678f, 1.0f, -9.3125f, 100.0f, -1e-12f, NAN, INFINITY, -0.0f},
     8,
     {0x63, 0x70, 0xff, 0x7f, 0x00, 0x80, 0x80, 0x00}},
    {"mantissa8",
     8,
     {10.0f, 0.2f, -150.0f, 1000.0f, -1e-12f, NAN, -INFINITY, 1.0f},
     8,
     {0x6a, 0x52, 0xff, 0x7f, 0x00, 0x80, 0x80, 0x5a}},
    {"onebit:block=64",
     5,
     {1.0f, -1.0f, 3.0f, -3.0f, 5.0f},
     9,
     {0x00, 0x00, 0x40, 0x40, 0x00, 0x00, 0x00, 0xc0, 0x0a}},
    {"onebit:block=64", 2, {1.0f, NAN}, 9, {0x00, 0x00, 0xc0, 0x7f, 0x00, 0x00, 0xc0, 0x7f, 0x00}},
};

START_TEST(examples_have_these_bytes)
{
    tw_codec_t *codec = test_codec(examples[_i].spec, TW_F32);
    uint8_t    *codes = test_encode(codec, examples[_i].values, examples[_i].n);

    ck_assert_uint_eq(test_size(codec, examples[_i].n), examples[_i].bytes);
    for (size_t i = 0; i < examples[_i].bytes; i++) {
        ck_assert_msg(codes[i] == examples[_i].codes[i], "byte %zu is 0x%02x, should be 0x%02x", i,
                      codes[i], examples[_i].codes[i]);
    }
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(doubles_have_these_bytes)
{
    const double  values[] = {1.0, -0x1.23456789abcdep3};
    const uint8_t want[]   = {0x00, 0xf0, 0x3f, 0x34, 0x22, 0xc0};
    tw_codec_t   *codec    = test_codec("bitpack:3", TW_F64);
    uint8_t      *codes    = test_encode(codec, values, 2);

    ck_assert(memcmp(codes, want, sizeof(want)) == 0);
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

static const struct {
    const char *title, *spec;
    size_t      header;
} tables[] = {
    {"tree8, split 0.45", "tree8:block=128", 4},
    {"tree8, split 0.55", "tree8:block=128,split=0.55", 4},
    {"static8, offset 10", "static8", 0},
    {"mantissa8, offset 10", "mantissa8", 0},
};

START_TEST(printed_tables_are_those_of_the_code)
{
    tw_codec_t *codec = test_codec(tables[_i].spec, TW_F32);
    uint8_t     codes[4 + 128];
    float       want[128], back[128];

    format_table(tables[_i].title, want);
    tw_store_le32(codes, tw_float_bits(1.0f));
    for (int c = 0; c < 128; c++) {
        codes[tables[_i].header + (size_t)c] = (uint8_t)c;
    }
    test_decode(codec, codes, 128, back);
    for (int c = 0; c < 128; c++) {
        ck_assert_msg(tw_float_bits(back[c]) == tw_float_bits(want[c]),
                      "field 0x%02x: %a, printed %a", c, back[c], want[c]);
    }
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("format");
    TCase *tcase = test_case(suite, "wire format");

    TEST_EACH(tcase, examples_have_these_bytes, examples);
    tcase_add_test(tcase, doubles_have_these_bytes);
    tcase_add_loop_test(tcase, printed_tables_are_those_of_the_code, 0, 4);
    return test_main(suite);
}
