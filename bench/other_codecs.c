/* SPDX-License-Identifier: BSD-3-Clause
 * bench/other_codecs.c - what a user would otherwise take, measured as `thinwire bench codec`
 * measures codecs: zfp at a fixed rate of 8 and 16 bits, blosc (bitshuffle and lz4; lossless, so its
 * size depends on the values), compiled conversion loops to bf16 and fp16, a binary search among the
 * levels of tree8. One thread each. zfp and blosc are there if configure found them.
 */
#include "config.h"

#include <stdio.h>

#ifdef HAVE_BLOSC
#include <blosc.h>
#endif
#ifdef HAVE_ZFP
#include <zfp.h>
#endif

#include "bench/loops.h"
#include "command/options.h"
#include "tools/bench_limits.h"
#include "tools/bench_rows.h"
#include "tools/measure.h"

#define BUDGET      0.4 /* seconds for a codec at one size */
#define DEFAULT_MIN ((size_t)64 << 10)
#define DEFAULT_MAX ((size_t)256 << 20)

/* Bytes that are enough for the codes of n values. */
#define CODES(n) ((n)*5 + 65536)

typedef struct other {
    const char *name;
    int         parameter;
    /* Bytes written, 0 on failure. */
    size_t (*encode)(int parameter, const float *x, size_t n, uint8_t *to, size_t size);
    int (*decode)(int parameter, const uint8_t *from, size_t bytes, size_t n, float *y);
    /* NULL, or why it cannot be measured: "not built in ...", "built for ...". */
    const char *(*missing)(void);
    size_t most; /* values at once, 0: any number */
} other_t;

static float  levels[128];
static double middles[127];

/* The levels of the search are those of a tree8 codec. */
static tw_status_t search_begin(tw_context_t *ctx)
{
    tw_codec_t *codec;
    uint8_t     codes[4 + 128] = {0, 0, 0x80, 0x3f}; /* the scale 1.0 */
    tw_status_t status         = tw_codec_create(ctx, "tree8", TW_F32, &codec, NULL, 0);

    if (status != TW_OK) {
        return status;
    }
    for (int i = 0; i < 128; i++) {
        codes[4 + i] = (uint8_t)i;
    }
    status = tw_codec_decode(codec, NULL, codes, 128, levels);
    tw_codec_destroy(codec);
    for (int i = 0; i < 127; i++) {
        middles[i] = ((double)levels[i] + (double)levels[i + 1]) / 2;
    }
    return status;
}

#ifdef HAVE_ZFP

static const char *zfp_missing(void)
{
    return NULL;
}

/* One-dimensional, `rate` bits a value. Bytes used, 0 on failure. */
static size_t zfp_work(int rate, const float *x, size_t n, uint8_t *codes, size_t size, int decode)
{
    bitstream  *bits   = stream_open(codes, size);
    zfp_stream *stream = zfp_stream_open(bits);
    zfp_field  *field  = zfp_field_1d((void *)(uintptr_t)x, zfp_type_float, n);
    size_t      bytes;

    zfp_stream_set_rate(stream, rate, zfp_type_float, 1, zfp_false);
    zfp_stream_rewind(stream);
    bytes = decode ? zfp_decompress(stream, field) : zfp_compress(stream, field);
    zfp_field_free(field);
    zfp_stream_close(stream);
    stream_close(bits);
    return bytes;
}

static size_t zfp_encode(int rate, const float *x, size_t n, uint8_t *to, size_t size)
{
    return zfp_work(rate, x, n, to, size, 0);
}

static int zfp_decode(int rate, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    return zfp_work(rate, y, n, (uint8_t *)(uintptr_t)from, bytes, 1) != 0;
}

#else

static const char *zfp_missing(void)
{
    return "not built in: zfp was not found when thinwire was configured (Debian, Ubuntu: "
           "libzfp-dev)";
}

#define zfp_encode NULL
#define zfp_decode NULL

#endif

#ifdef HAVE_BLOSC

static const char *blosc_missing(void)
{
    return NULL;
}

