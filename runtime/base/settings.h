/* SPDX-License-Identifier: BSD-3-Clause
 * base/settings.h - one typed table of settings per module, read from THINWIRE_* variables.
 *
 * A module has a struct, a table that says for each field its name, default (as text), help and
 * type, and loads the struct with tw_settings_load(). `thinwire info --settings`, the man page and
 * the warning about unknown names read the same tables.
 */
#ifndef TW_BASE_SETTINGS_H
#define TW_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/status.h>

#include "runtime/base/log.h"

#define TW_SETTINGS_PREFIX "THINWIRE_"

typedef enum tw_setting_type {
    TW_SETTING_INT,      /* int, between min and max; or a name: -1 for the first, -2, ... */
    TW_SETTING_BOOL,     /* int, 0 or 1; y, yes, on, n, no, off, 0, 1                 */
    TW_SETTING_MEMUNITS, /* size_t, bytes: 65536, 64k, 1M, 2G, inf                    */
    TW_SETTING_SECONDS,  /* double, 0 or more                                         */
    TW_SETTING_NUMBER,   /* double, 0 or more, without a unit                         */
    TW_SETTING_CHOICE,   /* int, index into choices                                   */
    TW_SETTING_TEXT      /* const char *, into the environment or the default         */
} tw_setting_type_t;

typedef struct tw_setting_field {
    const char        *name; /* without the prefix: "LOG_LEVEL"                */
    const char        *default_text;
    const char        *help;   /* one sentence, for info and the man page        */
    size_t             offset; /* of the field in the module's struct            */
    tw_setting_type_t  type;
    int                min, max; /* TW_SETTING_INT: 0 or more                      */
    const char *const *choices;  /* TW_SETTING_CHOICE, TW_SETTING_INT: names, NULL at the end */
    bool               advanced; /* for who works on thinwire itself; listed apart  */
} tw_setting_field_t;

typedef struct tw_setting_table {
    const char               *module; /* "transport"                                   */
    const tw_setting_field_t *fields;
    size_t                    count;
} tw_setting_table_t;

/* Fill *out from the environment, defaults where a variable is not set. A malformed value is logged
 * in one line that says what is accepted: TW_ERR_SETTING. */
tw_status_t tw_settings_load(const tw_log_t *log, const tw_setting_table_t *table, void *out);

/* What a field accepts, in words: "error|warn|info", "0..1024", "bytes with k, M, G, or inf". */
void tw_settings_accepted(const tw_setting_field_t *field, char *text, size_t size);

/* Look at every THINWIRE_ variable: warn about those that stand in none of the tables, with the
 * nearest name; TW_ERR_SETTING (logged) if a known one is malformed. */
tw_status_t tw_settings_check_environment(const tw_log_t                  *log,
                                          const tw_setting_table_t *const *tables);

#endif /* TW_BASE_SETTINGS_H */
