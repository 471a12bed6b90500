/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/hybrid.c - the schemes of S4: what a pass holds, whose gradients arrive where,
 * and that a divided linear layer gives what one process computes of all examples.
 *
 * Values are small whole numbers, so sums are exact in any order and schemes can be compared bit by
 * bit.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/mpi/model.h"

#define FEATURES 37
#define UNITS    11 /* of the linear layer, dealt out to the ranks */

typedef struct setup {
    tw_scheme_t scheme;
    int         group;
    const char *act, *back;
    size_t      examples[T_RANKS_MAX];
} setup_t;

/* A run as one rank sees it. */
typedef struct job {
    setup_t      setup;
    tw_comm_t   *comm;
    tw_hybrid_t *hybrid;
    size_t       own;
    float       *x, *gx;              /* of the own examples */
    float        gw[UNITS][FEATURES]; /* of own units, over all passes */
    size_t       passes, rows;
    int          stop; /* in this pass; -1: never */
} job_t;

/* ---- examples and the layer ----------------------------------------------------------------- */

static float small(uint64_t a, uint64_t b, uint64_t c)
{
    return (float)(t_mix(a * 1000003u + b * 10007u + c + 77 * t_seed) % 7) - 3.0f;
}

static float example(int rank, size_t e, size_t f)
{
    return small((uint64_t)rank + 1, e, f);
}
static float weight(int unit, size_t f)
{
    return small(500 + (uint64_t)unit, 3, f);
}
static float target(int rank, size_t e, int unit)
{
    return small(900 + (uint64_t)unit, (uint64_t)rank, e);
}

/* First unit of a rank: the first ranks take one more. */
static int unit_of(int rank)
{
    const int each = UNITS / t_size, left = UNITS % t_size;

    return rank * each + (rank < left ? rank : left);
}

/* Gradient of 1/2 (w x - target)^2 by the unit's output. */
static float output_gradient(const float *x, int rank, size_t e, int unit)
{
    float y = -target(rank, e, unit);

    for (size_t f = 0; f < FEATURES; f++) {
        y += weight(unit, f) * x[f];
    }
    return y;
}

/* What one process finds. */
static void expected_gx(int rank, size_t e, float *gx)
{
    float x[FEATURES];

    for (size_t f = 0; f < FEATURES; f++) {
        x[f]  = example(rank, e, f);
        gx[f] = 0;
    }
    for (int u = 0; u < UNITS; u++) {
        const float g = output_gradient(x, rank, e, u);

        for (size_t f = 0; f < FEATURES; f++) {
            gx[f] += g * weight(u, f);
        }
    }
}

static void expected_gw(const size_t *examples, int unit, float *gw)
{
    float x[FEATURES];

    memset(gw, 0, FEATURES * sizeof(float));
    for (int r = 0; r < t_size; r++) {
        for (size_t e = 0; e < examples[r]; e++) {
            float g;

            for (size_t f = 0; f < FEATURES; f++) {
                x[f] = example(r, e, f);
            }
            g = output_gradient(x, r, e, unit);
            for (size_t f = 0; f < FEATURES; f++) {
                gw[f] += g * x[f];
            }
        }
    }
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static job_t opened(tw_comm_t *comm, const setup_t *setup)
{
    job_t              job    = {.setup = *setup, .comm = comm, .stop = -1};
    tw_hybrid_config_t config = {.scheme   = setup->scheme,
                                 .group    = setup->group,
                                 .features = FEATURES,
                                 .examples = setup->examples,
                                 .act      = t_codec(setup->act, TW_F32),
                                 .back     = t_codec(setup->back, TW_F32)};

    job.own = setup->examples[t_rank];
    job.x   = t_alloc(job.own * FEATURES * sizeof(float), 4);
    job.gx  = t_alloc(job.own * FEATURES * sizeof(float), 8);
    for (size_t i = 0; i < job.own * FEATURES; i++) {
        job.x[i] = example(t_rank, i / FEATURES, i % FEATURES);
    }
    T_OK(tw_hybrid_create(comm, &config, &job.hybrid));
    return job;
}

static void closed(job_t *job)
{
    tw_hybrid_destroy(job->hybrid);
    t_free(job->x);
    t_free(job->gx);
}

/* The rows of a pass are those that it says, of the ranks in order, decoded. */
static void check_rows(const job_t *job, const tw_hybrid_pass_t *pass)
{
    static float sent[64 * FEATURES], want[64 * FEATURES];
    size_t       row = 0;

    for (int r = 0; r < t_size; r++) {
        const size_t n = pass->count[r];

        for (size_t i = 0; i < n * FEATURES; i++) {
            sent[i] = example(r, pass->first[r] + i / FEATURES, i % FEATURES);
        }
        if (t_size > 1) {
            t_model_round_trip(t_codec(job->setup.act, TW_F32), TW_F32, sent, n * FEATURES, want);
        } else {
            memcpy(want, sent, n * FEATURES * sizeof(float));
        }
        T_SAME(TW_F32, pass->x + row * FEATURES, want, n * FEATURES);
        row += n;
    }
    T_CHECK(row == pass->examples, "%zu rows, not %zu", pass->examples, row);
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, pass->x, row * FEATURES * sizeof(float));
}

