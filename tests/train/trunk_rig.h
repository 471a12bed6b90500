/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/trunk_rig.h - a trunk on a backend with parameters of its own, and the oracle beside
 * it.
 */
#ifndef TW_TESTS_TRUNK_RIG_H
#define TW_TESTS_TRUNK_RIG_H

#include <math.h>

#include "tests/train/backend_here.h"
#include "tests/train/reference_net.h"
#include "tests/train/small_net.h"
#include "thinwire/thinwire.h"
#include "train/model/trunk.h"

enum { SEED = 17, STEP = 3 };

/* A trunk with parameters of its own. */
typedef struct rig {
    tw_backend_t *backend, *host;
    tw_params_t   params; /* for the host; they are copied before a pass and after it */
    tw_params_t   on;     /* the trunk's, in memory of the backend                    */
    tw_trunk_t   *trunk;
    const float  *features;         /* as the trunk gave them, */
    float        *got, *g_features; /* for the host, and the gradient by them: [EXAMPLES][...]  */
} rig_t;

enum { EXAMPLES = 16 };

static inline float *rig_room(rig_t *rig, size_t count)
{
    tw_problem_t problem = {.set = 0};
    void        *p;

    must(tw_backend_allocate(rig->backend, count * sizeof(float), &p, &problem) == 0, problem.text);
    return p;
}

static inline void rig_put(const rig_t *rig, float *to, const float *from, size_t count)
{
    tw_problem_t problem = {.set = 0};

    must(tw_backend_put(rig->backend, to, from, count * sizeof(float), &problem) == 0,
         problem.text);
}

static inline void rig_get(const rig_t *rig, float *to, const float *from, size_t count)
{
    tw_problem_t problem = {.set = 0};

    must(tw_backend_get(rig->backend, to, from, count * sizeof(float), &problem) == 0,
         problem.text);
}

static inline void rig_make(rig_t *rig, const tw_network_t *net, const tw_trunk_hooks_t *hooks)
{
    tw_problem_t  problem = {.set = 0};
    tw_context_t *ctx;

    must(tw_context_create(&ctx) == TW_OK, "no context");
    must(backend_here(&rig->backend, tw_kernels_for(tw_cpu_level(ctx)), 1, &problem) == 0,
         problem.text);
    tw_context_destroy(ctx);
    must(tw_backend_host(&rig->host, tw_kernels_for("scalar"), 1, &problem) == 0, problem.text);
    must(tw_params_create(&rig->params, net, rig->host, 0, 1, 1, &problem) == 0, problem.text);
    must(tw_params_init(&rig->params, net, SEED, &problem) == 0, problem.text);
    rig->on          = rig->params;
    rig->on.backend  = rig->backend;
    rig->on.value    = rig_room(rig, rig->params.total);
    rig->on.gradient = rig_room(rig, rig->params.total);
    rig->on.state    = rig_room(rig, rig->params.states);
    must(tw_trunk_create(&rig->trunk, net, rig->backend, &rig->on, hooks, &problem) == 0,
         problem.text);
    rig->got        = calloc(EXAMPLES * tw_trunk_features(rig->trunk), sizeof(float));
    rig->g_features = rig_room(rig, EXAMPLES * tw_trunk_features(rig->trunk));
}

static inline void rig_free(rig_t *rig)
{
    tw_trunk_destroy(rig->trunk);
    tw_backend_release(rig->backend, rig->on.value);
    tw_backend_release(rig->backend, rig->on.gradient);
    tw_backend_release(rig->backend, rig->on.state);
    tw_backend_release(rig->backend, rig->g_features);
    must(tw_backend_memory_used(rig->backend) == backend_keeps(rig->backend), "memory is left");
    tw_backend_destroy(rig->backend);
    tw_params_destroy(&rig->params);
    tw_backend_destroy(rig->host);
    free(rig->got);
}

/* Put examples and parameters where the trunk wants them. */
static inline void prepare(rig_t *rig, const examples_t *e, size_t first, size_t n)
{
    tw_problem_t problem = {.set = 0};
    float       *input   = tw_trunk_input(rig->trunk, n, &problem);

    must(input != NULL, problem.text);
    must(n <= EXAMPLES, "more examples");
    rig_put(rig, input, e->images + first * e->size, n * e->size);
    rig_put(rig, rig->on.value, rig->params.value, rig->params.total);
    rig_put(rig, rig->on.state, rig->params.state, rig->params.states);
}

