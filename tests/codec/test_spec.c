/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_spec.c - specs, what is said about bad ones, lists of them, the list of codecs,
 * traits.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/codec/cpu.h"
#include "tests/codec/common.h"

static const struct {
    const char *spec;
    tw_dtype_t  dtype;
    const char *full;
} good[] = {
    {"fp32", TW_F32, "fp32"},
    {"bitpack:3", TW_F32, "bitpack:3"},
    {"bitpack:round,2", TW_F32, "bitpack:2,round"},
    {"bitpack:7", TW_F64, "bitpack:7"},
    {"bf16", TW_F32, "bf16"},
    {"fp16", TW_F32, "fp16"},
    {"tree8", TW_F32, "tree8:block=4096,split=0.45"},
    {"tree8:split=0.55", TW_F32, "tree8:block=4096,split=0.55"},
    {"tree8:block=1048576", TW_F32, "tree8:block=1048576,split=0.45"},
    {"tree8:split=0.55,block=64", TW_F32, "tree8:block=64,split=0.55"},
    {"int8", TW_F32, "int8:block=4096"},
    {"int:8", TW_F32, "int8:block=256"},
    {"int:8,block=4096", TW_F32, "int8:block=4096"},
    {"int:8", TW_BF16, "int8:block=256"},
    {"int:8", TW_F64, "int:8,block=256"},
    {"int:8,scale=2k", TW_F32, "int:8,block=256,scale=2k"},
    {"int:block=64,scale=2k,12", TW_F64, "int:12,block=64,scale=2k"},
    {"int:48", TW_F64, "int:48,block=256"},
    {"int:12,step=2^-14", TW_F32, "int:12,step=2^-14"},
    {"int:step=2^900,48", TW_F64, "int:48,step=2^900"},
    {"abs:1e-4", TW_F32, "abs:0.0001"},
    {"abs:1e-200", TW_F64, "abs:1e-200"},
    {"int4", TW_F32, "int4:block=4096"},
    {"static8", TW_F32, "static8:offset=10"},
    {"static8:offset=1", TW_F32, "static8:offset=1"},
    {"mantissa8:offset=10000", TW_F32, "mantissa8:offset=10000"},
    {"onebit", TW_F32, "onebit:block=2048"},
    {"auto", TW_F32, "auto:0.02"},
    {"auto:0", TW_F64, "auto:0"},
    {"auto:1e-3", TW_F32, "auto:0.001"},
};

START_TEST(good_specs_are_completed)
{
    tw_codec_t *codec = test_codec(good[_i].spec, good[_i].dtype);
    tw_codec_t *again = test_codec(good[_i].full, good[_i].dtype);

    ck_assert_str_eq(tw_codec_spec(codec), good[_i].full);
    ck_assert_str_eq(tw_codec_spec(again), good[_i].full);
    tw_codec_destroy(codec);
    tw_codec_destroy(again);
}
END_TEST

