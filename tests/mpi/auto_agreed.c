/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/auto_agreed.c - `auto` where ranks or users are not as it would like: settings that
 * cannot be followed on these ranks, facts and recorded decisions that claim too much, ranks that
 * round otherwise or have another libm.
 */
#include "config.h"

#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thinwire/model.h>

#include "runtime/base/bytes.h"
#include "runtime/policy/algorithms.h"
#include "tests/mpi/job.h"

#define COUNT 5003

/* Facts of this communicator's layout, with links so slow that every byte counts. */
static tw_facts_t made_up(int nodes, int local_ranks)
{
    static const tw_codec_facts_t codecs[] = {
        {"fp32", 0, 4.0, 1, 0.0, 0, 1e-9, 1e-9, 1e-9, 0.0},
        {"tree8:block=4096,split=0.45", 0, 1.0, 4096, 0.0129, 0, 1e-9, 1e-9, 1e-9, 0.0},
        {"bitpack:8", 1, 8.0, 1, 0.0, 0, 1e-9, 1e-9, 1e-9, 0.0}};
    tw_facts_t facts = {.ranks       = t_size,
                        .nodes       = nodes,
                        .local_ranks = local_ranks,
                        .long_form   = 1,
                        .engine      = 1e-6};

    facts.between = facts.inside = (tw_link_facts_t){1e-5, 1e5, 1e5, 1e-6};
    facts.codecs                 = (int)(sizeof(codecs) / sizeof(codecs[0]));
    memcpy(facts.codec, codecs, sizeof(codecs));
    for (int o = 0; o < TW_OPERATIONS; o++) {
        facts.native[o] = (tw_ladder_t){2, {4.0, 8e5}, {1e-6, 1e3}};
    }
    return facts;
}

/* ---- settings that cannot be followed -------------------------------------------------------- */

#define NAME(x, name, considered) #name,
static const struct {
    const char *setting, *names[16];
    t_op_t      ops[2];
    int         count;
} settings[] = {{"ALLREDUCE", {TW_REDUCTION_ALGORITHMS(NAME, )}, {T_ALLREDUCE, T_REDUCE}, 2},
                {"BCAST", {TW_BCAST_ALGORITHMS(NAME, )}, {T_BCAST}, 1},
                {"ALLGATHER", {TW_ALLGATHER_ALGORITHMS(NAME, )}, {T_ALLGATHER}, 1},
                {"ALLTOALL", {TW_ALLTOALL_ALGORITHMS(NAME, )}, {T_ALLTOALL}, 1}};

/* Every rank holds ones: what all of out must be, about. */
static void check(const t_job_t *job)
{
    const t_op_t kind = job->shape.kind;
    const float *out  = (const float *)job->recv;
    const float  want = kind >= T_ALLREDUCE ? (float)t_size : 1.0f;

    for (size_t i = 0; i < job->recv_span && (kind != T_REDUCE || t_rank == 0); i++) {
        if (!(out[i] > 0.9f * want && out[i] < 1.1f * want)) {
            T_CHECK(0, "value %zu is %g, not %g", i, (double)out[i], (double)want);
            return;
        }
    }
}

/* In all forms; what a plan says that it takes goes to algorithm, which holds 40 bytes. */
static void forms(tw_comm_t *comm, t_op_t op, const tw_how_t *how, char *algorithm, char *codec)
{
    const t_shape_t shape = {.kind = op, .count = COUNT, .algorithm = TW_ALGORITHM_MPI};
    t_job_t         job;

    t_job_open(&job, comm, &shape, NULL, NULL);
    job.how = *how;
    for (int form = 0; form < T_FORMS; form++) {
        tw_request_t *request = NULL;

        for (size_t i = 0; i < job.send_span; i++) {
            ((float *)job.send)[i] = 1.0f;
        }
        for (size_t i = 0; i < job.recv_span; i++) {
            ((float *)job.recv)[i] = op == T_BCAST && t_rank == 0 ? 1.0f : -1.0f;
        }
        T_OK(t_job_issue(&job, (t_form_t)form, &request));
        if (form == T_PLAN) {
            snprintf(algorithm, 40, "%s", tw_request_algorithm(request));
            snprintf(codec, 40, "%s", tw_request_codec(request));
        }
        t_job_finish((t_form_t)form, &request);
        check(&job);
    }
    t_job_close(&job);
}

