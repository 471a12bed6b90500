/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/backend_net.h - networks for tests of backends: layers in a row, what they give in
 * plain double (reference.h), and by the backend that the test is compiled for. Everything that
 * fails ends the test.
 */
#ifndef TW_TESTS_BACKEND_NET_H
#define TW_TESTS_BACKEND_NET_H

#include "tests/train/backend_here.h"
#include "tests/train/reference.h"

enum { LAYERS_MAX = 24 };

/* Numbers in float, as the backend has them, and in double, as the reference computes. */
typedef struct numbers {
    size_t  count;
    float  *f, *got;       /* got: gradients by the backend      */
    double *d, *g;         /* g: gradients by the reference      */
    float  *on, *gradient; /* f and got in memory of the backend */
} numbers_t;

typedef struct layer {
    tw_network_layer_t l;
    numbers_t          w, b;
    double            *y, *dy, *moments;
    tw_tensor_t       *tensor;
    tw_op_t           *op;
} layer_t;

typedef struct net {
    const char *name;
    size_t      n, layers;
    tw_shape_t  input;
    uint64_t    key;
    layer_t     layer[LAYERS_MAX];
    numbers_t   x, out; /* image; output's gradient */
    uint64_t   *examples;
    double      nearest; /* to 0, of what the reference rectified and was not 0 */
    int         direct;  /* built with backend_direct() */
    float       grid;    /* the image has multiples of it only; 0: anything */
} net_t;

typedef struct built {
    tw_backend_t *backend;
    tw_graph_t   *graph;
    tw_problem_t  problem;
    float        *input, *gradient;
    const float  *output;
    float        *got;            /* the output, for the host to read       */
    size_t        count;          /* of its numbers                         */
    double       *moments, *sums; /* [513], [512]: of one layer after another */
    float        *fixed;          /* [2][256]                               */
    tw_op_t      *end;
} built_t;

/* TW_SEED, or 20. */
uint64_t net_seed(void);

/* count numbers in middle -+ scale. */
numbers_t net_draw(uint64_t key, size_t count, float scale, float middle);
void      net_numbers_free(numbers_t *v);

void net_begin(net_t *net, const char *name, size_t n, tw_shape_t input);
void net_end(net_t *net);

/* Each adds a layer behind layer `from` (-1: the image), and returns its number. */
int net_conv(net_t *net, int from, size_t c, size_t kh, size_t kw, size_t s, size_t p, int bias,
             tw_activation_t f);
/* By groups, of a square kernel, with a bias and as wide as its input. */
int net_conv_groups(net_t *net, int from, size_t c, size_t k, size_t s, size_t groups);
int net_pool(net_t *net, int from, tw_pooling_t how, size_t k, size_t s, size_t p, int up,
             int count_pad);
int net_lrn(net_t *net, int from, size_t size);
int net_norm(net_t *net, int from, tw_activation_t f);
int net_add(net_t *net, int first, int second, tw_activation_t f);
int net_concat(net_t *net, const int *from, size_t inputs);
int net_activation(net_t *net, int from, tw_activation_t f);
int net_dropout(net_t *net, int from, float rate);

/* Of a layer, or the image. */
tw_shape_t    net_shape_of(const net_t *net, int index);
const double *net_value_of(const net_t *net, int index);
double       *net_gradient_of(net_t *net, int index);

/* Running statistics that no batch has: so evaluation must use them. */
float net_fixed_mean(size_t c);
float net_fixed_var(size_t c);

void net_ref_forward(net_t *net, const ref_pass_t *pass);
void net_ref_backward(net_t *net, const ref_pass_t *pass);

/* Images and the output's gradient, drawn again while some unit is so near to 0 that float and
 * double may differ on its side of it; then the reference forward. */
void net_draw_step(net_t *net, uint64_t step, const ref_pass_t *pass);

/* By a backend of its own. */
void net_build(net_t *net, built_t *b, const tw_compute_kernels_t *kernels, int threads,
               int gradients);
void net_built_end(net_t *net, built_t *b);
void net_forward(net_t *net, built_t *b, const tw_op_pass_t *pass);
void net_backward(net_t *net, built_t *b);
void net_backward_to(net_t *net, built_t *b, size_t last); /* layer `last` is the last one */

/* Memory of the backend, to it, and from it. */
void *net_room(built_t *b, size_t bytes);
void  net_put(built_t *b, void *to, const void *from, size_t bytes);
void  net_get(built_t *b, void *to, const void *from, size_t bytes);

#endif /* TW_TESTS_BACKEND_NET_H */
