/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/masters.c - see masters.h: creation, and the exchanges of a step.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "train/base/agree.h"
#include "train/step/masters_inside.h"

int tw_masters_outcome(const tw_masters_t *m, const char *what, tw_status_t status,
                       tw_problem_t *problem)
{
    return tw_problem_status(m->config.comm, what, status, problem);
}

/* ---- making -------------------------------------------------------------------------------- */

static int make_weights(tw_masters_t *m, const tw_weights_group_t *list, tw_problem_t *problem)
{
    const tw_weights_config_t config = {.owners   = m->config.owners,
                                        .gradient = m->config.codecs->codec[TW_CLASS_GRAD],
                                        .exec     = &m->config.exec,
                                        .trace    = m->config.trace};
    const tw_status_t         status =
        tw_weights_create(m->config.comm, &config, list, m->groups, &m->weights);
    tw_weights_facts_t facts;

    if (status != TW_OK) {
        return tw_masters_outcome(m, "preparing the exchange of weights", status, problem);
    }
    tw_weights_facts(m->weights, &facts);
    return tw_backend_allocate(m->config.params->backend, facts.own * sizeof(*m->state),
                               (void **)&m->state, problem);
}

int tw_masters_create(tw_masters_t **masters_p, const tw_masters_config_t *config,
                      tw_problem_t *problem)
{
    tw_masters_t       *m    = calloc(1, sizeof(*m));
    tw_weights_group_t *list = calloc(config->params->count + 1, sizeof(*list));
    int                 mine = -1, all;

    if (m != NULL && list != NULL) {
        m->config = *config;
        mine      = tw_masters_list_groups(m, problem) == 0
                        ? tw_masters_describe_groups(m, list, problem)
                        : -1;
    } else {
        tw_problem_set(problem, "out of memory");
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, config->parent);
    if (all == 0) {
        all = make_weights(m, list, problem);
    }
    free(list);
    if (all != 0) {
        tw_masters_destroy(m);
        return -1;
    }
    *masters_p = m;
    return 0;
}

void tw_masters_destroy(tw_masters_t *m)
{
    if (m != NULL) {
        tw_weights_destroy(m->weights);
        tw_backend_release(m->config.params->backend, m->state);
        free(m->change);
        free(m->norms);
        free(m->group_of);
        free(m->group);
        free(m);
    }
}

/* ---- a step -------------------------------------------------------------------------------- */

int tw_masters_send(tw_masters_t *m, tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    m->arrived = 0;
    for (size_t g = 0; g < m->groups && status == TW_OK; g++) {
        status = tw_weights_send(m->weights, g);
    }
    return tw_masters_outcome(m, "sending weights", status, problem);
}

int tw_masters_begin(tw_masters_t *m, tw_problem_t *problem)
{
    int copied = 0; /* the others send, whatever comes of it here */

    for (size_t g = 0; g < m->groups; g++) {
        const tw_weights_share_t share = tw_masters_share(m, g);

        copied |= tw_backend_copy(m->config.params->backend, share.master,
                                  m->config.params->value + m->group[g].first + share.first,
                                  share.count * sizeof(float), problem);
    }
    return tw_masters_send(m, problem) == 0 ? copied : -1;
}

/* Groups 0 .. g. */
static int need_groups(tw_masters_t *m, size_t g, tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    while (m->arrived <= g && status == TW_OK) {
        status = tw_weights_wait(m->weights, m->arrived);
        m->arrived += status == TW_OK;
    }
    return tw_masters_outcome(m, "the exchange of weights", status, problem);
}

int tw_masters_need(tw_masters_t *m, size_t layer, tw_problem_t *problem)
{
    return need_groups(m, m->group_of[layer], problem);
}

int tw_masters_arrive(tw_masters_t *m, tw_problem_t *problem)
{
    return need_groups(m, m->groups - 1, problem);
}

int tw_masters_arrived(const tw_masters_t *m)
{
    return m == NULL || m->arrived == m->groups;
}

/* Gradients of groups from g on are final. A rank without examples has not waited for their
 * weights. */
static int ready_groups(tw_masters_t *m, size_t g, tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    while (m->ready > g && status == TW_OK) {
        if (need_groups(m, m->ready - 1, problem) != 0) {
            return -1;
        }
        status = tw_weights_ready(m->weights, --m->ready);
    }
    return tw_masters_outcome(m, "starting the exchange of gradients", status, problem);
}

int tw_masters_ready(tw_masters_t *m, size_t layer, tw_problem_t *problem)
{
    const size_t g = m != NULL ? m->group_of[layer] : 0;

    /* A block is complete with its first layer. */
    return g > 0 && m->config.params->param[m->group[g].param].layer == layer
               ? ready_groups(m, g, problem)
               : 0;
}

void tw_masters_advance(tw_masters_t *m)
{
    tw_weights_advance(m->weights); /* an error shows where its end is waited for */
}

int tw_masters_sum(tw_masters_t *m, tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    if (ready_groups(m, 0, problem) != 0) {
        return -1;
    }
    for (size_t g = m->groups; g-- > 0 && status == TW_OK;) {
        status = tw_weights_sum(m->weights, g);
    }
    m->ready = m->groups;
    return tw_masters_outcome(m, "the exchange of gradients", status, problem);
}

/* ---- AWP ----------------------------------------------------------------------------------- */

/* While a group still gains bits. */
int tw_masters_observes(const tw_masters_t *m)
{
    for (size_t g = 1; m != NULL && g < m->groups && tw_masters_weight_codec(m)->adaptive; g++) {
        if (m->group[g].precision.bits < m->group[g].precision.last) {
            return 1;
        }
    }
    return 0;
}

static tw_status_t raise_bits(tw_masters_t *m, size_t g, uint64_t step)
{
    tw_master_group_t *group = &m->group[g];
    const int          bits  = group->precision.bits;

    m->change[m->changes++] = (tw_masters_change_t){step, g, bits};
    tw_weight_codec_spec(tw_masters_weight_codec(m), bits, group->spec);
    return tw_weights_set_codec(m->weights, g, group->spec);
}

static tw_status_t observe(tw_masters_t *m, uint64_t step)
{
    tw_status_t status = tw_weights_norms(m->weights, tw_masters_weight_codec(m)->norm, m->norms);

    for (size_t g = 1; g < m->groups && status == TW_OK; g++) {
        int raised = 0;

        if (isfinite(m->norms[g])) { /* else the loss says so in the next step */
            tw_precision_observe(&m->group[g].precision, m->norms[g], &raised);
        }
        if (raised) {
            status = raise_bits(m, g, step);
        }
    }
    return status;
}

int tw_masters_adapt(tw_masters_t *m, uint64_t step, tw_problem_t *problem)
{
    return tw_masters_outcome(m, "adapting the precision of weights",
                              tw_masters_observes(m) ? observe(m, step) : TW_OK, problem);
}
