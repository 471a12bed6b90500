/* SPDX-License-Identifier: BSD-3-Clause
 * base/context.h - what stands behind tw_context_t: the log and the settings of base.
 * Higher modules load their own settings with the log found here.
 */
#ifndef TW_BASE_CONTEXT_H
#define TW_BASE_CONTEXT_H

#include <pthread.h>

#include <thinwire/context.h>

#include "runtime/base/log.h"
#include "runtime/base/settings.h"

typedef struct tw_base_config {
    int log_level; /* tw_log_level_t                                   */
    int threads;   /* most threads of a codec call; 0 = share of binding */
} tw_base_config_t;

/* A communicator that was created with this process as its rank 0. */
typedef struct tw_created {
    int ranks, local_ranks;
} tw_created_t;

/* THINWIRE_DECISIONS: whether this process's communicators replay the file or record to it. */
typedef enum tw_decisions_mode {
    TW_DECISIONS_UNSETTLED,
    TW_DECISIONS_REPLAYED,
    TW_DECISIONS_RECORDED
} tw_decisions_mode_t;

struct tw_context {
    tw_log_t         log; /* rank as the launcher says, or -1 */
    tw_base_config_t config;
    /* Of its communicators (transport/comm/system.h); NULL: the system as it is. */
    const struct tw_system_ops *system;
    pthread_mutex_t lock;    /* of what follows: communicators come and go in several threads */
    int             device;  /* 1 + the CUDA device that a communicator has taken; 0: none */
    int             without; /* 1: it was said that this rank has no device */
    struct tw_node *node;    /* the map of this machine, made when first needed; NULL */
    void (*node_release)(struct tw_node *node);
    tw_decisions_mode_t decisions;
    tw_created_t       *created; /* owned */
    size_t              created_count;
};

extern const tw_setting_table_t tw_base_settings;

/* Fill a context from the environment; TW_OK or TW_ERR_SETTING (logged). */
tw_status_t tw_context_init(tw_context_t *ctx);

#endif /* TW_BASE_CONTEXT_H */
