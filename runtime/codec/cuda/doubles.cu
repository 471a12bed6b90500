/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/doubles.cu - bitpack of doubles, value by value, at any alignment.
 */
#include "runtime/codec/cuda/device.h"

#define DOUBLES_EACH 4 /* values that a thread takes, before there are too many thread blocks */

TW_DEVICE void double_one(const tw_cuda_work_t *work, int verb, size_t i)
{
    const int k = work->k, round = work->round;
    uint64_t  v, r, code, back;

    switch (verb) {
    case TW_CUDA_ENCODE:
        tw_store_bytes(work->dst + (size_t)k * i,
                       tw_cuda_pack64(tw_load_bytes(work->src + 8 * i, 8), k, round), k);
        break;
    case TW_CUDA_ENCODE_FEEDBACK:
        r    = tw_load_bytes(work->residual + 8 * i, 8);
        v    = tw_cuda_sum64(tw_load_bytes(work->src + 8 * i, 8), r);
        code = tw_cuda_pack64(v, k, round);
        back = tw_cuda_unpack64(code, k, round);
        if ((v >> 52 & 0x7ff) != 0x7ff && (back >> 52 & 0x7ff) != 0x7ff) {
            r = tw_cuda_bits64(tw_cuda_double(v) - tw_cuda_double(back));
        }
        tw_store_bytes(work->residual + 8 * i, r, 8);
        tw_store_bytes(work->dst + (size_t)k * i, code, k);
        break;
    default:
        v = tw_cuda_unpack64(tw_load_bytes(work->src + (size_t)k * i, k), k, round);
        if (verb == TW_CUDA_DECODE_ADD) {
            r = tw_load_bytes(work->dst + 8 * i, 8);
            v = tw_cuda_bits64(tw_cuda_double(r) + tw_cuda_double(v));
        }
        tw_store_bytes(work->dst + 8 * i, v, 8);
        break;
    }
}

#define DOUBLE_KERNEL(verb)                                                                        \
    TW_KERNEL(double_##verb, TW_CUDA_THREADS, 4)                                                   \
    {                                                                                              \
        for (size_t i = tw_thread(); i < work.n; i += tw_threads()) {                              \
            double_one(&work, TW_CUDA_##verb, i);                                                  \
        }                                                                                          \
    }

DOUBLE_KERNEL(ENCODE)
DOUBLE_KERNEL(DECODE)
DOUBLE_KERNEL(DECODE_ADD)
DOUBLE_KERNEL(ENCODE_FEEDBACK)

tw_cuda_launch_t tw_cuda_double_launch(tw_cuda_work_t *work, tw_cuda_verb_t verb, int processors)
{
    static const tw_cuda_kernel_t kernels[] = {double_ENCODE, double_DECODE, double_DECODE_ADD,
                                               double_ENCODE_FEEDBACK};

    (void)processors;
    return tw_cuda_launch(
        kernels[verb],
        tw_cuda_blocks(work->n, (size_t)TW_CUDA_THREADS * DOUBLES_EACH, (size_t)1 << 30),
        TW_CUDA_THREADS);
}
