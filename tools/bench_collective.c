/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_collective.c - thinwire bench allreduce, bcast, reduce_scatter, allgather, alltoall:
 * MPI and thinwire with each codec in turn, on the same data; the time of a repetition is that of
 * the slowest rank.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "tools/bench_type.h"
#include "tools/bench_model.h"
#include "tools/commands.h"
#include "tools/bench_operations.h"
#include "tools/measure.h"
#include "command/options.h"
#include "tools/report.h"
#include "tools/specs.h"
#include "tools/table.h"
#include "command/watch.h"

#define DEFAULT_CODECS "fp32,bitpack:2,tree8,onebit" /* of float */
#define DEFAULT_MIN    ((size_t)4 << 10)
#define DEFAULT_MAX    ((size_t)16 << 20)
#define LARGEST        ((size_t)8 << 30) /* bytes: an int counts the elements of an MPI call */
#define ROW_BUDGET     0.4               /* seconds for a codec, with MPI's share */

typedef struct collective_arguments {
    const char *codecs, *data, *json, *type;
    size_t      min, max;
    int         model;
    tw_dtype_t  dtype;
} collective_arguments_t;

/* Seconds of each repetition, the contenders being MPI and then every codec. */
typedef struct turns {
    double seconds[1 + SPECS_MAX][MEASURE_REPEATS];
} turns_t;

typedef struct times {
    double native, thinwire; /* seconds: medians over repetitions of the slowest rank */
} times_t;

static double turn_native(const operation_t *operation, const bench_call_t *x)
{
    double start;
    int    rc;

    watch_begin(operation->mpi_name);
    MPI_Barrier(MPI_COMM_WORLD);
    start = measure_now();
    rc    = operation->native(x);
    start = measure_now() - start;
    watch_end();
    if (rc != MPI_SUCCESS) {
        job_abort(x->job, "%s failed", operation->mpi_name);
    }
    return start;
}

static double turn_thinwire(const operation_t *operation, const bench_call_t *x,
                            const tw_how_t *how)
{
    tw_status_t status;
    double      start;

    watch_begin("MPI_Barrier");
    MPI_Barrier(MPI_COMM_WORLD);
    watch_end();
    start  = measure_now();
    status = operation->thinwire(x, how);
    start  = measure_now() - start;
    if (status != TW_OK) {
        job_abort(x->job, "%s of %zu values: %s", operation->name, x->count,
                  tw_status_text(status));
    }
    return start;
}

/* One repetition: MPI, then thinwire with each codec; every other one in the opposite order, since
 * what ran just before leaves ranks that share cores in another order. */
static void turn_all(const operation_t *operation, const bench_call_t *x, const specs_t *specs,
                     int r, turns_t *turns)
{
    const size_t last = specs->count;

    for (size_t k = 0; k <= last; k++) {
        const size_t   i   = r % 2 == 0 ? k : last - k;
        const tw_how_t how = {.codec = i > 0 ? specs->codec[i - 1] : NULL};

        turns->seconds[i][r] =
            i > 0 ? turn_thinwire(operation, x, &how) : turn_native(operation, x);
    }
}

