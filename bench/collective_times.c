/* SPDX-License-Identifier: BSD-3-Clause
 * bench/collective_times.c - single collectives of the library: what they take, and what the model
 * says they do; validate-collectives.sh runs it on emulated hosts.
 *
 *     mpirun ... bin/collective-times measure FACTS LIMIT DRAIN BYTES...
 *     bin/collective-times predict FACTS <ROWS
 *
 * measure prints a row "operation codec algorithm bytes count seconds" for allreduce, bcast, alltoall,
 * allgather and reduce_scatter, each codec of the list below and each size; algorithm "-" is a call that
 * names none. BYTES of float32 are those of a rank's whole vector, of which an allgather's block is a
 * share. seconds: the median over the repetitions (after one that does not count) of the slowest rank.
 * What the facts say takes longer than LIMIT seconds is left out. Before each repetition every rank sends
 * DRAIN bytes to the next: an emulated link lets the first bytes after a pause pass at any rate, as no
 * real one does.
 * predict adds three columns to each row: predicted seconds, by which algorithm, and bytes that the
 * busiest rank sends.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "tools/measure.h"

enum { REPETITIONS = 21, LEAST = 3, CODECS = 4, WORD = 40 };

#define BUDGET 0.2 /* seconds of a row, where LEAST repetitions take no longer */

typedef struct times {
    tw_comm_t  *comm;
    tw_facts_t  facts;
    tw_codec_t *codec[CODECS];
    float      *send, *recv;
    char       *drain;
    int         drained; /* bytes */
    double      limit;
    int         rank, ranks;
} times_t;

/* onebit is for gradients: of an allreduce alone. */
static const char *const codecs[CODECS] = {"fp32", "bitpack:2", "tree8", "onebit"};

static const struct {
    const char    *name;
    tw_algorithm_t number;
} algorithms[] = {{"-", TW_ALGORITHM_AUTO},
                  {"direct", TW_ALGORITHM_DIRECT},
                  {"two_pass", TW_ALGORITHM_TWO_PASS},
                  {"grid", TW_ALGORITHM_GRID}};

static const tw_operation_t operations[] = {TW_OPERATION_ALLREDUCE, TW_OPERATION_BCAST,
                                            TW_OPERATION_ALLTOALL, TW_OPERATION_ALLGATHER,
                                            TW_OPERATION_REDUCE_SCATTER};

#define OF(list) (sizeof(list) / sizeof((list)[0]))

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "collective-times: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "collective-times: %s: %s\n", what, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* count as tw_operation_t has it. */
static tw_status_t run(const times_t *t, tw_operation_t operation, size_t count,
                       const tw_how_t *how)
{
    switch (operation) {
    case TW_OPERATION_ALLREDUCE:
        return tw_allreduce(t->comm, t->send, t->recv, count, TW_SUM, how);
    case TW_OPERATION_BCAST:
        return tw_bcast(t->comm, t->recv, count, 0, how);
    case TW_OPERATION_ALLTOALL:
        return tw_alltoall(t->comm, t->send, t->recv, count, how);
    case TW_OPERATION_ALLGATHER:
        return tw_allgather(t->comm, t->send, t->recv, count, how);
    default:
        return tw_reduce_scatter_block(t->comm, t->send, t->recv, count / (size_t)t->ranks, TW_SUM,
                                       how);
    }
}

