/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/counters.c - what is counted: bytes on the wire by the documented formulas,
 * quantisations, and memory, of which the steady state asks for none.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

static size_t encoded(const char *spec, size_t n)
{
    size_t bytes = 0;

    if (spec[0] == '\0') {
        return n * sizeof(float);
    }
    T_OK(tw_codec_size(t_codec(spec, TW_F32), n, &bytes));
    return bytes;
}

static int lossless(const char *spec)
{
    tw_codec_traits_t traits;

    if (spec[0] == '\0') {
        return 1;
    }
    T_OK(tw_codec_traits(t_codec(spec, TW_F32), &traits));
    return traits.lossless;
}

/* Run a shape once to warm up (the ranks may then have to agree on memory), once to count. */
static tw_stats_t counted(const t_shape_t *shape)
{
    tw_stats_t stats;

    t_job_once(t_world, shape);
    T_OK(tw_comm_stats_reset(t_world));
    t_job_once(t_world, shape);
    T_OK(tw_comm_stats(t_world, &stats));
    t_expect("bytes between nodes", stats.bytes_network, stats.bytes_sent);
    t_expect("bytes in a node", stats.bytes_memory, 0);
    return stats;
}

/* direct: the encoded vector to each of the others. two_pass: each other rank's share to it, then
 * the own share of the sum to each. */
static void bytes_of_an_allreduce(void)
{
    static const char *const specs[]  = {"", "bitpack:3", "tree8", "int8:block=192", "onebit"};
    static const size_t      counts[] = {1, 1000, 40009};
    const uint64_t           others   = (uint64_t)t_size - 1;

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            t_shape_t  shape = {.kind = T_ALLREDUCE, .spec = specs[s], .count = counts[c]};
            tw_stats_t stats;
            uint64_t   sent = 0, plain;
            size_t     begin, own, n;

            shape.algorithm = TW_ALGORITHM_DIRECT;
            stats           = counted(&shape);
            t_expect("bytes sent, direct", stats.bytes_sent, others * encoded(specs[s], counts[c]));
            t_expect("bytes received, direct", stats.bytes_received, stats.bytes_sent);
            t_expect("plain bytes, direct", stats.bytes_uncompressed, others * counts[c] * 4);
            t_expect("elements, direct", stats.bytes_elements, counts[c] * 4);
            t_expect("calls", stats.calls, 1);
            t_expect("quantisations, direct", stats.quantisations,
                     lossless(specs[s]) ? 0 : counts[c]);

            shape.algorithm = TW_ALGORITHM_TWO_PASS;
            stats           = counted(&shape);
            for (int r = 0; r < t_size; r++) {
                t_model_share(t_codec(specs[s], TW_F32), counts[c], t_size, r, &begin, &n);
                sent += r != t_rank ? encoded(specs[s], n) : 0;
            }
            t_model_share(t_codec(specs[s], TW_F32), counts[c], t_size, t_rank, &begin, &own);
            sent += others * encoded(specs[s], own);
            plain = (counts[c] - own + others * own) * 4;
            t_expect("bytes sent, two_pass", stats.bytes_sent, sent);
            t_expect("bytes received, two_pass", stats.bytes_received, sent);
            t_expect("plain bytes, two_pass", stats.bytes_uncompressed, plain);
            t_expect("elements, two_pass", stats.bytes_elements, counts[c] * 4);
            t_expect("quantisations, two_pass", stats.quantisations,
                     lossless(specs[s]) ? 0 : counts[c] + own);
        }
    }
}

