/* SPDX-License-Identifier: BSD-3-Clause
 * base/log.h - one line per message, with level and rank.
 *
 * A tw_log_t is a small value that hangs on a context or a communicator; there is no global log.
 * A line looks like "thinwire: rank 3: error: ...", and goes to stderr in one write.
 */
#ifndef TW_BASE_LOG_H
#define TW_BASE_LOG_H

#include <thinwire/context.h>

typedef struct tw_log {
    tw_log_level_t level; /* messages above it are dropped                */
    int            rank;  /* -1: not known                                */
    tw_log_fn_t    fn;    /* NULL: stderr                                 */
    void          *arg;   /* first argument of fn                         */
} tw_log_t;

#define TW_LOG_LINE_MAX 1024 /* bytes of a line; what is longer is cut     */

void tw_log_write(const tw_log_t *log, tw_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define TW_ERROR(log, ...) tw_log_write((log), TW_LOG_ERROR, __VA_ARGS__)
#define TW_WARN(log, ...)  tw_log_write((log), TW_LOG_WARN, __VA_ARGS__)
#define TW_INFO(log, ...)  tw_log_write((log), TW_LOG_INFO, __VA_ARGS__)

#endif /* TW_BASE_LOG_H */
