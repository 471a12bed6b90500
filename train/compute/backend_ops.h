/* SPDX-License-Identifier: BSD-3-Clause
 * compute/backend_ops.h - the definition of a backend: its table, and the common code of all
 * backends behind backend.h: tensors, operations, and ownership of gradient memory (graph.c,
 * gradients.c).
 *
 * A backend is a structure that begins with a tw_backend_t, whose table the constructor fills. A
 * layer is a row of layers.c, which checks it and defines the passing of its gradients, and a class
 * of each backend: forward, data, parameters, and `make`, which stores their state in the structure
 * that begins with the tw_op_t. A NULL slot is an unsupported layer: building a network with one
 * fails with "unsupported" and the layer's name.
 */
#ifndef TW_COMPUTE_BACKEND_OPS_H
#define TW_COMPUTE_BACKEND_OPS_H

#include "train/compute/backend.h"
#include "train/compute/dense.h"
#include "train/compute/update.h"

typedef struct tw_op_class tw_op_class_t;

/* Batch normalisation in phases; see backend.h. All or none. */
typedef struct tw_norm_ops {
    void (*moments)(tw_op_t *op, double *moments);
    void (*set)(tw_op_t *op, const double *moments);
    void (*fixed)(tw_op_t *op, const float *mean, const float *var);
    void (*sums)(tw_op_t *op, double *sums);
    void (*set_sums)(tw_op_t *op, const double *sums, const double *moments);
    int (*running)(tw_backend_t *backend, float *mean, float *var, const double *moments, size_t c,
                   double momentum, tw_problem_t *problem);
} tw_norm_ops_t;

/* Functions that may fail return 0, or -1 with the problem set; `problem` of functions that enqueue
 * work on a stream is about this call only. Slots must not be NULL unless stated. */
typedef struct tw_backend_ops {
    void (*destroy)(tw_backend_t *backend);

    /* Memory, see backend.h; sizes are above 0. */
    int (*allocate)(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem);
    void (*release)(tw_backend_t *backend, void *p);
    int (*allocate_pinned)(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem);
    void (*release_pinned)(tw_backend_t *backend, void *p);
    int (*put)(tw_backend_t *backend, void *to, const void *host, size_t bytes,
               tw_problem_t *problem);
    int (*get)(tw_backend_t *backend, void *host, const void *from, size_t bytes,
               tw_problem_t *problem);
    int (*copy)(tw_backend_t *backend, void *to, const void *from, size_t bytes,
                tw_problem_t *problem);
    int (*zero)(tw_backend_t *backend, void *p, size_t bytes, tw_problem_t *problem);
    int (*finish)(tw_backend_t *backend, tw_problem_t *problem);
    size_t (*memory_total)(const tw_backend_t *backend);

    /* Marks: all or none. */
    int (*mark_create)(tw_backend_t *backend, void **mark_p, tw_problem_t *problem);
    void (*mark_destroy)(tw_backend_t *backend, void *mark);
    int (*mark)(tw_backend_t *backend, void *mark, tw_problem_t *problem);
    int (*elapsed)(tw_backend_t *backend, void *from, void *to, double *seconds,
                   tw_problem_t *problem);

    /* The device of a pipeline; NULL: the processor. */
    int (*images)(tw_backend_t *backend, size_t rows, const struct tw_input_device **device_p,
                  tw_problem_t *problem);

    /* Set runs, rows, width, count and descriptor of a new tensor from its shape and layout. */
    int (*describe)(tw_tensor_t *t, tw_problem_t *problem);
    void (*forget)(tw_tensor_t *t); /* its descriptor */

    /* Gradients. y->settled = (g + more) * derivative of the activation at y->value; more may be
     * NULL, all may overlap exactly. */
    void (*settle)(tw_tensor_t *y, const float *g, const float *more, tw_activation_t how);
    void (*add_gradient)(tw_tensor_t *x, const float *g); /* x->grad += g */

    /* Layers, and the ends of a graph. */
    const tw_op_class_t *const *layers; /* [TW_LAYER_KINDS]; NULL: unsupported */
    int (*output)(tw_graph_t *graph, tw_tensor_t *x, const float **value_p, float **gradient_p,
                  tw_op_t **op_p, tw_problem_t *problem);
    const tw_norm_ops_t *phases;

    /* Dense layers and losses; see dense.h. */
    int (*dense)(tw_backend_t *backend, size_t rows_max, tw_dense_t **dense_p,
                 tw_problem_t *problem);
    /* The optimizers; see update.h. Sizes are above 0. */
    int (*sgd)(tw_backend_t *backend, float *w, float *v, const float *g, size_t n,
               const tw_sgd_rule_t *rule, tw_problem_t *problem);
    int (*rmsprop)(tw_backend_t *backend, float *w, float *m, const float *g, size_t n,
                   const tw_rms_rule_t *rule, tw_problem_t *problem);
    int (*max_norm)(tw_backend_t *backend, float *w, size_t units, size_t per_unit, float most,
                    tw_problem_t *problem);
} tw_backend_ops_t;