/* Movement: every rank gets each foreign piece once, whatever the way that it took. */
static void bytes_of_movement(void)
{
    static const char *const specs[] = {"", "tree8", "onebit:block=64"};
    const uint64_t           p       = (uint64_t)t_size;

    for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
        t_shape_t  shape = {.spec = specs[s], .count = 5003, .root = t_size - 1};
        tw_stats_t stats;

        shape.kind = T_BCAST;
        stats      = counted(&shape);
        t_expect("bcast, bytes", t_over_all(stats.bytes_sent), (p - 1) * encoded(specs[s], 5003));
        t_expect("bcast, plain", t_over_all(stats.bytes_uncompressed), (p - 1) * 5003 * 4);
        t_expect("bcast, elements", stats.bytes_elements, 5003 * 4);
        t_expect("bcast, received", stats.bytes_received,
                 t_rank == shape.root ? 0 : encoded(specs[s], 5003));
        T_CHECK(t_over_all(stats.quantisations) == (lossless(specs[s]) ? 0 : 5003) || p == 1,
                "bcast: %llu quantisations", (unsigned long long)stats.quantisations);

        shape.kind = T_ALLGATHER;
        stats      = counted(&shape);
        t_expect("allgather, bytes", t_over_all(stats.bytes_sent),
                 p * (p - 1) * encoded(specs[s], 5003));
        t_expect("allgather, received", stats.bytes_received, (p - 1) * encoded(specs[s], 5003));
        t_expect("allgather, elements", stats.bytes_elements, 5003 * 4);
        t_expect("allgather, quantisations", stats.quantisations, lossless(specs[s]) ? 0 : 5003);

        shape.kind = T_ALLTOALL;
        stats      = counted(&shape);
        t_expect("alltoall, bytes", stats.bytes_sent, (p - 1) * encoded(specs[s], 5003));
        t_expect("alltoall, received", stats.bytes_received, (p - 1) * encoded(specs[s], 5003));
        t_expect("alltoall, elements", stats.bytes_elements, p * 5003 * 4);
        t_expect("alltoall, quantisations", stats.quantisations, lossless(specs[s]) ? 0 : p * 5003);

        shape.kind = T_REDUCE_SCATTER_BLOCK;
        stats      = counted(&shape);
        t_expect("reduce_scatter, bytes", stats.bytes_sent, (p - 1) * encoded(specs[s], 5003));
        t_expect("reduce_scatter, elements", stats.bytes_elements, p * 5003 * 4);
        t_expect("reduce_scatter, quantisations", stats.quantisations,
                 lossless(specs[s]) ? 0 : p * 5003);
    }
}

/* All forms of a call, which are counted in places of their own: as messages, in memory that a
 * node's ranks share, and by MPI. */
static void three_forms(tw_comm_t *comm, const tw_how_t *how, size_t n, uint64_t network,
                        uint64_t memory)
{
    float        *x = t_malloc(2 * n * sizeof(float)), *y = x + n;
    tw_request_t *request = NULL;

    memset(x, 0, 2 * n * sizeof(float));
    T_OK(tw_allreduce(comm, x, y, n, TW_SUM, how));
    for (int form = 0; form < 3; form++) {
        tw_stats_t stats;

        if (form == 2) {
            T_OK(tw_allreduce_init(comm, x, y, n, TW_SUM, how, &request));
        }
        T_OK(tw_comm_stats_reset(comm));
        if (form == 0) {
            T_OK(tw_allreduce(comm, x, y, n, TW_SUM, how));
        } else if (form == 1) {
            T_OK(tw_iallreduce(comm, x, y, n, TW_SUM, how, &request));
        } else {
            T_OK(tw_start(request));
        }
        T_OK(tw_wait(&request));
        T_OK(tw_comm_stats(comm, &stats));
        t_note("form %d of %zu values", form, n);
        t_expect("elements", stats.bytes_elements, n * sizeof(float));
        t_expect("network", t_over_all(stats.bytes_network), network);
        t_expect("memory", t_over_all(stats.bytes_memory), memory);
    }
    T_OK(tw_request_free(&request));
    free(x);
}

/* One node: whatever the codec and the way, nothing is on the network. */
static void bytes_of_a_node(void)
{
    static const char *const settings[] = {"NODE_RANKS=0", NULL};
    const tw_how_t           messages   = {.algorithm = TW_ALGORITHM_TWO_PASS};
    const tw_how_t           by_mpi     = {.algorithm = TW_ALGORITHM_MPI};
    const uint64_t           p          = (uint64_t)t_size;
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);

    for (size_t n = 32 * p; n <= 32000 * p; n *= 1000) {
        const uint64_t bytes = 2 * (p - 1) * n * sizeof(float);

        three_forms(comm, NULL, n, 0, bytes);
        three_forms(comm, &messages, n, 0, bytes);
        three_forms(comm, &by_mpi, n, 0, bytes);
    }
    t_comm_done(comm, ctx);
}

/* Two ranks a node: values pass in its memory, sums between nodes. */
static void bytes_of_nodes(void)
{
    static const char *const settings[] = {"NODE_RANKS=2", NULL};
    const tw_how_t           how        = {.algorithm = TW_ALGORITHM_HIERARCHICAL};
    const uint64_t           nodes      = (uint64_t)t_size / 2;
    const size_t             n          = 1000 * (size_t)t_size;
    tw_context_t            *ctx;
    tw_comm_t               *comm;

    if (t_size % 2 != 0 || t_size < 4) {
        return;
    }
    comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    three_forms(comm, &how, n, 2 * (nodes - 1) * n * sizeof(float),
                (uint64_t)t_size * n * sizeof(float));
    t_comm_done(comm, ctx);
}

