/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/node.c - collectives in the memory of one node: every kind, every form, short and long,
 * against the model; and the same lossless calls by messages, with every rank a node of its own.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/node_read.h"

static const char *const specs_f32[] = {"", "fp32", "bitpack:4"};

#define SPECS (sizeof(specs_f32) / sizeof(specs_f32[0]))

/* Around what lies beside a flag (56 bytes), what goes at once (8 KiB for all pieces), and pieces.
 */
static const size_t counts[] = {0, 1, 2, 7, 13, 14, 15, 511, 512, 2047, 2048, 2049, 16384, 40009};

#define COUNTS (sizeof(counts) / sizeof(counts[0]))

/* On many ranks, without TW_ALL, each count with one spec, by turns. */
static void every_kind(tw_comm_t *comm)
{
    const size_t step = t_size > 4 && getenv("TW_ALL") == NULL ? 3 : 1;

    for (int k = 0; k < T_OPS; k++) {
        for (size_t i = 0; i < COUNTS * SPECS; i++) {
            t_shape_t shape = {.kind      = (t_op_t)k,
                               .spec      = specs_f32[i % SPECS],
                               .count     = counts[i / SPECS],
                               .misalign  = (i * 5) % 16,
                               .in_place  = (int)(i % 2),
                               .root      = (int)(i % (size_t)t_size),
                               .reduction = (tw_reduction_t)(i / 2 % TW_REDUCTION_ROWS),
                               .seed      = t_seed + i};

            if (i % 7 >= 4) { /* other types as they are */
                shape.dtype = (tw_dtype_t)(i % 7 - 3);
                shape.spec  = t_spec_as_is(shape.dtype);
            }
            if ((i + i / SPECS + (size_t)k) % step != 0) {
                continue;
            }
            for (int s = 0; s < t_size; s++) {
                for (int r = 0; r < t_size; r++) {
                    shape.counts[s][r] =
                        r == 1 || s == 1 ? 0 : shape.count / (size_t)(1 + (s + r) % 3);
                }
            }
            t_job_once(comm, &shape);
        }
    }
}

static void every_kind_is_what_the_model_says(void)
{
    every_kind(t_world);
}

static void whatever_the_pieces(void)
{
    static const char *const chunks[] = {"CHUNK=16", "CHUNK=100", "CHUNK=4k"};

    for (int c = 0; c < 3; c++) {
        const char *const settings[] = {chunks[c], c == 1 ? "WINDOW=2" : NULL, NULL};
        tw_context_t     *ctx;
        tw_comm_t        *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);

        for (int k = 0; k < T_OPS; k++) {
            for (size_t i = 0; i < 6; i++) {
                t_shape_t shape = {.kind     = (t_op_t)k,
                                   .spec     = "",
                                   .count    = 3 + 271 * i,
                                   .in_place = (int)(i % 2),
                                   .root     = t_size / 2,
                                   .seed     = t_seed + i};

                for (int r = 0; r < t_size * t_size; r++) {
                    const unsigned sum = (unsigned)(r / t_size + r % t_size);

                    shape.counts[r / t_size][r % t_size] = 40u * sum * (unsigned)(i % 3);
                }
                t_job_once(comm, &shape);
            }
        }
        t_comm_done(comm, ctx);
    }
}

static void the_same_under(const char *setting)
{
    const char *const settings[] = {setting, NULL};
    tw_context_t     *ctx;
    tw_comm_t        *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);

    every_kind(comm);
    t_comm_done(comm, ctx);
}

static void the_same_by_messages(void)
{
    the_same_under("NODE_RANKS=1");
}
static void the_same_through_slots_alone(void)
{
    the_same_under("NODE_READ=0");
}

/* Blocking on some ranks, nonblocking on others: it is the same operation. Up to three
 * are under way at a time, so the short ways meet others' requests. */
