/* SPDX-License-Identifier: BSD-3-Clause
 * compute/backend.h - where a rank computes, and the memory there; and the layers before the first
 * dense one as operations on tensors. A backend is an object with a table (backend_ops.h):
 * train/compute/host/ is the processor, by oneDNN and own loops, train/compute/cuda/ a GPU, by
 * cuDNN and own kernels.
 *
 * What is computed with is the backend's memory: the host's, or that of a device, which the host
 * must not touch. Work on it is done in the order of the calls, maybe later: on a device all of it
 * is on one stream, tw_backend_exec()->stream. Calls come from one thread at a time, whose current
 * device is the backend's: tw_backend_cuda() makes it so in the thread that calls it.
 *
 * A graph is made once for exactly n examples, layer by layer in the order of the network; it owns
 * its tensors and operations. Tensors are opaque: their layout in memory is the backend's choice,
 * and only tw_graph_input() and tw_graph_output() hand out plain [n][c][h][w]. Parameters and their
 * gradients stay with the caller in the plain layouts of model/params.h (conv [out][in][kh][kw]),
 * and are read and written anew by every pass; graphs may share them.
 *
 * One step: fill the input; tw_op_forward() of every operation in order; the caller writes the
 * gradient by the output; tw_graph_backward_begin(); then for every operation in reverse order
 * tw_op_backward_params() and after it tw_op_backward_data(), which ends the operation: the
 * gradient by its result is gone then. The first operation needs no backward_data but may have it.
 * Gradients of a tensor with several consumers are summed. Whatever a pass takes or gives,
 * parameters and statistics too, is memory of the backend, in the order of its work; the host may
 * read it after tw_graph_finish(), or by tw_backend_get().
 *
 * Sums over examples are in float32 as the device does them fast: the same for one device and
 * number of threads, not the same bits for others.
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

/* Of an operation with parameters: weights and biases, or gamma and beta. b is NULL where the layer
 * has none; gw and gb are NULL in a graph that is never run backward. Live as long as the graph. */
typedef struct tw_op_params {
    const float *w, *b;
    float       *gw, *gb;
} tw_op_params_t;

/* One pass over a graph. seed, step and examples [n], the global number of the example in each row,
 * give the dropout masks (training only; no dropouts: examples may be NULL). */