/* One setting on one layout: auto follows it where a named codec does, and else falls back; never
 * an error. */
static void one_setting(const char *setting, const char *name, t_op_t op, int node_ranks)
{
    static char       texts[2][60];
    const char *const list[]  = {texts[0], texts[1], "LOG_LEVEL=info", NULL};
    const tw_how_t    how     = {.codec = t_codec("auto", TW_F32)};
    tw_how_t          named   = {.codec = NULL};
    char              got[40] = "", codec[40] = "", want[40] = "", same[40];
    t_log_t           log = {0};
    tw_context_t     *ctx;
    tw_comm_t        *comm;
    tw_facts_t        facts;
    int               refused;

    snprintf(texts[0], sizeof(texts[0]), "%s=%s", setting, name);
    snprintf(texts[1], sizeof(texts[1]), "NODE_RANKS=%d", node_ranks);
    t_note("%s, operation %d, nodes of %d", texts[0], (int)op, node_ranks);
    comm  = t_comm_logged(list, &log, &ctx);
    facts = node_ranks == 0 ? made_up(1, t_size)
                            : made_up((t_size + node_ranks - 1) / node_ranks,
                                      t_size < node_ranks ? t_size : node_ranks);
    T_OK(tw_comm_set_facts(comm, &facts));
    forms(comm, op, &how, got, codec);
    named.codec = t_codec(strncmp(codec, "tree8", 5) == 0 ? "tree8" : "fp32", TW_F32);
    forms(comm, op, &named, want, same);
    refused = strcmp(want, name) != 0;
    T_CHECK(refused || strcmp(got, want) == 0, "auto by %s, a named codec by %s", got, want);
    T_CHECK(!refused || t_log_holds(MPI_COMM_WORLD, &log, texts[0]), "no line says %s: %s",
            texts[0], log.text);
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, got, sizeof(got));
    t_comm_done(comm, ctx);
}

static void settings_fall_back(void)
{
    static const int layouts[] = {0, 1, 2};

    for (size_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++) {
        for (int i = 0; settings[s].names[i] != NULL; i++) {
            for (int o = 0; o < settings[s].count; o++) {
                for (size_t l = 0; l < 3; l++) {
                    one_setting(settings[s].setting, settings[s].names[i], settings[s].ops[o],
                                layouts[l]);
                }
            }
        }
    }
}

/* What a call names is followed, or refused with a line, as with a named codec. */
static void calls_that_name_are_refused(void)
{
    static const char *const    apart[] = {"NODE_RANKS=1", NULL};
    static const tw_algorithm_t named[] = {TW_ALGORITHM_GRID, TW_ALGORITHM_DIRECT,
                                           TW_ALGORITHM_HIERARCHICAL, TW_ALGORITHM_NODE};

    for (int layout = 0; layout < 2; layout++) {
        t_log_t          log = {0};
        tw_context_t    *ctx;
        tw_comm_t       *comm  = t_comm_logged(layout == 0 ? NULL : apart, &log, &ctx);
        const tw_facts_t facts = layout == 0 ? made_up(1, t_size) : made_up(t_size, 1);

        T_OK(tw_comm_set_facts(comm, &facts));
        for (size_t c = 0; c < sizeof(named) / sizeof(named[0]); c++) {
            const tw_how_t how   = {.codec = t_codec("auto:0", TW_F32), .algorithm = named[c]};
            const tw_how_t plain = {.algorithm = named[c]};
            float          x[8]  = {0.0f}, y[8];

            t_note("algorithm %d, layout %d", (int)named[c], layout);
            T_STATUS(tw_allreduce(comm, x, y, 8, TW_SUM, &how),
                     tw_allreduce(comm, x, y, 8, TW_SUM, &plain));
            T_STATUS(tw_bcast(comm, y, 8, 0, &how), tw_bcast(comm, y, 8, 0, &plain));
            T_STATUS(tw_allgather(comm, x, t_size <= 8 ? y : NULL, 1, &how), TW_OK);
        }
        t_comm_done(comm, ctx);
    }
}