static void forms_may_be_mixed(void)
{
    enum { TURNS = 150 };
    uint64_t random = t_seed, own = t_seed * 8u + (unsigned)t_rank;

    for (int turn = 0; turn < TURNS; turn++) {
        t_job_t       jobs[3];
        tw_request_t *requests[3] = {NULL};

        for (int i = 0; i < 3; i++) {
            t_shape_t shape;

            t_shape_random(&shape, &random, t_size, i == 0 ? 20 : i == 1 ? 2500 : 30000);
            shape.spec =
                shape.dtype != TW_F32 ? t_spec_as_is(shape.dtype) : specs_f32[turn % (int)SPECS];
            shape.algorithm = TW_ALGORITHM_AUTO;
            t_shape_note(&shape);
            t_job_open(&jobs[i], t_world, &shape, NULL, NULL);
            t_job_fill(&jobs[i], 0);
            T_OK(t_job_issue(&jobs[i], (t_form_t)t_below(&own, 2), &requests[i]));
        }
        for (int i = 2; i >= 0; i--) {
            t_shape_note(&jobs[i].shape);
            T_OK(tw_wait(&requests[i]));
            t_job_check(&jobs[i]);
            t_job_close(&jobs[i]);
        }
    }
}

/* The first blocking call of a communicator, where every other rank says how many threads it may
 * take: that rank makes a request, the others take the short way, and so do not agree with it on
 * memory for one. */
static void the_first_call_may_be_mixed(void)
{
    static const t_op_t kinds[] = {T_ALLREDUCE, T_REDUCE, T_BCAST, T_ALLGATHER, T_ALLTOALL};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (size_t count = 3; count < 100000; count *= 300) { /* long ones are read */
            tw_context_t *ctx   = t_context();
            tw_comm_t    *comm  = t_comm(ctx, MPI_COMM_WORLD);
            t_shape_t     shape = {.kind = kinds[i], .count = count, .seed = t_seed + i};

            t_job_agree(comm, &shape);
            shape.threads = t_rank % 2;
            t_job_once(comm, &shape);
            t_comm_done(comm, ctx);
        }
    }
}

/* A root may be ahead of its readers by the slots, and no further: it must not overwrite what is
 * not read. */
static void a_root_that_is_ahead(void)
{
    enum { TURNS = 300, N = 700 };
    float x[N];

    for (int turn = 0; turn < TURNS; turn++) {
        const size_t n = turn % 3 == 0 ? 3 : N;

        for (size_t i = 0; i < n; i++) {
            x[i] = t_rank == turn % t_size ? (float)turn : -1.0f;
        }
        T_OK(tw_bcast(t_world, x, n, turn % t_size, NULL));
        for (size_t i = 0; i < n; i++) {
            T_CHECK(x[i] == (float)turn, "turn %d: element %zu is %g", turn, i, (double)x[i]);
        }
    }
    for (int turn = 0; turn < TURNS; turn++) { /* always the same root: it never reads anything */
        x[0] = t_rank == 0 ? (float)turn : -1.0f;
        T_OK(tw_bcast(t_world, x, 1, 0, NULL));
        T_CHECK(x[0] == (float)turn, "turn %d: %g", turn, (double)x[0]);
    }
}

static void auto_takes_it_where_it_serves(void)
{
    static const char *const apart[] = {"NODE_RANKS=1", NULL};
    const tw_how_t           lossy   = {.codec = t_codec("tree8", TW_F32)};
    tw_context_t            *ctx;
    tw_comm_t               *comm;

    T_CHECK((strcmp(t_algorithm(t_world, NULL, 8), "node") == 0) == (t_size > 1), "lossless: %s",
            t_algorithm(t_world, NULL, 8));
    T_CHECK(strcmp(t_algorithm(t_world, &lossy, 8), "node") != 0, "lossy");
    comm = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    T_CHECK(strcmp(t_algorithm(comm, NULL, 8), "node") != 0, "one rank a node");
    t_comm_done(comm, ctx);
}