typedef struct tw_backend_piece {
    void  *p;
    size_t bytes;
} tw_backend_piece_t;

struct tw_backend {
    const tw_backend_ops_t *ops;
    tw_exec_t               exec;
    char                    name[128], note[256]; /* note: tw_backend_note() */
    tw_backend_piece_t     *piece;                /* what it has allocated */
    size_t                  pieces, room, used;
    float                  *sum; /* scratch of all graphs: a gradient that is added to another */
    size_t                  sum_bytes;
};

/* [n][c][h][w], which every backend has; [n][h][w][c]; and channels in blocks: [n][c / b][h][w][b],
 * the last block filled up with zeros, in values as in gradients. All are runs of h * w rows of
 * some width. */
typedef enum tw_layout {
    TW_PLAIN,
    TW_CHANNELS_LAST,
    TW_BLOCKS_8,
    TW_BLOCKS_16,
    TW_LAYOUTS
} tw_layout_t;

/* Memory for gradients, lent to one tensor after another: see gradients.c. */
typedef struct tw_gradient_slot {
    float *data;
    size_t bytes;
    int    users;
} tw_gradient_slot_t;

/* Memory for a value of each of several segments: see tw_graph_segment(). */
typedef struct tw_value_slot {
    float *data;
    size_t bytes;
    int    segment; /* the last that has a value there */
} tw_value_slot_t;

struct tw_tensor {
    tw_graph_t  *graph;
    tw_tensor_t *next; /* of the graph's */
    tw_shape_t   shape;
    tw_layout_t  layout;
    size_t       count;             /* numbers, filled-up channels included */
    size_t       runs, rows, width; /* of one example: runs of rows * width */
    const void  *md;                /* the backend's descriptor             */
    float       *value, *memory;    /* memory: NULL if value is another tensor's */
    int          segment;           /* -1: its value is not shared with those of segments */
    void        *stored;            /* its value, encoded, or NULL */
    tw_op_t     *producer;          /* NULL: the input */
    int          consumers;
    int          wanted; /* a gradient by it is */
    /* The gradient: what consumers wrote to grad, if any did, plus addend, if not NULL, gives
     * settled, the gradient before the producer's activation. grad and settled may be one. */
    float              *grad, *settled, *addend;
    int                 written;
    tw_gradient_slot_t *grad_slot, *settled_slot, *addend_slot;
};

typedef enum tw_handing { TW_HAND_COPY, TW_HAND_MEMORY, TW_HAND_ADDEND } tw_handing_t;

