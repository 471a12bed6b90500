/* SPDX-License-Identifier: BSD-3-Clause
 * compute/dense.h - interface of a backend for dense layers and losses: a table of functions,
 * filled for the processor in host/dense.c and host/loss.c, for a GPU in cuda/dense.c and
 * cuda/loss.c.
 *
 * Outputs of layers and gradients by them are [unit][example]. Pointers are to the backend's memory
 * unless stated otherwise. Work runs in the order of the calls, maybe later; after a call returns,
 * it uses no argument except that memory. Any size may be 0. check() reports failures; until then
 * later work is skipped.
 */
#ifndef TW_COMPUTE_DENSE_H
#define TW_COMPUTE_DENSE_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/compute/backend.h"
#include "train/compute/product.h"
#include "train/model/network.h"

typedef struct tw_dense tw_dense_t;

/* The masks of one dropout layer in one pass: unit i of example j is kept as the key
 * tw_random_key(seed, TW_RANDOM_DROPOUT, step, examples[j] * TW_NETWORK_DROPOUTS_MAX + layer)
 * says. */
typedef struct tw_dense_drop {
    uint64_t        seed, step, layer;
    float           rate;
    const uint64_t *examples; /* [n] */
} tw_dense_drop_t;

/* What passes give: see tw_head_wrong_t. */
typedef struct tw_dense_sums {
    double   loss;
    uint64_t one, five;
} tw_dense_sums_t;

/* The end of a pass. Each rank has `units` classes from `first` on; the first `holders` ranks have
 * some. What each gives the others is [tops][n], its largest outputs, then with softmax [n], the
 * sums of its exponentials: `shared` numbers. */
typedef struct tw_dense_loss {
    size_t           n, units, first;
    const uint32_t  *labels; /* [n] */
    float            scale;  /* of the gradients */
    float           *z;      /* [units][n]: outputs, then gradients by them */
    float           *label;  /* [n]: the output of the label, 0 where another rank has it */
    size_t           tops;   /* 1 or TW_TOPS */
    float           *mine;   /* [shared] */
    const float     *all;    /* [holders][shared] at least: of all ranks, or mine */
    size_t           holders, shared;
    double          *loss; /* [n], scratch */
    tw_dense_sums_t *sums; /* added to */
} tw_dense_loss_t;

typedef struct tw_dense_ops {
    /* Calls are queued: products are not cut into pieces, so that others get a turn between them,
     * and backward() is called for all inputs at once. */
    int queued;
    void (*destroy)(tw_dense_t *dense);
    /* What has failed so far, as far as it is known; waits for nothing. @return 0, or -1 with the
     * problem set. */
    int (*check)(tw_dense_t *dense, tw_problem_t *problem);

    /* ---- products, as in product.h ---- */
    void (*forward)(tw_dense_t *dense, const tw_product_size_t *size, float *y, const float *w,
                    const float *x);
    void (*backward)(tw_dense_t *dense, const tw_product_size_t *size, float *e, const float *w,
                     const float *d, size_t from, size_t to);
    void (*gradient)(tw_dense_t *dense, const tw_product_size_t *size, float *g, const float *d,
                     const float *x, int add);
    /* to[columns][rows] = from[rows][columns]. NULL where tw_dense_t's rows is 0. */
    void (*transpose)(tw_dense_t *dense, float *to, const float *from, size_t rows, size_t columns);

    /* ---- outputs, as in units.h ---- */
    /* y = activation(y + bias) (bias NULL: none), then dropped out as units first .. (drop NULL:
     * not). */
    void (*activate)(tw_dense_t *dense, float *y, const float *bias, size_t units, size_t n,
                     tw_activation_t activation, const tw_dense_drop_t *drop, size_t first);
    void (*mask)(tw_dense_t *dense, float *y, size_t units, size_t n, const tw_dense_drop_t *drop,
                 size_t first);
    void (*deactivate)(tw_dense_t *dense, float *d, const float *y, size_t units, size_t n,
                       tw_activation_t activation, float scale);
    /* sum[unit] = or += the sum over the examples, in a fixed order. */
    void (*sum)(tw_dense_t *dense, float *sum, const float *d, size_t units, size_t n, int add);
    /* to[n][units] = from, dropped out by all of drop[0 .. drops - 1], at least one; to may be
     * from. */
    void (*drop)(tw_dense_t *dense, float *to, const float *from, size_t n, size_t units,
                 const tw_dense_drop_t *drop, size_t drops);
    /* Of count outputs: sum = or += y for the first and the later ones of `views`, and at the last
     * y = sum / views. */
    void (*view)(tw_dense_t *dense, float *sum, float *y, size_t count, size_t view, size_t views);

    /* ---- losses ---- */
    /* The outputs of the labels to loss->label. */
    void (*keep_labels)(tw_dense_t *dense, const tw_dense_loss_t *loss);
    /* The tops largest of each example to loss->mine, the largest first; no NaN is among them. */
    void (*find_tops)(tw_dense_t *dense, const tw_dense_loss_t *loss);
    /* z = e^(z - largest), their sums behind the tops in loss->mine. */
    void (*exponentials)(tw_dense_t *dense, const tw_dense_loss_t *loss);
    /* From loss->all: the loss of the labels of this rank, and with backward z = the gradients. The
     * sums in loss->mine are used up. */
    void (*softmax)(tw_dense_t *dense, const tw_dense_loss_t *loss, int backward);
    /* z = the gradients; the loss of all units of this rank. */
    void (*logistic)(tw_dense_t *dense, const tw_dense_loss_t *loss);
    /* From loss->all: of the labels of this rank, how many outputs are greater; with five, too,
     * where at least five are. */
    void (*count)(tw_dense_t *dense, const tw_dense_loss_t *loss, int five);
    /* to = {loss, wrong ones}, [2]; the sums are 0 again. */
    void (*give)(tw_dense_t *dense, float *to, tw_dense_sums_t *sums);
} tw_dense_ops_t;

/* What each kind of tw_dense_t begins with. */
struct tw_dense {
    const tw_dense_ops_t *ops;
    size_t                rows; /* up to so many examples must be rows of inputs in all products */
};

/** For passes of at most rows_max examples. It must not outlive the backend.
 * @return 0, or -1 with the problem set. */
int tw_backend_dense(tw_backend_t *backend, size_t rows_max, tw_dense_t **dense_p,
                     tw_problem_t *problem);

/** NULL is allowed. */
void tw_dense_destroy(tw_dense_t *dense);

#endif /* TW_COMPUTE_DENSE_H */
