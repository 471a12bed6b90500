/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/replay.c - work that an operation puts on the stream again and again, captured once as a
 * graph of CUDA and launched from then on. A call of cuDNN's for a convolution takes the host 80
 * us, whatever the shape, to look its plan up and start two to six kernels; a launch of the graph
 * takes a few, so small layers no longer wait for the host.
 *
 * The first time the work is done as it is: libraries load their kernels then. The second time it
 * is captured, if it is the same; when an address in it changes, it begins anew. What cannot be
 * captured is done as it is, always.
 */
#include "config.h"

#include <string.h>

#include "train/compute/cuda/cuda.h"

static void forget_graph(tw_gpu_replay_t *replay)
{
    if (replay->graph != NULL) {
        (void)cudaGraphExecDestroy(replay->graph);
        replay->graph = NULL;
    }
}

void tw_gpu_replay_end(tw_gpu_replay_t *replay)
{
    forget_graph(replay);
}

/* 0, or -1: it cannot be captured, and nothing of it is on the stream. */
static int capture(tw_gpu_t *gpu, tw_gpu_replay_t *replay, tw_op_t *op, void (*work)(tw_op_t *op))
{
    const tw_problem_t before = op->graph->failure;
    cudaGraph_t        graph  = NULL;
    cudaError_t        error;

    /* Other threads may allocate meanwhile. */
    if (cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
        (void)cudaGetLastError();
        return -1;
    }
    work(op);
    error = cudaStreamEndCapture(gpu->stream, &graph);
    if (error == cudaSuccess && op->graph->failure.set == before.set) {
        error = cudaGraphInstantiateWithFlags(&replay->graph, graph, 0);
    } else if (error == cudaSuccess) {
        error = cudaErrorUnknown;
    }
    if (graph != NULL) {
        (void)cudaGraphDestroy(graph);
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        replay->graph      = NULL;
        op->graph->failure = before; /* what failed is done once more, and tells */
        return -1;
    }
    return 0;
}

void tw_gpu_replay(tw_gpu_replay_t *replay, tw_op_t *op, const void *const *addresses,
                   void (*work)(tw_op_t *op))
{
    tw_gpu_t *gpu = tw_gpu_of(op->graph);

    if (memcmp(replay->addresses, addresses, sizeof(replay->addresses)) != 0) {
        forget_graph(replay);
        memcpy(replay->addresses, addresses, sizeof(replay->addresses));
        replay->seen = 0;
    }
    if (replay->graph == NULL && replay->seen && !replay->never) {
        replay->never = capture(gpu, replay, op, work) != 0;
    }
    replay->seen = 1;
    if (replay->graph != NULL) {
        (void)tw_gpu_cuda(gpu, cudaGraphLaunch(replay->graph, gpu->stream), op->class->name,
                          &op->graph->failure);
    } else {
        work(op);
    }
}