static double slowest(const times_t *t, tw_operation_t operation, size_t count, const tw_how_t *how)
{
    const int next = (t->rank + 1) % t->ranks, last = (t->rank + t->ranks - 1) % t->ranks;
    double    mine, all;

    MPI_Sendrecv(t->drain, t->drained, MPI_BYTE, next, 0, t->drain + t->drained, t->drained,
                 MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    mine = measure_now();
    must(run(t, operation, count, how), tw_operation_name(operation));
    mine = measure_now() - mine;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static double median(const times_t *t, tw_operation_t operation, size_t count, const tw_how_t *how)
{
    double    seconds[REPETITIONS];
    const int wanted      = (int)(BUDGET / slowest(t, operation, count, how));
    const int repetitions = wanted > REPETITIONS ? REPETITIONS : wanted < LEAST ? LEAST : wanted;

    for (int r = 0; r < repetitions; r++) {
        seconds[r] = slowest(t, operation, count, how);
    }
    return measure_median(seconds, (size_t)repetitions);
}

static size_t count_of(tw_operation_t operation, size_t bytes, int ranks)
{
    const size_t values = bytes / sizeof(float), block = values / (size_t)ranks;

    switch (operation) {
    case TW_OPERATION_ALLGATHER:
    case TW_OPERATION_ALLTOALL:
        return block;
    case TW_OPERATION_REDUCE_SCATTER:
        return block * (size_t)ranks;
    default:
        return values;
    }
}

static void row(const times_t *t, tw_operation_t operation, size_t c, size_t a, size_t bytes)
{
    const size_t    count = count_of(operation, bytes, t->ranks);
    const tw_how_t  how   = {.codec = t->codec[c], .algorithm = algorithms[a].number};
    tw_prediction_t said;
    double          seconds;

    if (tw_facts_predict(&t->facts, operation, (double)count, tw_codec_spec(t->codec[c]), TW_F32,
                         a > 0 ? algorithms[a].name : NULL, &said) != TW_OK ||
        said.seconds > t->limit) {
        return;
    }
    seconds = median(t, operation, count, &how);
    if (t->rank == 0) {
        printf("%s %s %s %zu %zu %.9g\n", tw_operation_name(operation), codecs[c],
               algorithms[a].name, bytes, count, seconds);
        fflush(stdout);
    }
}

static void measure(times_t *t, size_t bytes)
{
    t->send = malloc(bytes);
    t->recv = malloc(bytes);
    if (bytes < sizeof(float) * (size_t)t->ranks || t->send == NULL || t->recv == NULL) {
        fprintf(stderr,
                "collective-times: %zu bytes: accepted: 4 for each rank to what memory "
                "can hold\n",
                bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return;
    }
    data_normal(t->send, bytes / sizeof(float), (uint64_t)t->rank + 1, 1.0);
    for (size_t o = 0; o < OF(operations); o++) {
        const int reduces = operations[o] == TW_OPERATION_ALLREDUCE;

        for (size_t c = 0; c < (reduces ? CODECS : CODECS - 1); c++) {
            for (size_t a = 0; a < (reduces ? OF(algorithms) : 1); a++) {
                memcpy(t->recv, t->send, bytes);
                row(t, operations[o], c, a, bytes);
            }
        }
    }
    free(t->recv);
    free(t->send);
}

static void load(const char *path, tw_facts_t *facts)
{
    char why[200];

    if (tw_facts_load(path, facts, why, sizeof(why)) != TW_OK) {
        fail(path, why);
    }
}

static int measure_main(int argc, char **argv)
{
    static times_t t;
    tw_context_t  *ctx = NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &t.ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    load(argv[2], &t.facts);
    t.limit   = atof(argv[3]);
    t.drained = atoi(argv[4]);
    t.drain   = calloc(2 * (size_t)t.drained + 1, 1);
    if (t.drain == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return EXIT_FAILURE;
    }
    must(tw_context_create(&ctx), "tw_context_create");
    must(tw_comm_create(ctx, MPI_COMM_WORLD, &t.comm), "tw_comm_create");
    for (size_t c = 0; c < CODECS; c++) {
        must(tw_codec_create(ctx, codecs[c], TW_F32, &t.codec[c], NULL, 0), codecs[c]);
    }
    for (int a = 5; a < argc; a++) {
        measure(&t, strtoul(argv[a], NULL, 10));
    }
    for (size_t c = 0; c < CODECS; c++) {
        tw_codec_destroy(t.codec[c]);
    }
    free(t.drain);
    tw_comm_destroy(t.comm);
    tw_context_destroy(ctx);
    MPI_Finalize();
    return EXIT_SUCCESS;
}

/* ---- predictions --------------------------------------------------------------------------- */

static tw_operation_t operation_of(const char *name)
{
    for (size_t o = 0; o < OF(operations); o++) {
        if (strcmp(tw_operation_name(operations[o]), name) == 0) {
            return operations[o];
        }
    }
    fail(name, "no operation of a row");
    return TW_OPERATION_ALLREDUCE;
}

/* The facts' row of a codec, whose spec has its options in full. */
static const char *spec_of(const tw_facts_t *facts, const char *name)
{
    const size_t length = strlen(name);

    for (int c = 0; c < facts->codecs; c++) {
        const char *spec = facts->codec[c].spec;

        if (facts->codec[c].dtype == TW_F32 && strncmp(spec, name, length) == 0 &&
            (spec[length] == '\0' || spec[length] == ':')) {
            return spec;
        }
    }
    fail(name, "the facts have no such codec");
    return NULL;
}

static int predict_main(const char *path)
{
    static tw_facts_t facts;
    char              line[200];

    load(path, &facts);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char            operation[WORD], codec[WORD], algorithm[WORD];
        double          bytes, count, seconds;
        tw_prediction_t said;

        if (sscanf(line, "%39s %39s %39s %lf %lf %lf", operation, codec, algorithm, &bytes, &count,
                   &seconds) != 6) {
            fail("a row", line);
        }
        if (tw_facts_predict(&facts, operation_of(operation), count, spec_of(&facts, codec), TW_F32,
                             strcmp(algorithm, "-") != 0 ? algorithm : NULL, &said) != TW_OK) {
            fail("cannot be predicted", line);
        }
        printf("%s %s %s %.0f %.0f %.9g %.9g %s %.9g\n", operation, codec, algorithm, bytes, count,
               seconds, said.seconds, said.algorithm, said.bytes_sent);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "predict") == 0) {
        return predict_main(argv[2]);
    }
    if (argc >= 6 && strcmp(argv[1], "measure") == 0) {
        return measure_main(argc, argv);
    }
    fputs("usage: collective-times measure FACTS LIMIT DRAIN BYTES... | predict FACTS <ROWS\n",
          stderr);
    return 2;
}