/* Lossless, so the size depends on the values. */
static size_t blosc_encode(int level, const float *x, size_t n, uint8_t *to, size_t size)
{
    const int bytes = blosc_compress_ctx(level, BLOSC_BITSHUFFLE, sizeof(float), n * sizeof(float),
                                         x, to, size, BLOSC_LZ4_COMPNAME, 0, 1);

    return bytes > 0 ? (size_t)bytes : 0;
}

static int blosc_decode(int level, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    (void)level;
    (void)bytes;
    return blosc_decompress_ctx(from, y, n * sizeof(float), 1) == (int)(n * sizeof(float));
}

#else

static const char *blosc_missing(void)
{
    return "not built in: blosc was not found when thinwire was configured (Debian, Ubuntu: "
           "libblosc-dev)";
}

#define blosc_encode NULL
#define blosc_decode NULL

#endif

static const char *bf16_missing(void)
{
    return loops_runs(0) ? NULL : "built for a newer processor";
}

static size_t bf16_encode(int unused, const float *x, size_t n, uint8_t *to, size_t size)
{
    (void)unused;
    (void)size;
    loops_bf16_encode(x, n, (uint16_t *)(void *)to);
    return 2 * n;
}

static int bf16_decode(int unused, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    (void)unused;
    (void)bytes;
    loops_bf16_decode((const uint16_t *)(const void *)from, n, y);
    return 1;
}

static const char *fp16_missing(void)
{
    return loops_runs(1)   ? NULL
           : loops_runs(0) ? "not built in: the compiler has no conversion for this processor"
                           : "built for a newer processor";
}

static size_t fp16_encode(int unused, const float *x, size_t n, uint8_t *to, size_t size)
{
    (void)unused;
    (void)size;
    loops_fp16_encode(x, n, (uint16_t *)(void *)to);
    return 2 * n;
}

static int fp16_decode(int unused, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    (void)unused;
    (void)bytes;
    loops_fp16_decode((const uint16_t *)(const void *)from, n, y);
    return 1;
}

static size_t search_encode(int unused, const float *x, size_t n, uint8_t *to, size_t size)
{
    (void)unused;
    (void)size;
    loops_search_encode(x, n, middles, to);
    return n + 4 * ((n - 1) / LOOPS_BLOCK + 1);
}

static int search_decode(int unused, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    (void)unused;
    (void)bytes;
    loops_search_decode(from, n, levels, y);
    return 1;
}

static const other_t others[] = {
    {"zfp, 8 bits", 8, zfp_encode, zfp_decode, zfp_missing, 0},
    {"zfp, 16 bits", 16, zfp_encode, zfp_decode, zfp_missing, 0},
    {"blosc, bitshuffle+lz4", 5, blosc_encode, blosc_decode, blosc_missing,
     0x1ff00000}, /* it counts bytes by int */
    {"loop to bf16", 0, bf16_encode, bf16_decode, bf16_missing, 0},
    {"loop to fp16", 0, fp16_encode, fp16_decode, fp16_missing, 0},
    {"search, tree8's levels", 0, search_encode, search_decode, bf16_missing, 0},
};

typedef struct work {
    const arena_t *arena;
    const other_t *other;
    size_t         n;
    size_t        *bytes;
} work_t;

static tw_status_t run_copy(const void *what)
{
    const work_t *w = what;

    limits_copy(w->arena->y, w->arena->x, w->n, 1);
    return TW_OK;
}

static tw_status_t run_encode(const void *what)
{
    const work_t *w = what;

    *w->bytes =
        w->other->encode(w->other->parameter, w->arena->x, w->n, w->arena->codes, CODES(w->n));
    return *w->bytes > 0 ? TW_OK : TW_ERR_INVALID_ARG;
}

static tw_status_t run_decode(const void *what)
{
    const work_t *w = what;

    return w->other->decode(w->other->parameter, w->arena->codes, *w->bytes, w->n, w->arena->y)
               ? TW_OK
               : TW_ERR_INVALID_ARG;
}

