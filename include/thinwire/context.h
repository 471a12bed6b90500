/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/context.h - contexts: settings and log of communicators and codecs.
 *
 * A process may hold any number of contexts. No state that depends on the rank is global, so
 * several ranks may run in one process (a simulator), and other programs may embed the library.
 */
#ifndef THINWIRE_CONTEXT_H
#define THINWIRE_CONTEXT_H

#include <stddef.h>

#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

typedef struct tw_context tw_context_t;

typedef enum tw_log_level {
    TW_LOG_ERROR = 0,
    TW_LOG_WARN  = 1,
    TW_LOG_INFO  = 2,
    TW_LOG_DEBUG = 3,
    TW_LOG_TRACE = 4
} tw_log_level_t;

/** Receives one complete line, without a newline. rank is -1 if unknown. */
typedef void (*tw_log_fn_t)(void *arg, tw_log_level_t level, int rank, const char *line);

/** Create a context from the THINWIRE_* environment. Makes no MPI call.
 * A malformed setting of any module is an error. An unknown THINWIRE_ name gives a warning with the
 * nearest known name. Both write one line to stderr. Codecs and communicators read their own
 * settings from the environment when they are created.
 * @param [out] ctx_p  set only on TW_OK; release it with tw_context_destroy().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_SETTING, TW_ERR_NO_MEMORY. */
tw_status_t tw_context_create(tw_context_t **ctx_p);

/** Release a context; NULL is allowed. Destroy its codecs and communicators first. */
void tw_context_destroy(tw_context_t *ctx);

/** Send log lines to fn(arg, ...) instead of stderr; fn NULL restores stderr.
 * Applies to communicators created afterwards.
 * @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_context_set_log(tw_context_t *ctx, tw_log_fn_t fn, void *arg);

/** One setting, as `thinwire info --settings` prints it. Pointers are to static strings or into the
 * environment. */
typedef struct tw_setting {
    char        name[64];      /* the environment variable, "THINWIRE_LOG_LEVEL" */
    char        accepted[160]; /* "error|warn|info|debug|trace", "0..1024", "bytes ..." */
    const char *module;        /* "base", "codec", "policy", "transport", "python", ... */
    const char *default_text;  /* "warn" */
    const char *value_text;    /* value in the environment, or default_text */
    const char *help;          /* one sentence */
    int         advanced;      /* for tests, or for thinwire's developers */
} tw_setting_t;

/** Number of settings of this library. */
size_t tw_settings_count(void);

/** The index-th setting, 0 <= index < tw_settings_count().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE. */
tw_status_t tw_settings_get(size_t index, tw_setting_t *setting);

TW_END_DECLS

#endif /* THINWIRE_CONTEXT_H */