/* At most two passes over each value, in whatever reduction and however many ranks. */
static void at_most_two_quantisations(void)
{
    uint64_t  random = t_seed;
    t_shape_t shape;

    for (int i = 0; i < 40; i++) {
        tw_stats_t stats;
        size_t     total;

        t_shape_drawn(&shape, i % 2 == 0 ? T_ALLREDUCE : T_REDUCE, &random, 9000);
        shape.algorithm = (tw_algorithm_t)(i / 2 % 4);
        total           = shape.count;
        stats           = counted(&shape);
        T_CHECK(stats.quantisations <= 2 * total, "%llu quantisations of %zu values",
                (unsigned long long)stats.quantisations, total);
        T_CHECK(t_over_all(stats.quantisations) <= ((uint64_t)t_size + 1) * total,
                "%llu quantisations of %zu values on %d ranks",
                (unsigned long long)t_over_all(stats.quantisations), total, t_size);
    }
}

/* After one round of warming up, no call asks the system for memory. */
static void the_steady_state_allocates_nothing(void)
{
    enum { JOBS = 2 * T_OPS };
    static t_job_t jobs[JOBS];
    tw_request_t  *requests[JOBS] = {NULL}, *plans[JOBS] = {NULL};
    tw_context_t  *ctx;
    tw_comm_t     *comm   = t_comm_under(NULL, MPI_COMM_WORLD, &ctx);
    uint64_t       random = t_seed + 1, bytes = 0;
    tw_stats_t     stats;

    for (int i = 0; i < JOBS; i++) {
        t_shape_t shape;

        t_shape_drawn(&shape, (t_op_t)(i % T_OPS), &random, 30000);
        t_job_open(&jobs[i], comm, &shape, NULL, NULL);
        T_OK(t_job_plan(&jobs[i], &plans[i]));
    }
    for (int round = 0; round < 6; round++) {
        if (round == 2) {
            T_OK(tw_comm_stats(comm, &stats));
            T_CHECK(stats.pool_allocations > 0, "nothing was ever allocated");
            bytes = stats.pool_bytes;
            T_OK(tw_comm_stats_reset(comm));
        }
        for (int i = 0; i < JOBS; i++) {
            t_job_fill(&jobs[i], (uint64_t)round);
            T_OK(t_job_start(&jobs[i], &requests[i]));
        }
        for (int i = 0; i < JOBS; i++) {
            T_OK(tw_wait(&requests[i]));
            t_job_check(&jobs[i]);
            t_job_turn(&jobs[i], T_BLOCKING, 100);
            t_job_fill(&jobs[i], 101);
            T_OK(tw_start(plans[i]));
            T_OK(tw_wait(&plans[i]));
            t_job_check(&jobs[i]);
        }
    }
    T_OK(tw_comm_stats(comm, &stats));
    t_expect("allocations", stats.pool_allocations, 0);
    t_expect("bytes of the pool", stats.pool_bytes, bytes);
    t_expect("calls", stats.calls, 4 * 3 * JOBS);
    for (int i = 0; i < JOBS; i++) {
        T_OK(tw_request_free(&plans[i]));
        t_job_close(&jobs[i]);
    }
    t_comm_done(comm, ctx);
}

static void counters_answer(void)
{
    tw_stats_t stats, zero;
    float      x[1000] = {0};

    T_STATUS(tw_comm_stats(NULL, &stats), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_stats(t_world, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_stats_reset(NULL), TW_ERR_INVALID_ARG);
    T_OK(tw_comm_stats_reset(t_world));
    T_OK(tw_comm_stats(t_world, &stats));
    memset(&zero, 0, sizeof(zero));
    zero.pool_bytes = stats.pool_bytes;
    T_CHECK(memcmp(&stats, &zero, sizeof(zero)) == 0, "something is left after a reset");
    T_OK(tw_allreduce(t_world, TW_IN_PLACE, x, 1000, TW_SUM, NULL));
    T_OK(tw_comm_stats(t_world, &stats));
    t_expect("calls", stats.calls, 1);
    T_CHECK(t_size == 1 || stats.messages_sent > 0, "no message");
    T_CHECK(stats.encode_ns + stats.decode_ns > 0, "no time");
    T_CHECK(stats.encode_ns < 60000000000u && stats.decode_ns < 60000000000u &&
                stats.wait_ns < 60000000000u,
            "over a minute");
}

static const t_case_t cases[] = {
    {"bytes of an allreduce", bytes_of_an_allreduce, 1},
    {"bytes of movement", bytes_of_movement, 1},
    {"bytes of a node", bytes_of_a_node, 1},
    {"bytes of nodes", bytes_of_nodes, 1},
    {"at most two quantisations", at_most_two_quantisations, 1},
    {"the steady state allocates nothing", the_steady_state_allocates_nothing, 1},
    {"counters answer", counters_answer, 1},
};

int main(int argc, char **argv)
{
    setenv("THINWIRE_NODE_RANKS", "1", 1); /* what goes through shared memory is not on the wire */
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