static void the_node_of_a_rank(void)
{
    static const char *const pairs[] = {"NODE_RANKS=2", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(pairs, MPI_COMM_WORLD, &ctx);

    for (int r = -1; r <= t_size; r++) {
        const int outside = r < 0 || r == t_size;

        T_CHECK(tw_comm_node(t_world, r) == (outside ? -1 : 0), "rank %d of one machine", r);
        T_CHECK(tw_comm_node(comm, r) == (outside ? -1 : r / 2), "rank %d of nodes of two", r);
    }
    t_comm_done(comm, ctx);
}

/* Named where it cannot serve: one line on each rank, and no message. */
static void a_wish_that_cannot_be_met(void)
{
    const tw_how_t lossy = {.codec = t_codec("tree8", TW_F32), .algorithm = TW_ALGORITHM_NODE};
    t_log_t        log;
    tw_context_t  *ctx;
    tw_comm_t     *comm = t_comm_logged(NULL, &log, &ctx);
    float          x[4] = {0};

    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, x, 4, TW_SUM, &lossy), TW_ERR_UNSUPPORTED);
    T_CHECK(log.lines == 1 && strstr(log.text, "algorithm node") != NULL, "%d lines: %s", log.lines,
            log.text);
    T_STATUS(tw_bcast(comm, x, 4, 0, &lossy), TW_ERR_UNSUPPORTED);
    T_OK(tw_allreduce(comm, TW_IN_PLACE, x, 4, TW_SUM, NULL));
    t_comm_done(comm, ctx);
}

/* What goes through shared memory is no message. */
static void nothing_is_sent(void)
{
    float      x[3000] = {0}, y[3000];
    tw_stats_t stats;

    T_OK(tw_allreduce(t_world, x, y, 3000, TW_SUM, NULL));
    T_OK(tw_comm_stats_reset(t_world));
    for (size_t n = 1; n <= 3000; n += 2999) {
        T_OK(tw_allreduce(t_world, x, y, n, TW_SUM, NULL));
        T_OK(tw_bcast(t_world, x, n, 0, NULL));
    }
    T_OK(tw_comm_stats(t_world, &stats));
    T_CHECK(stats.calls == 4, "%llu calls", (unsigned long long)stats.calls);
    T_CHECK(stats.messages_sent == 0 && stats.bytes_sent == 0, "%llu messages",
            (unsigned long long)stats.messages_sent);
}

/* The last rank never comes: the short way and the long way say whom they wait for. */
static void a_rank_that_does_not_come(void)
{
    static const char *const settings[] = {"TIMEOUT=0.5", NULL};

    for (int way = 0; way < 4; way++) {
        t_note("way %d", way);
        t_last_stays_away(settings, NULL, way % 2 == 0 ? 5 : 40000, way >= 2);
    }
}

static const t_case_t cases[] = {
    {"every kind is what the model says", every_kind_is_what_the_model_says, 1},
    {"whatever the pieces", whatever_the_pieces, 1},
    {"the same by messages", the_same_by_messages, 1},
    {"the same through slots alone", the_same_through_slots_alone, 1},
    {"forms may be mixed", forms_may_be_mixed, 1},
    {"the first call may be mixed", the_first_call_may_be_mixed, 1},
    {"a root that is ahead", a_root_that_is_ahead, 1},
    {"auto takes it where it serves", auto_takes_it_where_it_serves, 1},
    {"the node of a rank", the_node_of_a_rank, 1},
    {"a wish that cannot be met", a_wish_that_cannot_be_met, 1},
    {"nothing is sent", nothing_is_sent, 2},
    {"memory that others cannot read", memory_that_others_cannot_read, 2},
    {"unreadable memory in several operations", unreadable_memory_in_several_operations, 2},
    {"a rank that forbids to look", a_rank_that_forbids_to_look, 2},
    {"a reader that is refused is told about", a_reader_that_is_refused_is_told_about, 2},
    {"a root that is stopped is read", a_root_that_is_stopped_is_read, 2},
    {"a rank that does not come", a_rank_that_does_not_come, 2},
};

T_MAIN(cases)
