/* SPDX-License-Identifier: BSD-3-Clause
 * train/masters.c - see masters.h.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/agree.h"
#include "train/masters.h"

#define TW_RAISES 31 /* that a group can have: of one bit each, from 1 to 32 */

/* What a checkpoint has of a group: its rule, and after how many steps its bits were raised, then
 * 0. */
#define TW_MASTER_NUMBERS (TW_PRECISION_NUMBERS + TW_RAISES)

typedef struct tw_master_group {
    char           name[48];
    size_t         first, count;  /* elements of params->value             */
    size_t         param, params; /* tensors of params->param, neighbours  */
    char           spec[TW_WEIGHT_SPEC];
    tw_precision_t precision; /* with AWP, but for the first group     */
} tw_master_group_t;

struct tw_masters {
    tw_masters_config_t  config;
    tw_weights_t        *weights;
    size_t               groups;
    tw_master_group_t   *group;    /* [groups]                              */
    size_t              *group_of; /* [layers] of its weights; 0: none      */
    float               *state;    /* [own] of the optimizer, of the backend */
    double              *norms;    /* [groups]                              */
    tw_masters_change_t *change;   /* [TW_RAISES groups]: bits never fall   */
    size_t               changes;
    size_t               arrived; /* groups 0 .. arrived - 1 were waited for */
    size_t               ready;   /* gradients of groups ready .. are final  */
};

static int outcome(const tw_masters_t *m, const char *what, tw_status_t status,
                   tw_problem_t *problem)
{
    return tw_problem_status(m->config.comm, what, status, problem);
}

/* ---- groups -------------------------------------------------------------------------------- */

static const tw_weight_codec_t *codec_of(const tw_masters_t *m)
{
    return &m->config.codecs->weight;
}

/* What a tensor's group is called: as the tensor, so that residuals go from one arrangement to
 * another; with blocks, what stands before the last point of the layer's name. */
static void name_group(const tw_masters_t *m, const tw_param_t *p, char name[48])
{
    const char *layer = m->config.network->layer[p->layer].name;
    const char *point = codec_of(m)->by_block ? strrchr(layer, '.') : NULL;

    snprintf(name, 48, "%.*s", point != NULL ? (int)(point - layer) : 47,
             point != NULL ? layer : p->name);
}

static int is_first(const tw_param_t *p)
{
    return p->role != TW_WEIGHT;
}