/* The message names the bad part and the accepted form. */
static const struct {
    const char *spec;
    tw_dtype_t  dtype;
    tw_status_t status;
    const char *names, *accepted;
} bad[] = {
    {"", TW_F32, TW_ERR_SPEC, "''", "tree8[:block=N]"},
    {"tree9", TW_F32, TW_ERR_SPEC, "'tree9'", "onebit[:block=N]"},
    {"TREE8", TW_F32, TW_ERR_SPEC, "'TREE8'", "tree8[:block=N]"},
    {" tree8", TW_F32, TW_ERR_SPEC, "' tree8'", "tree8[:block=N]"},
    {"tree", TW_F32, TW_ERR_SPEC, "'tree'", "tree8[:block=N]"},
    {"tree9\n", TW_F32, TW_ERR_SPEC, "'tree9?'", "tree8[:block=N]"},
    {"tree8:", TW_F32, TW_ERR_SPEC, "empty option", "tree8[:block=N][,split=0.45|0.55]"},
    {"tree8:block=64,", TW_F32, TW_ERR_SPEC, "empty option", "tree8[:block=N]"},
    {"tree8:blok=64", TW_F32, TW_ERR_SPEC, "'blok'", "tree8[:block=N]"},
    {"tree8:block", TW_F32, TW_ERR_SPEC, "block=", "multiple of 64"},
    {"tree8:block=", TW_F32, TW_ERR_SPEC, "block=", "multiple of 64"},
    {"tree8:block=0", TW_F32, TW_ERR_SPEC, "block=0", "64..1048576"},
    {"tree8:block=63", TW_F32, TW_ERR_SPEC, "block=63", "64..1048576"},
    {"tree8:block=100", TW_F32, TW_ERR_SPEC, "block=100", "multiple of 64"},
    {"tree8:block=-64", TW_F32, TW_ERR_SPEC, "block=-64", "64..1048576"},
    {"tree8:block=64k", TW_F32, TW_ERR_SPEC, "block=64k", "64..1048576"},
    {"tree8:block=1048640", TW_F32, TW_ERR_SPEC, "block=1048640", "64..1048576"},
    {"tree8:block=18446744073709551680", TW_F32, TW_ERR_SPEC, "block=18446744073709551680",
     "1048576"},
    {"tree8:split=0.5", TW_F32, TW_ERR_SPEC, "split=0.5", "0.45 or 0.55"},
    {"tree8:split", TW_F32, TW_ERR_SPEC, "split=", "0.45 or 0.55"},
    {"tree8:block=64,block=128", TW_F32, TW_ERR_SPEC, "'block' twice", "tree8[:block=N]"},
    {"int8:split=0.45", TW_F32, TW_ERR_SPEC, "'split'", "int8[:block=N]"},
    {"onebit:2048", TW_F32, TW_ERR_SPEC, "'2048'", "onebit[:block=N]"},
    {"fp32:round", TW_F32, TW_ERR_SPEC, "'round'", "accepted: fp32"},
    {"bf16:x", TW_F32, TW_ERR_SPEC, "'x'", "accepted: bf16"},
    {"fp16:x=1", TW_F32, TW_ERR_SPEC, "'x'", "accepted: fp16"},
    {"auto:", TW_F32, TW_ERR_SPEC, "empty option", "auto[:max_error]"},
    {"auto:x", TW_F32, TW_ERR_SPEC, "'x'", "0..1"},
    {"auto:-1", TW_F32, TW_ERR_SPEC, "'-1'", "0..1"},
    {"auto:1.5", TW_F32, TW_ERR_SPEC, "'1.5'", "0..1"},
    {"auto:nan", TW_F32, TW_ERR_SPEC, "'nan'", "0..1"},
    {"auto:0.1,0.2", TW_F32, TW_ERR_SPEC, "'0.2'", "0..1"},
    {"bitpack", TW_F32, TW_ERR_SPEC, "missing", "bitpack:K[,round]"},
    {"bitpack:round", TW_F32, TW_ERR_SPEC, "missing", "bitpack:K[,round]"},
    {"bitpack:0", TW_F32, TW_ERR_SPEC, "K=0", "1..4 for float32"},
    {"bitpack:5", TW_F32, TW_ERR_SPEC, "K=5", "1..4 for float32"},
    {"bitpack:9", TW_F64, TW_ERR_SPEC, "K=9", "1..8 for double"},
    {"bitpack:22", TW_F32, TW_ERR_SPEC, "K=22", "1..4"},
    {"bitpack:2,3", TW_F32, TW_ERR_SPEC, "twice", "bitpack:K[,round]"},
    {"bitpack:2,round=1", TW_F32, TW_ERR_SPEC, "'round'", "bitpack:K[,round]"},
    {"bitpack:2,rnd", TW_F32, TW_ERR_SPEC, "'rnd'", "bitpack:K[,round]"},
    {"bitpack:4,round", TW_F32, TW_ERR_SPEC, "K=4", "leave it out"},
    {"bitpack:8,round", TW_F64, TW_ERR_SPEC, "K=8", "leave it out"},
    {"int", TW_F32, TW_ERR_SPEC, "missing", "int:B[,block=N][,scale=2k]"},
    {"int:24", TW_F32, TW_ERR_SPEC, "B=24", "4, 6, 8, 10, 12, 16 or 20 for float32"},
    {"int:52", TW_F64, TW_ERR_SPEC, "B=52", "28, 32, 40 or 48 for double"},
    {"int:9", TW_F64, TW_ERR_SPEC, "B=9", "4, 6, 8, 10"},
    {"int:8,12", TW_F32, TW_ERR_SPEC, "twice", "int:B[,block=N]"},
    {"int:8,scale=10k", TW_F32, TW_ERR_SPEC, "scale=10k", "2k"},
    {"int:8,scale", TW_F32, TW_ERR_SPEC, "scale=", "2k"},
    {"int:8,block=100", TW_F32, TW_ERR_SPEC, "block=100", "multiple of 64"},
    {"int:8,round", TW_F32, TW_ERR_SPEC, "'round'", "int:B[,block=N]"},
    {"int:8,step=3", TW_F32, TW_ERR_SPEC, "step=3", "2^K, K = -120..100 for float32"},
    {"int:8,step=2^200", TW_F32, TW_ERR_SPEC, "step=2^200", "-120..100"},
    {"int:8,step=2^0.5", TW_F64, TW_ERR_SPEC, "step=2^0.5", "-960..960 for double"},
    {"int:8,step=2^0,block=64", TW_F32, TW_ERR_SPEC, "step=2^K takes neither", "block"},
    {"int:8,scale=2k,step=2^0", TW_F32, TW_ERR_SPEC, "step=2^K takes neither", "scale"},
    {"abs", TW_F32, TW_ERR_SPEC, "missing", "abs:E"},
    {"abs:0", TW_F32, TW_ERR_SPEC, "'0'", "1e-28..1e+28 for float32"},
    {"abs:-1", TW_F32, TW_ERR_SPEC, "'-1'", "1e-28..1e+28 for float32"},
    {"abs:nan", TW_F64, TW_ERR_SPEC, "'nan'", "1e-280..1e+280 for double"},
    {"abs:1e-300", TW_F32, TW_ERR_SPEC, "'1e-300'", "1e-28..1e+28"},
    {"abs:inf", TW_F64, TW_ERR_SPEC, "'inf'", "1e-280..1e+280"},
    {"abs:1,2", TW_F32, TW_ERR_SPEC, "'2'", "one number"},
    {"abs:1", TW_BF16, TW_ERR_UNSUPPORTED, "abs:1", "bfloat16"},
    {"static8:offset=5", TW_F32, TW_ERR_SPEC, "offset=5", "1, 10, 100, 1000 or 10000"},
    {"static8:offset", TW_F32, TW_ERR_SPEC, "offset=", "1, 10, 100, 1000 or 10000"},
    {"mantissa8:offset=100000", TW_F32, TW_ERR_SPEC, "offset=100000", "10000"},
    {"mantissa8:block=64", TW_F32, TW_ERR_SPEC, "'block'", "mantissa8[:offset="},
    {"tree8:block=64,split=0.45,and=so,on=and,on=and,on=and,on=and,on=and,on=and,on=and,on=and,on="
     "a,"
     "on=and,on=and,on=and",
     TW_F32, TW_ERR_SPEC, "too long", "tree8[:block=N]"},
    {"tree8", TW_F64, TW_ERR_UNSUPPORTED, "tree8 takes float;", "bitpack:K"},
    {"fp32", TW_F64, TW_ERR_UNSUPPORTED, "fp32 takes float;", "bitpack:K"},
    {"onebit", TW_F64, TW_ERR_UNSUPPORTED, "onebit takes float;", "bitpack:K"},
    {"static8", TW_F64, TW_ERR_UNSUPPORTED, "static8 takes float;", "bitpack:K"},
    {"fp16", TW_F64, TW_ERR_UNSUPPORTED, "fp16 takes float;", "bitpack:K"},
    {"fp32", TW_BF16, TW_ERR_UNSUPPORTED, "codec fp32 makes no bfloat16 shorter", "bf16"},
    {"bitpack:3", TW_F16, TW_ERR_UNSUPPORTED, "codec bitpack:3 makes no float16", "fp16"},
    {"fp32", (tw_dtype_t)99, TW_ERR_UNSUPPORTED, "element type 99",
     "TW_F32, TW_F64, TW_F16, TW_BF16"},
};

