/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_codec.c - thinwire bench codec: encode and decode against memcpy of the same run.
 * memcpy, encode and decode take turns, so that a slow moment of the machine hits all three.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_table1.h"
#include "tools/commands.h"
#include "tools/measure.h"
#include "tools/options.h"
#include "tools/report.h"
#include "tools/specs.h"
#include "tools/table.h"

#define DEFAULT_MIN ((size_t)64 << 10)
#define DEFAULT_MAX ((size_t)16 << 20)
#define ROW_BUDGET  0.25  /* seconds */
#define LEAST_TIMED 50e-6 /* seconds that one reading of the clock should cover */

typedef struct buffers {
    float   *x; /* normal random values */
    float   *y; /* copied or decoded    */
    uint8_t *codes;
} buffers_t;

typedef struct result {
    double copy, encode, decode; /* seconds, medians                                       */
    double bytes_per_value;
    double max_error, rms_error; /* relative to the root mean square of the data           */
} result_t;

/* As many threads as the codec may use, for a fair comparison. */
static void copy(float *to, const float *from, size_t n, int threads)
{
    const size_t part = (n + (size_t)threads - 1) / (size_t)threads;

    if (threads == 1) {
        memcpy(to, from, n * sizeof(*to));
        return;
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
    for (int t = 0; t < threads; t++) {
        const size_t first = (size_t)t * part;

        if (first < n) {
            memcpy(to + first, from + first, (n - first < part ? n - first : part) * sizeof(*to));
        }
    }
}

/* One turn of all three, each `inner` times; adds nothing if a codec call failed. */
static tw_status_t turn(const buffers_t *b, const tw_codec_t *codec, size_t n, int threads,
                        int inner, result_t *seconds)
{
    const tw_exec_t exec   = {TW_MEMORY_HOST, NULL, threads};
    tw_status_t     status = TW_OK;
    double          t0, t1, t2, t3;

    t0 = measure_now();
    for (int i = 0; i < inner; i++) {
        copy(b->y, b->x, n, threads);
    }
    t1 = measure_now();
    for (int i = 0; i < inner && status == TW_OK; i++) {
        status = tw_codec_encode(codec, &exec, b->x, n, b->codes);
    }
    t2 = measure_now();
    for (int i = 0; i < inner && status == TW_OK; i++) {
        status = tw_codec_decode(codec, &exec, b->codes, n, b->y);
    }
    t3              = measure_now();
    seconds->copy   = (t1 - t0) / inner;
    seconds->encode = (t2 - t1) / inner;
    seconds->decode = (t3 - t2) / inner;
    return status;
}

static void errors(const buffers_t *b, size_t n, result_t *result)
{
    double squares = 0, lost = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        const double x = b->x[i], error = fabs(x - (double)b->y[i]);

        squares += x * x;
        lost += error * error;
        most = error > most ? error : most;
    }
    result->rms_error = squares > 0 ? sqrt(lost / squares) : 0;
    result->max_error = squares > 0 ? most / sqrt(squares / (double)n) : 0;
}

static tw_status_t measure(const buffers_t *b, const tw_codec_t *codec, size_t n, int threads,
                           result_t *result)
{
    static double copies[MEASURE_REPEATS], encodes[MEASURE_REPEATS], decodes[MEASURE_REPEATS];
    result_t      once = {0};
    double        fastest, all;
    int           inner, repeats;
    size_t        bytes;
    tw_status_t   status = tw_codec_size(codec, n, &bytes);

    if (status == TW_OK) {
        status = turn(b, codec, n, threads, 1, &once); /* pages, caches, threads */
    }
    if (status == TW_OK) {
        status = turn(b, codec, n, threads, 1, &once);
    }
    if (status != TW_OK) {
        return status;
    }
    fastest = fmin(once.copy, fmin(once.encode, once.decode));
    all     = once.copy + once.encode + once.decode;
    inner   = fastest < LEAST_TIMED ? (int)fmin(1000, ceil(LEAST_TIMED / fmax(fastest, 1e-8))) : 1;
    repeats = measure_repeats(all * inner, ROW_BUDGET);
    for (int r = 0; r < repeats; r++) {
        turn(b, codec, n, threads, inner, &once);
        copies[r]  = once.copy;
        encodes[r] = once.encode;
        decodes[r] = once.decode;
    }
    result->copy            = measure_median(copies, (size_t)repeats);
    result->encode          = measure_median(encodes, (size_t)repeats);
    result->decode          = measure_median(decodes, (size_t)repeats);
    result->bytes_per_value = (double)bytes / (double)n;
    errors(b, n, result);
    return TW_OK;
}