/* ---- claims ---------------------------------------------------------------------------------- */

static const char *scratch(const char *name)
{
    static char path[500];
    const char *folder = getenv("TW_SCRATCH");

    snprintf(path, sizeof(path), "%s/auto-%s", folder != NULL ? folder : "/tmp", name);
    return path;
}

/* Rank 0 puts one text in place of another in a file, and the checksum right. */
static void forge(const char *path, const char *old, const char *now)
{
    static char text[1 << 16], changed[1 << 16];
    FILE       *file;
    char       *at, *sum;
    size_t      n;

    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        file = fopen(path, "r");
        n    = file != NULL ? fread(text, 1, sizeof(text) - 1, file) : 0;
        T_CHECK(file != NULL && fclose(file) == 0, "no %s", path);
        text[n] = '\0';
        at      = strstr(text, old);
        T_CHECK(at != NULL, "no '%s' in %s", old, text);
        n = at != NULL ? (size_t)(at - text) : 0;
        snprintf(changed, sizeof(changed), "%.*s%s%s", (int)n, text, now,
                 at != NULL ? at + strlen(old) : "");
        sum = strstr(changed, "checksum ");
        if (sum != NULL) {
            snprintf(sum, 40, "checksum %016" PRIx64 "\n",
                     tw_fnv1a(TW_FNV_START, changed, (size_t)(sum - changed)));
        }
        file = fopen(path, "w");
        T_CHECK(file != NULL && fputs(changed, file) >= 0 && fclose(file) == 0, "cannot write");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What auto takes for a long vector. */
static void chosen(tw_comm_t *comm, char *codec, size_t size)
{
    const tw_how_t how  = {.codec = t_codec("auto:0.02", TW_F32)};
    tw_request_t  *plan = NULL;
    static float   x[100000];

    T_OK(tw_allreduce_init(comm, TW_IN_PLACE, x, 100000, TW_SUM, &how, &plan));
    snprintf(codec, size, "%s", tw_request_codec(plan));
    T_OK(tw_request_free(&plan));
}

/* A file, or a caller, that says of a codec that it is more exact than it is. */
static void no_claim_is_believed(void)
{
    const char *const path = scratch("claims");
    char              setting[600], codec[100];
    const char *const list[] = {setting, "NODE_RANKS=1", NULL};
    t_log_t           log    = {0};
    tw_context_t     *ctx;
    tw_comm_t        *comm;
    tw_facts_t        facts = made_up(t_size, 1);

    snprintf(setting, sizeof(setting), "CALIBRATION=%s", path);
    comm = t_comm_logged(list, &log, &ctx);
    T_OK(tw_comm_set_facts(comm, &facts));
    T_OK(tw_comm_calibration_save(comm, path, NULL, 0));
    strcpy(facts.codec[1].spec, "onebit:block=2048");
    facts.codec[1].max_error = 0.001;
    T_OK(tw_comm_set_facts(comm, &facts));
    chosen(comm, codec, sizeof(codec));
    T_CHECK(strcmp(codec, "fp32") == 0, "set facts are believed: %s", codec);
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "onebit:block=2048 has an error of 0.001; it has 1"),
            "no line: %s", log.text);
    facts.codecs = 1; /* nothing for floats */
    strcpy(facts.codec[0].spec, "tree9");
    T_OK(tw_comm_set_facts(comm, &facts));
    chosen(comm, codec, sizeof(codec));
    T_CHECK(strcmp(codec, "fp32") == 0, "%s", codec);
    t_comm_done(comm, ctx);

    forge(path, "tree8:block=4096,split=0.45 0 1 4096 0.0129",
          "onebit:block=2048 0 0.125 2048 0.0001");
    comm = t_comm_logged(list, &log, &ctx);
    chosen(comm, codec, sizeof(codec));
    T_CHECK(strcmp(codec, "fp32") == 0, "the file is believed: %s", codec);
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "onebit:block=2048 has an error"), "no line: %s",
            log.text);
    t_comm_done(comm, ctx);
    if (t_rank == 0) {
        unlink(path);
    }
}