/* All contenders in turn; times[i] is for specs->codec[i]. */
static void measure_codecs(const operation_t *operation, const bench_call_t *x,
                           const specs_t *specs, times_t *times)
{
    static turns_t turns;
    double         all, slowest, native = 0.0;
    int            repeats;

    turn_all(operation, x, specs, 0, &turns); /* pages, connections, memory of the communicator */
    all = measure_now();
    turn_all(operation, x, specs, 0, &turns);
    all = measure_now() - all; /* with the barriers, which take long where ranks share a core */
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(&all, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    repeats = measure_repeats(slowest, ROW_BUDGET * (double)specs->count);
    for (int r = 0; r < repeats; r++) {
        turn_all(operation, x, specs, r, &turns);
    }
    for (size_t i = 0; i <= specs->count; i++) {
        double median;

        watch_begin("MPI_Allreduce");
        MPI_Allreduce(MPI_IN_PLACE, turns.seconds[i], repeats, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        median = measure_median(turns.seconds[i], (size_t)repeats);
        native = i == 0 ? median : native;
        if (i > 0) {
            times[i - 1] = (times_t){native, median};
        }
    }
    watch_end();
}

static const table_column_t columns[] = {{"codec", -12},   {"size", 6},         {"MPI", 8},
                                         {"thinwire", 8},  {"MPI/thinwire", 0}, {"wire bytes", 11},
                                         {"max error", 9}, {"RMS error", 9},    {"identical", -9}};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_header(const operation_t *operation, const job_t *job,
                         const collective_arguments_t *a)
{
    if (job->rank != 0) {
        return;
    }
    printf(
        "%s on %d rank%s, data: %s. Times are medians of alternated repetitions, each that of "
        "its slowest rank.\n"
        "size: bytes of %s%s. MPI/thinwire: time of %s divided by time of thinwire; above "
        "1\nthinwire is faster. wire bytes: counted, the most that a rank sent. Errors are "
        "relative to the RMS of\nthe exact result. identical: all ranks hold the same bits.%s\n\n",
        operation->name, job->size, job->size == 1 ? "" : "s", a->data != NULL ? a->data : "normal",
        tw_dtype_name(a->dtype), bench_values(operation, 1, 2) > 1 ? " for each rank" : "",
        operation->mpi_name, operation->same ? "" : " (Here they hold different data: -.)");
    table_header(columns, COLUMNS);
}

static void print_row(const operation_t *operation, const char *spec, size_t bytes,
                      const times_t *t, const verdict_t *v)
{
    char cells[COLUMNS][TABLE_CELL];

    table_text(cells[0], spec);
    table_size(cells[1], bytes);
    table_time(cells[2], t->native);
    table_time(cells[3], t->thinwire);
    table_number(cells[4], t->native / t->thinwire);
    snprintf(cells[5], TABLE_CELL, "%llu", (unsigned long long)v->wire_bytes);
    table_error(cells[6], v->max_error);
    table_error(cells[7], v->rms_error);
    table_text(cells[8], !operation->same ? "-" : v->identical ? "yes" : "NO");
    table_row(columns, COLUMNS, cells);
}

static json_t *row_json(const operation_t *operation, const tw_codec_traits_t *traits,
                        const char *spec, const bench_call_t *x, size_t bytes, const times_t *t,
                        const verdict_t *v)
{
    json_t *row = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:o}", "codec", spec,
        "operation", operation->name, "type", tw_dtype_name(x->dtype), "isa", traits->isa, "ranks",
        x->job->size, "bytes", (json_int_t)bytes, "seconds", t->thinwire, "mpi_seconds", t->native,
        "gbps", (double)bytes / t->thinwire * 1e-9, "ratio_mpi", t->native / t->thinwire,
        "wire_bytes", (json_int_t)v->wire_bytes, "wire_bytes_all_ranks", (json_int_t)v->wire_total,
        "max_error", report_number(v->max_error), "rms_error", report_number(v->rms_error));

    if (operation->same) {
        json_object_set_new(row, "identical", json_boolean(v->identical));
    }
    return row;
}

/* All codecs at all sizes. @return 0, or -1: ranks differ where they must not. */
static int bench_sizes(const operation_t *operation, bench_call_t *x, const specs_t *specs,
                       const collective_arguments_t *a, report_t *report, model_rows_t *rows)
{
    static times_t times[SPECS_MAX];
    int            identical = 1;

    for (size_t bytes = a->min; bytes > 0; bytes = measure_next_size(bytes, a->max)) {
        x->count = bytes / tw_dtype_size(x->dtype);
        measure_codecs(operation, x, specs, times);
        model_add(rows, (model_row_t){"MPI", NULL, x->count, times[0].native, NULL});
        for (size_t i = 0; i < specs->count; i++) {
            const tw_how_t how = {.codec = specs->codec[i]};
            verdict_t      verdict;
            json_t        *row = NULL;

            bench_check(operation, x, &how, &verdict);
            identical &= verdict.identical;
            if (x->job->rank == 0) {
                print_row(operation, specs->text[i], bytes, &times[i], &verdict);
                row = row_json(operation, &specs->traits[i], specs->text[i], x, bytes, &times[i],
                               &verdict);
                report_row(report, row);
            }
            model_add(rows, (model_row_t){specs->text[i], specs->codec[i], x->count,
                                          times[i].thinwire, row});
        }
    }
    return identical ? 0 : -1;
}

/* This rank's data. */
static int fill_buffers(const bench_call_t *x, const collective_arguments_t *a, size_t values,
                        tw_problem_t *problem)
{
    if (x->send == NULL || x->recv == NULL) {
        return tw_problem_set(problem, "not enough memory for --max %zu", a->max);
    }
    memset(x->recv, 0, values * tw_dtype_size(x->dtype));
    if (a->data != NULL && strcmp(a->data, "normal") != 0) {
        if (data_read(a->data, x->job->rank, x->job->size, x->send, values, problem) != 0) {
            return -1;
        }
    } else {
        data_normal(x->send, values, (uint64_t)x->job->rank + 1, 1.0);
    }
    bench_convert(x->send, values, x->dtype);
    return 0;
}

static int run_bench_collective(const operation_t *operation, const job_t *job, tw_context_t *ctx,
                                tw_comm_t *comm, const specs_t *specs,
                                const collective_arguments_t *a, report_t *report)
{
    static model_rows_t rows;
    const size_t values  = bench_values(operation, a->max / tw_dtype_size(a->dtype), job->size);
    const size_t element = /* send holds floats first */
        tw_dtype_size(a->dtype) > sizeof(float) ? tw_dtype_size(a->dtype) : sizeof(float);
    bench_call_t x       = {.job = job, .comm = comm, .dtype = a->dtype};
    tw_problem_t problem = {.set = 0};
    /* Two buffers on all ranks of this node, and as much again for what thinwire and MPI hold. */
    int well =
        measure_memory(4.0 * (double)element * (double)values * job->local_ranks, &problem) == 0;

    if (well) {
        x.send = malloc(values * element);
        x.recv = malloc(values * element);
        well   = fill_buffers(&x, a, values, &problem) == 0;
    }
    if (job_agree(job, well, problem.text) == 0) {
        print_header(operation, job, a);
        well = bench_sizes(operation, &x, specs, a, report, &rows) == 0;
        if (!well) {
            job_complain(job, "the ranks do not hold the same result; see the column identical");
        }
        well = (!a->model || model_compare(operation, &x, ctx, &rows, report) == 0) && well;
    } else {
        well = 0;
    }
    free(x.recv);
    free(x.send);
    return well ? 0 : -1;
}

