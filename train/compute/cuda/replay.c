/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/replay.c - repeated work of an operation, captured once as a CUDA graph and then launched. A
 * cuDNN convolution call takes 80 us on the host, for any shape, to look up its plan and launch two
 * to six kernels; a graph launch takes a few us, so small layers do not wait for the host.
 *
 * The first run is direct, since libraries load their kernels then. The second run is captured if
 * its work is equal; after a change of an address the procedure starts again. Work that cannot be
 * captured always runs directly.
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
