/* SPDX-License-Identifier: BSD-3-Clause
 * input/prepare.h - preparation of one image from its source to its position in a batch, in two
 * parts: before the transfer and after it. The result does not depend on the threads that run the
 * parts.
 *
 * An image that is broken, or that the operations cannot process, may be replaced by the next image
 * of the part with the same label, so that all ranks know the labels of a batch without messages.
 */
#ifndef TW_INPUT_PREPARE_H
#define TW_INPUT_PREPARE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "train/input/transform.h"
#include "train/input/source.h"

/* Images that were replaced; any thread may add one. */
typedef struct tw_broken {
    pthread_mutex_t lock;
    uint64_t       *image; /* subset << 32 | index, ascending */
    size_t          n, room;
} tw_broken_t;

void tw_broken_init(tw_broken_t *broken);
void tw_broken_destroy(tw_broken_t *broken);
/** Move the entries of another list to this one. Without memory they are not counted. */
void tw_broken_merge(tw_broken_t *broken, tw_broken_t *from);

/** Their number, and copies of the first `room`, without duplicates and ascending. No thread may
 * add at the same time. */
size_t tw_broken_list(const tw_broken_t *broken, uint64_t *image, size_t room);

/* State of one thread for preparation. */
typedef struct tw_thread_state {
    tw_source_reader_t reader;
    tw_work_t          work;
    uint64_t           told; /* allocations that tw_thread_state_grown() has returned */
} tw_thread_state_t;

/** @return 0, or -1 without memory. */
int  tw_thread_state_create(tw_thread_state_t *state, const tw_compute_kernels_t *kernels,
                            uint64_t most);
void tw_thread_state_destroy(tw_thread_state_t *state);

/** The state of the calling thread, by its number in its team. */
tw_thread_state_t *tw_thread_state_own(tw_thread_state_t *states);

/** Buffers allocated since the last call. */
uint64_t tw_thread_state_grown(tw_thread_state_t *state);

/* Preparation of the images of a batch. */
typedef struct tw_prepare {
    const tw_source_t     *source;
    const tw_transforms_t *list;
    tw_subset_t            part;
    uint64_t               seed, epoch;
    size_t                 view;   /* of list->views  */
    tw_broken_t           *broken; /* NULL: a broken image is an error */
} tw_prepare_t;

typedef struct tw_prepared {
    uint32_t     index; /* of the image, or of its replacement                       */
    uint64_t     read;  /* end of the read, by tw_clock_ns()                         */
    tw_planned_t planned;
} tw_prepared_t;

/** Read the image and run the operations before the transfer.
 * @param prepared  index is set.
 * @param out       output buffer that the last of them may use.
 * @return 0, or -1 with the problem set, which names the image. */
int tw_prepare_begin(const tw_prepare_t *how, tw_prepared_t *prepared, size_t transfer,
                     tw_thread_state_t *state, tw_buffer_t *out, tw_problem_t *problem);

/** Run the other operations, and write the image to the batch: [c][h][w]. Same returns. */
int tw_prepare_end(const tw_prepare_t *how, tw_prepared_t *prepared, size_t transfer,
                   tw_thread_state_t *state, float *out, tw_problem_t *problem);

#endif /* TW_INPUT_PREPARE_H */
