/* SPDX-License-Identifier: BSD-3-Clause
 * compute/backend.h - compute backends: memory, and the layers before the first dense one as
 * operations on tensors. A backend is an object with a table (backend_ops.h): train/compute/host/
 * is the processor, by oneDNN and own loops, train/compute/cuda/ a GPU, by cuDNN and own kernels.
 *
 * Operands are in the backend's memory: host memory, or device memory, which the host must not
 * access. Work runs in the order of the calls, maybe later: on a device all work is on one stream,
 * tw_backend_exec()->stream. Only one thread at a time may call; its current device must be the
 * backend's: tw_backend_cuda() makes it current in the calling thread.
 *
 * A graph is created once for exactly n examples, layer by layer in the order of the network; it
 * owns its tensors and operations. Tensors are opaque: the backend chooses their memory layout, and
 * only tw_graph_input() and tw_graph_output() give access to plain [n][c][h][w]. The caller owns
 * parameters and their gradients, in the plain layouts of model/params.h.
 * Every pass reads and writes them; graphs may share them.
 *
 * One step: fill the input; tw_op_forward() of every operation in order; the caller writes the
 * gradient by the output; tw_graph_backward_begin(); then for every operation in reverse order
 * tw_op_backward_params() and after it tw_op_backward_data(), which ends the operation and
 * invalidates the gradient by its result. The first operation needs no backward_data but may have
 * it. Gradients of a tensor with several consumers are summed. All inputs and outputs of a pass,
 * including parameters and statistics, are memory of the backend, in the order of its work; the
 * host may read them after tw_graph_finish(), or by tw_backend_get().
 *
 * Sums over examples are in float32 in an order that is fast on the device: bits are equal for one
 * device and number of threads, not between different ones.
 */
#ifndef TW_COMPUTE_BACKEND_H
#define TW_COMPUTE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/codec.h>

#include "command/problem.h"
#include "train/compute/kernels.h"
#include "train/model/network.h"

typedef struct tw_backend tw_backend_t;
typedef struct tw_graph   tw_graph_t;
typedef struct tw_tensor  tw_tensor_t;
typedef struct tw_op      tw_op_t;

/* Parameters of an operation: weights and biases, or gamma and beta. b is NULL if the layer has
 * none; gw and gb are NULL in a graph without backward passes. They must outlive the graph. */
typedef struct tw_op_params {
    const float *w, *b;
    float       *gw, *gb;
} tw_op_params_t;

/* One pass over a graph. seed, step and examples [n], the global number of the example in each row,
 * give the dropout masks (training only; no dropouts: examples may be NULL), with the layers' rates
 * but for the share `less` of them. */
typedef struct tw_op_pass {
    int             training;
    uint64_t        seed, step;
    const uint64_t *examples;
    float           less;
} tw_op_pass_t;

/** The processor this runs on.
 * @param kernels  as tw_kernels_for(): names the instruction set of the loops beside oneDNN
 * @param threads  of every operation, at least 1
 * @return 0, or -1 with the problem set. */
int tw_backend_host(tw_backend_t **backend_p, const tw_compute_kernels_t *kernels, int threads,
                    tw_problem_t *problem);

typedef struct tw_backend_cuda_config {
    int device; /* as cudaSetDevice() counts; it becomes the current one of this thread        */
    int tf32;   /* products may round their factors to 10 bits (TensorFloat-32)                */
    int fast;   /* algorithms that add in an order of their own, different ones in each run    */
} tw_backend_cuda_config_t;

/** A GPU. Its libraries are loaded now: the program starts without them.
 * @return 0, or -1 with one line: built without CUDA or cuDNN; no driver or no such device; no
 *         libcudnn.so.9 or libcublas, or one of another major version; no memory. */
int tw_backend_cuda(tw_backend_t **backend_p, const tw_backend_cuda_config_t *config,
                    tw_problem_t *problem);

void tw_backend_destroy(tw_backend_t *backend); /* after its graphs; NULL is allowed */

/** Name of the library and instruction set, or of the device, for reports; lives as long as the
 * backend. */
const char *tw_backend_name(const tw_backend_t *backend);

/** For reports: deviations from the requested configuration in the graphs created so far; "": none.
 * Lives as long as the backend. */
const char *tw_backend_note(const tw_backend_t *backend);

/* ---- memory ---- */

/** The kind of the backend's memory. */
tw_memory_t tw_backend_memory(const tw_backend_t *backend);

/** Arguments for thinwire's calls on its memory: the memory, the stream of its work, the threads.
 * Lives as long as the backend. */
const tw_exec_t *tw_backend_exec(const tw_backend_t *backend);

/* Functions that return int return 0, or -1 with the problem set; on a device the error may be of
 * work enqueued earlier. Sizes are in bytes and may be 0. */