/* Recorded decisions are followed as they are, or not at all. */
static void no_decision_breaks_the_bound(void)
{
    static const char *const forged[] = {"onebit:block=2048", "bf17", "auto:0.001"};
    const char *const        path     = scratch("forged");
    char                     setting[600], codec[100];
    const char *const        list[] = {setting, "NODE_RANKS=1", NULL};
    const char              *was    = t_size > 1 ? "tree8:block=4096,split=0.45" : "fp32";
    t_log_t                  log    = {0};
    tw_context_t            *ctx;
    tw_comm_t               *comm;
    const tw_facts_t         facts = made_up(t_size, 1);

    snprintf(setting, sizeof(setting), "DECISIONS=%s", path);
    MPI_Barrier(MPI_COMM_WORLD);
    comm = t_comm_under(list, MPI_COMM_WORLD, &ctx);
    T_OK(tw_comm_set_facts(comm, &facts));
    chosen(comm, codec, sizeof(codec));
    T_CHECK(strcmp(codec, was) == 0, "%s", codec);
    t_comm_done(comm, ctx);
    for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
        forge(path, was, forged[i]);
        was = forged[i];
        t_settings_put(list);
        ctx  = t_context_logged(&log);
        comm = NULL;
        T_STATUS(tw_comm_create(ctx, MPI_COMM_WORLD, &comm), TW_ERR_SETTING);
        T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, forged[i]), "no line: %s", log.text);
        if (comm != NULL) {
            tw_comm_destroy(comm);
        }
        t_settings_take_out(list);
        tw_context_destroy(ctx);
    }
    if (t_rank == 0) {
        unlink(path);
    }
}

/* ---- other arithmetic ------------------------------------------------------------------------ */

static volatile long double skew; /* of the logarithm on this rank */

/* In place of libm's, in the library too. */
__attribute__((visibility("default"))) double log(double x);
__attribute__((visibility("default"))) double exp(double x);
__attribute__((visibility("default"))) double pow(double x, double y);

double log(double x)
{
    const long double y = logl((long double)x);

    return (double)(y + y * skew);
}

double exp(double x)
{
    const long double y = expl((long double)x);

    return (double)(y + y * skew);
}

double pow(double x, double y)
{
    const long double z = powl((long double)x, (long double)y);

    return (double)(z + z * skew);
}

/* Each rank rounds in its own way, and has a libm of its own. */
static void be_different(int different)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

    T_CHECK(fesetround(different ? modes[t_rank % 4] : FE_TONEAREST) == 0, "no such mode");
    skew = different ? 0.02L * (long double)t_rank : 0.0L;
}

/* Facts by which it depends on the last digits what is taken. */
static tw_facts_t narrow(void)
{
    tw_facts_t facts = made_up(t_size, 1);

    facts.between = (tw_link_facts_t){1e-5, 1e9, 1e9, 1e-6};
    for (int o = 0; o < TW_OPERATIONS; o++) {
        facts.native[o] = (tw_ladder_t){2, {4.0, 4e8}, {1.3e-5, 1.7}};
    }
    return facts;
}

