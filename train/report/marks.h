/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/marks.h - times of a device's work by its own clock, for --trace and --profile. The
 * host can only measure the time to enqueue work.
 *
 * With NULL marks all calls do nothing.
 */
#ifndef TW_TRAIN_MARKS_H
#define TW_TRAIN_MARKS_H

#include <stdint.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/compute/backend.h"

typedef enum tw_marked {
    TW_MARKED_IMAGES, /* the last operations on them */
    TW_MARKED_FORWARD,
    TW_MARKED_DENSE, /* layers and losses, both ways */
    TW_MARKED_BACKWARD,
    TW_MARKED_UPDATE,
    TW_MARKEDS
} tw_marked_t;

typedef struct tw_device_marks tw_device_marks_t;

/** For a backend; *marks_p is NULL for the processor.
 * @param trace  NULL: none. @return 0, or -1 with the problem set. */
int tw_marks_create(tw_device_marks_t **marks_p, tw_backend_t *backend, tw_trace_t *trace,
                    tw_problem_t *problem);

/** Call it before the backend is destroyed; NULL is allowed. */
void tw_marks_destroy(tw_device_marks_t *marks);

/** Call them around enqueued work. Spans do not nest. */
void tw_marks_begin(tw_device_marks_t *marks, tw_marked_t what, uint64_t step);
void tw_marks_end(tw_device_marks_t *marks);

/** Record the times, after the host has waited for all enqueued work. @return 0, or -1 with the
 * problem set: a mark has failed. */
int tw_marks_collect(tw_device_marks_t *marks, tw_problem_t *problem);

/** "trunk forward" */
const char *tw_marked_name(tw_marked_t what);

/** Seconds since creation or the last tw_marks_forget(); 0 for NULL. */
double tw_marks_seconds(const tw_device_marks_t *marks, tw_marked_t what);
void   tw_marks_forget(tw_device_marks_t *marks);

#endif /* TW_TRAIN_MARKS_H */
