/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_codec.c - thinwire bench codec: the kernels of each codec against memcpy and against
 * what memory allows, by instruction set, threads and size, all in one process.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_type.h"
#include "tools/bench_rows.h"
#include "tools/commands.h"
#include "command/options.h"
#include "tools/specs.h"

#define DEFAULT_MIN  ((size_t)64 << 10)
#define DEFAULT_MAX  ((size_t)256 << 20)
#define MOST_LISTED  16
#define MOST_THREADS 1024

typedef struct codec_arguments {
    const char *codecs, *threads_text, *isa_text, *json, *plot;
    size_t      min, max;
    const char *type;
    int         doubles;
    tw_dtype_t  dtype;
    int         threads[MOST_LISTED], threads_count;
    const char *isa[MOST_LISTED]; /* none: what THINWIRE_CPU allows */
    int         isa_count;
} codec_arguments_t;

static const char *const isa_names[] = {"scalar", "avx2", "avx512", "neon", "vsx", NULL};

/* Codecs and their context under THINWIRE_CPU=isa; NULL: as it is. */
static void cap_cpu(const char *isa)
{
    static char *before;
    static int   saved;

    if (!saved) {
        const char *now = getenv("THINWIRE_CPU");

        before = now != NULL ? strdup(now) : NULL;
        saved  = 1;
    }
    if (isa != NULL) {
        setenv("THINWIRE_CPU", isa, 1);
    } else if (before != NULL) {
        setenv("THINWIRE_CPU", before, 1);
    } else {
        unsetenv("THINWIRE_CPU");
    }
}

static int isa_present(tw_context_t *ctx, const char *isa)
{
    int present;

    cap_cpu(isa);
    present = strcmp(tw_cpu_level(ctx), isa) == 0;
    cap_cpu(NULL);
    return present;
}

static int check_status(const job_t *job, const char *what, size_t bytes, tw_status_t status)
{
    if (status == TW_OK) {
        return 0;
    }
    job_complain(job, "%s at %zu bytes: %s", what, bytes, tw_status_text(status));
    return -1;
}

static size_t element(const codec_arguments_t *a)
{
    return tw_dtype_size(a->dtype);
}

static int bench_codec(const specs_t *specs, size_t i, const codec_arguments_t *a, int threads,
                       const arena_t *arena, const job_t *job, rows_t *rows)
{
    for (size_t bytes = a->min; bytes > 0; bytes = measure_next_size(bytes, a->max)) {
        const row_key_t key    = {specs->text[i], specs->traits[i].isa, threads, bytes};
        codec_result_t  result = {0};
        tw_status_t     status =
            bench_kernels(arena, specs->codec[i], key.isa, bytes / element(a), threads, &result);

        if (check_status(job, key.codec, bytes, status) != 0) {
            return -1;
        }
        for (int o = BENCH_ENCODE; o <= BENCH_ENCODE_FEEDBACK; o++) {
            rows_add(rows, &key, (kernel_operation_t)o, &result);
        }
    }
    return 0;
}

/* What has no codec, by any codec: its kernels may use what all of them may. */
static int bench_no_codec(const tw_codec_t *codec, const char *isa, const codec_arguments_t *a,
                          int threads, const arena_t *arena, const job_t *job, rows_t *rows)
{
    for (size_t bytes = a->min; bytes > 0; bytes = measure_next_size(bytes, a->max)) {
        codec_result_t result = {0};
        tw_status_t status = bench_sums(arena, codec, isa, bytes / sizeof(float), threads, &result);

        if (check_status(job, "values", bytes, status) != 0) {
            return -1;
        }
        for (int o = BENCH_ABSMAX; o <= BENCH_SQUARE_SUM; o++) {
            const kernel_operation_t operation = (kernel_operation_t)o;
            const row_key_t          key = {bench_operation_name(operation), isa, threads, bytes};

            rows_add(rows, &key, operation, &result);
        }
    }
    return 0;
}