static int linear(void *user, const tw_hybrid_pass_t *pass)
{
    job_t *job = user;
    size_t row = 0;

    T_CHECK(pass->pass == job->passes++ && pass->examples > 0, "pass %zu of %zu rows", pass->pass,
            pass->examples);
    job->rows += pass->examples;
    check_rows(job, pass);
    for (int r = 0; r < t_size; r++) {
        for (size_t e = pass->first[r]; e < pass->first[r] + pass->count[r]; e++, row++) {
            const float *x            = pass->x + row * FEATURES;
            float        gx[FEATURES] = {0};

            for (int u = unit_of(t_rank); u < unit_of(t_rank + 1); u++) {
                const float g = output_gradient(x, r, e, u);

                for (size_t f = 0; f < FEATURES; f++) {
                    gx[f] += g * weight(u, f);
                    job->gw[u][f] += g * x[f];
                }
            }
            if (pass->gx != NULL) {
                memcpy(pass->gx + row * FEATURES, gx, sizeof(gx));
            }
            tw_hybrid_advance(job->hybrid);
        }
    }
    return (int)pass->pass == job->stop ? 40 + t_rank : 0;
}

static void check_results(job_t *job, int with_gx)
{
    float  want[FEATURES];
    size_t all = 0;

    for (int r = 0; r < t_size; r++) {
        all += job->setup.examples[r];
    }
    T_CHECK(job->rows == all, "%zu rows in all, not %zu", job->rows, all);
    T_CHECK(job->passes == tw_hybrid_passes(job->hybrid), "%zu passes, not %zu", job->passes,
            tw_hybrid_passes(job->hybrid));
    for (size_t e = 0; e < job->own && with_gx; e++) {
        expected_gx(t_rank, e, want);
        T_SAME(TW_F32, job->gx + e * FEATURES, want, FEATURES);
    }
    for (int u = unit_of(t_rank); u < unit_of(t_rank + 1); u++) {
        expected_gw(job->setup.examples, u, want);
        T_SAME(TW_F32, job->gw[u], want, FEATURES);
    }
}

static void run_and_check(job_t *job, int with_gx)
{
    memset(job->gw, 0, sizeof(job->gw));
    job->passes = job->rows = 0;
    memset(job->gx, 0xff, job->own * FEATURES * sizeof(float));
    T_OK(tw_hybrid_run(job->hybrid, job->x, with_gx ? job->gx : NULL, linear, job));
    check_results(job, with_gx);
}

/* ---- cases ---------------------------------------------------------------------------------- */

enum { EVEN, UNEVEN, LAST_ONLY, ONE_EXAMPLE, NONE, DISTRIBUTIONS };

static void distribute(setup_t *setup, int which)
{
    for (int r = 0; r < t_size; r++) {
        setup->examples[r] = which == EVEN          ? 2 * (size_t)t_size
                             : which == UNEVEN      ? ((size_t)r * 5 + 3) % 7
                             : which == LAST_ONLY   ? (r == t_size - 1 ? 9 : 0)
                             : which == ONE_EXAMPLE ? (r == t_size / 2 ? 1 : 0)
                                                    : 0;
    }
}

