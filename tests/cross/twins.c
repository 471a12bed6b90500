/* SPDX-License-Identifier: BSD-3-Clause
 * tests/cross/twins.c - the kernels of TW_TWIN ("neon" or "vsx") against the scalar ones, on their
 * own processor or an emulated one: same bytes, same decoded bits, same residuals. Needs base and
 * codec only, neither MPI nor Check, so that cross.sh can build it with a bare cross compiler.
 *
 * Inputs and outputs stand at the end of their memory, where one step further, even to read, is a
 * crash, or a few bytes before it. The status is 0 if nothing differed. THINWIRE_SEED repeats a
 * run.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__powerpc64__)
#include <altivec.h>
#undef bool
#endif
#include <stdbool.h>

#include "runtime/base/bytes.h"
#include "runtime/base/context.h"
#include "runtime/codec/levels.h"
#include "runtime/codec/ops.h"
#include "tests/codec/plain.h"
#include "tests/cross/numbers.h"

#define MOST     400000u /* values of a vector */
#define GUARD    64
#define ULPS     600
#define FAILURES 20 /* that are told of */

static const char *const specs[] = {
    "fp32",
    "bitpack:1",
    "bitpack:2",
    "bitpack:3",
    "bitpack:4",
    "bitpack:1,round",
    "bitpack:2,round",
    "bitpack:3,round",
    "bf16",
    "fp16",
    "tree8",
    "tree8:block=64",
    "tree8:split=0.55,block=320",
    "int:4",
    "int:6,block=64",
    "int:8,scale=2k",
    "int:10",
    "int:12,block=448,scale=2k",
    "int:16",
    "int:20",
    "int:8,step=2^-2",
    "int:12,step=2^-6",
    "int4",
    "int4:block=64",
    "int8",
    "int8:block=192",
    "static8",
    "static8:offset=1",
    "static8:offset=10000",
    "mantissa8",
    "mantissa8:offset=100",
    "onebit",
    "onebit:block=64",
    "onebit:block=448",
};

/* Of doubles, which some sets leave to plain C. */
static const char *const of_doubles[] = {
    "bitpack:3", "int:4",  "int:6,block=64", "int:8",           "int:10",
    "int:12",    "int:16", "int:20",         "int:24",          "int:28,block=192,scale=2k",
    "int:32",    "int:40", "int:48",         "int:8,step=2^-2", "int:40,step=2^-30",
};

typedef struct pair {
    const char *spec;
    size_t      e; /* bytes of an element */
    tw_codec_t *scalar, *twin;
} pair_t;

/* Memory with a forbidden page on either side. */
typedef struct fenced {
    uint8_t *start, *end;
    uint8_t *data; /* bytes of it are lent out */
    size_t   bytes;
} fenced_t;

static fenced_t in, rest, codes, out;
static uint8_t *want_codes, *want_rest, *want_out, *input, *input_rest;
static int      failures;
static bool     odd_mode; /* the twin is called with another floating-point mode */

static uint8_t *allocate(size_t bytes)
{
    uint8_t *p = malloc(bytes);

    if (p == NULL) {
        perror("twins");
        exit(2);
    }
    return p;
}

static fenced_t fence(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (bytes + page - 1) / page * page;
    uint8_t     *p = mmap(NULL, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + page, body, PROT_READ | PROT_WRITE) != 0) {
        perror("twins");
        exit(2);
    }
    return (fenced_t){.start = p + page, .end = p + page + body};
}

/* bytes bytes that end `before` the end, with guards of 0x5a. */
static uint8_t *lend(fenced_t *memory, size_t bytes, size_t before)
{
    memory->bytes = bytes;
    memory->data  = memory->end - before - bytes;
    memset(memory->data - GUARD, 0x5a, GUARD + bytes + before);
    return memory->data;
}

static bool guards_hold(const fenced_t *memory)
{
    for (const uint8_t *p = memory->data - GUARD; p < memory->end; p++) {
        if (p == memory->data) {
            p += memory->bytes;
        }
        if (p < memory->end && *p != 0x5a) {
            return false;
        }
    }
    return true;
}

static void fail(const pair_t *pair, const char *what, size_t n, size_t at, uint32_t got,
                 uint32_t want)
{
    if (failures++ < FAILURES) {
        printf("# %s: %s, at %zu with %zu values: %08x, should be %08x\n", pair->spec, what, at, n,
               (unsigned)got, (unsigned)want);
    }
}

