/* SPDX-License-Identifier: BSD-3-Clause
 * host/host.h - what the files of the host backend share: tensors and their layouts, operations,
 * who owns which gradient memory, scratch memory, primitives of oneDNN.
 */
#ifndef TW_HOST_HOST_H
#define TW_HOST_HOST_H

#include "train/compute/backend.h"
#include "train/compute/host/dnnl.h"
#include "train/compute/host/loops.h"

/* [n][c][h][w], [n][h][w][c], and channels in blocks: [n][c / b][h][w][b], the last block filled up
 * with zeros, in values as in gradients. All are runs of h * w rows of some width. */
typedef enum tw_layout {
    TW_PLAIN,
    TW_CHANNELS_LAST,
    TW_BLOCKS_8,
    TW_BLOCKS_16,
    TW_LAYOUTS
} tw_layout_t;

/* Scratch that all graphs of a backend share. Nothing in it outlives an operation. */
typedef enum tw_temp_use {
    TW_TEMP_PRIMITIVE, /* oneDNN's own                                     */
    TW_TEMP_X,         /* x or its gradient in another layout              */
    TW_TEMP_Y,
    TW_TEMP_W,
    TW_TEMP_SUM, /* a gradient that is added to what a consumer wrote before */
    TW_TEMPS
} tw_temp_use_t;

struct tw_backend {
    dnnl_engine_t          engine;
    dnnl_stream_t          stream;
    dnnl_primitive_attr_t  attr, relu_attr; /* both: scratch memory is given */
    const tw_host_loops_t *loops;
    int                    threads;
    char                   name[64];
    float                 *temp[TW_TEMPS];
    size_t                 temp_bytes[TW_TEMPS];
};

/* Memory for gradients, lent to one tensor after another: see gradients.c. */
typedef struct tw_host_slot {
    float *data;
    size_t bytes;
    int    users;
} tw_host_slot_t;

struct tw_tensor {
    tw_graph_t  *graph;
    tw_tensor_t *next; /* of the graph's */
    tw_shape_t   shape;
    tw_layout_t  layout;
    size_t       count;             /* numbers, filled-up channels included */
    size_t       runs, rows, width; /* of one example: runs of rows * width */
    tw_md_t      md;
    float       *value, *memory; /* memory: NULL if value is another tensor's */
    tw_op_t     *producer;       /* NULL: the input */
    int          consumers;
    int          wanted; /* a gradient by it is */
    /* The gradient: what consumers wrote to grad, if any did, plus addend, if not NULL, gives
     * settled, the gradient before the producer's activation. grad and settled may be one. */
    float          *grad, *settled, *addend;
    int             written;
    tw_host_slot_t *grad_slot, *settled_slot, *addend_slot;
};

typedef enum tw_handing { TW_HAND_COPY, TW_HAND_MEMORY, TW_HAND_ADDEND } tw_handing_t;

typedef struct tw_op_class {
    const char *name;
    size_t      bytes;    /* of the structure that begins with a tw_op_t */
    int         in_place; /* x's gradient may take y's memory            */
    int         early;    /* y's gradient may be settled ahead of its turn */
    void (*forward)(tw_op_t *op, const tw_op_pass_t *pass);
    void (*params)(tw_op_t *op); /* NULL: none */
    void (*data)(tw_op_t *op);
    void (*destroy)(tw_op_t *op); /* NULL: nothing to release */
} tw_op_class_t;

struct tw_op {
    const tw_op_class_t *class;
    tw_graph_t     *graph;
    tw_op_t        *next, *before; /* in the order of making                 */
    tw_tensor_t    *x[2], *y;      /* x[1]: second of an addition, else NULL */
    tw_activation_t activation;
    int             masked;     /* the activation's derivative is applied by settling */
    int             settled;    /* y's gradient is, in this pass                      */
    int             maximum;    /* y is 0 where the units that it comes from are       */
    int             passes[2];  /* the gradient by x[i] is that by y, unchanged       */
    tw_handing_t    handing[2]; /* how it is then handed on */
};

struct tw_graph {
    tw_backend_t   *backend;
    size_t          n;
    tw_tensor_t    *tensors;
    tw_op_t        *first, *last;
    tw_host_slot_t *slot;
    size_t          slots;
    int             planned, trained; /* gradients have memory; some operation has parameters' */
    tw_problem_t    failure;
};

/* ---- graph.c ---- */

