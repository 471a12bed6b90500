/* SPDX-License-Identifier: BSD-3-Clause
 * transport/feedback/feedback_file.h - the stream of residuals, for saving and restoring them.
 */
#ifndef TW_TRANSPORT_FEEDBACK_FEEDBACK_FILE_H
#define TW_TRANSPORT_FEEDBACK_FEEDBACK_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "runtime/transport/feedback/feedback.h"

#define TW_FILE_MAGIC      "TWFEEDB1"
#define TW_FILE_HEADER     (8 + 4 + 4 + 8 + TW_FEEDBACK_NAME_MAX) /* magic, ..., count, name */
#define TW_FILE_RANK       16                /* second_first, second_count       */
#define TW_FILE_PIECE      ((size_t)1 << 18) /* bytes, a multiple of 8           */
#define TW_FILE_MOST_RANKS 16777216u

typedef struct tw_feedback_file {
    FILE       *stream; /* rank 0 */
    uint64_t    hash;
    tw_status_t status; /* the first failure of the stream; later calls do nothing */
} tw_feedback_file_t;

void tw_feedback_file_write(tw_feedback_file_t *file, const void *bytes, size_t size);

/** Fills bytes with zeros if the stream fails. */
void tw_feedback_file_read(tw_feedback_file_t *file, void *bytes, size_t size);

/** Convert elements between memory and the little-endian stream: swaps bytes on big-endian only. */
void tw_feedback_file_order(uint8_t *bytes, size_t size, size_t element);

tw_status_t tw_feedback_file_message(tw_comm_t *comm, bool sending, void *bytes, size_t size,
                                     int peer);

/** Broadcast rank 0's words. */
tw_status_t tw_feedback_file_announce(tw_comm_t *comm, uint64_t *words, int count);

/** Common start of save and restore: check arguments, get a piece of memory on every rank. */
tw_status_t tw_feedback_file_begin(tw_feedback_t *fb, const char *operation, FILE *stream,
                                   void **piece_p);

#endif /* TW_TRANSPORT_FEEDBACK_FEEDBACK_FILE_H */
