/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/bind_order.c - what follows from places: messages go in another order, and the
 * sums of collectives are the same; groups of a hybrid run are others, and the gradients of
 * examples are the same.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/transport/api/scheduler.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/bind/place.h"
#include "tests/transport/made_up.h"

/* The same sums, bit for bit, whatever the order of messages. */
static void sums(tw_comm_t *comm, float *out, size_t n, tw_algorithm_t algorithm)
{
    const tw_how_t how = {.codec = t_codec("tree8", TW_F32), .algorithm = algorithm};
    float         *in  = malloc(n * sizeof(*in));

    t_fill(TW_F32, t_seed + (uint64_t)t_rank, 0, n, in);
    T_OK(tw_allreduce(comm, in, out, n, TW_SUM, &how));
    free(in);
}

/* Each pass of a hybrid run takes its examples from one switch's ranks. */
static void passes_below_a_switch(tw_comm_t *comm)
{
    size_t                   examples[T_RANKS_MAX];
    const tw_hybrid_config_t config = {
        .scheme = TW_SCHEME_GROUP, .group = (t_size + 1) / 2, .features = 3, .examples = examples};
    tw_hybrid_t *hybrid = NULL;

    for (int r = 0; r < t_size; r++) {
        examples[r] = (size_t)t_size;
    }
    T_OK(tw_hybrid_create(comm, &config, &hybrid));
    t_expect("passes", tw_hybrid_passes(hybrid), (uint64_t)t_size);
    for (size_t p = 0; p < tw_hybrid_passes(hybrid); p++) {
        const tw_hybrid_pass_t *pass     = tw_hybrid_pass_at(hybrid, p);
        size_t                  sides[2] = {0, 0};

        for (int r = 0; r < t_size; r++) {
            sides[r % 2] += pass->count[r];
        }
        t_expect("switches", (uint64_t)(sides[0] > 0) + (uint64_t)(sides[1] > 0), 1);
    }
    tw_hybrid_destroy(hybrid);
}

/* What a hybrid run leaves: the gradients of this rank's examples, and of weights, in which the
 * examples are added in the order in which they come. */
typedef struct work {
    float  gx[T_RANKS_MAX], weight;
    double order;
    int    seen;
} work_t;

static int add_up(void *user, const tw_hybrid_pass_t *pass)
{
    work_t *work = user;

    for (size_t i = 0; i < pass->examples; i++) {
        work->weight += pass->x[i];
        work->order += ++work->seen * (double)pass->x[i];
        pass->gx[i] = 3 * pass->x[i];
    }
    return 0;
}

static void hybrid_run(tw_comm_t *comm, work_t *work)
{
    size_t                   examples[T_RANKS_MAX];
    const tw_hybrid_config_t config = {
        .scheme = TW_SCHEME_GROUP, .group = (t_size + 1) / 2, .features = 1, .examples = examples};
    tw_hybrid_t *hybrid = NULL;
    float        x[T_RANKS_MAX];

    memset(work, 0, sizeof(*work));
    for (int i = 0; i < t_size; i++) {
        examples[i] = (size_t)t_size;
        x[i]        = ldexpf(1.0f + (float)i, 12 * t_rank);
    }
    T_OK(tw_hybrid_create(comm, &config, &hybrid));
    T_OK(tw_hybrid_run(hybrid, x, work->gx, add_up, work));
    tw_hybrid_destroy(hybrid);
}

/* With other groups the same gradients of examples, bit for bit; what adds up examples adds them in
 * another order, by which its bits may change. */
static void other_groups(const work_t *before, const work_t *after)
{
    const float most = ldexpf(1.0f, 12 * (t_size - 1)) * (float)(t_size * t_size);

    T_SAME(TW_F32, after->gx, before->gx, (size_t)t_size);
    t_expect("examples", (uint64_t)after->seen, (uint64_t)(t_size * t_size));
    t_expect("another order", after->order != before->order, t_size > 2);
    t_expect("about the same sum", fabsf(after->weight - before->weight) <= most * 1e-6f, 1);
}

/* The other ranks in the rounds in which the exchange order has their GPUs meet this rank's. */
static void in_rounds(tw_comm_t *comm)
{
    const tw_node_t  *node  = NULL;
    const tw_place_t *place = NULL;
    tw_round_t       *rounds;
    int               gpus[T_RANKS_MAX], met[8] = {0}, count, before = 0;

    T_OK(tw_comm_place(comm, &node, &place));
    for (int r = 0; r < t_size; r++) {
        gpus[r] = r % 8 / 2 + 4 * (r % 2);
    }
    T_OK(tw_exchange_order(node, gpus, t_size, &rounds, &count));
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < rounds[i].count; k++) {
            const tw_pair_t *pair = &rounds[i].pairs[k];

            if (pair->a == place->gpu || pair->b == place->gpu) {
                met[pair->a == place->gpu ? pair->b : pair->a] = i + 1;
            }
        }
    }
    for (int i = 1; i < t_size; i++) {
        const int round = met[gpus[tw_comm_peer(comm, i)]];

        t_expect("in the order of exchange", round > before, 1);
        before = round;
    }
    free(rounds);
}