static int bench_specs(const specs_t *specs, const char *isa, const codec_arguments_t *a,
                       const arena_t *arena, const job_t *job, rows_t *rows)
{
    for (int t = 0; t < a->threads_count; t++) {
        for (size_t i = 0; i < specs->count; i++) {
            if (bench_codec(specs, i, a, a->threads[t], arena, job, rows) != 0) {
                return -1;
            }
        }
        if (a->dtype == TW_F32 &&
            bench_no_codec(specs->codec[0], isa, a, a->threads[t], arena, job, rows) != 0) {
            return -1;
        }
    }
    return 0;
}

static int specs_of(specs_t *specs, const codec_arguments_t *a, const char *isa, const job_t *job,
                    tw_context_t *ctx)
{
    int status;

    cap_cpu(isa);
    status = a->codecs != NULL ? specs_create(specs, job, ctx, a->codecs, a->dtype)
                               : specs_create_all(specs, job, ctx, a->dtype);
    cap_cpu(NULL);
    return status;
}

static size_t most_codes(const specs_t *specs, const codec_arguments_t *a)
{
    const size_t n    = a->max / element(a);
    size_t       most = 0;

    for (size_t i = 0; i < specs->count; i++) {
        size_t bytes = 0;

        tw_codec_size(specs->codec[i], n, &bytes);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Exit code. The sizes do not depend on the instruction set, so the first set's codecs tell them.
 */
static int bench_isas(const codec_arguments_t *a, const job_t *job, tw_context_t *ctx, rows_t *rows)
{
    static specs_t specs;
    arena_t        arena;
    int            status;

    if (specs_of(&specs, a, a->isa_count > 0 ? a->isa[0] : NULL, job, ctx) != 0) {
        return EXIT_USAGE;
    }
    status = arena_create(&arena, job, a->dtype, a->max / element(a), most_codes(&specs, a));
    specs_destroy(&specs);
    if (status == 0) {
        rows_begin();
    }
    for (int i = 0; status == 0 && i < (a->isa_count > 0 ? a->isa_count : 1); i++) {
        const char *isa = a->isa_count > 0 ? a->isa[i] : NULL;

        status = specs_of(&specs, a, isa, job, ctx);
        if (status == 0) {
            status =
                bench_specs(&specs, isa != NULL ? isa : tw_cpu_level(ctx), a, &arena, job, rows);
            specs_destroy(&specs);
        }
    }
    if (status == 0) {
        rows_end(rows);
    }
    arena_destroy(&arena);
    return status == 0 ? EXIT_OK : EXIT_FAILED;
}

static int run_bench_codec(const codec_arguments_t *a, job_t *job, tw_context_t *ctx)
{
    report_t report;
    plot_t   plot;
    rows_t   rows = {&report, &plot, 0};
    int      code;

    if (plot_begin(&plot, job, a->plot) != 0 || report_begin(&report, job, a->json) != 0) {
        return EXIT_FAILED;
    }
    code = bench_isas(a, job, ctx, &rows);
    if (plot_end(&plot, job, code == EXIT_OK) != 0 && code == EXIT_OK) {
        code = EXIT_FAILED;
    }
    if (report_end(&report, job, code == EXIT_OK) != EXIT_OK && code == EXIT_OK) {
        code = EXIT_FAILED;
    }
    return code;
}

static int parse_threads(codec_arguments_t *a, tw_problem_t *problem)
{
    const char *at = a->threads_text != NULL ? a->threads_text : "1";

    do {
        char      *end;
        const long n = strtol(at, &end, 10);

        if (*at < '0' || *at > '9' || n < 1 || n > MOST_THREADS || (*end != '\0' && *end != ',') ||
            a->threads_count == MOST_LISTED) {
            return tw_problem_set(
                problem,
                "--threads %s: accepted are numbers from 1 to %d, such as 2 or 1,2,4 (at most %d)",
                a->threads_text, MOST_THREADS, MOST_LISTED);
        }
        a->threads[a->threads_count++] = (int)n;
        at                             = *end == ',' ? end + 1 : NULL;
    } while (at != NULL);
    return 0;
}

/* The instruction sets that are asked for and present; the first word that is neither is the error.
 */
static int choose_isa(codec_arguments_t *a, tw_context_t *ctx, tw_problem_t *problem)
{
    const char *text      = a->isa_text != NULL ? a->isa_text : "";
    const int   all       = strcmp(text, "all") == 0;
    char        here[128] = "";
    size_t      used      = 0;

    for (int i = 0; isa_names[i] != NULL; i++) {
        if (isa_present(ctx, isa_names[i])) {
            used += (size_t)snprintf(here + used, sizeof(here) - used, "%s%s", used > 0 ? ", " : "",
                                     isa_names[i]);
            if (all) {
                a->isa[a->isa_count++] = isa_names[i];
            }
        }
    }
    while (!all && *text != '\0') {
        const size_t length = strcspn(text, ",");
        int          i      = 0;

        while (isa_names[i] != NULL &&
               (strlen(isa_names[i]) != length || strncmp(text, isa_names[i], length) != 0)) {
            i++;
        }
        if (isa_names[i] == NULL || !isa_present(ctx, isa_names[i]) ||
            a->isa_count == MOST_LISTED) {
            return tw_problem_set(problem, "--isa %.100s: accepted here: all, or of %s",
                                  a->isa_text, here);
        }
        a->isa[a->isa_count++] = isa_names[i];
        text += length + (text[length] == ',');
    }
    return 0;
}

int bench_codec_main(job_t *job, int argc, char **argv)
{
    codec_arguments_t a       = {0};
    tw_problem_t      problem = {.set = 0};
    tw_context_t     *ctx;
    int               code;
    const option_t    options[] = {
           {"--codec", "LIST",
            "Codecs, such as tree8,onebit or bitpack:2 (default: all; thinwire info lists them).",
            OPTION_TEXT, &a.codecs, 0, 0},
           {"--type", "TYPE",
            "Elements, such as double or bfloat16, by the codecs that take them (default float).",
            OPTION_TEXT, &a.type, 0, 0},
           {"--double", NULL, "The same as --type double.", OPTION_FLAG, &a.doubles, 0, 0},
           {"--min", "SIZE", "Smallest array, in bytes of values, such as 8, 64k, 16M (default 64k).",
            OPTION_SIZE, &a.min, 0, 0},
           {"--max", "SIZE", "Largest array; sizes grow by factors of 4 (default 256M).", OPTION_SIZE,
            &a.max, 0, 0},
           {"--threads", "LIST", "Threads of codec, memcpy and loops, such as 2 or 1,2,4 (default 1).",
            OPTION_TEXT, &a.threads_text, 0, 0},
           {"--isa", "LIST",
            "Instruction sets, such as avx2,avx512, or all (default: the one that\n"
               "THINWIRE_CPU allows).",
            OPTION_TEXT, &a.isa_text, 0, 0},
           {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &a.json, 0, 0},
           {"--plot", "FILE.svg", "Also draw the speeds against the limits, by gnuplot.", OPTION_TEXT,
            &a.plot, 0, 0},
           {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {
        "thinwire bench codec [OPTION...]",
        "Measures how fast each codec encodes, decodes, adds and encodes with error feedback, "
        "compared\n"
        "with memcpy and with loops that only read and write the same bytes, in the same run, and "
        "what\n"
        "the encoding does to the values.",
        "Examples:\n  thinwire bench codec\n  thinwire bench codec --codec tree8,onebit --min 1M "
        "--max 64M --threads 1,2\n  thinwire bench codec --isa all --json codec.json --plot "
        "codec.svg",
        .options = options};

    code = job_options(job, &command, "bench codec", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (parse_threads(&a, &problem) != 0 ||
        measure_range(&a.min, &a.max, DEFAULT_MIN, DEFAULT_MAX, &problem) != 0 ||
        bench_type(a.doubles ? "double" : a.type, a.min, &a.dtype, &problem) != 0) {
        job_complain(job, "bench codec: %s", problem.text);
        return EXIT_USAGE;
    }
    ctx = job_context(job);
    if (ctx == NULL) {
        return EXIT_FAILED;
    }
    if (choose_isa(&a, ctx, &problem) == 0) {
        code = run_bench_codec(&a, job, ctx);
    } else {
        job_complain(job, "bench codec: %s", problem.text);
        code = EXIT_USAGE;
    }
    tw_context_destroy(ctx);
    return code;
}