static void same_bytes(const pair_t *pair, const char *what, size_t n, const uint8_t *got,
                       const uint8_t *want, size_t bytes)
{
    for (size_t i = 0; memcmp(got, want, bytes) != 0 && i < bytes; i++) {
        if (got[i] != want[i]) {
            fail(pair, what, n, i, got[i], want[i]);
            return;
        }
    }
}

/* Is it a NaN: the bits of a float, or of a double? */
static bool is_nan(const pair_t *pair, uint64_t u)
{
    return pair->e == 8 ? u << 1 > UINT64_C(0xffe) << 52 : (u & 0x7fffffffu) > 0x7f800000u;
}

/* Elements; with any_nan a NaN equals any other: which one a sum keeps is not defined. */
static void same_elements(const pair_t *pair, const char *what, size_t n, const uint8_t *got,
                          const uint8_t *want, bool any_nan)
{
    for (size_t i = 0; memcmp(got, want, pair->e * n) != 0 && i < n; i++) {
        uint64_t g = 0, w = 0;

        memcpy(&g, got + pair->e * i, pair->e);
        memcpy(&w, want + pair->e * i, pair->e);
        if (g != w && !(any_nan && is_nan(pair, g) && is_nan(pair, w))) {
            fail(pair, what, n, i, (uint32_t)(g >> (pair->e - 4) * 8),
                 (uint32_t)(w >> (pair->e - 4) * 8));
            return;
        }
    }
}

/* The caller's mode while the twin works: rounding upwards, subnormal numbers flushed where the
 * processor can. Set by hand, for what glibc does with the FPSCR is more than some emulators know
 * of POWER8. */
#if defined(__aarch64__)
#define ODD_MODE (3u << 24 | 1u << 22) /* DN, FZ, upwards */

static uint32_t get_mode(void)
{
    uint64_t fpcr;

    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (uint32_t)fpcr;
}

static void set_mode(uint32_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode) : "memory");
}
#else
#define ODD_MODE 2u /* upwards; AltiVec's non-Java bit flushes */

static uint32_t get_mode(void)
{
    double fpscr;

    __asm__ volatile("mffs %0" : "=d"(fpscr));
    return (uint32_t)tw_double_bits(fpscr) & 3;
}

static void set_mode(uint32_t mode)
{
    const unsigned int          bit  = mode != 0 ? 0x00010000u : 0;
    const __vector unsigned int vscr = {bit, bit, bit, bit};

    __asm__ volatile("mtfsf 255, %0" : : "d"(tw_bits_double(mode)) : "memory");
    vec_mtvscr(vscr);
}
#endif

static void enter_mode(void)
{
    if (odd_mode) {
        set_mode(ODD_MODE);
    }
}

static void leave_mode(const pair_t *pair)
{
    if (odd_mode && get_mode() != ODD_MODE) {
        fail(pair, "the caller's floating-point mode", 0, 0, get_mode(), ODD_MODE);
    }
    set_mode(0);
}

static void must(tw_status_t status)
{
    if (status != TW_OK) {
        printf("# %s\n", tw_status_name(status));
        exit(2);
    }
}

static void check_decode(const pair_t *pair, const uint8_t *from, size_t n)
{
    enter_mode();
    must(tw_codec_decode(pair->twin, NULL, codes.data, n, out.data));
    leave_mode(pair);
    must(tw_codec_decode(pair->scalar, NULL, from, n, want_out));
    same_elements(pair, "decoded", n, out.data, want_out, false);
}

