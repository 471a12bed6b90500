/* SPDX-License-Identifier: BSD-3-Clause
 * base/settings.c - parsing of settings, and the search for names nobody knows.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/settings.h"
#include "runtime/base/text.h"

extern char **environ;

#define TW_SETTING_NAME_MAX 64 /* of a known name with prefix; longer ones cannot be near it */

static tw_status_t tw_parse_int(const tw_setting_field_t *field, const char *text, int *value)
{
    uint64_t v;

    for (int i = 0; field->choices != NULL && field->choices[i] != NULL; i++) {
        if (strcasecmp(text, field->choices[i]) == 0) {
            *value = -1 - i;
            return TW_OK;
        }
    }
    if (!tw_text_whole(text, (uint64_t)field->min, (uint64_t)field->max, &v)) {
        return TW_ERR_SETTING;
    }
    *value = (int)v;
    return TW_OK;
}

static tw_status_t tw_parse_bool(const char *text, int *value)
{
    static const char *const yes[] = {"1", "y", "yes", "on", "true", NULL};
    static const char *const no[]  = {"0", "n", "no", "off", "false", NULL};

    for (int i = 0; yes[i] != NULL; i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *value = strcasecmp(text, yes[i]) == 0;
            return TW_OK;
        }
    }
    return TW_ERR_SETTING;
}

static tw_status_t tw_parse_number(const char *text, double *value)
{
    double v;

    if (!tw_text_number(text, &v) || v < 0.0 || v > 1e9) {
        return TW_ERR_SETTING;
    }
    *value = v;
    return TW_OK;
}

static tw_status_t tw_parse_choice(const tw_setting_field_t *field, const char *text, int *value)
{
    for (int i = 0; field->choices[i] != NULL; i++) {
        if (strcasecmp(text, field->choices[i]) == 0) {
            *value = i;
            return TW_OK;
        }
    }
    return TW_ERR_SETTING;
}

/* Parse one value as the environment's would be; TW_ERR_SETTING says nothing to the log. */
static tw_status_t tw_settings_parse(const tw_setting_field_t *field, const char *text, void *value)
{
    switch (field->type) {
    case TW_SETTING_INT:
        return tw_parse_int(field, text, value);
    case TW_SETTING_BOOL:
        return tw_parse_bool(text, value);
    case TW_SETTING_MEMUNITS:
        return tw_text_bytes(text, value) ? TW_OK : TW_ERR_SETTING;
    case TW_SETTING_SECONDS:
    case TW_SETTING_NUMBER:
        return tw_parse_number(text, value);
    case TW_SETTING_CHOICE:
        return tw_parse_choice(field, text, value);
    case TW_SETTING_TEXT:
        *(const char **)value = text;
        return TW_OK;
    }
    return TW_ERR_SETTING;
}

void tw_settings_accepted(const tw_setting_field_t *field, char *text, size_t size)
{
    size_t used = 0;

    switch (field->type) {
    case TW_SETTING_INT:
        text[0] = '\0';
        for (int i = 0; field->choices != NULL && field->choices[i] != NULL && used < size; i++) {
            used += (size_t)snprintf(text + used, size - used, "%s|", field->choices[i]);
        }
        snprintf(text + used, used < size ? size - used : 0, "%d..%d", field->min, field->max);
        return;
    case TW_SETTING_BOOL:
        snprintf(text, size, "0|1");
        return;
    case TW_SETTING_MEMUNITS:
        snprintf(text, size, "bytes, such as 4096, 64k, 1M, 2G, inf");
        return;
    case TW_SETTING_SECONDS:
        snprintf(text, size, "seconds, 0 to 1e9");
        return;
    case TW_SETTING_NUMBER:
        snprintf(text, size, "a number, 0 or more, at most 1e9");
        return;
    case TW_SETTING_TEXT:
        snprintf(text, size, "text");
        return;
    case TW_SETTING_CHOICE:
        text[0] = '\0';
        for (int i = 0; field->choices[i] != NULL && used < size; i++) {
            const int n =
                snprintf(text + used, size - used, "%s%s", i > 0 ? "|" : "", field->choices[i]);
            used += n > 0 ? (size_t)n : 0;
        }
        return;
    }
}

/* One field from the environment, or its default. */
static tw_status_t tw_settings_load_field(const tw_log_t *log, const tw_setting_field_t *field,
                                          void *value)
{
    char        name[TW_SETTING_NAME_MAX], accepted[160];
    const char *text;

    snprintf(name, sizeof(name), TW_SETTINGS_PREFIX "%s", field->name);
    text = getenv(name);
    if (text == NULL || *text == '\0') {
        text = field->default_text;
    }
    if (tw_settings_parse(field, text, value) != TW_OK) {
        tw_settings_accepted(field, accepted, sizeof(accepted));
        TW_ERROR(log, "%s=%s is malformed; accepted: %s", name, text, accepted);
        return TW_ERR_SETTING;
    }
    return TW_OK;
}

tw_status_t tw_settings_load(const tw_log_t *log, const tw_setting_table_t *table, void *out)
{
    tw_status_t status = TW_OK;

    for (size_t i = 0; i < table->count && status == TW_OK; i++) {
        status =
            tw_settings_load_field(log, &table->fields[i], (char *)out + table->fields[i].offset);
    }
    return status;
}

/* The known name nearest to `name`; *distance_p is 0 where it is that name. */
static const tw_setting_field_t *tw_settings_nearest(const tw_setting_table_t *const *tables,
                                                     const char *name, size_t *distance_p)
{
    const tw_setting_field_t *nearest = NULL;

    *distance_p = SIZE_MAX;
    for (size_t t = 0; tables[t] != NULL; t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            const size_t distance = tw_edit_distance(name, tables[t]->fields[i].name);

            if (distance < *distance_p) {
                *distance_p = distance;
                nearest     = &tables[t]->fields[i];
            }
        }
    }
    return nearest;
}

tw_status_t tw_settings_check_environment(const tw_log_t                  *log,
                                          const tw_setting_table_t *const *tables)
{
    const size_t prefix = strlen(TW_SETTINGS_PREFIX);
    tw_status_t  status = TW_OK;

    for (char **e = environ; *e != NULL && status == TW_OK; e++) {
        const tw_setting_field_t *nearest;
        const char               *equals = strchr(*e, '=');
        char                      name[TW_SETTING_NAME_MAX + 1];
        size_t                    distance;
        union {
            int         i;
            size_t      z;
            double      d;
            const char *s;
        } value;

        if (strncmp(*e, TW_SETTINGS_PREFIX, prefix) != 0 || equals == NULL) {
            continue;
        }
        snprintf(name, sizeof(name), "%.*s", (int)(equals - *e - (ptrdiff_t)prefix), *e + prefix);
        nearest = tw_settings_nearest(tables, name, &distance);
        if (distance == 0) {
            status = tw_settings_load_field(log, nearest, &value);
        } else if (nearest != NULL && log->rank <= 0) { /* all ranks have it: one says it */
            TW_WARN(log,
                    "unknown setting " TW_SETTINGS_PREFIX
                    "%s is ignored; did you mean " TW_SETTINGS_PREFIX "%s?",
                    name, nearest->name);
        }
    }
    return status;
}