/* The group that a tensor joins: the last one, if that has the name; a new one. */
static void join(tw_masters_t *m, size_t i)
{
    const tw_param_t  *p = &m->config.params->param[i];
    char               name[48];
    tw_master_group_t *g = &m->group[0];

    if (!is_first(p)) {
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
    const tw_weight_codec_t *how = codec_of(m);

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

static int list_groups(tw_masters_t *m, tw_problem_t *problem)
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

static int describe_groups(const tw_masters_t *m, tw_weights_group_t *list, tw_problem_t *problem)
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
        return outcome(m, "preparing the exchange of weights", status, problem);
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
        mine      = list_groups(m, problem) == 0 ? describe_groups(m, list, problem) : -1;
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

static tw_weights_share_t share_of(const tw_masters_t *m, size_t g)
{
    tw_weights_share_t share = {0};

    tw_weights_share(m->weights, g, &share);
    return share;
}

int tw_masters_send(tw_masters_t *m, tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    m->arrived = 0;
    for (size_t g = 0; g < m->groups && status == TW_OK; g++) {
        status = tw_weights_send(m->weights, g);
    }
    return outcome(m, "sending weights", status, problem);
}

int tw_masters_begin(tw_masters_t *m, tw_problem_t *problem)
{
    int copied = 0; /* the others send, whatever comes of it here */

    for (size_t g = 0; g < m->groups; g++) {
        const tw_weights_share_t share = share_of(m, g);

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
    return outcome(m, "the exchange of weights", status, problem);
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
    return outcome(m, "starting the exchange of gradients", status, problem);
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
    return outcome(m, "the exchange of gradients", status, problem);
}

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
        const tw_weights_share_t share = share_of(m, i);

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

/* ---- AWP ----------------------------------------------------------------------------------- */

/* While a group still gains bits. */
int tw_masters_observes(const tw_masters_t *m)
{
    for (size_t g = 1; m != NULL && g < m->groups && codec_of(m)->adaptive; g++) {
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
    tw_weight_codec_spec(codec_of(m), bits, group->spec);
    return tw_weights_set_codec(m->weights, g, group->spec);
}

static tw_status_t observe(tw_masters_t *m, uint64_t step)
{
    tw_status_t status = tw_weights_norms(m->weights, codec_of(m)->norm, m->norms);

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
    return outcome(m, "adapting the precision of weights",
                   tw_masters_observes(m) ? observe(m, step) : TW_OK, problem);
}

/* ---- what became of it --------------------------------------------------------------------- */

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
    *bits_p     = g > 0 && codec_of(m)->adaptive ? m->group[g].precision.bits : 0;
    return m->group[g].name;
}

const char *tw_masters_codec(const tw_masters_t *m, size_t layer)
{
    const size_t g = m != NULL ? m->group_of[layer] : 0;

    return g > 0 ? tw_weights_codec(m->weights, g) : NULL;
}

/* ---- checkpoints --------------------------------------------------------------------------- */

int tw_masters_collect(tw_masters_t *m, const tw_param_t *param, int which, tw_problem_t *problem)
{
    const size_t             i     = is_first(param) ? 0 : m->group_of[param->layer];
    const tw_weights_share_t share = share_of(m, i);

    return outcome(m, "collecting weights",
                   tw_weights_collect(m->weights, i,
                                      which == 0 ? share.master : m->state + share.at,
                                      m->config.params->gradient + m->group[i].first),
                   problem);
}

int tw_masters_take_state(tw_masters_t *m, tw_problem_t *problem)
{
    for (size_t i = 0; m != NULL && i < m->groups; i++) {
        const tw_weights_share_t share = share_of(m, i);

        if (tw_backend_copy(m->config.params->backend, m->state + share.at,
                            m->config.params->gradient + m->group[i].first + share.first,
                            share.count * sizeof(float), problem) != 0) {
            return -1;
        }
    }
    return 0;
}

size_t tw_masters_numbers(const tw_masters_t *m)
{
    return m != NULL && codec_of(m)->adaptive ? (m->groups - 1) * TW_MASTER_NUMBERS : 0;
}

void tw_masters_write_rule(const tw_masters_t *m, FILE *stream)
{
    for (size_t g = 1; m != NULL && g < m->groups && codec_of(m)->adaptive; g++) {
        double numbers[TW_MASTER_NUMBERS] = {0.0};
        size_t n                          = TW_PRECISION_NUMBERS;

        tw_precision_save(&m->group[g].precision, numbers);
        for (size_t c = 0; c < m->changes; c++) {
            if (m->change[c].group == g) {
                numbers[n++] = (double)m->change[c].step;
            }
        }
        fwrite(numbers, sizeof(numbers), 1, stream);
    }
}

/* A whole number of steps, later than the one before? */
static int is_step(double step, double before)
{
    return step > before && step < 9e15 && step == floor(step);
}

/* The raises of a group, which are not any but those that its rule makes. */
static int restore_changes(tw_masters_t *m, size_t g, const double *steps)
{
    const tw_precision_t *p    = &m->group[g].precision;
    int                   bits = p->first;

    for (size_t k = 0; k < TW_RAISES && steps[k] != 0.0; k++) {
        if (!is_step(steps[k], k > 0 ? steps[k - 1] : 0.0) || bits >= p->bits) {
            return -1;
        }
        bits                    = bits + p->step < p->last ? bits + p->step : p->last;
        m->change[m->changes++] = (tw_masters_change_t){(uint64_t)steps[k], g, bits};
    }
    return bits == p->bits ? 0 : -1;
}

static int earlier(const void *left, const void *right)
{
    const tw_masters_change_t *a = left, *b = right;

    return a->step != b->step ? (a->step > b->step) - (a->step < b->step)
                              : (a->group > b->group) - (a->group < b->group);
}

int tw_masters_restore_rule(tw_masters_t *m, const double *numbers, tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    m->changes = 0;
    for (size_t g = 1; g < m->groups && status == TW_OK; g++) {
        tw_master_group_t *group = &m->group[g];

        const double *own = numbers + (g - 1) * TW_MASTER_NUMBERS;

        if (tw_precision_restore(&group->precision, own) != TW_OK ||
            restore_changes(m, g, own + TW_PRECISION_NUMBERS) != 0) {
            return tw_problem_set(
                problem, "--checkpoint: holds a state of AWP that cannot be, of %s", group->name);
        }
        tw_weight_codec_spec(codec_of(m), group->precision.bits, group->spec);
        status = tw_weights_set_codec(m->weights, g, group->spec);
    }
    qsort(m->change, m->changes, sizeof(*m->change), earlier);
    return outcome(m, "restoring the precision of weights", status, problem);
}

int tw_masters_save(tw_masters_t *m, FILE *stream, tw_problem_t *problem)
{
    return outcome(m, "saving residuals", tw_weights_save(m->weights, stream), problem);
}

int tw_masters_restore(tw_masters_t *m, FILE *stream, tw_problem_t *problem)
{
    return outcome(m, "restoring residuals",
                   tw_weights_restore(m->weights, stream, TW_FEEDBACK_SUM), problem);
}