/* All four verbs on `input` and `input_rest`. */
static void check(const pair_t *pair, size_t n)
{
    size_t bytes = 0;
    bool   held;

    must(tw_codec_size(pair->scalar, n, &bytes));
    memcpy(lend(&in, pair->e * n, draw() % 2 * (draw() % 64)), input, pair->e * n);
    memcpy(lend(&rest, pair->e * n, draw() % 2 * (draw() % 64)), input_rest, pair->e * n);
    lend(&codes, bytes, draw() % 2 * (draw() % 64));
    lend(&out, pair->e * n, draw() % 2 * (draw() % 64));

    must(tw_codec_encode(pair->scalar, NULL, input, n, want_codes));
    enter_mode();
    must(tw_codec_encode(pair->twin, NULL, in.data, n, codes.data));
    leave_mode(pair);
    same_bytes(pair, "encoded", n, codes.data, want_codes, bytes);
    check_decode(pair, want_codes, n);

    memcpy(out.data, input_rest, pair->e * n);
    memcpy(want_out, input_rest, pair->e * n);
    enter_mode();
    must(tw_codec_decode_add(pair->twin, NULL, codes.data, n, out.data));
    leave_mode(pair);
    must(tw_codec_decode_add(pair->scalar, NULL, want_codes, n, want_out));
    same_elements(pair, "added", n, out.data, want_out, true);

    memcpy(want_rest, input_rest, pair->e * n);
    must(tw_codec_encode_feedback(pair->scalar, NULL, input, n, want_rest, want_codes));
    enter_mode();
    must(tw_codec_encode_feedback(pair->twin, NULL, in.data, n, rest.data, codes.data));
    leave_mode(pair);
    same_bytes(pair, "encoded with feedback", n, codes.data, want_codes, bytes);
    same_elements(pair, "residual", n, rest.data, want_rest, false);

    held = guards_hold(&in) && guards_hold(&rest) && guards_hold(&codes) && guards_hold(&out);
    if (!held) {
        fail(pair, "a byte outside a buffer was written", n, 0, 0, 0x5a);
    }
}

/* n floats, or as many doubles: those of floats, with other low bits. */
static void fill_elements(const pair_t *pair, uint8_t *v, kind_t kind, size_t n)
{
    fill(v, kind, n);
    for (size_t i = n; pair->e == 8 && i-- > 0;) {
        float    f;
        uint64_t u;

        memcpy(&f, v + 4 * i, 4);
        u = tw_double_bits((double)f);
        u = kind == DENORMAL || kind == WIDE ? (uint64_t)draw() << 32 | draw()
                                             : u ^ (draw() & 1023);
        u = kind == DENORMAL ? u & ~(UINT64_C(0x7ff) << 52) : u;
        memcpy(v + 8 * i, &u, 8);
    }
}

static void every_count(const pair_t *pair)
{
    for (size_t n = 0; n <= 300; n++) {
        fill_elements(pair, input, (kind_t)(n % KINDS), n);
        fill_elements(pair, input_rest, draw() % 4 == 0 ? WIDE : NORMAL, n);
        check(pair, n);
    }
}

static void every_kind(const pair_t *pair)
{
    const size_t n = 9001;

    for (int kind = 0; kind < KINDS; kind++) {
        fill_elements(pair, input, (kind_t)kind, n);
        fill_elements(pair, input_rest, kind == DENORMAL ? DENORMAL : NORMAL, n);
        check(pair, n);
    }
}

static void any_codes(const pair_t *pair)
{
    for (int round = 0; round < 40; round++) {
        const size_t n     = draw() % 700;
        size_t       bytes = 0;

        must(tw_codec_size(pair->scalar, n, &bytes));
        lend(&codes, bytes, draw() % 64);
        lend(&out, pair->e * n, draw() % 64);
        for (size_t i = 0; i < bytes; i++) {
            want_codes[i] = (uint8_t)draw();
        }
        memcpy(codes.data, want_codes, bytes);
        check_decode(pair, want_codes, n);
    }
}

/* All codes of two bytes. */
static void every_code(const pair_t *pair)
{
    const size_t n = 65536;

    lend(&codes, 2 * n, 0);
    lend(&out, 4 * n, 0);
    for (size_t i = 0; i < n; i++) {
        want_codes[2 * i]     = (uint8_t)i;
        want_codes[2 * i + 1] = (uint8_t)(i >> 8);
    }
    memcpy(codes.data, want_codes, 2 * n);
    check_decode(pair, want_codes, n);
}

/* 600 numbers on either side of `bits`, of both signs, to input from value n on; each block begins
 * with the number that makes y = x in it. */
static size_t around(const tw_codec_t *codec, uint32_t bits, float maximum, size_t n)
{
    for (uint32_t d = 0; d < 4 * ULPS + 2; d++) {
        const uint32_t u = (bits + d / 2 - ULPS) | d << 31;

        if (codec->block > 1 && n % codec->block == 0) {
            memcpy(input + 4 * n++, &maximum, 4);
        }
        memcpy(input + 4 * n++, &u, 4);
    }
    return n;
}

static void thresholds(const pair_t *pair)
{
    const tw_levels_t *levels  = pair->scalar->table;
    const bool         integer = strcmp(pair->scalar->ops->name, "int8") == 0;
    const int          count   = levels != NULL ? levels->count : integer ? 127 : 0;
    size_t             n       = 0;

    for (int j = 1; j < count; j++) {
        n = around(pair->scalar, integer ? tw_float_bits((float)j - 0.5f) : levels->threshold[j],
                   integer ? 127.0f : 1.0f, n);
    }
    if (n > 0) {
        memset(input_rest, 0, 4 * n);
        check(pair, n);
    }
}