typedef struct tw_op_pass {
    int             training;
    uint64_t        seed, step;
    const uint64_t *examples;
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

/** What is not as it was asked for, in the graphs made so far, for reports; "": nothing. Lives as
 * long as the backend. */
const char *tw_backend_note(const tw_backend_t *backend);

/* ---- memory ---- */

/** Which memory it computes in. */
tw_memory_t tw_backend_memory(const tw_backend_t *backend);

/** What thinwire's calls on its memory are given: the memory, the stream of its work, the threads.
 * Lives as long as the backend. */
const tw_exec_t *tw_backend_exec(const tw_backend_t *backend);

/* All that return int return 0, or -1 with the problem set; on a device it may be about work that
 * was queued before. Sizes are in bytes and may be 0. */

/** Memory of the backend: zeros, at a multiple of 64 bytes at least.
 * @param [out] p  NULL on failure; to be released by tw_backend_release() before the backend is */
int  tw_backend_allocate(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem);
void tw_backend_release(tw_backend_t *backend,
                        void         *p); /* queued work has its end; NULL: nothing */

/** Memory of the host that tw_backend_copy() copies without waiting; anything is in it. */
int  tw_backend_allocate_pinned(tw_backend_t *backend, size_t bytes, void **p,
                                tw_problem_t *problem);
void tw_backend_release_pinned(tw_backend_t *backend, void *p); /* NULL: nothing */

/** From any memory of the host, which may be used again on return, in the order of the work. Few
 * bytes are not waited for; of more than a MiB, or many times, the first may have to be. */
int tw_backend_put(tw_backend_t *backend, void *to, const void *host, size_t bytes,
                   tw_problem_t *problem);

/** To any memory of the host, after all work queued so far: waits for it. */
int tw_backend_get(tw_backend_t *backend, void *host, const void *from, size_t bytes,
                   tw_problem_t *problem);

/** In the order of the work, not waited for. Each side is the backend's memory or pinned; they do
 * not overlap, but may be the same. */
int tw_backend_copy(tw_backend_t *backend, void *to, const void *from, size_t bytes,
                    tw_problem_t *problem);
int tw_backend_zero(tw_backend_t *backend, void *p, size_t bytes, tw_problem_t *problem);

/** Wait until everything queued is done; reports what failed since the last call. */
int tw_backend_finish(tw_backend_t *backend, tw_problem_t *problem);

/** Bytes that it has allocated and not released, graphs and scratch included; and all that there
 * is: of the device, or of this machine. 0: not known. */
size_t tw_backend_memory_used(const tw_backend_t *backend);
size_t tw_backend_memory_total(const tw_backend_t *backend);

/* Moments in the order of the work, for measuring what a device does and when. The processor has
 * none: its work is done where it is called. */

/** Whether it has marks. */
int tw_backend_marks(const tw_backend_t *backend);

int  tw_backend_mark_create(tw_backend_t *backend, void **mark_p, tw_problem_t *problem);
void tw_backend_mark_destroy(tw_backend_t *backend, void *mark); /* NULL: nothing */

/** The mark is where the work queued so far ends; it may be set again and again. */
int tw_backend_mark(tw_backend_t *backend, void *mark, tw_problem_t *problem);

/** Seconds from one mark to another, both of which have been waited for. */
int tw_backend_elapsed(tw_backend_t *backend, void *from, void *to, double *seconds,
                       tw_problem_t *problem);

/** What receives the images of a pipeline (input/device.h) in its memory and does the last
 * operations on them there, for batches of at most `rows` images: the backend's, after whose
 * pipeline it is to be destroyed. One for a backend.
 * @param [out] device_p  NULL: the processor does so. @return 0, or -1 with the problem set. */
struct tw_input_device;
int tw_backend_images(tw_backend_t *backend, size_t rows, const struct tw_input_device **device_p,
                      tw_problem_t *problem);

/* ---- graphs ---- */

/** An empty graph for n >= 1 examples. @return 0, or -1 with the problem set. */
int  tw_graph_create(tw_backend_t *backend, size_t n, tw_graph_t **graph_p, tw_problem_t *problem);
void tw_graph_destroy(tw_graph_t *graph); /* NULL is allowed */

/* Each adds one operation; all return 0, or -1 with the problem set. The layer is read during the
 * call only. x must be of the shape layer->in; *y_p is of layer->out. */

/** The images. No gradient is computed by them.
 * @param [out] plain_p  [n][c][h][w], to be filled before each forward pass */
int tw_graph_input(tw_graph_t *graph, tw_shape_t shape, tw_tensor_t **y_p, float **plain_p,
                   tw_problem_t *problem);

/** The operation of a layer of any kind but a dense one:
 * - a convolution (no kernel flip), bias and activation;
 * - pooling, the largest value or the mean of windows: the gradient of a maximum goes to one of the
 *   largest; a mean divides by the cells of the window that lie in the image, or with count_pad by
 *   all of the kernel's, those beyond the border included;
 * - an activation;
 * - local response normalisation across lrn_size (odd) channels;
 * - batch normalisation and activation, in phases: see tw_op_norm_moments();
 * - an addition, y = activation(x1 + shortcut(x2)): x1 has the shape of y. Where x2 is larger by a
 *   stride in h and w, every stride-th row and column is taken; where it has fewer channels, the
 *   last ones are 0 (option A of residual networks);
 * - dropout: in training a unit is 0 with probability rate, else divided by 1 - rate. The mask of a
 *   row is that of tw_drop_make(tw_random_key(seed, TW_RANDOM_DROPOUT, step, example * 64 +
 *   layer->drop), rate) by the unit's place in c, h, w order: no matter what rank, layout or
 *   device.
 * @param params  of a convolution; of batch normalisation w is gamma [c] and b beta [c]; else {0}
 * @param x2      of an addition, else NULL */
int tw_graph_layer(tw_graph_t *graph, const tw_network_layer_t *layer, tw_op_params_t params,
                   tw_tensor_t *x1, tw_tensor_t *x2, tw_tensor_t **y_p, tw_op_t **op_p,
                   tw_problem_t *problem);

/** The end of the graph, or one end of several: x in the plain layout, and its gradient.
 * @param [out] value_p     [n][c][h][w], valid after the forward pass
 * @param [out] gradient_p  the same shape, to be filled before each backward pass, which may change
 *                          what is in it */
int tw_graph_output(tw_graph_t *graph, tw_tensor_t *x, const float **value_p, float **gradient_p,
                    tw_op_t **op_p, tw_problem_t *problem);

/** Start a backward pass; the first one allocates the gradients.
 * @return 0, or -1 with the problem set (memory). */
int tw_graph_backward_begin(tw_graph_t *graph, tw_problem_t *problem);

/** Report what failed since the last call, as far as it is known: waits for nothing.
 * @return 0, or -1 with the problem set. */
int tw_graph_check(tw_graph_t *graph, tw_problem_t *problem);

/** The same, of everything queued: waits for it. */
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