START_TEST(bad_specs_are_explained)
{
    tw_codec_t *codec = (tw_codec_t *)&codec;
    char        why[600], tiny[8];

    ck_assert_int_eq(
        tw_codec_create(test_context(), bad[_i].spec, bad[_i].dtype, &codec, why, sizeof(why)),
        bad[_i].status);
    ck_assert_ptr_eq(codec, &codec);
    ck_assert_msg(strstr(why, bad[_i].names) != NULL, "%s: \"%s\"", bad[_i].names, why);
    ck_assert_msg(strstr(why, bad[_i].accepted) != NULL, "%s: \"%s\"", bad[_i].accepted, why);
    ck_assert_ptr_null(strchr(why, '\n'));
    /* Small or no room for the explanation is no harm. */
    memset(tiny, 0x5a, sizeof(tiny));
    ck_assert_int_eq(tw_codec_create(test_context(), bad[_i].spec, bad[_i].dtype, &codec, tiny, 4),
                     bad[_i].status);
    ck_assert_int_eq(tiny[3], 0);
    ck_assert_int_eq(tiny[4], 0x5a);
    ck_assert_int_eq(tw_codec_create(test_context(), bad[_i].spec, bad[_i].dtype, &codec, NULL, 0),
                     bad[_i].status);
}
END_TEST