/* Examples first .. first + n - 1 through the trunk. */
static inline const float *forward(rig_t *rig, const examples_t *e, size_t first, size_t n,
                                   int training)
{
    const tw_trunk_pass_t pass    = {n, training, SEED, STEP, e->index + first, 0.0f};
    tw_problem_t          problem = {.set = 0};

    prepare(rig, e, first, n);
    rig->features = tw_trunk_forward(rig->trunk, &pass, &problem);
    must(rig->features != NULL, problem.text);
    rig_get(rig, rig->got, rig->features, n * tw_trunk_features(rig->trunk));
    rig_get(rig, rig->params.state, rig->on.state, rig->params.states);
    return rig->got;
}

static inline void backward(rig_t *rig, const examples_t *e, size_t first, size_t n, const float *g)
{
    const tw_trunk_pass_t pass    = {n, 1, SEED, STEP, e->index + first, 0.0f};
    tw_problem_t          problem = {.set = 0};

    rig_put(rig, rig->g_features, g, n * tw_trunk_features(rig->trunk));
    rig_put(rig, rig->on.gradient, rig->params.gradient, rig->params.total);
    must(tw_trunk_backward(rig->trunk, &pass, rig->g_features, &problem) == 0, problem.text);
    rig_get(rig, rig->params.gradient, rig->on.gradient, rig->params.total);
}

/* |got - want| / |want| in the Euclidean norm. */
static inline double apart(const float *got, const double *want, size_t n)
{
    double off = 0.0, all = 0.0;

    for (size_t i = 0; i < n; i++) {
        off += (got[i] - want[i]) * (got[i] - want[i]);
        all += want[i] * want[i];
    }
    return sqrt(off / (all > 0.0 ? all : 1.0));
}

/* The oracle on the whole batch, forward and backward; the head's gradient in float. */
typedef struct oracle {
    ref_net_t  ref;
    ref_part_t part;
    float     *gfeatures;
    size_t     features; /* of an example */
    double    *want;     /* [n][features] */
} oracle_t;

static inline void oracle_make(oracle_t *o, const tw_network_t *net, const examples_t *e)
{
    const ref_how_t how = {.training = 1, .seed = SEED, .step = STEP, .scale = 1.0 / (double)e->n};
    const size_t    l   = (size_t)net->layer[net->first_dense].input[0];

    ref_net_create(&o->ref, net);
    ref_net_init(&o->ref, SEED);
    o->part =
        (ref_part_t){.n = e->n, .images = e->doubles, .examples = e->index, .labels = e->labels};
    ref_part_create(&o->ref, &o->part);
    ref_net_forward(&o->ref, &o->part, 1, &how);
    ref_net_backward(&o->ref, &o->part, 1, &how);
    o->features  = tw_shape_size(net->layer[l].out);
    o->want      = o->part.y[l];
    o->gfeatures = calloc(e->n * o->features, sizeof(float));
    for (size_t i = 0; i < e->n * o->features; i++) {
        o->gfeatures[i] = (float)o->part.dy[l][i];
    }
}

static inline void oracle_free(oracle_t *o)
{
    ref_part_destroy(&o->ref, &o->part);
    ref_net_destroy(&o->ref);
    free(o->gfeatures);
}

/* How far the gradient of the trunk's worst tensor is apart. */
static inline double gradients_apart(const tw_network_t *net, const float *gradient,
                                     const oracle_t *o, const char **name_p)
{
    double most = 0.0;

    *name_p = "none";
    for (size_t i = 0; i < o->ref.layout.count; i++) {
        const tw_param_t *p = &o->ref.layout.param[i];
        double            off;

        if (p->layer < net->first_dense) {
            off = apart(gradient + p->first, o->ref.gradient + p->first, p->count);
            off = isfinite(off) ? off : INFINITY;
            if (off > most) {
                most    = off;
                *name_p = p->name;
            }
        }
    }
    return most;
}

#endif /* TW_TESTS_TRUNK_RIG_H */
