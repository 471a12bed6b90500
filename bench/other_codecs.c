/* SPDX-License-Identifier: BSD-3-Clause
 * bench/other_codecs.c - what a user would otherwise take, measured as `thinwire bench codec`
 * measures codecs: zfp at a fixed rate of 8 and 16 bits, blosc (bitshuffle and lz4; lossless, so
 * its size depends on the values). One thread. Each is there if configure found it.
 */
#include "config.h"

#include <stdio.h>

#ifdef HAVE_BLOSC
#include <blosc.h>
#endif
#ifdef HAVE_ZFP
#include <zfp.h>
#endif

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
    const char *package; /* that configure did not find, of Debian and Ubuntu; NULL: built in */
    size_t      most;    /* values at once, 0: any number */
} other_t;

#ifdef HAVE_ZFP

#define ZFP_PACKAGE NULL

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

#define ZFP_PACKAGE "libzfp-dev"
#define zfp_encode  NULL
#define zfp_decode  NULL

#endif

#ifdef HAVE_BLOSC

#define BLOSC_PACKAGE NULL

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

#define BLOSC_PACKAGE "libblosc-dev"
#define blosc_encode  NULL
#define blosc_decode  NULL

#endif

static const other_t others[] = {
    {"zfp, 8 bits", 8, zfp_encode, zfp_decode, ZFP_PACKAGE, 0},
    {"zfp, 16 bits", 16, zfp_encode, zfp_decode, ZFP_PACKAGE, 0},
    {"blosc, bitshuffle+lz4", 5, blosc_encode, blosc_decode, BLOSC_PACKAGE,
     0x1ff00000}, /* it counts bytes by int */
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
    if (other->package != NULL) {
        printf("%s: not built in: not found when thinwire was configured (Debian, Ubuntu: %s)\n",
               other->name, other->package);
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

static int run(const job_t *job, size_t min, size_t max, report_t *report)
{
    plot_t  plot = {0};
    rows_t  rows = {report, &plot, 0};
    arena_t arena;
    int     well = 1;

    if (arena_create(&arena, job, TW_F32, max / sizeof(float), CODES(max / sizeof(float))) != 0) {
        return 0;
    }
    rows_begin();
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
    const char    *json    = NULL;
    tw_problem_t   problem = {.set = 0};
    int            code;
    report_t       report;
    const option_t options[] = {
        {"--min", "SIZE", "Smallest array, in bytes of float32 (default 64k).", OPTION_SIZE, &min,
         0, 0},
        {"--max", "SIZE", "Largest array; sizes grow by factors of 4 (default 256M).", OPTION_SIZE,
         &max, 0, 0},
        {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &json, 0, 0},
        {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {"other-codecs [OPTION...]",
                               "What else one could take, measured as thinwire bench codec "
                               "measures codecs: zfp and blosc.\n"
                               "One thread.",
                               "", .options = options};

    code = job_options(&job, &command, "other-codecs", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (measure_range(&min, &max, DEFAULT_MIN, DEFAULT_MAX, &problem) != 0) {
        job_complain(&job, "other-codecs: %s", problem.text);
        return EXIT_USAGE;
    }
    if (report_begin(&report, &job, json) != 0) {
        return EXIT_FAILED;
    }
    return report_end(&report, &job, run(&job, min, max, &report));
}