START_TEST(creation_checks_its_arguments)
{
    tw_codec_t *codec = NULL;
    char        why[64];

    memset(why, 'x', sizeof(why));
    ck_assert_int_eq(tw_codec_create(test_context(), "fp32", TW_F32, &codec, why, sizeof(why)),
                     TW_OK);
    ck_assert_str_eq(why, "");
    tw_codec_destroy(codec);
    ck_assert_int_eq(tw_codec_create(NULL, "fp32", TW_F32, &codec, why, sizeof(why)),
                     TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_create(test_context(), NULL, TW_F32, &codec, why, sizeof(why)),
                     TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_create(test_context(), "fp32", TW_F32, NULL, why, sizeof(why)),
                     TW_ERR_INVALID_ARG);
    ck_assert_uint_gt(strlen(why), 0);
}
END_TEST

START_TEST(every_codec_is_listed_once)
{
    static const struct {
        const char *name, *spec;
        uint8_t     id; /* docs/wire-format.md: never reused */
    } listed[] = {
        {"fp32", "fp32", 1},           {"bitpack", "bitpack:2", 2}, {"bf16", "bf16", 3},
        {"fp16", "fp16", 4},           {"tree8", "tree8", 5},       {"int", "int:6", 10},
        {"int8", "int8", 6},           {"int4", "int4", 11},        {"static8", "static8", 7},
        {"mantissa8", "mantissa8", 8}, {"onebit", "onebit", 9}};
    const size_t count     = sizeof(listed) / sizeof(*listed);
    int          seen[256] = {0};

    ck_assert_uint_eq(tw_codec_count(), count);
    for (size_t i = 0; i < count; i++) {
        const char       *name, *form, *help;
        tw_codec_t       *codec;
        tw_codec_traits_t t;

        ck_assert_int_eq(tw_codec_describe(i, &name, &form, &help), TW_OK);
        ck_assert_str_eq(name, listed[i].name);
        ck_assert_int_eq(strncmp(form, name, strlen(name)), 0);
        ck_assert_uint_gt(strlen(help), 10);
        codec = test_codec(listed[i].spec, TW_F32);
        ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
        ck_assert_str_eq(t.name, name);
        ck_assert_uint_eq(t.id, listed[i].id);
        ck_assert_int_eq(seen[t.id]++, 0);
        ck_assert_int_eq(t.dtype, TW_F32);
        ck_assert_int_eq(t.feedback, strcmp(name, "onebit") == 0);
        ck_assert_int_eq(t.lossless, strcmp(name, "fp32") == 0);
        tw_codec_destroy(codec);
    }
    ck_assert_int_eq(tw_codec_describe(count, NULL, NULL, NULL), TW_ERR_RANGE);
    ck_assert_int_eq(tw_codec_describe(0, NULL, NULL, NULL), TW_OK);
}
END_TEST

