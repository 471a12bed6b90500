/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/exchange.c - see exchange.h. Plans are created once and started in every step, so a
 * step does not allocate.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "command/watch.h"
#include "train/base/agree.h"
#include "train/step/exchange.h"

/* Tensors in the order in which they become ready: from the last to the first, then the two extra
 * numbers, so that neighbours in the list are neighbours in memory. */
typedef struct tw_exchange_ops tw_exchange_ops_t;

struct tw_exchange {
    const tw_exchange_ops_t *ops;
    tw_exchange_config_t     config;
    size_t                   tensors;
    size_t                  *layer_of; /* [tensors], the extra numbers' last */
    size_t                   told;     /* how many have been said to be ready      */
    tw_buckets_t            *buckets;
};

/* A way to add gradients up; slots that are NULL do nothing. */
struct tw_exchange_ops {
    int (*create)(tw_exchange_t *ex, const tw_bucket_tensor_t *list, tw_problem_t *problem);
    int (*ready)(tw_exchange_t *ex, size_t layer, tw_problem_t *problem);
    void (*advance)(tw_exchange_t *ex);
    int (*finish)(tw_exchange_t *ex, tw_problem_t *problem);
    int (*save)(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem);
    int (*restore)(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem);
};

static int outcome(const tw_exchange_t *ex, const char *what, tw_status_t status,
                   tw_problem_t *problem)
{
    return tw_problem_status(ex->config.comm, what, status, problem);
}

/* The codec that a layer asks for is that of its weights. */
static const char *own_codec(const tw_exchange_t *ex, const tw_param_t *param)
{
    const char *codec = ex->config.network->layer[param->layer].codec;

    return param->role == TW_WEIGHT && codec[0] != '\0' ? codec : NULL;
}

static int travels(const tw_exchange_t *ex, const tw_param_t *param)
{
    return param->layer >= ex->config.from && param->layer < ex->config.to;
}

static size_t list_tensors(tw_exchange_t *ex, tw_bucket_tensor_t *list)
{
    const tw_params_t *params = ex->config.params;
    size_t             n      = 0;

    for (size_t i = params->count; i-- > 0;) {
        const tw_param_t *p = &params->param[i];

        if (travels(ex, p)) {
            ex->layer_of[n] = p->layer;
            list[n++]       = (tw_bucket_tensor_t){.name  = p->name,
                                                   .data  = params->gradient + p->first,
                                                   .count = p->count,
                                                   .codec = own_codec(ex, p),
                                                   .axes  = p->role != TW_WEIGHT};
        }
    }
    if (ex->config.extra) {
        ex->layer_of[n] = 0;
        list[n++] =
            (tw_bucket_tensor_t){.name = "loss", .data = params->extra, .count = 2, .axes = 1};
    }
    return n;
}

/* ---- in buckets ---- */

static int buckets_create(tw_exchange_t *ex, const tw_bucket_tensor_t *list, tw_problem_t *problem)
{
    const tw_buckets_config_t config = {.codec = ex->config.codecs->codec[TW_CLASS_GRAD],
                                        .bytes = ex->config.bucket,
                                        .exec  = &ex->config.exec,
                                        .trace = ex->config.trace};
    const tw_status_t         status =
        tw_buckets_create(ex->config.comm, &config, list, ex->tensors, &ex->buckets);

    return outcome(ex, "preparing the exchange of gradients", status, problem);
}

/* One more tensor. */
static int tell(tw_exchange_t *ex, tw_problem_t *problem)
{
    const tw_status_t status = tw_buckets_ready(ex->buckets, ex->told);

    ex->told++;
    return outcome(ex, "starting the exchange of gradients", status, problem);
}