static void ranks_decide_alike(void)
{
    static const char *const apart[] = {"NODE_RANKS=1", NULL};
    const tw_facts_t         facts   = narrow();
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    tw_codec_t              *wish = NULL;
    tw_codec_traits_t        traits;
    int                      taken = 0, plain = 0;

    T_OK(tw_comm_set_facts(comm, &facts));
    be_different(1);
    T_OK(tw_codec_create(ctx, "auto:0.1", TW_F32, &wish, NULL, 0));
    T_OK(tw_codec_traits(wish, &traits));
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, &traits.max_error, sizeof(traits.max_error));
    for (size_t n = 1; n < 4000000; n += n / 5 + 1) {
        const tw_how_t how     = {.codec = wish};
        tw_request_t  *plan    = NULL;
        char           it[100] = "";
        static float   x[4000000];

        t_note("%zu values", n);
        T_OK(tw_allreduce_init(comm, TW_IN_PLACE, x, n, TW_SUM, &how, &plan));
        snprintf(it, sizeof(it), "%s %s", tw_request_algorithm(plan), tw_request_codec(plan));
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, it, sizeof(it));
        taken++;
        plain += strncmp(it, "mpi", 3) == 0;
        T_OK(tw_request_free(&plan));
    }
    be_different(0);
    T_CHECK(t_size == 1 || (plain > 0 && plain < taken), "%d of %d by MPI", plain, taken);
    tw_codec_destroy(wish);
    t_comm_done(comm, ctx);
}

/* What is measured next follows from what was measured: all must go the same way. */
static void ranks_measure_alike(void)
{
    static const char *const pairs[] = {"NODE_RANKS=2", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(pairs, MPI_COMM_WORLD, &ctx);
    tw_facts_t               facts;
    static float             x[5000];
    const tw_how_t           how = {.codec = t_codec("auto", TW_F32)};

    be_different(1);
    T_OK(tw_comm_calibrate(comm, 0.1));
    T_OK(tw_allreduce(comm, TW_IN_PLACE, x, 5000, TW_SUM, &how));
    T_CHECK(t_size == 1 || fegetround() == (t_rank % 4 == 0   ? FE_TONEAREST
                                            : t_rank % 4 == 1 ? FE_UPWARD
                                            : t_rank % 4 == 2 ? FE_DOWNWARD
                                                              : FE_TOWARDZERO),
            "the mode was changed");
    be_different(0);
    memset(&facts, 0, sizeof(facts));
    T_OK(tw_comm_get_facts(comm, &facts));
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, &facts, sizeof(facts));
    t_comm_done(comm, ctx);
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* Where the fastest prediction is not taken, the rule is named. */
static void rules_are_named(void)
{
    static const char *const list[] = {"EXPLAIN=1", NULL};
    t_log_t                  log    = {0};
    tw_context_t            *ctx;
    tw_comm_t               *comm  = t_comm_logged(list, &log, &ctx);
    tw_facts_t               facts = made_up(1, t_size);
    char                     codec[100];
    double                   own = 0.0;

    T_OK(tw_comm_set_facts(comm, &facts));
    T_OK(tw_comm_predict(comm, TW_OPERATION_ALLREDUCE, 98304, t_codec("tree8", TW_F32),
                         t_size > 2 ? "two_pass" : "direct", &own));
    facts.native[TW_OPERATION_ALLREDUCE] = (tw_ladder_t){1, {98304.0 * 4.0}, {own / 0.53}};
    T_OK(tw_comm_set_facts(comm, &facts));
    chosen(comm, codec, sizeof(codec));
    T_CHECK(strcmp(codec, "fp32") == 0, "%s in spite of the doubt", codec);
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "it must be below 0.50, margin 0.80 over doubt 1.6"),
            "no rule: %s", log.text);
    t_comm_done(comm, ctx);
}

static const t_case_t cases[] = {
    {"settings fall back", settings_fall_back, 1},
    {"calls that name are refused", calls_that_name_are_refused, 1},
    {"no claim is believed", no_claim_is_believed, 1},
    {"no decision breaks the bound", no_decision_breaks_the_bound, 1},
    {"ranks decide alike", ranks_decide_alike, 1},
    {"ranks measure alike", ranks_measure_alike, 1},
    {"rules are named", rules_are_named, 2},
};

T_MAIN(cases)