static const table_column_t columns[] = {
    {"codec", -20},  {"size", 6},        {"encode GB/s", 0}, {"x memcpy", 0},  {"decode GB/s", 0},
    {"x memcpy", 0}, {"bytes/value", 0}, {"max error", 9},   {"RMS error", 9}, {"kernels", -7}};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_row(const char *spec, const char *isa, size_t bytes, const result_t *r)
{
    char cells[COLUMNS][TABLE_CELL];

    table_text(cells[0], spec);
    table_size(cells[1], bytes);
    table_number(cells[2], (double)bytes / r->encode * 1e-9);
    table_number(cells[3], r->copy / r->encode);
    table_number(cells[4], (double)bytes / r->decode * 1e-9);
    table_number(cells[5], r->copy / r->decode);
    snprintf(cells[6], TABLE_CELL, "%.4f", r->bytes_per_value);
    table_error(cells[7], r->max_error);
    table_error(cells[8], r->rms_error);
    table_text(cells[9], isa);
    table_row(columns, COLUMNS, cells);
}

static json_t *row_json(const char *spec, const char *isa, size_t bytes, int threads,
                        const result_t *r, const char *operation, double seconds)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:o, s:o}", "codec", spec,
                     "operation", operation, "isa", isa, "threads", threads, "bytes",
                     (json_int_t)bytes, "seconds", seconds, "gbps", (double)bytes / seconds * 1e-9,
                     "ratio_memcpy", r->copy / seconds, "bytes_per_value", r->bytes_per_value,
                     "max_error", report_number(r->max_error), "rms_error",
                     report_number(r->rms_error));
}

static int bench_size(const specs_t *specs, size_t i, size_t bytes, int threads, const buffers_t *b,
                      const job_t *job, report_t *report)
{
    const char       *spec = specs->text[i], *isa = specs->traits[i].isa;
    result_t          r      = {0};
    const tw_status_t status = measure(b, specs->codec[i], bytes / sizeof(float), threads, &r);

    if (status != TW_OK) {
        job_complain(job, "%s at %zu bytes: %s", spec, bytes, tw_status_text(status));
        return 0;
    }
    print_row(spec, isa, bytes, &r);
    report_row(report, row_json(spec, isa, bytes, threads, &r, "encode", r.encode));
    report_row(report, row_json(spec, isa, bytes, threads, &r, "decode", r.decode));
    return 1;
}

static int buffers_create(buffers_t *b, const specs_t *specs, size_t max, const job_t *job)
{
    const size_t n     = max / sizeof(float);
    size_t       codes = 0;
    char         why[256];

    if (!measure_fits(3.0 * (double)max, why, sizeof(why))) {
        job_complain(job, "%s", why);
        return 0;
    }
    for (size_t i = 0; i < specs->count; i++) {
        size_t bytes = 0;

        tw_codec_size(specs->codec[i], n, &bytes);
        codes = bytes > codes ? bytes : codes;
    }
    b->x     = malloc(max);
    b->y     = malloc(max);
    b->codes = malloc(codes);
    if (b->x == NULL || b->y == NULL || b->codes == NULL) {
        job_complain(job, "not enough memory for --max %zu", max);
        return 0;
    }
    data_normal(b->x, n, 1, 1.0);
    return 1;
}