static int buckets_ready(tw_exchange_t *ex, size_t layer, tw_problem_t *problem)
{
    const size_t tensors = ex->tensors - (ex->config.extra ? 1 : 0);

    while (ex->told < tensors && ex->layer_of[ex->told] >= layer) {
        if (tell(ex, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

static void buckets_advance(tw_exchange_t *ex)
{
    tw_buckets_advance(ex->buckets); /* an error shows in tw_exchange_finish() */
}

static int buckets_finish(tw_exchange_t *ex, tw_problem_t *problem)
{
    tw_status_t status;

    while (ex->told < ex->tensors) {
        if (tell(ex, problem) != 0) {
            return -1;
        }
    }
    ex->told = 0;
    status   = tw_buckets_finish(ex->buckets);
    return outcome(ex, "the exchange of gradients", status, problem);
}

static int buckets_save(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem)
{
    const tw_status_t status = tw_buckets_save(ex->buckets, stream);

    return outcome(ex, "saving residuals", status, problem);
}

static int buckets_restore(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem)
{
    const tw_status_t status = tw_buckets_restore(ex->buckets, stream, TW_FEEDBACK_SUM);

    return outcome(ex, "restoring residuals", status, problem);
}

static const tw_exchange_ops_t buckets = {.create  = buckets_create,
                                          .ready   = buckets_ready,
                                          .advance = buckets_advance,
                                          .finish  = buckets_finish,
                                          .save    = buckets_save,
                                          .restore = buckets_restore};

/* ---- by MPI_Allreduce ---- */

/* In memory of a device, of which MPI may know nothing, the library makes the calls. */
static tw_status_t sum_on_device(const tw_exchange_t *ex)
{
    const tw_params_t *params = ex->config.params;
    const tw_how_t     how    = {.algorithm = TW_ALGORITHM_MPI, .exec = &ex->config.exec};
    tw_status_t        status = TW_OK;

    if (ex->config.extra) {
        status = tw_allreduce(ex->config.comm, TW_IN_PLACE, params->extra, 2, TW_SUM, &how);
    }
    for (size_t i = params->count; i-- > 0 && status == TW_OK;) {
        const tw_param_t *p = &params->param[i];

        if (travels(ex, p)) {
            status = tw_allreduce(ex->config.comm, TW_IN_PLACE, params->gradient + p->first,
                                  p->count, TW_SUM, &how);
        }
    }
    return status;
}

/* For comparison: what a program without thinwire does, one call per tensor. */
static tw_status_t sum_natively(const tw_exchange_t *ex)
{
    const tw_params_t *params = ex->config.params;

    if (ex->config.exec.memory != TW_MEMORY_HOST) {
        return sum_on_device(ex);
    }
    watch_begin("MPI_Allreduce");
    if (ex->config.extra) {
        MPI_Allreduce(MPI_IN_PLACE, params->extra, 2, MPI_FLOAT, MPI_SUM, ex->config.parent);
    }
    for (size_t i = params->count; i-- > 0;) {
        const tw_param_t *p = &params->param[i];

        for (size_t done = 0; travels(ex, p) && done < p->count;) {
            const size_t left = p->count - done;
            const int    n    = left < ((size_t)1 << 30) ? (int)left : 1 << 30;

            MPI_Allreduce(MPI_IN_PLACE, params->gradient + p->first + done, n, MPI_FLOAT, MPI_SUM,
                          ex->config.parent);
            done += (size_t)n;
        }
    }
    watch_end();
    return TW_OK;
}

static int native_finish(tw_exchange_t *ex, tw_problem_t *problem)
{
    const tw_status_t status = sum_natively(ex);

    return outcome(ex, "the exchange of gradients", status, problem);
}

static const tw_exchange_ops_t native = {.finish = native_finish};

/* ---- to the owners of weights ---- */

static int owners_ready(tw_exchange_t *ex, size_t layer, tw_problem_t *problem)
{
    return tw_masters_ready(ex->config.masters, layer, problem);
}

static void owners_advance(tw_exchange_t *ex)
{
    tw_masters_advance(ex->config.masters);
}

/* To the owners; the two extra numbers to all. */
static int owners_finish(tw_exchange_t *ex, tw_problem_t *problem)
{
    const tw_how_t how     = {.exec = &ex->config.exec};
    tw_request_t  *request = NULL;
    tw_status_t    status = tw_iallreduce(ex->config.comm, TW_IN_PLACE, ex->config.params->extra, 2,
                                          TW_SUM, &how, &request);
    const int      mine   = status == TW_OK ? tw_masters_sum(ex->config.masters, problem) : 0;

    if (status == TW_OK) {
        status = tw_wait(&request);
    }
    if (status != TW_OK && mine == 0) {
        return outcome(ex, "the exchange of the loss", status, problem);
    }
    return mine;
}

static int owners_save(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem)
{
    return tw_masters_save(ex->config.masters, stream, problem);
}

static int owners_restore(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem)
{
    return tw_masters_restore(ex->config.masters, stream, problem);
}

static const tw_exchange_ops_t owners = {.ready   = owners_ready,
                                         .advance = owners_advance,
                                         .finish  = owners_finish,
                                         .save    = owners_save,
                                         .restore = owners_restore};

/* ---- whichever it is ---- */

int tw_exchange_create(tw_exchange_t **exchange_p, const tw_exchange_config_t *config,
                       tw_problem_t *problem)
{
    const size_t        most   = config->params->count + 1;
    tw_exchange_t      *ex     = calloc(1, sizeof(*ex));
    tw_bucket_tensor_t *list   = calloc(most, sizeof(*list));
    size_t             *layers = calloc(most, sizeof(*layers));
    int                 mine = ex != NULL && list != NULL && layers != NULL, all = 0;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, config->parent);
    if (all) {
        ex->config   = *config;
        ex->layer_of = layers;
        ex->tensors  = list_tensors(ex, list);
        ex->ops = config->codecs->native ? &native : config->masters != NULL ? &owners : &buckets;
        all     = ex->ops->create == NULL || ex->ops->create(ex, list, problem) == 0;
    } else {
        tw_problem_set(problem, "out of memory");
    }
    free(list);
    if (!all) {
        free(layers);
        if (ex != NULL) {
            tw_buckets_destroy(ex->buckets);
        }
        free(ex);
        return -1;
    }
    *exchange_p = ex;
    return 0;
}

void tw_exchange_destroy(tw_exchange_t *ex)
{
    if (ex != NULL) {
        tw_buckets_destroy(ex->buckets);
        free(ex->layer_of);
        free(ex);
    }
}

float *tw_exchange_extra(tw_exchange_t *ex)
{
    return ex->config.params->extra;
}

int tw_exchange_ready(tw_exchange_t *ex, size_t layer, tw_problem_t *problem)
{
    return ex->ops->ready != NULL ? ex->ops->ready(ex, layer, problem) : 0;
}

void tw_exchange_advance(tw_exchange_t *ex)
{
    if (ex->ops->advance != NULL) {
        ex->ops->advance(ex);
    }
}

int tw_exchange_finish(tw_exchange_t *ex, tw_problem_t *problem)
{
    return ex->ops->finish(ex, problem);
}

int tw_exchange_save(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem)
{
    return ex->ops->save != NULL ? ex->ops->save(ex, stream, problem) : 0;
}

int tw_exchange_restore(tw_exchange_t *ex, FILE *stream, tw_problem_t *problem)
{
    return ex->ops->restore != NULL ? ex->ops->restore(ex, stream, problem) : 0;
}
