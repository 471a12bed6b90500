/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_overlap.c - thinwire bench overlap: does an allreduce go on while its program
 * computes?
 *
 * For each codec: tw_iallreduce and tw_wait with nothing in between; a computation that takes as
 * long; and both, the computation in between, which calls nothing. With T, the longer of the two
 * alone, complete overlap takes T, none takes 2 T. By turns on two communicators, without and with
 * THINWIRE_PROGRESS=thread.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "tools/commands.h"
#include "tools/bench_operations.h"
#include "tools/measure.h"
#include "command/options.h"
#include "tools/report.h"
#include "tools/specs.h"
#include "tools/table.h"

#define DEFAULT_CODECS "fp32,bitpack:2,tree8"
#define DEFAULT_SIZE   ((size_t)16 << 20)
#define BUDGET         4.0  /* seconds for a codec and a communicator */
#define STEPS          1000 /* of the computation between looks at the clock, in the calibration */

typedef struct overlap_arguments {
    const char *codecs, *json;
    size_t      size;
} overlap_arguments_t;

/* Without and with a thread. */
typedef struct sides {
    tw_comm_t *comm[2];
} sides_t;

typedef struct overlap {
    double exchange[2], compute, both[2]; /* seconds: medians of the slowest rank */
} overlap_t;

static double overlap_alone(const overlap_t *o)
{
    return o->exchange[0] > o->compute ? o->exchange[0] : o->compute;
}

static volatile float sink;

/* Arithmetic in registers and the first cache: the memory is left to the exchange. */
static void compute_steps(uint64_t steps)
{
    static float a[256];

    for (uint64_t s = 0; s < steps; s++) {
        for (int i = 0; i < 256; i++) {
            a[i] = a[i] * 0.999f + 0.5f;
        }
    }
    sink = a[(int)(steps % 256)];
}

/* Steps a second on an otherwise idle core: the best of some tries. */
static double compute_speed(void)
{
    double best = 0.0;

    for (int try = 0; try < 20; try++) {
        const double start = measure_now();
        double       speed;

        compute_steps(20 * STEPS);
        speed = 20 * STEPS / (measure_now() - start);
        best  = speed > best ? speed : best;
    }
    return best;
}

/* One repetition: start, compute, wait. */
static double turn_exchange(const bench_call_t *x, const tw_how_t *how, uint64_t steps)
{
    tw_request_t *request = NULL;
    tw_status_t   status;
    double        start;

    MPI_Barrier(MPI_COMM_WORLD);
    start  = measure_now();
    status = tw_iallreduce(x->comm, x->send, x->recv, x->count, TW_SUM, how, &request);
    if (status == TW_OK) {
        compute_steps(steps);
        status = tw_wait(&request);
    }
    if (status != TW_OK) {
        job_abort(x->job, "overlap of %zu values: %s", x->count, tw_status_text(status));
    }
    return measure_now() - start;
}

static double turn_compute(uint64_t steps)
{
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = measure_now();
    compute_steps(steps);
    return measure_now() - start;
}

/* The median over the repetitions of the slowest rank; the same on all ranks. */
static double slowest_median(double *seconds, int repeats)
{
    MPI_Allreduce(MPI_IN_PLACE, seconds, repeats, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return measure_median(seconds, (size_t)repeats);
}

/* Steps that take so many seconds here and now, where others may use the cores too. */
static uint64_t steps_for(double seconds, double speed)
{
    double steps = seconds * speed;

    for (int try = 0; try < 3; try++) {
        double taken[5], median;

        for (int r = 0; r < 5; r++) {
            taken[r] = turn_compute((uint64_t)steps);
        }
        median = slowest_median(taken, 5);
        steps  = median > 0.0 ? steps * seconds / median : steps;
    }
    return (uint64_t)steps;
}

static int repeats_of(const bench_call_t *x, const tw_how_t *how)
{
    double once, slowest;

    turn_exchange(x, how, 0); /* pages, connections, memory of the communicator */
    once = turn_exchange(x, how, 0);
    MPI_Allreduce(&once, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return measure_repeats(4.0 * slowest, BUDGET);
}

static void measure_overlap(bench_call_t *x, const sides_t *sides, const tw_how_t *how,
                            double speed, overlap_t *o)
{
    static double alone[2][MEASURE_REPEATS], computing[MEASURE_REPEATS], both[2][MEASURE_REPEATS];
    uint64_t      steps;
    int           repeats = 0;

    for (int s = 0; s < 2; s++) {
        x->comm = sides->comm[s];
        repeats = repeats_of(x, how);
    }
    MPI_Bcast(&repeats, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; r < repeats; r++) {
        for (int s = 0; s < 2; s++) {
            x->comm     = sides->comm[s];
            alone[s][r] = turn_exchange(x, how, 0);
        }
    }
    for (int s = 0; s < 2; s++) {
        o->exchange[s] = slowest_median(alone[s], repeats);
    }
    steps = steps_for(o->exchange[0], speed);
    for (int r = 0; r < repeats; r++) {
        computing[r] = turn_compute(steps);
        for (int s = 0; s < 2; s++) {
            x->comm    = sides->comm[s];
            both[s][r] = turn_exchange(x, how, steps);
        }
    }
    o->compute = slowest_median(computing, repeats);
    for (int s = 0; s < 2; s++) {
        o->both[s] = slowest_median(both[s], repeats);
    }
}

static const table_column_t columns[] = {{"codec", -12},      {"size", 6},    {"exchange", 8},
                                         {"computing", 9},    {"both", 8},    {"both / T", 8},
                                         {"with thread", 11}, {"both / T", 8}};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_row(const char *spec, size_t bytes, const overlap_t *o)
{
    char cells[COLUMNS][TABLE_CELL];

    table_text(cells[0], spec);
    table_size(cells[1], bytes);
    table_time(cells[2], o->exchange[0]);
    table_time(cells[3], o->compute);
    table_time(cells[4], o->both[0]);
    table_number(cells[5], o->both[0] / overlap_alone(o));
    table_time(cells[6], o->both[1]);
    table_number(cells[7], o->both[1] / overlap_alone(o));
    table_row(columns, COLUMNS, cells);
}

static json_t *row_json(const tw_codec_traits_t *traits, const char *spec, int ranks, size_t bytes,
                        const overlap_t *o)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "codec", spec,
                     "operation", "overlap", "isa", traits->isa, "ranks", ranks, "bytes",
                     (json_int_t)bytes, "seconds", o->exchange[0], "seconds_thread", o->exchange[1],
                     "computing", o->compute, "both", o->both[0], "both_thread", o->both[1],
                     "ratio", o->both[0] / overlap_alone(o), "ratio_thread",
                     o->both[1] / overlap_alone(o));
}