static void check_spec(tw_context_t *ctx, const char *spec, tw_dtype_t dtype)
{
    pair_t pair = {.spec = spec, .e = tw_dtype_size(dtype)};
    char   why[256];

    setenv("THINWIRE_CPU", "scalar", 1);
    must(tw_codec_create(ctx, spec, dtype, &pair.scalar, why, sizeof(why)));
    setenv("THINWIRE_CPU", TW_TWIN, 1);
    must(tw_codec_create(ctx, spec, dtype, &pair.twin, why, sizeof(why)));
    if (strcmp(tw_cpu_name(pair.twin->isa), TW_TWIN) != 0 && !test_is_plain(pair.twin) &&
        (dtype == TW_F32 || strncmp(spec, "bitpack", 7) != 0)) {
        printf("# %s has no kernels of " TW_TWIN "\n", spec);
        failures++;
    }
    every_count(&pair);
    every_kind(&pair);
    any_codes(&pair);
    if (pair.scalar->bytes_per_value == 2.0 && dtype == TW_F32) {
        every_code(&pair);
    }
    thresholds(&pair);
    odd_mode = true;
    every_kind(&pair);
    odd_mode = false;
    tw_codec_destroy(pair.scalar);
    tw_codec_destroy(pair.twin);
}

static void check_absmax(void)
{
    const pair_t pair = {.spec = "absmax", .e = 4};

    for (size_t n = 1; n <= 1200; n++) {
        uint32_t got, want;

        fill(input, (kind_t)(n % KINDS), n);
        memcpy(lend(&in, 4 * n, n % 3 == 0 ? n % 64 : 0), input, 4 * n);
        got  = tw_absmax(tw_cpu_detect(), in.data, n);
        want = tw_absmax(TW_CPU_SCALAR, input, n);
        if (got != want) {
            fail(&pair, "maximum", n, 0, got, want);
        }
    }
}

static void check_square_sum(void)
{
    const pair_t pair = {.spec = "square_sum", .e = 4};

    for (size_t n = 0; n <= 1200; n++) {
        double got, want;

        fill(input, (kind_t)(n % KINDS), n);
        memcpy(lend(&in, 4 * n, n % 3 == 0 ? n % 64 : 0), input, 4 * n);
        got  = tw_square_sum(tw_cpu_detect(), in.data, n);
        want = tw_square_sum(TW_CPU_SCALAR, input, n);
        if (memcmp(&got, &want, sizeof(got)) != 0) {
            fail(&pair, "sum", n, 0, (uint32_t)(tw_double_bits(got) >> 32),
                 (uint32_t)(tw_double_bits(want) >> 32));
        }
    }
}

int main(void)
{
    const char  *text = getenv("THINWIRE_SEED");
    tw_context_t ctx;
    uint64_t     start;

    start = text != NULL ? strtoull(text, NULL, 10)
                         : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    seed(start);
    setvbuf(stdout, NULL, _IOLBF, 0); /* for what a crash leaves */
    printf("# THINWIRE_SEED=%llu\n", (unsigned long long)start);
    if (strcmp(tw_cpu_name(tw_cpu_detect()), TW_TWIN) != 0) {
        printf("# this processor has no " TW_TWIN "\n");
        return 2;
    }
    in         = fence(4 * MOST);
    rest       = fence(4 * MOST);
    codes      = fence(5 * MOST);
    out        = fence(4 * MOST);
    input      = allocate(4 * MOST);
    input_rest = allocate(4 * MOST);
    want_codes = allocate(5 * MOST);
    want_rest  = allocate(4 * MOST);
    want_out   = allocate(4 * MOST);
    must(tw_context_init(&ctx));
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        check_spec(&ctx, specs[i], TW_F32);
    }
    for (size_t i = 0; i < sizeof(of_doubles) / sizeof(of_doubles[0]); i++) {
        check_spec(&ctx, of_doubles[i], TW_F64);
    }
    check_absmax();
    check_square_sum();
    printf("# %zu codecs, %d differences\n",
           sizeof(specs) / sizeof(specs[0]) + sizeof(of_doubles) / sizeof(of_doubles[0]), failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
