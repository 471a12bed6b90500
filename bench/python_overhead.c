/* SPDX-License-Identifier: BSD-3-Clause
 * bench/python_overhead.c - short calls from C, for python_overhead.py, which starts it: what the same
 * calls take without Python.
 *
 *     mpirun -n RANKS bin/python-overhead COUNT CALLS
 *
 * prints "NAME MICROSECONDS", from rank 0: for each kind of call on COUNT float32 with tree8 the median of
 * the times of CALLS calls one by one.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "tools/measure.h"

typedef struct calls {
    tw_comm_t    *comm;
    tw_codec_t   *codec;
    tw_request_t *plan;
    float        *x, *out;
    void         *codes;
    size_t        count;
} calls_t;

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "python-overhead: %s: %s\n", what, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static tw_status_t call_allreduce(calls_t *c)
{
    const tw_how_t how = {.codec = c->codec};

    return tw_allreduce(c->comm, c->x, c->out, c->count, TW_SUM, &how);
}

static tw_status_t call_plan(calls_t *c)
{
    const tw_status_t status = tw_start(c->plan);

    return status == TW_OK ? tw_wait(&c->plan) : status;
}

static tw_status_t call_encode(calls_t *c)
{
    return tw_codec_encode(c->codec, NULL, c->x, c->count, c->codes);
}

static tw_status_t call_decode(calls_t *c)
{
    return tw_codec_decode(c->codec, NULL, c->codes, c->count, c->out);
}

/* In the order and by the names of python_overhead.py. */
static const struct {
    const char *name;
    tw_status_t (*run)(calls_t *c);
} kinds[] = {{"allreduce", call_allreduce},
             {"plan", call_plan},
             {"encode", call_encode},
             {"decode", call_decode}};

static void measure(calls_t *c, size_t k, double *seconds, size_t calls, int rank)
{
    for (size_t warm = 0; warm < calls / 10; warm++) {
        must(kinds[k].run(c), kinds[k].name);
    }
    for (size_t i = 0; i < calls; i++) {
        seconds[i] = measure_now();
        must(kinds[k].run(c), kinds[k].name);
        seconds[i] = measure_now() - seconds[i];
    }
    if (rank == 0) {
        printf("%s %.3f\n", kinds[k].name, 1e6 * measure_median(seconds, calls));
    }
}

int main(int argc, char **argv)
{
    const size_t  calls = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    tw_context_t *ctx   = NULL;
    calls_t       c     = {.count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0};
    size_t        bytes = 0;
    double       *seconds;

    if (calls == 0 || c.count == 0) {
        fputs("usage: python-overhead COUNT CALLS\n", stderr);
        return 2;
    }
    MPI_Init(&argc, &argv);
    must(tw_context_create(&ctx), "tw_context_create");
    must(tw_comm_create(ctx, MPI_COMM_WORLD, &c.comm), "tw_comm_create");
    must(tw_codec_create(ctx, "tree8", TW_F32, &c.codec, NULL, 0), "tw_codec_create");
    must(tw_codec_size(c.codec, c.count, &bytes), "tw_codec_size");
    seconds = malloc(calls * sizeof(*seconds));
    c.x     = calloc(c.count, sizeof(*c.x));
    c.out   = calloc(c.count, sizeof(*c.out));
    c.codes = malloc(bytes);
    if (seconds == NULL || c.x == NULL || c.out == NULL || c.codes == NULL) {
        fputs("python-overhead: out of memory\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return EXIT_FAILURE;
    }
    data_normal(c.x, c.count, 1, 1.0);
    must(tw_allreduce_init(c.comm, c.x, c.out, c.count, TW_SUM, &(tw_how_t){.codec = c.codec},
                           &c.plan),
         "tw_allreduce_init");
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        measure(&c, k, seconds, calls, tw_comm_rank(c.comm));
    }
    free(c.codes);
    free(c.out);
    free(c.x);
    free(seconds);
    must(tw_request_free(&c.plan), "tw_request_free");
    tw_codec_destroy(c.codec);
    tw_comm_destroy(c.comm);
    tw_context_destroy(ctx);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
