/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/cuda.h - shared declarations of the CUDA backend.
 *
 * Tensors are [n][c][h][w] in float32. All work is on one stream. The graph stores errors of calls
 * in a pass (tw_graph_check()); the next blocking call returns later failures on the device.
 */
#ifndef TW_COMPUTE_CUDA_CUDA_H
#define TW_COMPUTE_CUDA_CUDA_H

#include <cuda_runtime_api.h>

#include "train/compute/backend_ops.h"
#include "train/compute/cuda/libraries.h"
#include "train/compute/cuda/task.h"

enum { TW_GPU_STAGES = 16 };
#define TW_GPU_STAGE ((size_t)64 << 10)

/* Pinned memory through which bytes of the host go to the device: used in turns, each again when
 * the copy out of it is done. */
typedef struct tw_gpu_staging {
    char       *memory; /* [stages][TW_GPU_STAGE]                      */
    cudaEvent_t done[TW_GPU_STAGES];
    int         next;
} tw_gpu_staging_t;

typedef struct tw_gpu {
    tw_backend_t     base;
    tw_libraries_t   lib;
    int              device, processors, major;
    int              tf32, fast;
    cudaStream_t     stream;
    cudnnHandle_t    dnn; /* both with the stream */
    cublasHandle_t   blas;
    void            *blas_workspace; /* cuBLAS's own */
    size_t           blas_bytes;
    void            *workspace; /* of cuDNN's; nothing in it outlives a call */
    size_t           workspace_bytes;
    tw_gpu_staging_t staging;

    struct tw_gpu_images *images; /* NULL: no pipeline hands over any */
} tw_gpu_t;

static inline tw_gpu_t *tw_gpu_of(const tw_graph_t *graph)
{
    return (tw_gpu_t *)graph->backend;
}

/* ---- backend.c ---- */

/* Each is 0 for success, else -1 with "WHAT: why" as the problem. */
int tw_gpu_cuda(const tw_gpu_t *gpu, cudaError_t error, const char *what, tw_problem_t *problem);
int tw_gpu_dnn(const tw_gpu_t *gpu, cudnnStatus_t status, const char *what, tw_problem_t *problem);
int tw_gpu_blas(const tw_gpu_t *gpu, cublasStatus_t status, const char *what,
                tw_problem_t *problem);

/* Put a kernel on the stream, with threads for `count` parts of work, which it goes round in. count
 * may be 0: nothing is started. */
int tw_gpu_start(tw_gpu_t *gpu, tw_task_fn kernel, const tw_task_t *task, size_t count,
                 tw_problem_t *problem);

#define TW_FOURS(n) (((n) + 3) / 4) /* the parts of kernels that take n numbers four at a time */

/* The same with so many thread blocks, at least 1. */
int tw_gpu_start_blocks(tw_gpu_t *gpu, tw_task_fn kernel, const tw_task_t *task, size_t blocks,
                        tw_problem_t *problem);

/* At least so much workspace. */
int tw_gpu_workspace(tw_gpu_t *gpu, size_t bytes, tw_problem_t *problem);

/* A descriptor of n examples of a shape. */
int  tw_gpu_tensor(tw_gpu_t *gpu, size_t n, tw_shape_t shape, cudnnTensorDescriptor_t *d_p,
                   tw_problem_t *problem);
void tw_gpu_tensor_destroy(tw_gpu_t *gpu, cudnnTensorDescriptor_t d); /* NULL is allowed */

/* ---- memory.c ---- */

int    tw_gpu_allocate(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem);
void   tw_gpu_release(tw_backend_t *backend, void *p);
int    tw_gpu_allocate_pinned(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem);
void   tw_gpu_release_pinned(tw_backend_t *backend, void *p);
int    tw_gpu_put(tw_backend_t *backend, void *to, const void *host, size_t bytes,
                  tw_problem_t *problem);