static int bench_all(const specs_t *specs, size_t min, size_t max, int threads, const job_t *job,
                     report_t *report)
{
    buffers_t b    = {NULL, NULL, NULL};
    int       well = buffers_create(&b, specs, max, job);

    if (well) {
        printf("GB/s of float32, %d thread%s, median of alternated repetitions; x memcpy above 1 "
               "is faster than\nmemcpy of the same bytes in this run. Normal random data; errors "
               "relative to its RMS.\n\n",
               threads, threads == 1 ? "" : "s");
        table_header(columns, COLUMNS);
    }
    for (size_t i = 0; i < specs->count && well; i++) {
        for (size_t bytes = min; bytes > 0 && well; bytes = measure_next_size(bytes, max)) {
            well = bench_size(specs, i, bytes, threads, &b, job, report);
        }
    }
    free(b.codes);
    free(b.y);
    free(b.x);
    return well;
}

typedef struct arguments {
    const char *codecs, *json;
    size_t      min, max;
    int         threads, table1;
} arguments_t;

static int run(const arguments_t *a, job_t *job, tw_context_t *ctx)
{
    static specs_t specs;
    report_t       report;
    int            well;

    if (!report_begin(&report, job, a->json)) {
        return EXIT_FAILED;
    }
    if (a->table1) {
        return report_end(&report, job, bench_table1(job, ctx, a->threads, &report));
    }
    well = a->codecs != NULL ? specs_create(&specs, job, ctx, a->codecs)
                             : specs_create_all(&specs, job, ctx);
    if (!well) {
        report_end(&report, job, 0);
        return EXIT_USAGE;
    }
    well = bench_all(&specs, a->min, a->max, a->threads > 0 ? a->threads : 1, job, &report);
    specs_destroy(&specs);
    return report_end(&report, job, well);
}

/* 1 if the arguments go together. */
static int check(arguments_t *a, char *why, size_t why_size)
{
    if (a->table1 && (a->codecs != NULL || a->min != 0 || a->max != 0)) {
        snprintf(why, why_size,
                 "--table1 chooses its codecs and sizes itself; it goes with "
                 "--threads and --json only");
        return 0;
    }
    return measure_range(&a->min, &a->max, DEFAULT_MIN, DEFAULT_MAX, why, why_size);
}

int bench_codec_main(job_t *job, int argc, char **argv)
{
    arguments_t    a = {0};
    char           why[512];
    tw_context_t  *ctx;
    int            code;
    const option_t options[] = {
        {"--codec", "LIST",
         "Codecs, such as tree8,onebit or bitpack:2 (default: all; thinwire info lists them).",
         OPTION_TEXT, &a.codecs, 0, 0},
        {"--min", "SIZE", "Smallest array, in bytes of float32, such as 4, 64k, 16M (default 64k).",
         OPTION_SIZE, &a.min, 0, 0},
        {"--max", "SIZE", "Largest array; sizes grow by factors of 4 (default 16M).", OPTION_SIZE,
         &a.max, 0, 0},
        {"--threads", "N", "Threads of codec and memcpy (default 1; all cores with --table1).",
         OPTION_COUNT, &a.threads, 1, 1024},
        {"--table1", NULL,
         "Instead: mean errors of the 8-bit types on four distributions, 25 million\n"
         "values each, beside those that Dettmers (2015, Table 1) prints.",
         OPTION_FLAG, &a.table1, 0, 0},
        {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &a.json, 0, 0},
        {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {
        "thinwire bench codec [OPTION...]",
        "Measures how fast each codec encodes and decodes float32 arrays, compared with memcpy of\n"
        "the same array in the same run, and what the encoding does to the values.",
        "Examples:\n  thinwire bench codec\n  thinwire bench codec --codec tree8,onebit --min 1M "
        "--max 64M --threads 2\n  thinwire bench codec --table1",
        options};

    switch (options_parse(&command, argc, argv, why, sizeof(why))) {
    case OPTIONS_HELP:
        options_help(&command);
        return EXIT_OK;
    case OPTIONS_BAD:
        job_complain(job, "bench codec: %s", why);
        return EXIT_USAGE;
    case OPTIONS_OK:
        break;
    }
    if (!check(&a, why, sizeof(why))) {
        job_complain(job, "bench codec: %s", why);
        return EXIT_USAGE;
    }
    ctx = job_context(job);
    if (ctx == NULL) {
        return EXIT_FAILED;
    }
    code = run(&a, job, ctx);
    tw_context_destroy(ctx);
    return code;
}