START_TEST(auto_encodes_nothing)
{
    tw_codec_t       *codec = test_codec("auto:0.25", TW_F32);
    tw_codec_traits_t t;
    float             x[4] = {1, 2, 3, 4}, y[4] = {0}, most = 0;
    double            sum   = 0;
    size_t            bytes = 77;

    ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
    ck_assert_str_eq(t.name, "auto");
    ck_assert(t.max_error == 0.25 && !t.lossless && t.block == 1);
    ck_assert_int_eq(tw_codec_size(codec, 4, &bytes), TW_ERR_UNSUPPORTED);
    ck_assert_uint_eq(bytes, 77);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, x, 4, y), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(tw_codec_decode(codec, NULL, x, 4, y), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(tw_codec_decode_add(codec, NULL, x, 4, y), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x, 1, &x[1], y), TW_ERR_UNSUPPORTED);
    ck_assert(y[0] == 0.0f && x[1] == 2.0f);
    ck_assert_int_eq(tw_codec_absmax(codec, NULL, x, 4, &most), TW_OK);
    ck_assert(most == 4.0f);
    ck_assert_int_eq(tw_codec_square_sum(codec, NULL, x, 4, &sum), TW_OK);
    ck_assert(sum == 30.0);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(lists_split_where_a_codec_name_follows)
{
    static const char *const list =
        "tree8:block=512,split=0.55,onebit,bitpack:2,round,bitpack:round,3,fp32,int8:block=64";
    static const char *const want[] = {"tree8:block=512,split=0.55",
                                       "onebit",
                                       "bitpack:2,round",
                                       "bitpack:round,3",
                                       "fp32",
                                       "int8:block=64"};
    size_t                   cursor = 0;
    char                     spec[96];

    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(tw_codec_list_next(list, &cursor, spec, sizeof(spec)), TW_OK);
        ck_assert_str_eq(spec, want[i]);
    }
    ck_assert_int_eq(tw_codec_list_next(list, &cursor, spec, sizeof(spec)), TW_ERR_RANGE);
    cursor = 0;
    ck_assert_int_eq(tw_codec_list_next("", &cursor, spec, sizeof(spec)), TW_ERR_RANGE);
    ck_assert_int_eq(tw_codec_list_next("nonsense", &cursor, spec, sizeof(spec)), TW_OK);
    ck_assert_str_eq(spec, "nonsense"); /* for tw_codec_create() to explain */
}
END_TEST

static const char *const bad_lists[] = {",fp32", "fp32,,int8", "fp32,"};

START_TEST(empty_places_in_lists_are_refused)
{
    size_t      cursor = 0;
    char        spec[96];
    tw_status_t status;

    do {
        status = tw_codec_list_next(bad_lists[_i], &cursor, spec, sizeof(spec));
    } while (status == TW_OK);
    ck_assert_int_eq(status, TW_ERR_SPEC);
    cursor = 0;
    ck_assert_int_eq(tw_codec_list_next("fp32", &cursor, spec, 4), TW_ERR_SPEC);
    ck_assert_uint_eq(cursor, 0);
    ck_assert_int_eq(tw_codec_list_next("fp32", &cursor, spec, 5), TW_OK);
}
END_TEST

static const char *const levels[] = {"scalar", "avx2", "avx512", "neon", "vsx"};