/* Encode and decode n values between the arrays. */
static tw_status_t measure(const arena_t *arena, const other_t *other, size_t n,
                           codec_result_t *result)
{
    static alternation_t a;
    size_t               bytes  = 0;
    const work_t         work   = {arena, other, n, &bytes};
    const contender_t    list[] = {{run_copy, &work}, {run_encode, &work}, {run_decode, &work}};
    const tw_status_t    status = alternate(list, 3, BUDGET, &a);

    if (status != TW_OK) {
        return status;
    }
    *result                 = (codec_result_t){.turns = a.turns};
    result->bytes_per_value = (double)bytes / (double)n;
    for (size_t i = 0; i < 2; i++) {
        kernel_result_t *kernel = &result->kernel[i == 0 ? BENCH_ENCODE : BENCH_DECODE];

        kernel->seconds      = alternate_seconds(&a, 1 + i);
        kernel->copy_seconds = alternate_seconds(&a, 0);
        kernel->to_copy      = alternate_ratio(&a, 1 + i, 0);
    }
    bench_errors(arena, n, &result->max_error, &result->rms_error);
    return TW_OK;
}

static int bench(const other_t *other, size_t min, size_t max, const arena_t *arena,
                 const job_t *job, rows_t *rows)
{
    const char *missing = other->missing();

    if (missing != NULL) {
        printf("%s: %s\n", other->name, missing);
        return 1;
    }
    for (size_t bytes = min; bytes > 0; bytes = measure_next_size(bytes, max)) {
        const row_key_t key    = {other->name, "-", 1, bytes};
        const size_t    n      = bytes / sizeof(float);
        codec_result_t  result = {0};
        tw_status_t     status;

        if (other->most > 0 && n >= other->most) {
            printf("%s: cannot encode %zu bytes at once\n", other->name, bytes);
            continue;
        }
        status = measure(arena, other, n, &result);
        if (status != TW_OK) {
            job_complain(job, "%s at %zu bytes: %s", other->name, bytes, tw_status_text(status));
            return 0;
        }
        for (int o = BENCH_ENCODE; o <= BENCH_DECODE; o++) {
            rows_add(rows, &key, (kernel_operation_t)o, &result);
        }
    }
    return 1;
}

static int run(const job_t *job, tw_context_t *ctx, size_t min, size_t max, report_t *report)
{
    plot_t  plot = {0};
    rows_t  rows = {report, &plot, 0};
    arena_t arena;
    int     well;

    if (search_begin(ctx) != TW_OK ||
        !arena_create(&arena, job, max / sizeof(float), CODES(max / sizeof(float)))) {
        return 0;
    }
    rows_begin();
    well = 1;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && well; i++) {
        well = bench(&others[i], min, max, &arena, job, &rows);
    }
    rows_end(&rows);
    arena_destroy(&arena);
    return well;
}

int main(int argc, char **argv)
{
    job_t          job = {.size = 1, .local_ranks = 1, .argc = argc, .argv = argv};
    size_t         min = 0, max = 0;
    const char    *json = NULL;
    char           why[512];
    int            code;
    report_t       report;
    tw_context_t  *ctx;
    const option_t options[] = {
        {"--min", "SIZE", "Smallest array, in bytes of float32 (default 64k).", OPTION_SIZE, &min,
         0, 0},
        {"--max", "SIZE", "Largest array; sizes grow by factors of 4 (default 256M).", OPTION_SIZE,
         &max, 0, 0},
        {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &json, 0, 0},
        {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {"other-codecs [OPTION...]",
                               "What else one could take, measured as thinwire bench codec "
                               "measures codecs: zfp, blosc,\nloops to bf16 and fp16, a binary "
                               "search. One thread.",
                               "", .options = options};

    code = job_options(&job, &command, "other-codecs", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (!measure_range(&min, &max, DEFAULT_MIN, DEFAULT_MAX, why, sizeof(why))) {
        job_complain(&job, "other-codecs: %s", why);
        return EXIT_USAGE;
    }
    ctx = job_context(&job);
    if (ctx == NULL || !report_begin(&report, &job, json)) {
        tw_context_destroy(ctx);
        return EXIT_FAILED;
    }
    code = report_end(&report, &job, run(&job, ctx, min, max, &report));
    tw_context_destroy(ctx);
    return code;
}