/* E2 to E5: all schemes, all groups, however the examples lie, give what one process gives. */
static void schemes_equal_one_process(void)
{
    for (int which = 0; which < DISTRIBUTIONS; which++) {
        for (int s = -3; s <= t_size; s++) {
            setup_t setup = {.scheme = s == -3   ? TW_SCHEME_A
                                       : s == -2 ? TW_SCHEME_B
                                       : s == -1 ? TW_SCHEME_C
                                                 : TW_SCHEME_GROUP,
                             .group  = s,
                             .act    = "",
                             .back   = ""};
            job_t   job;

            if (s == 0) {
                continue;
            }
            t_note("distribution %d, scheme %d, group %d", which, (int)setup.scheme, s);
            distribute(&setup, which);
            job = opened(t_world, &setup);
            run_and_check(&job, 1);
            run_and_check(&job, 0);
            run_and_check(&job, 1);
            closed(&job);
        }
    }
}

/* Lossy codecs: all ranks see the same in a pass (checked there), gradients are near. */
static void codecs(void)
{
    static const char *const specs[][2] = {
        {"tree8:block=64", ""}, {"", "int8:block=64"}, {"bf16", "tree8"}, {"bitpack:2", "fp16"}};
    float want[FEATURES];

    for (size_t c = 0; c < sizeof(specs) / sizeof(specs[0]); c++) {
        for (int s = 0; s < 4; s++) {
            setup_t setup = {.scheme = (tw_scheme_t)s,
                             .group  = t_size > 2 ? 2 : 1,
                             .act    = specs[c][0],
                             .back   = specs[c][1]};
            double  far = 0, large = 0;
            job_t   job;

            t_note("act %s, back %s, scheme %d", specs[c][0], specs[c][1], s);
            distribute(&setup, UNEVEN);
            job = opened(t_world, &setup);
            T_OK(tw_hybrid_run(job.hybrid, job.x, job.gx, linear, &job));
            for (size_t e = 0; e < job.own; e++) {
                expected_gx(t_rank, e, want);
                for (size_t f = 0; f < FEATURES; f++) {
                    far   = fmax(far, fabs((double)(job.gx[e * FEATURES + f] - want[f])));
                    large = fmax(large, fabs((double)want[f]));
                }
            }
            T_CHECK(far <= 0.3 * large, "gradients are off by %g of %g", far, large);
            T_CHECK(t_size > 1 || far == 0, "one rank quantises");
            closed(&job);
        }
    }
}

/* `auto` takes what it likes, but the same on all ranks. */
static int halves(void *user, const tw_hybrid_pass_t *pass)
{
    (void)user;
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, pass->x, pass->examples * FEATURES * sizeof(float));
    for (size_t i = 0; i < pass->examples * FEATURES; i++) {
        pass->gx[i] = t_rank == 0 ? pass->x[i] / 2 : 0;
    }
    return 0;
}

static void decided_codecs(void)
{
    for (int s = 0; s < 3; s++) {
        setup_t setup = {.scheme = (tw_scheme_t)s, .act = "auto", .back = "auto:0.1"};
        job_t   job;

        t_note("scheme %d", s);
        distribute(&setup, EVEN);
        job = opened(t_world, &setup);
        T_OK(tw_hybrid_run(job.hybrid, job.x, job.gx, halves, &job));
        for (size_t i = 0; i < job.own * FEATURES; i++) {
            T_CHECK(fabs((double)(job.gx[i] - job.x[i] / 2)) < 0.5, "[%zu] is %g, not %g", i,
                    (double)job.gx[i], (double)job.x[i] / 2);
        }
        closed(&job);
    }
}

/* Fractions, whose sums depend on their order: group=1 is (b) and group=K is (c), bit for bit. */
static int fractions(void *user, const tw_hybrid_pass_t *pass)
{
    (void)user;
    for (size_t i = 0; i < pass->examples * FEATURES; i++) {
        pass->gx[i] = pass->x[i] / (3.7f + (float)t_rank) + 0.1f;
    }
    return 0;
}