struct tw_op_class {
    const char *name;
    size_t      bytes;    /* of the structure that begins with a tw_op_t */
    int         in_place; /* x's gradient may take y's memory            */
    int         early;    /* y's gradient may be settled ahead of its turn */
    void (*forward)(tw_op_t *op, const tw_op_pass_t *pass);
    void (*params)(tw_op_t *op); /* NULL: none */
    void (*data)(tw_op_t *op);
    void (*destroy)(tw_op_t *op); /* NULL: nothing to release */

    /* Of a layer: what it has beyond its row; op->y is there, unless lays_out: then make gives it,
     * in a layout of its choice, by tw_op_result(). NULL: nothing. 0, or -1 with the problem
     * set. */
    int (*make)(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                tw_problem_t *problem);
    int lays_out;
};

struct tw_op {
    const tw_op_class_t *class;
    tw_graph_t     *graph;
    tw_op_t        *next, *before; /* in the order of making                 */
    size_t          inputs;
    tw_tensor_t    *x[TW_LAYER_INPUTS], *y;
    tw_activation_t activation;
    int             masked;  /* the activation's derivative is applied by settling */
    int             settled; /* y's gradient is, in this pass                      */
    int             maximum; /* y is 0 where the units that it comes from are       */
    int             passes[TW_LAYER_INPUTS];  /* the gradient by x[i] is that by y, unchanged */
    tw_handing_t    handing[TW_LAYER_INPUTS]; /* how it is then handed on                     */
};

struct tw_graph {
    tw_backend_t       *backend;
    size_t              n;
    tw_tensor_t        *tensors;
    tw_op_t            *first, *last;
    tw_gradient_slot_t *slot;
    size_t              slots;
    int                 segment; /* of the next values; -1: of none */
    tw_value_slot_t    *value_slot;
    size_t              value_slots;
    int          planned, trained; /* gradients have memory; some operation has parameters' */
    tw_problem_t failure;          /* the first, kept for tw_graph_check() */
};

/* ---- backend.c ---- */

/* The common part of a backend that its constructor has zeroed. */
void tw_backend_begin(tw_backend_t *backend, const tw_backend_ops_t *ops, tw_exec_t exec);

/* ---- graph.c ---- */

/* A new tensor, with memory for its value unless it shares that of another. NULL with the problem
 * set. */
tw_tensor_t *tw_tensor_create(tw_graph_t *graph, tw_shape_t shape, tw_layout_t layout,
                              float *shared, tw_problem_t *problem);

/* A new operation of the class, zeroed beyond tw_op_t, of 1 to TW_LAYER_INPUTS inputs. The caller
 * adds the result with tw_op_result(). NULL with the problem set. */
tw_op_t *tw_op_create(tw_graph_t *graph, const tw_op_class_t *class, tw_tensor_t *const *x,
                      size_t inputs, tw_problem_t *problem);

/* Is a gradient by any input wanted? */
static inline int tw_op_wanted(const tw_op_t *op)
{
    int wanted = 0;

    for (size_t i = 0; i < op->inputs; i++) {
        wanted |= op->x[i]->wanted;
    }
    return wanted;
}

/* Set the result of an operation; params: it has parameters with a gradient. */
int tw_op_result(tw_op_t *op, tw_shape_t shape, tw_layout_t layout, int params,
                 tw_problem_t *problem);

/* ---- gradients.c ---- */

/* Assign memory to gradients. @return 0, or -1 with the problem set. */
int tw_gradients_plan(tw_graph_t *graph, tw_problem_t *problem);

/* The gradient by y before the operation's activation; NULL if none is needed. */
float *tw_gradient_settled(tw_op_t *op);

/* Memory to write the gradient by x: its own, or scratch if that was already written. After
 * writing, call tw_gradient_put() with the same pointer. */
float *tw_gradient_take(tw_tensor_t *x);
void   tw_gradient_put(tw_tensor_t *x, float *data);

/* Pass y's settled gradient to x[i], as planned. */
void tw_gradient_hand(tw_op_t *op, size_t i);

#endif /* TW_COMPUTE_BACKEND_OPS_H */