int    tw_gpu_get(tw_backend_t *backend, void *host, const void *from, size_t bytes,
                  tw_problem_t *problem);
int    tw_gpu_copy(tw_backend_t *backend, void *to, const void *from, size_t bytes,
                   tw_problem_t *problem);
int    tw_gpu_zero(tw_backend_t *backend, void *p, size_t bytes, tw_problem_t *problem);
int    tw_gpu_finish(tw_backend_t *backend, tw_problem_t *problem);
size_t tw_gpu_memory_total(const tw_backend_t *backend);

int  tw_gpu_staging_create(tw_gpu_t *gpu, tw_problem_t *problem);
void tw_gpu_staging_destroy(tw_gpu_t *gpu);

/* ---- gradients.c ---- */

void tw_gpu_settle(tw_tensor_t *y, const float *g, const float *more, tw_activation_t how);
void tw_gpu_add_gradient(tw_tensor_t *x, const float *g);
int  tw_gpu_output(tw_graph_t *graph, tw_tensor_t *x, const float **value_p, float **gradient_p,
                   tw_op_t **op_p, tw_problem_t *problem);

int  tw_gpu_mark_create(tw_backend_t *backend, void **mark_p, tw_problem_t *problem);
void tw_gpu_mark_destroy(tw_backend_t *backend, void *mark);
int  tw_gpu_mark(tw_backend_t *backend, void *mark, tw_problem_t *problem);
int  tw_gpu_elapsed(tw_backend_t *backend, void *from, void *to, double *seconds,
                    tw_problem_t *problem);

/* ---- replay.c ---- */

enum { TW_GPU_ADDRESSES = 4 };

/* Work of an operation that is the same as long as these addresses are. Zeros: nothing is known of
 * it yet. */
typedef struct tw_gpu_replay {
    const void     *addresses[TW_GPU_ADDRESSES];
    int             seen, never; /* done with them; it cannot be captured */
    cudaGraphExec_t graph;       /* NULL: it is not captured              */
} tw_gpu_replay_t;

/* Does the work of op: nothing but calls that put something on the backend's stream, with no other
 * addresses than addresses[TW_GPU_ADDRESSES] and those that op has for good. */
void tw_gpu_replay(tw_gpu_replay_t *replay, tw_op_t *op, const void *const *addresses,
                   void (*work)(tw_op_t *op));
void tw_gpu_replay_end(tw_gpu_replay_t *replay);

/* ---- images.c ---- */

int  tw_gpu_images(tw_backend_t *backend, size_t rows, const struct tw_input_device **device_p,
                   tw_problem_t *problem);
void tw_gpu_images_destroy(tw_gpu_t *gpu);

/* ---- dense.c, update.c: slots ---- */

int tw_gpu_dense(tw_backend_t *backend, size_t rows_max, tw_dense_t **dense_p,
                 tw_problem_t *problem);
int tw_gpu_sgd(tw_backend_t *backend, float *w, float *v, const float *g, size_t n,
               const tw_sgd_rule_t *rule, tw_problem_t *problem);
int tw_gpu_rmsprop(tw_backend_t *backend, float *w, float *m, const float *g, size_t n,
                   const tw_rms_rule_t *rule, tw_problem_t *problem);
int tw_gpu_max_norm(tw_backend_t *backend, float *w, size_t units, size_t per_unit, float most,
                    tw_problem_t *problem);
/* ---- the operation of each layer: conv.c, pool.c, units.c, norm.c, add.c ---- */

#define TW_KIND(kind, name) extern const tw_op_class_t tw_gpu_##name;
TW_TRUNK_KINDS(TW_KIND)
#undef TW_KIND

extern const tw_norm_ops_t tw_gpu_norm_ops;

/* ---- units.c ---- */

/* y = activation(x) of a whole tensor, in place allowed. */
void tw_gpu_activate(tw_tensor_t *y, const float *x, tw_activation_t how);

#endif /* TW_COMPUTE_CUDA_CUDA_H */