static void groups_are_schemes(void)
{
    for (int which = 0; which < 2; which++) {
        for (int s = 0; s < 2; s++) {
            setup_t setup[2] = {
                {.scheme = s == 0 ? TW_SCHEME_B : TW_SCHEME_C, .act = "", .back = "int8"},
                {.scheme = TW_SCHEME_GROUP,
                 .group  = s == 0 ? 1 : t_size,
                 .act    = "",
                 .back   = "int8"}};
            job_t job[2];

            for (int i = 0; i < 2; i++) {
                distribute(&setup[i], which);
                job[i] = opened(t_world, &setup[i]);
                T_OK(tw_hybrid_run(job[i].hybrid, job[i].x, job[i].gx, fractions, &job[i]));
            }
            T_CHECK(tw_hybrid_passes(job[0].hybrid) == tw_hybrid_passes(job[1].hybrid),
                    "other passes");
            T_SAME(TW_F32, job[1].gx, job[0].gx, job[0].own * FEATURES);
            closed(&job[0]);
            closed(&job[1]);
        }
    }
}

/* E5: for each example one rank alone says its number, at one place; it must arrive there, at its
 * owner. */
static size_t number_of(const size_t *examples, int rank, size_t e)
{
    size_t number = e + 1;

    for (int r = 0; r < rank; r++) {
        number += examples[r];
    }
    return number;
}

static int one_hot(void *user, const tw_hybrid_pass_t *pass)
{
    const job_t *job = user;
    size_t       row = 0;

    memset(pass->gx, 0, pass->examples * FEATURES * sizeof(float));
    for (int r = 0; r < t_size; r++) {
        for (size_t e = pass->first[r]; e < pass->first[r] + pass->count[r]; e++, row++) {
            const size_t number = number_of(job->setup.examples, r, e);

            if (number % (size_t)t_size == (size_t)t_rank) {
                pass->gx[row * FEATURES + number * 5 % FEATURES] = (float)number;
            }
        }
    }
    return 0;
}

static void gradients_reach_their_owners(void)
{
    for (int s = 0; s < 4; s++) {
        setup_t setup = {
            .scheme = (tw_scheme_t)s, .group = (t_size + 1) / 2, .act = "", .back = ""};
        job_t job;

        t_note("scheme %d", s);
        distribute(&setup, UNEVEN);
        job = opened(t_world, &setup);
        T_OK(tw_hybrid_run(job.hybrid, job.x, job.gx, one_hot, &job));
        for (size_t e = 0; e < job.own; e++) {
            const size_t number         = number_of(setup.examples, t_rank, e);
            float        want[FEATURES] = {0};

            want[number * 5 % FEATURES] = (float)number;
            T_SAME(TW_F32, job.gx + e * FEATURES, want, FEATURES);
        }
        closed(&job);
    }
}

/* A callback that fails: its value comes back, and where all stop together everything goes on
 * afterwards. */
static int reenter(void *user, const tw_hybrid_pass_t *pass)
{
    job_t *job = user;

    (void)pass;
    T_STATUS(tw_hybrid_run(job->hybrid, job->x, job->gx, reenter, job), TW_ERR_BUSY);
    return 0;
}

static void callbacks_that_stop(void)
{
    for (int s = 0; s < 3; s++) {
        setup_t setup = {.scheme = (tw_scheme_t)s, .act = "", .back = ""};
        job_t   job;

        distribute(&setup, EVEN);
        job = opened(t_world, &setup);
        for (int p = 0; p < (int)tw_hybrid_passes(job.hybrid); p++) {
            t_note("scheme %d, stopped in pass %d", s, p);
            job.passes = job.rows = 0;
            job.stop              = p;
            T_STATUS(tw_hybrid_run(job.hybrid, job.x, job.gx, linear, &job),
                     (tw_status_t)(40 + t_rank));
            T_CHECK((int)job.passes == p + 1, "%zu passes", job.passes);
        }
        job.stop = -1;
        run_and_check(&job, 1);
        T_OK(tw_hybrid_run(job.hybrid, job.x, job.gx, reenter, &job));
        closed(&job);
    }
}