/* 64-byte aligned, zeroed. NULL with the problem set. */
float *tw_host_memory(size_t bytes, tw_problem_t *problem);

/* At least so much scratch; what was in it is lost. @return 0, or -1 with the problem set. */
int tw_host_temp(tw_backend_t *backend, tw_temp_use_t use, size_t bytes, tw_problem_t *problem);

/* A new tensor, with memory for its value unless it shares that of another. NULL with the problem
 * set. */
tw_tensor_t *tw_tensor_create(tw_graph_t *graph, tw_shape_t shape, tw_layout_t layout,
                              float *shared, tw_problem_t *problem);

/* A new operation of the class, zeroed beyond tw_op_t, whose inputs are x1 and, unless NULL, x2.
 * The caller adds the result with tw_op_result(). NULL with the problem set. */
tw_op_t *tw_op_create(tw_graph_t *graph, const tw_op_class_t *class, tw_tensor_t *x1,
                      tw_tensor_t *x2, tw_problem_t *problem);

/* The result of an operation; params: it has some whose gradient is wanted. */
int tw_op_result(tw_op_t *op, tw_shape_t shape, tw_layout_t layout, int params,
                 tw_problem_t *problem);

/* Whether x has the layer's input shape. @return 0, or -1 with the problem set. */
int tw_host_check(const tw_network_layer_t *layer, tw_shape_t want, const tw_tensor_t *x,
                  tw_problem_t *problem);

/* The first failure is kept for tw_graph_finish(). */
void tw_host_failed(tw_graph_t *graph, const char *what, dnnl_status_t status);

/* "oneDNN: WHAT: why" as a problem. @return -1. */
int tw_host_problem(tw_problem_t *problem, const char *what, dnnl_status_t status);

/* Descriptor of n examples of a shape in a layout; ANY_LAYOUT: the primitive chooses. */
enum { TW_ANY_LAYOUT = TW_LAYOUTS };
dnnl_status_t tw_host_md(tw_md_t *md_p, size_t n, tw_shape_t shape, int layout);

/* ---- gradients.c ---- */

/* Give gradients memory. @return 0, or -1 with the problem set. */
int tw_gradients_plan(tw_graph_t *graph, tw_problem_t *problem);

/* The gradient by y before the operation's activation; NULL if none is wanted. */
float *tw_gradient_settled(tw_op_t *op);

/* Where to write the gradient by x: its memory, or scratch if it holds something already. After
 * writing, tw_gradient_put() with the same pointer. */
float *tw_gradient_take(tw_tensor_t *x);
void   tw_gradient_put(tw_tensor_t *x, float *data);

/* Hand y's settled gradient on to x[i], as planned. */
void tw_gradient_hand(tw_op_t *op, int i);

/* ---- activation.c ---- */

/* y = activation(x) of a whole tensor, in place allowed; filling stays 0. */
void tw_activate(tw_tensor_t *y, const float *x, tw_activation_t activation);

/* ---- primitive.c ---- */

enum { TW_PRIMITIVE_ARGS = 8 };

/* A primitive with its arguments. Each argument is bound to a variable that holds the address when
 * it runs, so memory may be given or grow after the primitive was made. */
typedef struct tw_primitive {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t      run;
    int                   args;
    dnnl_exec_arg_t       arg[TW_PRIMITIVE_ARGS];
    float *const         *from[TW_PRIMITIVE_ARGS];
    float                *now[TW_PRIMITIVE_ARGS];
} tw_primitive_t;

/* From a description, which it owns from now on, also if it fails. */
int  tw_primitive_create(tw_backend_t *backend, tw_primitive_t *p, dnnl_primitive_desc_t desc,
                         tw_problem_t *problem);
int  tw_primitive_bind(tw_backend_t *backend, tw_primitive_t *p, int arg, tw_md_t md,
                       float *const *from, tw_problem_t *problem);
void tw_primitive_run(tw_graph_t *graph, tw_primitive_t *p);
void tw_primitive_destroy(tw_primitive_t *p); /* a zeroed one is allowed */

/* A copy from one layout to another. */
int tw_primitive_reorder(tw_backend_t *backend, tw_primitive_t *p, tw_md_t from, float *const *src,
                         tw_md_t to, float *const *dst, tw_problem_t *problem);

static inline tw_md_t tw_primitive_md(const tw_primitive_t *p, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(p->desc, what, 0);
}

#endif /* TW_HOST_HOST_H */