static int run_bench_overlap(const job_t *job, const sides_t *sides, const specs_t *specs,
                             const overlap_arguments_t *a, report_t *report)
{
    const size_t n = a->size / sizeof(float);
    bench_call_t x = {.job = job, .count = n, .send = malloc(a->size), .recv = malloc(a->size)};
    const int    status =
        job_agree(job, x.send != NULL && x.recv != NULL, "not enough memory for --size");

    if (status == 0) {
        const double speed = compute_speed();

        data_normal(x.send, n, (uint64_t)job->rank + 1, 1.0);
        memset(x.recv, 0, a->size);
        if (job->rank == 0) {
            printf("A nonblocking allreduce on %d rank%s, data: normal, beside a computation that "
                   "takes "
                   "about as long and calls\nnothing. T: the longer of the two alone. Medians of "
                   "alternated repetitions, each that of its slowest rank.\n\n",
                   job->size, job->size == 1 ? "" : "s");
            table_header(columns, COLUMNS);
        }
        for (size_t i = 0; i < specs->count; i++) {
            const tw_how_t how = {.codec = specs->codec[i]};
            overlap_t      o;

            measure_overlap(&x, sides, &how, speed, &o);
            if (job->rank == 0) {
                print_row(specs->text[i], a->size, &o);
                report_row(report,
                           row_json(&specs->traits[i], specs->text[i], job->size, a->size, &o));
            }
        }
    }
    free(x.recv);
    free(x.send);
    return status;
}

/* A communicator with THINWIRE_PROGRESS as given; the library reads it from the environment. */
static tw_status_t create_side(tw_context_t *ctx, const char *progress, tw_comm_t **comm_p)
{
    setenv("THINWIRE_PROGRESS", progress, 1);
    return tw_comm_create(ctx, MPI_COMM_WORLD, comm_p);
}

static int run_job(const job_t *job, const overlap_arguments_t *a)
{
    static specs_t specs;
    report_t       report;
    sides_t        sides = {{NULL, NULL}};
    tw_context_t  *ctx   = job_context(job);
    int            code  = EXIT_FAILED;

    if (ctx == NULL) {
        return EXIT_FAILED;
    }
    if (specs_create(&specs, job, ctx, a->codecs != NULL ? a->codecs : DEFAULT_CODECS, TW_F32) !=
        0) {
        tw_context_destroy(ctx);
        return EXIT_USAGE;
    }
    if (report_begin(&report, job, a->json) == 0) {
        int well = create_side(ctx, "none", &sides.comm[0]) == TW_OK &&
                   create_side(ctx, "thread", &sides.comm[1]) == TW_OK &&
                   run_bench_overlap(job, &sides, &specs, a, &report) == 0;

        code = report_end(&report, job, well);
        for (int s = 1; s >= 0; s--) {
            tw_comm_destroy(sides.comm[s]);
        }
    }
    specs_destroy(&specs);
    tw_context_destroy(ctx);
    return code;
}

int bench_overlap_main(job_t *job, int argc, char **argv)
{
    overlap_arguments_t a = {.size = DEFAULT_SIZE};
    int                 code;
    int                 level;
    const option_t      options[] = {
             {"--codec", "LIST",
              "Codecs, such as tree8,onebit; thinwire info lists them\n(default " DEFAULT_CODECS ").",
              OPTION_TEXT, &a.codecs, 0, 0},
             {"--size", "SIZE", "Bytes of float32 in the vector (default 16M).", OPTION_SIZE, &a.size, 0,
              0},
             {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &a.json, 0, 0},
             {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {
        "mpirun -n P thinwire bench overlap [OPTION...]",
        "Runs a nonblocking allreduce beside a computation that takes as long, without and with\n"
        "THINWIRE_PROGRESS=thread, and prints what both take together.",
        "Examples:\n  mpirun -n 2 thinwire bench overlap --codec fp32,tree8 --size 64M",
        .options = options};

    code = job_options(job, &command, "bench overlap", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (a.size < sizeof(float) || a.size % sizeof(float) != 0 || a.size > ((size_t)1 << 32)) {
        job_complain(job, "bench overlap: --size: accepted: multiples of 4 from 4 to 4G");
        return EXIT_USAGE;
    }
    job_need_mpi(job);
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) {
        job_complain(job, "bench overlap: this MPI library has no MPI_THREAD_MULTIPLE");
        return EXIT_FAILED;
    }
    return run_job(job, &a);
}
