/* SPDX-License-Identifier: BSD-3-Clause
 * base/context.c - the settings of base and the log of a context.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/base/context.h"

static const char *const tw_log_levels[] = {"error", "warn", "info", "debug", "trace", NULL};

static const tw_setting_field_t tw_base_fields[] = {
    {"LOG_LEVEL", "warn", "How much is logged to stderr.", offsetof(tw_base_config_t, log_level),
     TW_SETTING_CHOICE, 0, 0, tw_log_levels, false},
    {"THREADS", "0",
     "Most threads a codec call uses; 0 is the cores of the binding divided by the ranks of the "
     "node.",
     offsetof(tw_base_config_t, threads), TW_SETTING_INT, 0, 1024, NULL, false},
};

const tw_setting_table_t tw_base_settings = {"base", tw_base_fields,
                                             sizeof(tw_base_fields) / sizeof(tw_base_fields[0])};

/* The rank that a launcher says this process has, or -1: all that can be known before MPI_Init. */
static int tw_launcher_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);

        if (text != NULL && text[0] >= '0' && text[0] <= '9') {
            return atoi(text);
        }
    }
    return -1;
}

tw_status_t tw_context_init(tw_context_t *ctx)
{
    tw_status_t status;

    ctx->log = (tw_log_t){.level = TW_LOG_WARN, .rank = tw_launcher_rank()};
    status   = tw_settings_load(&ctx->log, &tw_base_settings, &ctx->config);
    if (status == TW_OK) {
        ctx->log.level = (tw_log_level_t)ctx->config.log_level;
    }
    return status;
}

tw_status_t tw_context_set_log(tw_context_t *ctx, tw_log_fn_t fn, void *arg)
{
    if (ctx == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    ctx->log.fn  = fn;
    ctx->log.arg = arg;
    return TW_OK;
}