/** Allocate zeroed memory of the backend, aligned to 64 bytes at least.
 * @param [out] p  NULL on failure; release it by tw_backend_release() before the backend */
int  tw_backend_allocate(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem);
void tw_backend_release(tw_backend_t *backend,
                        void         *p); /* queued work has its end; NULL: nothing */

/** Allocate host memory that tw_backend_copy() copies without blocking; uninitialised. */
int  tw_backend_allocate_pinned(tw_backend_t *backend, size_t bytes, void **p,
                                tw_problem_t *problem);
void tw_backend_release_pinned(tw_backend_t *backend, void *p); /* NULL: nothing */

/** Copy from any host memory, which may be reused on return, in the order of the work. Does not
 * block for few bytes; more than a MiB, or many calls, may wait for the earliest copies. */
int tw_backend_put(tw_backend_t *backend, void *to, const void *host, size_t bytes,
                   tw_problem_t *problem);

/** Copy to any host memory, after it has waited for all enqueued work. */
int tw_backend_get(tw_backend_t *backend, void *host, const void *from, size_t bytes,
                   tw_problem_t *problem);

/** Copy or zero in the order of the work, without blocking. Each side is the backend's memory or
 * pinned memory; they must not overlap, but may be equal. */
int tw_backend_copy(tw_backend_t *backend, void *to, const void *from, size_t bytes,
                    tw_problem_t *problem);
int tw_backend_zero(tw_backend_t *backend, void *p, size_t bytes, tw_problem_t *problem);

/** Wait until all enqueued work is complete; reports failures since the last call. */
int tw_backend_finish(tw_backend_t *backend, tw_problem_t *problem);

/** Bytes allocated and not released, including graphs and scratch; and total memory of the device
 * or of this machine. 0: unknown. */
size_t tw_backend_memory_used(const tw_backend_t *backend);
size_t tw_backend_memory_total(const tw_backend_t *backend);

/* Marks: points in the order of the work, to measure times on a device. The processor has none: its
 * work is complete when the call returns. */

/** Does the backend have marks? */
int tw_backend_marks(const tw_backend_t *backend);

int  tw_backend_mark_create(tw_backend_t *backend, void **mark_p, tw_problem_t *problem);
void tw_backend_mark_destroy(tw_backend_t *backend, void *mark); /* NULL: nothing */

/** Set the mark at the end of the work enqueued so far; it may be set repeatedly. */
int tw_backend_mark(tw_backend_t *backend, void *mark, tw_problem_t *problem);

/** Seconds from one mark to another, both of which have been waited for. */
int tw_backend_elapsed(tw_backend_t *backend, void *from, void *to, double *seconds,
                       tw_problem_t *problem);

/** The device of a pipeline (input/device.h), which receives images in the backend's memory and
 * runs the last operations on them, for batches of at most `rows` images. Owned by the backend,
 * which must be destroyed after the pipeline. One per backend.
 * @param [out] device_p  NULL: the processor does this. @return 0, or -1 with the problem set. */
struct tw_input_device;
int tw_backend_images(tw_backend_t *backend, size_t rows, const struct tw_input_device **device_p,
                      tw_problem_t *problem);

/* ---- graphs ---- */

/** An empty graph for n >= 1 examples. @return 0, or -1 with the problem set. */
int  tw_graph_create(tw_backend_t *backend, size_t n, tw_graph_t **graph_p, tw_problem_t *problem);
void tw_graph_destroy(tw_graph_t *graph); /* NULL is allowed */

/* Each adds one operation; all return 0, or -1 with the problem set. The layer is read during the
 * call only. x[0] must be of the shape layer->in; *y_p is of layer->out. */

/** The images. No gradient is computed by them.
 * @param [out] plain_p  [n][c][h][w], to be filled before each forward pass */
int tw_graph_input(tw_graph_t *graph, tw_shape_t shape, tw_tensor_t **y_p, float **plain_p,
                   tw_problem_t *problem);

/** The operation of a layer of any kind but a dense one:
 * - a convolution (no kernel flip), bias and activation: with groups the g-th part of the output's
 *   channels is of the g-th part of the input's;
 * - pooling, the largest value or the mean of windows: the gradient of a maximum goes to one of the
 *   largest; a mean divides by the cells of the window that lie in the image, or with count_pad by
 *   all of the kernel's, those beyond the border included;
 * - an activation;
 * - local response normalisation across lrn_size (odd) channels;
 * - batch normalisation and activation, in phases: see tw_op_norm_moments();
 * - an addition, y = activation(x1 + shortcut(x2)): x1 has the shape of y. Where x2 is larger by a
 *   stride in h and w, every stride-th row and column is taken; where it has fewer channels, the
 *   last ones are 0 (option A of residual networks);
 * - a concatenation: the channels of x[0], then those of x[1] and so on, at most TW_LAYER_INPUTS;
 * - dropout: in training a unit is 0 with probability rate, else divided by 1 - rate. The mask of a
 *   row is that of tw_drop_make(tw_random_key(seed, TW_RANDOM_DROPOUT, step, example * 64 +
 *   layer->drop), rate) by the unit's place in c, h, w order: no matter what rank, layout or
 *   device.
 * @param params  of a convolution; of batch normalisation w is gamma [c] and b beta [c]; else {0}
 * @param x       the layer's inputs: an addition has two, x1 and x2, a concatenation at least two,
 *                others one */