/* The callback's own collectives, on the same communicator, between ours. */
static int summing(void *user, const tw_hybrid_pass_t *pass)
{
    float v[3] = {1, (float)t_rank, (float)pass->pass};

    T_OK(tw_allreduce(t_world, TW_IN_PLACE, v, 3, TW_SUM, NULL));
    T_CHECK(v[0] == (float)t_size && v[1] == (float)(t_size * (t_size - 1) / 2) &&
                v[2] == (float)(t_size * (int)pass->pass),
            "a sum within the callback is wrong");
    return linear(user, pass);
}

static void collectives_within(void)
{
    setup_t setup = {.scheme = TW_SCHEME_C, .act = "", .back = ""};
    job_t   job;

    distribute(&setup, EVEN);
    job = opened(t_world, &setup);
    T_OK(tw_hybrid_run(job.hybrid, job.x, job.gx, summing, &job));
    check_results(&job, 1);
    closed(&job);
}

static void bad_arguments(void)
{
    size_t             examples[T_RANKS_MAX] = {1, 1, 1, 1, 1, 1, 1};
    tw_hybrid_config_t good = {.scheme = TW_SCHEME_B, .features = 4, .examples = examples}, bad;
    tw_hybrid_t       *h    = NULL;
    t_log_t            log  = {0};
    tw_context_t      *ctx;
    tw_comm_t         *comm;
    const float        x[4] = {0};

    comm = t_comm_logged(NULL, &log, &ctx);
    bad = good, bad.features = 0;
    T_STATUS(tw_hybrid_create(comm, &bad, &h), TW_ERR_INVALID_ARG);
    bad = good, bad.examples = NULL;
    T_STATUS(tw_hybrid_create(comm, &bad, &h), TW_ERR_INVALID_ARG);
    bad = good, bad.scheme = TW_SCHEME_GROUP, bad.group = t_size + 1;
    T_STATUS(tw_hybrid_create(comm, &bad, &h), TW_ERR_INVALID_ARG);
    T_CHECK(strstr(log.text, "accepted: 1 to the number of ranks") != NULL, "log: %s", log.text);
    bad = good, bad.act = t_codec("bitpack:4", TW_F64);
    T_STATUS(tw_hybrid_create(comm, &bad, &h), TW_ERR_UNSUPPORTED);
    bad = good, bad.features = SIZE_MAX / 4;
    T_STATUS(tw_hybrid_create(comm, &bad, &h), TW_ERR_RANGE);
    if (t_size > 1) {
        bad = good, bad.features = t_rank == 1 ? 5 : 4;
        T_STATUS(tw_hybrid_create(comm, &bad, &h), TW_ERR_MISMATCH);
        T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "features differ"), "log: %s", log.text);
    }
    T_OK(tw_hybrid_create(comm, &good, &h));
    T_STATUS(tw_hybrid_run(h, NULL, NULL, one_hot, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_hybrid_run(h, x, NULL, NULL, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_hybrid_run(NULL, x, NULL, one_hot, NULL), TW_ERR_INVALID_ARG);
    T_CHECK(tw_hybrid_pass_at(h, (size_t)t_size) == NULL, "a pass beyond the last");
    T_STATUS(tw_comm_destroy(comm), TW_ERR_BUSY);
    tw_hybrid_destroy(h);
    tw_hybrid_destroy(NULL);
    t_comm_done(comm, ctx);
}

static const t_case_t cases[] = {
    {"schemes_equal_one_process", schemes_equal_one_process, 1},
    {"codecs", codecs, 1},
    {"decided_codecs", decided_codecs, 1},
    {"groups_are_schemes", groups_are_schemes, 1},
    {"gradients_reach_their_owners", gradients_reach_their_owners, 1},
    {"callbacks_that_stop", callbacks_that_stop, 1},
    {"collectives_within", collectives_within, 1},
    {"bad_arguments", bad_arguments, 1},
};

T_MAIN(cases)
