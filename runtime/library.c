/* SPDX-License-Identifier: BSD-3-Clause
 * library.c - the roof: the one place that knows every module's table of settings.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <thinwire/thinwire.h>

#include "runtime/base/context.h"
#include "runtime/base/settings.h"
#include "runtime/codec/settings.h"
#include "runtime/policy/drop_in.h"
#include "runtime/library.h"
#include "runtime/policy/policy.h"
#include "runtime/topology/settings.h"
#include "runtime/transport/comm/settings.h"

/* Read by the package of python/, the tests and benchmarks, and therefore known names. */
static const tw_setting_field_t tw_python_fields[] = {
    {"LIBRARY", "",
     "File of the library that the Python package loads; none is where it was found.", 0,
     TW_SETTING_TEXT, 0, 0, NULL, false},
};

static const tw_setting_table_t tw_python_settings = {
    "python", tw_python_fields, sizeof(tw_python_fields) / sizeof(tw_python_fields[0])};

static const tw_setting_field_t tw_tests_fields[] = {
    {"DATA", "../shared/data", "Folder of data sets for tests and benchmarks.", 0, TW_SETTING_TEXT,
     0, 0, NULL, true},
    {"SEED", "0", "Seed of the property tests; 0 draws one and prints it.", 0, TW_SETTING_INT, 0,
     2147483647, NULL, true},
};

static const tw_setting_table_t tw_tests_settings = {
    "tests", tw_tests_fields, sizeof(tw_tests_fields) / sizeof(tw_tests_fields[0])};

static const tw_setting_table_t *const tw_setting_tables[] = {
    &tw_base_settings,   &tw_codec_settings,     &tw_topology_settings,
    &tw_policy_settings, &tw_transport_settings, &tw_drop_in_settings,
    &tw_python_settings, &tw_tests_settings,     NULL};

const char *tw_version(void)
{
    return TW_VERSION;
}

const char *tw_build(void)
{
    return TW_BUILD_CC ", MPI by " TW_MPICC
#ifdef HAVE_CUDA
                       ", CUDA runtime linked"
#else
                       ", without CUDA"
#endif
                       ", sanitizers: " TW_BUILD_SANITIZE;
}

tw_status_t tw_library_check_environment(const tw_log_t *log)
{
    return tw_settings_check_environment(log, tw_setting_tables);
}

tw_status_t tw_context_create(tw_context_t **ctx_p)
{
    tw_context_t *ctx;
    tw_status_t   status;

    if (ctx_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    pthread_mutex_init(&ctx->lock, NULL);
    status = tw_context_init(ctx);
    if (status == TW_OK) {
        status = tw_library_check_environment(&ctx->log);
    }
    if (status != TW_OK) {
        tw_context_destroy(ctx);
        return status;
    }
    *ctx_p = ctx;
    return TW_OK;
}

void tw_context_destroy(tw_context_t *ctx)
{
    if (ctx != NULL) {
        if (ctx->node != NULL) {
            ctx->node_release(ctx->node);
        }
        pthread_mutex_destroy(&ctx->lock);
        free(ctx->created);
        free(ctx);
    }
}

size_t tw_settings_count(void)
{
    size_t count = 0;

    for (size_t t = 0; tw_setting_tables[t] != NULL; t++) {
        count += tw_setting_tables[t]->count;
    }
    return count;
}

tw_status_t tw_settings_get(size_t index, tw_setting_t *setting)
{
    if (setting == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    for (size_t t = 0; tw_setting_tables[t] != NULL; t++) {
        const tw_setting_table_t *table = tw_setting_tables[t];
        const tw_setting_field_t *field;
        const char               *value;

        if (index >= table->count) {
            index -= table->count;
            continue;
        }
        field           = &table->fields[index];
        setting->module = table->module;
        snprintf(setting->name, sizeof(setting->name), TW_SETTINGS_PREFIX "%s", field->name);
        tw_settings_accepted(field, setting->accepted, sizeof(setting->accepted));
        value                 = getenv(setting->name);
        setting->default_text = field->default_text;
        setting->value_text   = value != NULL && *value != '\0' ? value : field->default_text;
        setting->help         = field->help;
        setting->advanced     = field->advanced;
        return TW_OK;
    }
    return TW_ERR_RANGE;
}