/* Ranks have GPUs in another order: 0, 4, 1, 5, 2, 6, 3, 7, so neighbours in rank are on different
 * switches, and those that are near come first. */
void order_of_messages(void)
{
    enum { N = 5000 };
    static float  before[2][N], after[2][N];
    tw_context_t *ctx;
    tw_comm_t    *comm = open_comm(&ctx);
    int           seen = 0, device, last_near = 0, position[T_RANKS_MAX];
    const int     mine = t_rank % 2;
    work_t        first, second;

    hybrid_run(comm, &first);
    sums(comm, before[0], N, TW_ALGORITHM_DIRECT);
    sums(comm, before[1], N, TW_ALGORITHM_TWO_PASS);
    made_count  = 1;
    made_bus[0] = s4_bus[t_rank % 8 / 2 + 4 * mine];
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    t_expect("this rank first", (uint64_t)tw_comm_peer(comm, t_size), (uint64_t)t_rank);
    for (int i = 1; i < t_size; i++) {
        const int peer = tw_comm_peer(comm, i);

        t_expect("one order", (uint64_t)tw_comm_source(comm, i), (uint64_t)peer);
        seen |= 1 << peer;
        last_near = peer % 2 == mine ? i : last_near;
    }
    in_rounds(comm);
    t_expect("all others", (uint64_t)seen,
             (((uint64_t)1 << t_size) - 1) & ~((uint64_t)1 << t_rank));
    t_expect("near ones first", (uint64_t)last_near, (uint64_t)((t_size + 1 - mine) / 2 - 1));
    sums(comm, after[0], N, TW_ALGORITHM_DIRECT);
    sums(comm, after[1], N, TW_ALGORITHM_TWO_PASS);
    T_SAME(TW_F32, after[0], before[0], N);
    T_SAME(TW_F32, after[1], before[1], N);
    T_OK(tw_comm_groups(comm, (t_size + 1) / 2, position));
    for (int r = 0; r < t_size; r++) { /* even ranks, then odd ones */
        t_expect("position", (uint64_t)position[r], (uint64_t)((t_size + 1) / 2 * (r % 2) + r / 2));
    }
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, position, (size_t)t_size * sizeof(int));
    passes_below_a_switch(comm);
    hybrid_run(comm, &second);
    other_groups(&first, &second);
    close_comm(comm, ctx);
}

/* The machine of 8 GPUs and 4 networks with `from`, which stands there once, become `to`, which is
 * as long; in a file that this rank has for itself. */
static void changed(char *path, const char *from, const char *to)
{
    char   source[4096], *text = calloc(1, 1 << 20), *at;
    FILE  *file;
    size_t size;

    snprintf(source, sizeof(source), "%s/tests/topology/amd8.xml", getenv("top_srcdir"));
    file = fopen(source, "r");
    size = file != NULL && text != NULL ? fread(text, 1, (1 << 20) - 1, file) : 0;
    at   = size > 0 ? strstr(text, from) : NULL;
    t_expect("the text is there", at != NULL, 1);
    if (at != NULL) {
        memcpy(at, to, strlen(to));
    }
    if (file != NULL) {
        fclose(file);
    }
    file = fdopen(mkstemp(path), "w");
    t_expect("written", file != NULL && fwrite(text, 1, size, file) == size, 1);
    if (file != NULL) {
        fclose(file);
    }
    free(text);
}

/* UCX is told of the near network where all are of one InfiniBand subnet. The last rank's own,
 * which is mlx5_0 there, is another's, or of Ethernet, or has no GID: then nobody's is told. */
void near_networks(void)
{
    static const char *const changes[][2] = {
        {"fe80:0000:0000:0000:0c42:a103:0000:0001", "fe80:0000:0000:0001:0c42:a103:0000:0001"},
        {"Port1LID\" value=\"0x1\"", "Port1LID\" value=\"0x0\""},
        {"\"Port1GID0\" value=\"fe80:0000:0000:0000:0c42:a103:0000:0001", "\"Port1GID1\""}};
    const tw_place_t *place;
    tw_context_t     *ctx;
    tw_comm_t        *comm;
    char              want[32];

    made_machine = "amd8.xml";
    comm         = open_comm(&ctx);
    snprintf(want, sizeof(want), "mlx5_%d:1", t_rank % 8 / 2);
    T_OK(tw_comm_place(comm, NULL, &place));
    t_expect("the near network", strcmp(comm->network, want) == 0, 1);
    close_comm(comm, ctx);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]) && t_size <= 2; i++) {
        char path[] = "/tmp/thinwire-test-bind.XXXXXX";

        if (t_rank == t_size - 1) {
            changed(path, changes[i][0], changes[i][1]);
            made_machine = path;
        }
        comm = open_comm(&ctx);
        T_OK(tw_comm_place(comm, NULL, &place));
        t_expect("no network", strlen(comm->network), t_size == 1 && i == 0 ? 8 : 0);
        close_comm(comm, ctx);
        unlink(path);
        made_machine = "amd8.xml";
    }
    made_machine = "s4.xml";
}
