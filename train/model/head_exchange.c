/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_exchange.c - exchanges of the ranks of a split head, see head_inside.h.
 *
 * It uses calls instead of plans, since the number of examples differs between passes, and the
 * library keeps the memory of the largest call.
 */
#include "config.h"

#include "train/model/head_inside.h"

/* What the library tells all ranks alike they can agree on; anything else one rank may see alone,
 * while others wait for it. */
static int head_exchange_check(const tw_head_t *head, const char *what, tw_status_t status,
                               tw_problem_t *problem)
{
    if (status == TW_OK) {
        return 0;
    }
    problem->fatal =
        (status != TW_ERR_MISMATCH && status != TW_ERR_NO_MEMORY && status != TW_ERR_IO) ||
        tw_comm_status(head->comm) != TW_OK;
    return tw_problem_set(problem, "%s of the dense layers: %s", what, tw_status_text(status));
}

static tw_how_t how_of(const tw_head_t *head, const tw_codec_t *codec)
{
    return (tw_how_t){.codec = codec, .exec = tw_backend_exec(head->backend)};
}

static void set_counts(tw_head_t *head, const tw_head_layer_t *layer, size_t n)
{
    for (int r = 0; r < head->ranks; r++) {
        head->counts[r] = layer->shares[r] * n;
    }
}

static void measure(const tw_head_t *head, int begins)
{
    if (head->how.exchange != NULL) {
        head->how.exchange(head->how.user, begins);
    }
}

/* What travels, from its start to its completion. */
static void head_exchange_begin(tw_head_t *head, int64_t *span, const char *name,
                                const tw_head_layer_t *layer)
{
    *span = tw_trace_begin(head->how.trace, TW_TRACE_NETWORK, name,
                           (int64_t)(layer->dense - head->network->layer));
    measure(head, 1);
}

static int started(tw_head_t *head, const char *what, tw_status_t status, tw_problem_t *problem)
{
    measure(head, 0);
    return head_exchange_check(head, what, status, problem);
}

static int wait(tw_head_t *head, tw_request_t **request, int64_t span, const char *what,
                tw_problem_t *problem)
{
    tw_status_t status;

    if (head->how.between != NULL) {
        head->how.between(head->how.user);
    }
    measure(head, 1);
    status = tw_wait(request);
    measure(head, 0);
    tw_trace_end(head->how.trace, span);
    return head_exchange_check(head, what, status, problem);
}

/* The next layer's groups are divided as the ranks are, so that each rank's units take what the
 * rank's own units of this layer give. */
static int stays(const tw_head_t *head, const tw_head_layer_t *layer)
{
    return layer[1].groups % (size_t)head->ranks == 0;
}

/* Of n examples; another rank may not see a failure. */
static int keep(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, float *to,
                const float *from, tw_problem_t *problem)
{
    const int status =
        tw_backend_copy(head->backend, to, from, layer->units * n * sizeof(float), problem);

    problem->fatal |= status != 0;
    return status;
}

/* Of n examples what each rank has of a layer's units, from `own` to all of them. */
static int gather(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *own,
                  const tw_codec_t *codec, const char *name, tw_problem_t *problem)
{
    const tw_how_t how = how_of(head, codec);

    set_counts(head, layer, n);
    head_exchange_begin(head, &head->moving_span, name, layer);
    if (started(
            head, name,
            tw_iallgatherv(head->comm, own, layer->all, head->counts, NULL, &how, &head->moving),
            problem) != 0) {
        return -1;
    }
    return wait(head, &head->moving, head->moving_span, name, problem);
}

/* The ranks' summands of all units, to `own` the sums of this rank's. */
static int add(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *sum,
               float *own, const tw_codec_t *codec, const char *name, tw_problem_t *problem)
{
    const tw_how_t how = how_of(head, codec);

    set_counts(head, layer, n);
    head_exchange_begin(head, &head->moving_span, name, layer);
    return started(
        head, name,
        tw_ireduce_scatter(head->comm, sum, own, head->counts, TW_SUM, &how, &head->moving),
        problem);
}

int tw_head_gather(tw_head_t *head, const tw_head_layer_t *layer, size_t n, tw_problem_t *problem)
{
    return stays(head, layer)
               ? keep(head, layer, n, layer->all + layer->first * n, layer->y, problem)
               : gather(head, layer, n, layer->y, head->how.act, "gather activations", problem);
}

int tw_head_spread(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *d,
                   tw_problem_t *problem)
{
    return gather(head, layer, n, d, head->how.back, "gather gradients", problem);
}

int tw_head_scatter(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *sum,
                    float *own, tw_problem_t *problem)
{
    return stays(head, layer)
               ? keep(head, layer, n, own, sum + layer->first * n, problem)
               : add(head, layer, n, sum, own, head->how.back, "add gradients", problem);
}

int tw_head_add(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *sum,
                tw_problem_t *problem)
{
    return add(head, layer, n, sum, layer->y, head->how.act, "add outputs", problem) != 0
               ? -1
               : wait(head, &head->moving, head->moving_span, "add outputs", problem);
}

int tw_head_scatter_wait(tw_head_t *head, const tw_head_layer_t *layer, tw_problem_t *problem)
{
    return stays(head, layer)
               ? 0
               : wait(head, &head->moving, head->moving_span, "add gradients", problem);
}

int tw_head_share(tw_head_t *head, tw_problem_t *problem)
{
    const tw_how_t how = how_of(head, NULL);

    head_exchange_begin(head, &head->shared_span, "share outputs", &head->layer[head->layers - 1]);
    return started(head, "sharing the largest outputs",
                   tw_iallgather(head->comm, head->loss.mine, head->all, head->loss.shared, &how,
                                 &head->shared),
                   problem);
}

int tw_head_share_wait(tw_head_t *head, tw_problem_t *problem)
{
    return wait(head, &head->shared, head->shared_span, "sharing the largest outputs", problem);
}

void tw_head_abandon(tw_head_t *head)
{
    tw_wait(&head->moving);
    tw_wait(&head->shared);
}