/* What leaves elements as they are, and those of DEFAULT_CODECS that take them. */
static void default_codecs(tw_context_t *ctx, tw_dtype_t dtype, char *list, size_t size)
{
    size_t cursor = 0, used;
    char   spec[SPECS_LENGTH];

    used = (size_t)snprintf(list, size, "%s", tw_dtype_row(dtype)->lossless);
    while (tw_codec_list_next(DEFAULT_CODECS, &cursor, spec, sizeof(spec)) == TW_OK) {
        tw_codec_t *codec = NULL;

        if (!tw_dtype_is_lossless(dtype, spec) &&
            tw_codec_create(ctx, spec, dtype, &codec, NULL, 0) == TW_OK) {
            used += (size_t)snprintf(list + used, size - used, ",%s", spec);
        }
        tw_codec_destroy(codec);
    }
}

/* Everything from a context to its end. */
static int run_job(const operation_t *operation, const job_t *job, const collective_arguments_t *a)
{
    static specs_t specs;
    char           codecs[128];
    report_t       report;
    tw_comm_t     *comm = NULL;
    tw_context_t  *ctx  = job_context(job);
    int            code = EXIT_FAILED;

    if (ctx == NULL) {
        return EXIT_FAILED;
    }
    specs.moves =
        operation->kind != TW_OPERATION_ALLREDUCE && operation->kind != TW_OPERATION_REDUCE_SCATTER;
    default_codecs(ctx, a->dtype, codecs, sizeof(codecs));
    if (specs_create(&specs, job, ctx, a->codecs != NULL ? a->codecs : codecs, a->dtype) != 0) {
        tw_context_destroy(ctx);
        return EXIT_USAGE;
    }
    if (report_begin(&report, job, a->json) == 0) { /* tw_comm_create() logs its own cause */
        const int well = tw_comm_create(ctx, MPI_COMM_WORLD, &comm) == TW_OK &&
                         run_bench_collective(operation, job, ctx, comm, &specs, a, &report) == 0;

        code = report_end(&report, job, well);
        tw_comm_destroy(comm);
    }
    specs_destroy(&specs);
    tw_context_destroy(ctx);
    return code;
}

int bench_collective_main(job_t *job, int argc, char **argv)
{
    const operation_t     *operation = bench_operation(argv[0]);
    collective_arguments_t a         = {0};
    const option_t         options[] = {
                {"--codec", "LIST",
                 "Codecs, such as tree8,onebit; thinwire info lists them\n(default " DEFAULT_CODECS ").",
                 OPTION_TEXT, &a.codecs, 0, 0},
                {"--type", "TYPE", "Elements, such as double or bfloat16 (default float).", OPTION_TEXT,
                 &a.type, 0, 0},
                {"--min", "SIZE",
                 "Smallest message, in bytes of elements, such as 4, 64k, 16M (default 4k).", OPTION_SIZE,
                 &a.min, 0, 0},
                {"--max", "SIZE", "Largest message; sizes grow by factors of 4 (default 16M).", OPTION_SIZE,
                 &a.max, 0, 0},
                {"--data", "FILE|normal",
                 "What is sent: raw little-endian float32 from a file, each rank another\n"
                         "part of it, or normal random values, different on each rank (default).",
                 OPTION_TEXT, &a.data, 0, 0},
                {"--model", NULL,
                 "Also print the times that the model of the codec auto predicts, and its median error;\n"
                         "run thinwire calibrate before.",
                 OPTION_FLAG, &a.model, 0, 0},
                {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &a.json, 0, 0},
                {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    char            name[32], usage[80];
    const command_t command = {usage, operation->about, operation->examples, .options = options};
    tw_problem_t    problem = {.set = 0};
    int             code;

    snprintf(name, sizeof(name), "bench %s", operation->name);
    snprintf(usage, sizeof(usage), "mpirun -n P thinwire %s [OPTION...]", name);
    code = job_options(job, &command, name, argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (a.max >= LARGEST) {
        tw_problem_set(&problem, "--max: sizes are below 8G, which is what one MPI call can count");
    } else if (measure_range(&a.min, &a.max, DEFAULT_MIN, DEFAULT_MAX, &problem) == 0 &&
               bench_type(a.type, a.min, &a.dtype, &problem) == 0) {
        job_need_mpi(job);
        return run_job(operation, job, &a);
    }
    job_complain(job, "%s: %s", name, problem.text);
    return EXIT_USAGE;
}
