/* SPDX-License-Identifier: BSD-3-Clause
 * train/exchange.c - see exchange.h. One plan per layer, made once and started in every step, so
 * that a step allocates nothing.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tools/watch.h"
#include "train/exchange.h"

struct tw_exchange {
    tw_net_t      *net;
    MPI_Comm       parent;
    int            plain; /* "mpi" */
    tw_comm_t     *comm;
    tw_codec_t    *codec;
    tw_exec_t      exec;
    tw_feedback_t *feedback[TW_MODEL_LAYERS_MAX];
    tw_request_t  *plan[TW_MODEL_LAYERS_MAX + 1]; /* the last one: biases */
};

static float *gradient_of(const tw_net_t *net, size_t l, size_t *n_p)
{
    if (l == net->layers) {
        *n_p = net->biases + 2;
        return net->bg;
    }
    *n_p = net->layer[l].in * net->layer[l].units;
    return net->layer[l].g;
}

/* What the library tells all ranks alike they can agree on; anything else one rank may see alone,
 * while others wait for it. */
static int failed(const tw_exchange_t *ex, tw_problem_t *problem, const char *what, size_t l,
                  tw_status_t status)
{
    problem->fatal = (status != TW_ERR_MISMATCH && status != TW_ERR_NO_MEMORY &&
                      status != TW_ERR_IO && status != TW_ERR_FORMAT) ||
                     tw_comm_status(ex->comm) != TW_OK;
    return tw_problem_set(problem, "%s of layer %zu: %s", what, l + 1, tw_status_text(status));
}

static int create_plan(tw_exchange_t *ex, size_t l, int feedback, tw_problem_t *problem)
{
    char        name[32];
    size_t      n;
    float      *gradient = gradient_of(ex->net, l, &n);
    tw_how_t    how      = {.codec = l < ex->net->layers ? ex->codec : NULL, .exec = &ex->exec};
    tw_status_t status   = TW_OK;

    if (feedback && l < ex->net->layers) {
        snprintf(name, sizeof(name), "weights%zu", l);
        status = tw_feedback_create(ex->comm, name, TW_F32, n, &ex->feedback[l]);
        if (status != TW_OK) {
            return failed(ex, problem, "error feedback", l, status);
        }
        how.feedback = ex->feedback[l];
    }
    status = tw_allreduce_init(ex->comm, TW_IN_PLACE, gradient, n, TW_SUM, &how, &ex->plan[l]);
    return status == TW_OK ? 0 : failed(ex, problem, "preparing the exchange", l, status);
}

static int create_codec(tw_exchange_t *ex, tw_context_t *ctx, const char *spec,
                        tw_problem_t *problem)
{
    char        why[400];
    tw_status_t status = tw_codec_create(ctx, spec, TW_F32, &ex->codec, why, sizeof(why));

    if (status == TW_OK) {
        return 0;
    }
    return tw_problem_set(problem, "--codec '%s': %s; also accepted: mpi", spec,
                          why[0] != '\0' ? why : tw_status_text(status));
}

/* What is made from the codec is made together, so the caller has seen to it that all have one. */
static int create_plans(tw_exchange_t *ex, tw_context_t *ctx, tw_problem_t *problem)
{
    tw_codec_traits_t traits;
    tw_status_t       status = tw_comm_create(ctx, ex->parent, &ex->comm);

    if (status != TW_OK) {
        /* A mismatch has been explained by the library, in one line for all ranks. */
        return tw_problem_set(problem, "%s",
                              status == TW_ERR_MISMATCH ? "" : tw_status_text(status));
    }
    tw_codec_traits(ex->codec, &traits);
    for (size_t l = 0; l <= ex->net->layers; l++) {
        if (create_plan(ex, l, traits.feedback, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

int tw_exchange_create(tw_exchange_t **exchange_p, tw_context_t *ctx, MPI_Comm parent,
                       const char *spec, tw_net_t *net, int threads, tw_problem_t *problem)
{
    tw_exchange_t *ex   = calloc(1, sizeof(*ex));
    int            mine = 0, all = 0;

    if (ex == NULL) {
        mine = tw_problem_set(problem, "out of memory");
    } else {
        ex->net    = net;
        ex->parent = parent;
        ex->plain  = strcmp(spec, "mpi") == 0;
        ex->exec   = (tw_exec_t){.memory = TW_MEMORY_HOST, .stream = NULL, .threads = threads};
        mine       = ex->plain ? 0 : create_codec(ex, ctx, spec, problem);
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, parent);
    if (all == 0 && !ex->plain) {
        all = create_plans(ex, ctx, problem);
    }
    if (all != 0) {
        tw_exchange_destroy(ex);
        return -1;
    }
    *exchange_p = ex;
    return 0;
}

void tw_exchange_destroy(tw_exchange_t *ex)
{
    if (ex == NULL) {
        return;
    }
    for (size_t l = 0; l <= ex->net->layers; l++) {
        tw_request_free(&ex->plan[l]);
        if (l < ex->net->layers) {
            tw_feedback_destroy(ex->feedback[l]);
        }
    }
    if (ex->comm != NULL) {
        tw_comm_destroy(ex->comm);
    }
    tw_codec_destroy(ex->codec);
    free(ex);
}

const char *tw_exchange_spec(const tw_exchange_t *ex)
{
    return ex->plain ? "mpi" : tw_codec_spec(ex->codec);
}

int tw_exchange_start(tw_exchange_t *ex, size_t l, tw_problem_t *problem)
{
    tw_status_t status = ex->plain ? TW_OK : tw_start(ex->plan[l]);

    return status == TW_OK ? 0 : failed(ex, problem, "starting the exchange", l, status);
}

int tw_exchange_finish(tw_exchange_t *ex, size_t l, tw_problem_t *problem)
{
    size_t      n;
    float      *gradient = gradient_of(ex->net, l, &n);
    tw_status_t status;

    if (ex->plain) {
        watch_begin("MPI_Allreduce");
        MPI_Allreduce(MPI_IN_PLACE, gradient, (int)n, MPI_FLOAT, MPI_SUM, ex->parent);
        watch_end();
        return 0;
    }
    status = tw_wait(&ex->plan[l]);
    return status == TW_OK ? 0 : failed(ex, problem, "the exchange", l, status);
}

tw_exchange_bytes_t tw_exchange_counted(const tw_exchange_t *ex)
{
    tw_exchange_bytes_t bytes = {-1, -1};
    tw_stats_t          stats;

    if (!ex->plain && tw_comm_stats(ex->comm, &stats) == TW_OK) {
        bytes.sent  = (int64_t)stats.bytes_sent;
        bytes.plain = (int64_t)stats.bytes_plain;
    }
    return bytes;
}

int tw_exchange_save(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem)
{
    for (size_t l = 0; l < ex->net->layers; l++) {
        if (ex->feedback[l] != NULL) {
            const tw_status_t status = tw_feedback_save(ex->feedback[l], stream);

            if (status != TW_OK) {
                return failed(ex, problem, "saving the residual", l, status);
            }
        }
    }
    return 0;
}

int tw_exchange_restore(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem)
{
    for (size_t l = 0; l < ex->net->layers; l++) {
        if (ex->feedback[l] != NULL) {
            const tw_status_t status =
                tw_feedback_restore(ex->feedback[l], stream, TW_FEEDBACK_SUM);

            if (status != TW_OK) {
                return failed(ex, problem, "restoring the residual", l, status);
            }
        }
    }
    return 0;
}
