/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/split.h - the same dense layers whole on every rank and split over the ranks.
 */
#ifndef TW_TESTS_SPLIT_H
#define TW_TESTS_SPLIT_H

#include "tests/mpi/harness.h"
#include "tests/train/dense_net.h"
#include "tests/train/on_backend.h"

enum { INPUTS = 30 };

/* A head and its parameters, whole or split. value and gradient are the host's, copied to the
 * backend's before a pass; gradient and gx are copied back after it. */
typedef struct part {
    tw_params_t     params;
    tw_head_t      *head;
    float          *value, *gradient, *gx;
    float          *x_there, *gx_there, *outputs_there;
    double          loss;
    tw_head_wrong_t wrong;
} part_t;

typedef struct split {
    tw_network_t   net;
    tw_backend_t  *backend;
    tw_head_pass_t pass; /* x is the host's; outputs: not NULL where several views are averaged */
    float         *x;
    uint32_t      *labels;
    uint64_t      *examples;
    part_t         whole, split;
} split_t;

/* Layers as dense_net_make() takes them, for up to rows examples; pass is set to all of them. */
void split_make(split_t *f, const char *text, tw_loss_t loss, size_t rows,
                const tw_head_how_t *split);
void split_free(split_t *f);

/* Over t_world, fp32. */
tw_head_how_t split_how(void);

/* f->pass by the whole or the split head, with or without the gradient by the input. */
void split_run(split_t *f, part_t *part, int with_gx);

/* The gradients of the units that this rank holds are those of the whole. */
void split_compare_gradients(const split_t *f);

/* Loss, wrong examples and gradient by the input, summed over the ranks, are those of the whole. */
void split_compare_sums(split_t *f, int with_gx);

#endif /* TW_TESTS_SPLIT_H */
