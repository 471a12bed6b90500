/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/task.h - interface between the files that call CUDA and the kernels, which are independent
 * of layers. Compiles as C and as CUDA.
 *
 * Every kernel takes one tw_task_t. The comment of the kernel defines its fields; the launching
 * code fills them. A new kernel is one TW_TASK(NAME) in a .cu file, and one line in TW_TASKS.
 */
#ifndef TW_COMPUTE_CUDA_TASK_H
#define TW_COMPUTE_CUDA_TASK_H

#include <stddef.h>
#include <stdint.h>

#define TW_TASK_THREADS 256 /* of a thread block */
#define TW_TASK_WARP    32
#define TW_TASK_LANES                                                                              \
    16 /* of a row of dense_sum and update_max_norm, as units.c and update.c have */

#define TW_TASK_EXAMPLES 8 /* of a loss: a thread block has the outputs of so many at a time */

/* tw_activation_t */
enum { TW_TASK_LINEAR, TW_TASK_RELU, TW_TASK_LOGISTIC };

typedef struct tw_task {
    const void *from[4]; /* memory of the device, or NULL */
    void       *to[4];
    size_t      n[10];
    double      real[5];
    uint64_t    key[2];
    int         flag[4];
} tw_task_t;

typedef void (*tw_task_fn)(tw_task_t task);

/* All kernels. */
#define TW_TASKS(X)                                                                                \
    X(activate)                                                                                    \
    X(add)                                                                                         \
    X(images)                                                                                      \
    X(settle)                                                                                      \
    X(dense_outputs)                                                                               \
    X(dense_rows)                                                                                  \
    X(dense_deactivate)                                                                            \
    X(dense_sum)                                                                                   \
    X(dense_view)                                                                                  \
    X(loss_labels)                                                                                 \
    X(loss_tops)                                                                                   \
    X(loss_exponentials)                                                                           \
    X(loss_softmax)                                                                                \
    X(loss_gradients)                                                                              \
    X(loss_logistic)                                                                               \
    X(loss_total)                                                                                  \
    X(loss_count)                                                                                  \
    X(loss_give)                                                                                   \
    X(update_sgd)                                                                                  \
    X(update_rmsprop)                                                                              \
    X(update_max_norm)                                                                             \
    X(bias)                                                                                        \
    X(drop)                                                                                        \
    X(moments)                                                                                     \
    X(moments_end)                                                                                 \
    X(norm_back)                                                                                   \
    X(norm_fixed)                                                                                  \
    X(norm_params)                                                                                 \
    X(norm_running)                                                                                \
    X(norm_set)                                                                                    \
    X(norm_set_sums)                                                                               \
    X(norm_sums)                                                                                   \
    X(norm_sums_end)                                                                               \
    X(normalise)                                                                                   \
    X(pool)                                                                                        \
    X(pool_back)                                                                                   \
    X(shortcut)                                                                                    \
    X(shortcut_back)

/* tw_task_NAME(): the kernel. */
#define TW_TASK_DECLARE(name) tw_task_fn tw_task_##name(void);

#ifdef __cplusplus
extern "C" {
#endif
TW_TASKS(TW_TASK_DECLARE)
#ifdef __cplusplus
}
#endif

#endif /* TW_COMPUTE_CUDA_TASK_H */
