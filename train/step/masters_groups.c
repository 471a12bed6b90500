/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/masters_groups.c - the groups of tensors that are sent together: names, codecs and
 * shares.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/step/masters_inside.h"

const tw_weight_codec_t *tw_masters_weight_codec(const tw_masters_t *m)
{
    return &m->config.codecs->weight;
}

/* What a tensor's group is called: as the tensor, so that residuals go from one arrangement to
 * another; with blocks, what stands before the last point of the layer's name. */
static void name_group(const tw_masters_t *m, const tw_param_t *p, char name[48])
{
    const char *layer = m->config.network->layer[p->layer].name;
    const char *point = tw_masters_weight_codec(m)->by_block ? strrchr(layer, '.') : NULL;

    snprintf(name, 48, "%.*s", point != NULL ? (int)(point - layer) : 47,
             point != NULL ? layer : p->name);
}

int tw_masters_is_first(const tw_param_t *p)
{
    return p->role != TW_WEIGHT;
}

tw_weights_share_t tw_masters_share(const tw_masters_t *m, size_t g)
{
    tw_weights_share_t share = {0};

    tw_weights_share(m->weights, g, &share);
    return share;
}

/* The group that a tensor joins: the last one, if that has the name; a new one. */
static void join(tw_masters_t *m, size_t i)
{
    const tw_param_t  *p = &m->config.params->param[i];
    char               name[48];
    tw_master_group_t *g = &m->group[0];

    if (!tw_masters_is_first(p)) {
        name_group(m, p, name);
        if (m->groups == 1 || strcmp(m->group[m->groups - 1].name, name) != 0) {
            g = &m->group[m->groups++];
            memcpy(g->name, name, sizeof(g->name));
            g->first = p->first;
            g->param = i;
        }
        g                     = &m->group[m->groups - 1];
        m->group_of[p->layer] = m->groups - 1;
    }
    g->count += p->count;
    g->params++;
}

static void settle_precision(const tw_masters_t *m, tw_master_group_t *g, int first)
{
    const tw_weight_codec_t *how = tw_masters_weight_codec(m);

    if (first) {
        strcpy(g->spec, "fp32");
        return;
    }
    g->precision = how->rule;
    tw_precision_init(&g->precision);
    tw_weight_codec_spec(how, g->precision.bits, g->spec);
}

/* Blocks have names that are theirs alone, if they have any. */
static int check_names(const tw_masters_t *m, tw_problem_t *problem)
{
    for (size_t g = 1; g < m->groups; g++) {
        const char *name  = m->group[g].name;
        int         other = name[0] == '\0';

        for (size_t k = 0; k < g; k++) {
            other |= strcmp(m->group[k].name, name) == 0;
        }
        if (other) {
            return tw_problem_set(
                problem,
                "--codec weight=awp:group=block: layer %s is of block '%s'; accepted: a name "
                "other than 'biases', of layers that stand together",
                m->config.network->layer[m->config.params->param[m->group[g].param].layer].name,
                name);
        }
    }
    return 0;
}

int tw_masters_list_groups(tw_masters_t *m, tw_problem_t *problem)
{
    const tw_params_t *params = m->config.params;

    m->group    = calloc(params->count + 1, sizeof(*m->group));
    m->norms    = calloc(params->count + 1, sizeof(*m->norms));
    m->change   = calloc(TW_RAISES * params->count + 1, sizeof(*m->change));
    m->group_of = calloc(m->config.network->layers, sizeof(*m->group_of));
    if (m->group == NULL || m->norms == NULL || m->change == NULL || m->group_of == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    m->groups = 1;
    strcpy(m->group[0].name, "biases");
    for (size_t i = 0; i < params->count; i++) {
        if (params->param[i].ownable) {
            join(m, i);
        }
    }
    if (m->groups == 1 && m->group[0].params == 0) {
        return tw_problem_set(problem,
                              "--update root and sharded are about weights with owners, and "
                              "here all are of split layers; accepted is --update replicated");
    }
    if (check_names(m, problem) != 0) {
        return -1;
    }
    m->ready = m->groups;
    for (size_t g = 0; g < m->groups; g++) {
        settle_precision(m, &m->group[g], g == 0);
    }
    return 0;
}

/* The codec that the layers of a group ask for, for their gradients: "" for none. NULL: not all the
 * same. */
static const char *own_codec(const tw_masters_t *m, const tw_master_group_t *g)
{
    const char *codec = NULL;

    for (size_t k = 0; k < g->params; k++) {
        const tw_param_t *p   = &m->config.params->param[g->param + k];
        const char       *own = m->config.network->layer[p->layer].codec;

        if (codec != NULL && strcmp(codec, own) != 0) {
            return NULL;
        }
        codec = own;
    }
    return codec != NULL ? codec : "";
}

/* Elements that stay with one owner; 0: any number. With several tensors in a group, all of
 * them. */
static size_t unit_of(const tw_masters_t *m, const tw_master_group_t *g)
{
    const tw_param_t *last = &m->config.params->param[g->param + g->params - 1];

    if (!m->config.whole_rows || last->layer < m->config.network->first_dense) {
        return 0;
    }
    return g->params == 1 ? last->per_unit : g->count;
}

int tw_masters_describe_groups(const tw_masters_t *m, tw_weights_group_t *list,
                               tw_problem_t *problem)
{
    const tw_params_t *params = m->config.params;

    for (size_t i = 0; i < m->groups; i++) {
        const tw_master_group_t *g   = &m->group[i];
        const char              *own = i == 0 ? "fp32" : own_codec(m, g);

        if (own == NULL) {
            return tw_problem_set(problem,
                                  "the layers of block %s have codecs of their own that differ; "
                                  "accepted: one for a block, or group=layer",
                                  g->name);
        }
        if (own[0] == '\0' && tw_tensor_is_small(g->count, 0)) {
            own = "fp32"; /* as in buckets, so that residuals are of the same tensors */
        }
        list[i] = (tw_weights_group_t){.name           = g->name,
                                       .weights        = params->value + g->first,
                                       .gradient       = params->gradient + g->first,
                                       .count          = g->count,
                                       .unit           = i > 0 ? unit_of(m, g) : 0,
                                       .codec          = g->spec,
                                       .gradient_codec = own[0] != '\0' ? own : NULL};
    }
    return 0;
}
