/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/emulate_tasks.c - the trainer's kernels for the stand-in: compiled for the host, run
 * thread by thread. Part of the library that has train/compute/cuda compiled against the stand-in's
 * headers.
 */
#include "config.h"

#include "tests/gpu/emulate_words.h"
#include "tests/gpu/standin/standin.h"

#define TW_DEVICE_MEMORY(p) ((const void *)standin_real(p))

#define TW_TASK(name)                                                                              \
    static void name(tw_task_t task);                                                              \
    tw_task_fn  tw_task_##name(void)                                                               \
    {                                                                                              \
        return name;                                                                               \
    }                                                                                              \
    static void name(tw_task_t task)

#include "train/compute/cuda/images.cu"
#include "train/compute/cuda/dense.cu"
#include "train/compute/cuda/loss.cu"
#include "train/compute/cuda/norm.cu"
#include "train/compute/cuda/places.cu"
#include "train/compute/cuda/units.cu"
#include "train/compute/cuda/update.cu"

static tw_task_fn kernel;

static void body(const void *argument)
{
    kernel(*(const tw_task_t *)argument);
}

static void run(const void *function, unsigned blocks, unsigned threads, const void *parameter)
{
    tw_task_t task;

    memcpy(&kernel, &function, sizeof(kernel));
    memcpy(&task, parameter, sizeof(task));
    emulate_launch(body, &task, blocks, threads);
}

#define TASK(name) tw_task_##name,

static int mine(const void *function)
{
    static tw_task_fn (*const tasks[])(void) = {TW_TASKS(TASK)};
    tw_task_fn task;

    memcpy(&task, &function, sizeof(task));
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        if (tasks[i]() == task) {
            return 1;
        }
    }
    return 0;
}

__attribute__((constructor)) static void hand_over(void)
{
    static const size_t pointers[] = {offsetof(tw_task_t, from[0]), offsetof(tw_task_t, from[1]),
                                      offsetof(tw_task_t, from[2]), offsetof(tw_task_t, from[3]),
                                      offsetof(tw_task_t, to[0]),   offsetof(tw_task_t, to[1]),
                                      offsetof(tw_task_t, to[2]),   offsetof(tw_task_t, to[3])};
    static const standin_kernels_t kernels = {
        .bytes = sizeof(tw_task_t), .pointers = pointers, .count = 8, .run = run, .mine = mine};

    standin_kernels_set(&kernels);
}
