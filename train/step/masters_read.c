/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/masters_read.c - read access to the masters: parts of tensors, norms, facts of groups.
 */
#include "config.h"

#include <string.h>

#include "train/step/masters_inside.h"

/* The part of a tensor that is in a share. */
static tw_master_piece_t piece_of(const tw_masters_t *m, const tw_master_group_t *g,
                                  const tw_weights_share_t *share, const tw_param_t *p)
{
    const size_t at = p->first - g->first, begin = share->first > at ? share->first : at;
    const size_t own = share->first + share->count, all = at + p->count;
    const size_t end = own < all ? own : all;

    if (begin >= end) {
        return (tw_master_piece_t){.param = p};
    }
    return (tw_master_piece_t){.param    = p,
                               .first    = begin - at,
                               .n        = end - begin,
                               .value    = share->master + (begin - share->first),
                               .state    = m->state + share->at + (begin - share->first),
                               .gradient = share->gradient + (begin - share->first)};
}

int tw_masters_each(tw_masters_t *m, int (*visit)(void *user, const tw_master_piece_t *piece),
                    void         *user)
{
    int status = 0;

    for (size_t i = 0; m != NULL && i < m->groups && status == 0; i++) {
        const tw_master_group_t *g     = &m->group[i];
        const tw_weights_share_t share = tw_masters_share(m, i);

        for (size_t k = 0; k < g->params && status == 0; k++) {
            const tw_master_piece_t piece =
                piece_of(m, g, &share, &m->config.params->param[g->param + k]);

            if (piece.n > 0) {
                status = visit(user, &piece);
            }
        }
    }
    return status;
}

tw_status_t tw_masters_norms(tw_masters_t *m, double *norms)
{
    const tw_status_t status = tw_weights_norms(m->weights, TW_WEIGHTS_MASTERS, m->norms);

    if (status == TW_OK) {
        memcpy(norms, m->norms + 1, (m->groups - 1) * sizeof(*norms));
    }
    return status;
}

void tw_masters_facts(const tw_masters_t *m, tw_masters_facts_t *facts)
{
    tw_weights_facts_t all;

    *facts = (tw_masters_facts_t){.groups = 0};
    if (m == NULL) {
        return;
    }
    tw_weights_facts(m->weights, &all);
    *facts = (tw_masters_facts_t){.groups   = m->groups,
                                  .own      = all.own,
                                  .elements = all.elements,
                                  .bytes    = all.bytes_codes,
                                  .change   = m->change,
                                  .changes  = m->changes};
}

const char *tw_masters_group(const tw_masters_t *m, size_t g, size_t *elements_p,
                             const char **spec_p, int *bits_p)
{
    *elements_p = m->group[g].count;
    *spec_p     = tw_weights_codec(m->weights, g);
    *bits_p     = g > 0 && tw_masters_weight_codec(m)->adaptive ? m->group[g].precision.bits : 0;
    return m->group[g].name;
}

const char *tw_masters_codec(const tw_masters_t *m, size_t layer)
{
    const size_t g = m != NULL ? m->group_of[layer] : 0;

    return g > 0 ? tw_weights_codec(m->weights, g) : NULL;
}
