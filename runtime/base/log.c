/* SPDX-License-Identifier: BSD-3-Clause
 * base/log.c - formatting and delivery of log lines.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/log.h"

static const char *const tw_log_level_names[] = {"error", "warning", "info", "debug", "trace"};

static void tw_log_stderr(tw_log_level_t level, int rank, const char *line)
{
    char where[32] = "";

    if (rank >= 0) {
        snprintf(where, sizeof(where), "rank %d: ", rank);
    }
    fprintf(stderr, "thinwire: %s%s: %s\n", where, tw_log_level_names[level], line);
}

void tw_log_write(const tw_log_t *log, tw_log_level_t level, const char *format, ...)
{
    char    line[TW_LOG_LINE_MAX];
    va_list args;

    if (level > log->level) {
        return;
    }
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (log->fn != NULL) {
        log->fn(log->arg, level, log->rank, line);
    } else {
        tw_log_stderr(level, log->rank, line);
    }
}