int tw_graph_layer(tw_graph_t *graph, const tw_network_layer_t *layer, tw_op_params_t params,
                   tw_tensor_t *const *x, size_t inputs, tw_tensor_t **y_p, tw_op_t **op_p,
                   tw_problem_t *problem);

/** From now on, values of operations share memory with those of other segments: they are valid
 * until another segment runs forward. For a pass that computes them again. -1: each has its own, as
 * at the beginning. */
void tw_graph_segment(tw_graph_t *graph, int segment);

/** Keep values of segments between their forward and their backward pass in the codec's bytes, on
 * the processor. store: encode the values of a segment, before the next one runs forward; the first
 * time takes memory. load: decode them, before the segment runs backward.
 * @param codec  of float32; the same in all calls
 * @return 0, or -1 with the problem set. */
int tw_graph_store(tw_graph_t *graph, int segment, const tw_codec_t *codec, tw_problem_t *problem);
int tw_graph_load(tw_graph_t *graph, int segment, const tw_codec_t *codec, tw_problem_t *problem);

/** The end of the graph, or one end of several: x in the plain layout, and its gradient.
 * @param [out] value_p     [n][c][h][w], valid after the forward pass
 * @param [out] gradient_p  the same shape, to be filled before each backward pass, which may change
 *                          what is in it */
int tw_graph_output(tw_graph_t *graph, tw_tensor_t *x, const float **value_p, float **gradient_p,
                    tw_op_t **op_p, tw_problem_t *problem);

/** Start a backward pass; the first one allocates the gradients.
 * @return 0, or -1 with the problem set (memory). */
int tw_graph_backward_begin(tw_graph_t *graph, tw_problem_t *problem);

/** Report known failures since the last call; does not block.
 * @return 0, or -1 with the problem set. */
int tw_graph_check(tw_graph_t *graph, tw_problem_t *problem);

/** The same, after it has waited for all enqueued work. */
int tw_graph_finish(tw_graph_t *graph, tw_problem_t *problem);

void tw_op_forward(tw_op_t *op, const tw_op_pass_t *pass);

/** gw and gb are overwritten; nothing for an operation without parameters. */
void tw_op_backward_params(tw_op_t *op);

/** Into the gradients of the inputs. */
void tw_op_backward_data(tw_op_t *op);

/* Batch normalisation; moments, sums and statistics are memory of the backend. Before
 * tw_op_forward(): in training tw_op_norm_moments() of this graph's examples, merged by the caller
 * with those of others (tw_moments_merge()), then tw_op_norm_set() with the result; in evaluation
 * tw_op_norm_fixed().
 * Backward, before tw_op_backward_params(): tw_op_norm_sums(), and tw_op_norm_set_sums() with what
 * all whose moments were merged give together. The sums of several normalisations may be taken
 * before any of them goes on, as soon as all that use their results are done.
 * tw_op_backward_params() gives gamma's and beta's gradient of this graph's examples only, to be
 * summed like any other. */

/** @param [out] moments  [1 + 2 c]: count = n h w; the means; the sums of squares of what differs
 *                        from the mean */
void tw_op_norm_moments(tw_op_t *op, double *moments);
void tw_op_norm_set(tw_op_t *op, const double *moments);

/** @param mean, var  [c] each: the running statistics */
void tw_op_norm_fixed(tw_op_t *op, const float *mean, const float *var);

/** @param [out] sums  [2 c]: of dy; of dy * (x - mean) / sqrt(var + epsilon). dy is the gradient
 *                     before the activation. */
void tw_op_norm_sums(tw_op_t *op, double *sums);

/** @param moments  the merged ones; only the count is read */
void tw_op_norm_set_sums(tw_op_t *op, const double *sums, const double *moments);

/** Running statistics mean and var [c] from the merged moments: momentum * old + (1 - momentum) *
 * new, with the unbiased variance M2 / (count - 1); unchanged where the count is 0.
 * @return 0, or -1 with the problem set. */
int tw_backend_running(tw_backend_t *backend, float *mean, float *var, const double *moments,
                       size_t c, double momentum, tw_problem_t *problem);

#endif /* TW_COMPUTE_BACKEND_H */
