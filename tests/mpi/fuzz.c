/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/fuzz.c - random sequences of collectives over random communicators, in random forms,
 * compared with the model. THINWIRE_SEED repeats a run; TW_FUZZ is the number of sequences (some
 * hundreds over all launches).
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

#define JOBS 8 /* of a sequence, at most */

static int node_ranks; /* THINWIRE_NODE_RANKS of the communicator */

typedef struct entry {
    t_job_t            job;
    int                form; /* 0 blocking, 1 nonblocking, 2 plan */
    tw_request_t      *request;
    tw_feedback_t     *feedback;
    t_model_feedback_t model;
    int                rounds; /* left */
} entry_t;

static void open_entry(entry_t *entry, tw_comm_t *comm, uint64_t *shared, size_t max)
{
    t_shape_t shape;

    memset(entry, 0, sizeof(*entry));
    t_shape_random(&shape, shared, tw_comm_size(comm), max);
    shape.node_ranks = node_ranks;
    if (t_below(shared, 4) == 0) {
        shape.algorithm = TW_ALGORITHM_HIERARCHICAL;
    }
    t_shape_note(&shape);
    entry->form   = (int)t_below(shared, 3);
    entry->rounds = 1 + (int)t_below(shared, 3);
    if (shape.kind >= T_ALLREDUCE && t_below(shared, 2) == 0 &&
        (shape.reduction == TW_SUM || shape.reduction == TW_AVERAGE)) {
        size_t count = shape.count;

        if (shape.kind == T_REDUCE_SCATTER_BLOCK) {
            count *= (size_t)tw_comm_size(comm);
        } else if (shape.kind == T_REDUCE_SCATTER) {
            count = 0;
            for (int r = 0; r < tw_comm_size(comm); r++) {
                count += shape.counts[0][r];
            }
        }
        T_OK(tw_feedback_create(comm, "fuzz", shape.dtype, count, &entry->feedback));
        t_model_feedback_open(&entry->model, shape.dtype, tw_comm_size(comm), count);
    }
    t_job_open(&entry->job, comm, &shape, entry->feedback,
               entry->feedback != NULL ? &entry->model : NULL);
    if (entry->form == 2) {
        T_OK(t_job_plan(&entry->job, &entry->request));
    }
}

static void begin(entry_t *entry, uint64_t round)
{
    t_shape_note(&entry->job.shape);
    t_job_fill(&entry->job, round);
    if (entry->form == 0) {
        T_OK(t_job_run(&entry->job));
        t_job_check(&entry->job);
    } else if (entry->form == 1) {
        T_OK(t_job_start(&entry->job, &entry->request));
    } else {
        T_OK(tw_start(entry->request));
    }
}

static void complete(entry_t *entry, uint64_t *own)
{
    int done = 0;

    t_shape_note(&entry->job.shape);
    if (entry->form == 0) {
        return;
    }
    if (t_below(own, 2) == 0) {
        T_OK(tw_wait(&entry->request));
    } else {
        while (!done) {
            T_OK(tw_test(&entry->request, &done));
        }
    }
    t_job_check(&entry->job);
}

static void close_entry(entry_t *entry)
{
    if (entry->form == 2) {
        T_OK(tw_request_free(&entry->request));
    }
    T_CHECK(entry->request == NULL, "a request is left");
    t_job_close(&entry->job);
    if (entry->feedback != NULL) {
        tw_feedback_destroy(entry->feedback);
        t_model_feedback_close(&entry->model);
    }
}

/* Jobs begin in an order that all ranks share and are completed in an order of each rank's own. */
static void sequence(tw_comm_t *comm, uint64_t shared, uint64_t own)
{
    static entry_t entries[JOBS];
    const int      n   = 1 + (int)t_below(&shared, JOBS);
    const size_t   max = (size_t)1 << (4 + t_below(&shared, 11));
    int            open[JOBS], left;

    for (int i = 0; i < n; i++) {
        open_entry(&entries[i], comm, &shared, max);
    }
    for (uint64_t round = 0; round < 3; round++) {
        left = 0;
        for (int i = 0; i < n; i++) {
            if (entries[i].rounds > (int)round) {
                begin(&entries[i], round);
                open[left++] = i;
            }
        }
        while (left > 0) {
            const int k = (int)t_below(&own, (size_t)left);

            complete(&entries[open[k]], &own);
            open[k] = open[--left];
        }
    }
    for (int i = 0; i < n; i++) {
        close_entry(&entries[i]);
    }
}

/* Settings of the transport drawn at random, one node or several, unless the environment says; the
 * same on all ranks. */
static tw_comm_t *random_comm(uint64_t *shared, MPI_Comm parent, tw_context_t **ctx_p)
{
    char              chunk[32], limit[32], window[32], check[32], nodes[32];
    const char       *given      = getenv("THINWIRE_NODE_RANKS");
    const char *const ways[]     = {"BCAST=auto", "BCAST=tree", "BCAST=chain"};
    const char *const settings[] = {
        chunk, limit, window, check, ways[t_below(shared, 3)], given == NULL ? nodes : NULL, NULL};

    node_ranks = given != NULL ? atoi(given) : (int)t_below(shared, 4);
    snprintf(nodes, sizeof(nodes), "NODE_RANKS=%d", node_ranks);
    snprintf(chunk, sizeof(chunk), "CHUNK=%zu", (size_t)1 << t_below(shared, 21));
    snprintf(limit, sizeof(limit), "MESSAGE_LIMIT=%zu", (size_t)512 << t_below(shared, 20));
    snprintf(window, sizeof(window), "WINDOW=%zu", 1 + t_below(shared, 8));
    snprintf(check, sizeof(check), "CHECK=%zu", t_below(shared, 2));
    return t_comm_under(settings, parent, ctx_p);
}

static void random_sequences(void)
{
    const char *text   = getenv("TW_FUZZ");
    const int   usual  = t_size <= 3 ? 150 : t_size == 4 ? 80 : 40;
    const int   wanted = text != NULL ? atoi(text) : usual, each = 10;
    uint64_t    shared = t_seed;

    for (int done = 0; done < wanted; done += each) {
        const int     colour = (int)(t_mix(t_random(&shared) + (unsigned)t_rank) % 3);
        const int     parts  = 1 + (int)t_below(&shared, 3);
        uint64_t      of_part, own;
        tw_context_t *ctx;
        tw_comm_t    *comm;
        MPI_Comm      part;

        MPI_Comm_split(MPI_COMM_WORLD, colour % parts,
                       (int)(t_mix(t_random(&shared) + (unsigned)t_rank) % 100), &part);
        of_part = t_mix(t_random(&shared) + (unsigned)(colour % parts));
        own     = t_mix(of_part) + (unsigned)t_rank;
        comm    = random_comm(&of_part, part, &ctx);
        MPI_Comm_free(&part);
        for (int i = 0; i < each; i++) {
            sequence(comm, t_random(&of_part), t_random(&own));
        }
        t_comm_done(comm, ctx);
    }
}

static const t_case_t cases[] = {{"random sequences", random_sequences, 1}};

T_MAIN(cases)