START_TEST(the_cpu_setting_caps_the_kernels)
{
    const tw_cpu_level_id_t machine = tw_cpu_detect();
    tw_codec_traits_t       t;
    tw_codec_t             *codec;

    setenv("THINWIRE_CPU", levels[_i], 1);
    ck_assert_str_eq(tw_cpu_level(test_context()),
                     tw_cpu_name(tw_cpu_cap(machine, (tw_cpu_level_id_t)_i)));
    for (int s = 0; s < test_spec_count; s++) {
        codec = test_codec_at(s);
        ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
        ck_assert(strcmp(t.isa, "scalar") == 0 || strcmp(t.isa, levels[_i]) == 0 ||
                  (_i == TW_CPU_AVX512 && strcmp(t.isa, "avx2") == 0));
        tw_codec_destroy(codec);
    }
    setenv("THINWIRE_CPU", "auto", 1);
    ck_assert_str_eq(tw_cpu_level(test_context()), levels[machine]);
}
END_TEST

START_TEST(caps_of_other_architectures_mean_scalar)
{
    ck_assert_int_eq(tw_cpu_cap(TW_CPU_AVX512, TW_CPU_AVX2), TW_CPU_AVX2);
    ck_assert_int_eq(tw_cpu_cap(TW_CPU_AVX2, TW_CPU_AVX512), TW_CPU_AVX2);
    ck_assert_int_eq(tw_cpu_cap(TW_CPU_AVX512, TW_CPU_NEON), TW_CPU_SCALAR);
    ck_assert_int_eq(tw_cpu_cap(TW_CPU_NEON, TW_CPU_AVX512), TW_CPU_SCALAR);
    ck_assert_int_eq(tw_cpu_cap(TW_CPU_NEON, TW_CPU_NEON), TW_CPU_NEON);
    ck_assert_int_eq(tw_cpu_cap(TW_CPU_SCALAR, TW_CPU_VSX), TW_CPU_SCALAR);
}
END_TEST

START_TEST(a_malformed_setting_is_an_error)
{
    tw_context_t *ctx   = test_context();
    tw_codec_t   *codec = NULL;
    char          why[128];

    setenv("THINWIRE_CPU", "avx9", 1);
    ck_assert_int_eq(tw_codec_create(ctx, "fp32", TW_F32, &codec, why, sizeof(why)),
                     TW_ERR_SETTING);
    ck_assert_ptr_null(codec);
    ck_assert_uint_gt(strlen(why), 0);
}
END_TEST

START_TEST(element_sizes)
{
    ck_assert_uint_eq(tw_dtype_size(TW_F32), 4);
    ck_assert_uint_eq(tw_dtype_size(TW_F64), 8);
    ck_assert_uint_eq(tw_dtype_size(TW_BF16), 2);
    ck_assert_uint_eq(tw_dtype_size(TW_F16), 2);
    ck_assert_uint_eq(tw_dtype_size((tw_dtype_t)4), 0); /* no row */
    ck_assert_uint_eq(tw_dtype_size((tw_dtype_t)99), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spec");
    TCase *tcase = test_case(suite, "specs");

    TEST_EACH(tcase, good_specs_are_completed, good);
    TEST_EACH(tcase, bad_specs_are_explained, bad);
    tcase_add_test(tcase, creation_checks_its_arguments);
    tcase_add_test(tcase, every_codec_is_listed_once);
    tcase_add_test(tcase, auto_encodes_nothing);
    tcase_add_test(tcase, lists_split_where_a_codec_name_follows);
    tcase_add_loop_test(tcase, empty_places_in_lists_are_refused, 0, 3);
    tcase_add_loop_test(tcase, the_cpu_setting_caps_the_kernels, 0, TW_CPU_LEVELS);
    tcase_add_test(tcase, caps_of_other_architectures_mean_scalar);
    tcase_add_test(tcase, a_malformed_setting_is_an_error);
    tcase_add_test(tcase, element_sizes);
    return test_main(suite);
}
