/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/rates.c - learning rates by batch size (S4, section 5) and over the epochs.
 *
 * A schedule's text is a name and fields between colons: "steps:25,37:0.1". Each kind has a reader
 * of its fields in one table, which is also what messages say is accepted.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <thinwire/rates.h>

#include "runtime/base/settings.h"

#define TW_SCHEDULE_TEXT   256
#define TW_SCHEDULE_PIECES 1e6

/* ---- batch size ----------------------------------------------------------------------------- */

/* Weight decay that takes as much in one step of rate `after` as k steps of rate `before` did, one
 * after another: 1 - after x = (1 - before decay)^k. Without cancellation for the small numbers
 * that are usual. */
static double tw_decay_exact(double k, double before, double decay, double after)
{
    return -expm1(k * log1p(-before * decay)) / after;
}

tw_status_t tw_rate_scale(tw_rate_rule_t rule, double k, int exact, double *rate_p, double *decay_p)
{
    const double decay = decay_p != NULL ? *decay_p : 0.0;
    double       rate, scaled;

    if (rate_p == NULL || (rule != TW_RATE_LINEAR && rule != TW_RATE_SQRT) || !isfinite(k) ||
        k <= 0.0 || !isfinite(*rate_p) || *rate_p <= 0.0 || !isfinite(decay) || decay < 0.0 ||
        *rate_p * decay >= 1.0) {
        return TW_ERR_INVALID_ARG;
    }
    if (rule == TW_RATE_LINEAR) {
        rate   = k * *rate_p;
        scaled = decay;
    } else {
        rate   = sqrt(k) * *rate_p;
        scaled = exact ? tw_decay_exact(k, *rate_p, decay, rate) : sqrt(k) * decay;
    }
    if (!isfinite(rate) || rate <= 0.0 || !isfinite(scaled)) {
        return TW_ERR_INVALID_ARG;
    }
    *rate_p = rate;
    if (decay_p != NULL) {
        *decay_p = scaled;
    }
    return TW_OK;
}

/* ---- reading a schedule --------------------------------------------------------------------- */

typedef struct tw_rates_reader {
    const char *text; /* the whole schedule, for messages */
    const char *form; /* what its kind accepts            */
    char       *why;
    size_t      size;
} tw_rates_reader_t;

static tw_status_t tw_schedule_bad(const tw_rates_reader_t *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static tw_status_t tw_schedule_bad(const tw_rates_reader_t *reader, const char *format, ...)
{
    char    what[160];
    va_list args;

    if (reader->why != NULL && reader->size > 0) {
        va_start(args, format);
        vsnprintf(what, sizeof(what), format, args);
        va_end(args);
        snprintf(reader->why, reader->size, "schedule '%.80s': %s; accepted: %s", reader->text,
                 what, reader->form);
    }
    return TW_ERR_SPEC;
}

/* A plain decimal number above 0: no spaces, no words, no hexadecimal digits. */
static bool tw_schedule_number(const char *text, double *value)
{
    static const tw_setting_field_t number = {.type = TW_SETTING_NUMBER};

    return text[0] != '\0' && strspn(text, "0123456789.eE+-") == strlen(text) &&
           tw_settings_parse(&number, text, value) == TW_OK && *value > 0.0;
}

static tw_status_t tw_schedule_factor(const tw_rates_reader_t *reader, const char *text,
                                      tw_schedule_t *schedule)
{
    return tw_schedule_number(text, &schedule->factor)
               ? TW_OK
               : tw_schedule_bad(reader, "factor '%.40s' is not a number above 0, at most 1e9",
                                 text);
}

static tw_status_t tw_schedule_epoch(const tw_rates_reader_t *reader, const char *text,
                                     tw_schedule_t *schedule)
{
    const size_t n = schedule->steps;

    if (n == TW_SCHEDULE_STEPS) {
        return tw_schedule_bad(reader, "more than %d epochs", TW_SCHEDULE_STEPS);
    }
    if (!tw_schedule_number(text, &schedule->epoch[n])) {
        return tw_schedule_bad(reader, "epoch '%.40s' is not a number above 0, at most 1e9", text);
    }
    if (n > 0 && schedule->epoch[n] <= schedule->epoch[n - 1]) {
        return tw_schedule_bad(reader, "epoch %.40s does not come after %g", text,
                               schedule->epoch[n - 1]);
    }
    schedule->steps++;
    return TW_OK;
}

static tw_status_t tw_read_constant(const tw_rates_reader_t *reader, char **field,
                                    tw_schedule_t *schedule)
{
    (void)reader;
    (void)field;
    (void)schedule;
    return TW_OK;
}

static tw_status_t tw_read_exp(const tw_rates_reader_t *reader, char **field,
                               tw_schedule_t *schedule)
{
    return tw_schedule_factor(reader, field[0], schedule);
}

static tw_status_t tw_read_steps(const tw_rates_reader_t *reader, char **field,
                                 tw_schedule_t *schedule)
{
    tw_status_t status = TW_OK;

    for (char *epoch = field[0], *comma; epoch != NULL && status == TW_OK; epoch = comma) {
        comma = strchr(epoch, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        status = tw_schedule_epoch(reader, epoch, schedule);
    }
    return status == TW_OK ? tw_schedule_factor(reader, field[1], schedule) : status;
}

static tw_status_t tw_read_dexp(const tw_rates_reader_t *reader, char **field,
                                tw_schedule_t *schedule)
{
    double pieces;

    if (!tw_schedule_number(field[1], &pieces) || pieces != floor(pieces) || pieces < 2.0 ||
        pieces > TW_SCHEDULE_PIECES) {
        return tw_schedule_bad(reader, "'%.40s' is not a number of pieces, 2..%g", field[1],
                               TW_SCHEDULE_PIECES);
    }
    schedule->steps = (size_t)pieces;
    return tw_schedule_factor(reader, field[0], schedule);
}

static tw_status_t tw_read_stairs(const tw_rates_reader_t *reader, char **field,
                                  tw_schedule_t *schedule)
{
    const tw_status_t status = tw_schedule_epoch(reader, field[0], schedule);

    return status == TW_OK ? tw_schedule_factor(reader, field[1], schedule) : status;
}

static const struct tw_schedule_form {
    const char        *name;
    const char        *form;
    tw_schedule_kind_t kind;
    int                fields;
    tw_status_t (*read)(const tw_rates_reader_t *reader, char **field, tw_schedule_t *schedule);
} tw_schedule_forms[] = {
    {"constant", "constant", TW_SCHEDULE_CONSTANT, 0, tw_read_constant},
    {"exp", "exp:FACTOR, such as exp:0.99", TW_SCHEDULE_EXP, 1, tw_read_exp},
    {"steps", "steps:EPOCH,EPOCH,...:FACTOR, such as steps:25,37:0.1", TW_SCHEDULE_STEPS_AT, 2,
     tw_read_steps},
    {"dexp", "dexp:FACTOR:PIECES, such as dexp:250:4", TW_SCHEDULE_DEXP, 2, tw_read_dexp},
    {"stairs", "stairs:EPOCHS:FACTOR, such as stairs:30:0.16", TW_SCHEDULE_STAIRS, 2,
     tw_read_stairs},
};

#define TW_SCHEDULE_FIELDS 2
#define TW_SCHEDULE_NAMES  "constant, exp:F, steps:E,E:F, dexp:F:N, stairs:E:F"

static const struct tw_schedule_form *tw_schedule_find(const char *name)
{
    for (size_t i = 0; i < sizeof(tw_schedule_forms) / sizeof(tw_schedule_forms[0]); i++) {
        if (strcmp(name, tw_schedule_forms[i].name) == 0) {
            return &tw_schedule_forms[i];
        }
    }
    return NULL;
}

/* `text`, cut at its colons. Returns their number, field by field up to the most there can be. */
static int tw_schedule_cut(char *text, char **field)
{
    int fields = 0;

    for (char *colon = strchr(text, ':'); colon != NULL; colon = strchr(colon, ':')) {
        *colon++ = '\0';
        if (fields < TW_SCHEDULE_FIELDS) {
            field[fields] = colon;
        }
        fields++;
    }
    return fields;
}

tw_status_t tw_schedule_parse(const char *text, tw_schedule_t *schedule, char *why, size_t why_size)
{
    tw_rates_reader_t              reader = {text, TW_SCHEDULE_NAMES, why, why_size};
    const struct tw_schedule_form *form;
    tw_schedule_t                  read = {.factor = 1.0};
    char                           copy[TW_SCHEDULE_TEXT], *field[TW_SCHEDULE_FIELDS] = {NULL};
    tw_status_t                    status;
    int                            fields;

    if (text == NULL || schedule == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (why != NULL && why_size > 0) {
        why[0] = '\0';
    }
    if (strlen(text) >= sizeof(copy)) {
        return tw_schedule_bad(&reader, "longer than %d characters", TW_SCHEDULE_TEXT - 1);
    }
    strcpy(copy, text[0] != '\0' ? text : "constant");
    fields = tw_schedule_cut(copy, field);
    form   = tw_schedule_find(copy);
    if (form == NULL) {
        return tw_schedule_bad(&reader, "there is no '%.40s'", copy);
    }
    reader.form = form->form;
    if (fields != form->fields) {
        return tw_schedule_bad(&reader, "%d fields after the name, not %d", fields, form->fields);
    }
    read.kind = form->kind;
    status    = form->read(&reader, field, &read);
    if (status == TW_OK) {
        *schedule = read;
    }
    return status;
}

/* ---- the rate ------------------------------------------------------------------------------- */

static double tw_steps_passed(const tw_schedule_t *schedule, double epoch)
{
    size_t passed = 0;

    while (passed < schedule->steps && schedule->epoch[passed] <= epoch) {
        passed++;
    }
    return (double)passed;
}

/* cuda-convnet2's "dexp": piece i of N, from 0, has base x factor^(-i / (N - 1)). */
static double tw_dexp(const tw_schedule_t *schedule, double base, double epoch, double epochs)
{
    const double last  = (double)schedule->steps - 1.0;
    const double piece = epochs > 0.0 ? floor(epoch * (double)schedule->steps / epochs) : 0.0;

    return piece < last ? base * pow(schedule->factor, -piece / last) : base / schedule->factor;
}

double tw_schedule_rate(const tw_schedule_t *schedule, double base, double epoch, double epochs)
{
    if (schedule == NULL) {
        return base;
    }
    if (!(epoch > 0.0)) {
        epoch = 0.0;
    }
    switch (schedule->kind) {
    case TW_SCHEDULE_CONSTANT:
        break;
    case TW_SCHEDULE_EXP:
        return base * pow(schedule->factor, floor(epoch));
    case TW_SCHEDULE_STEPS_AT:
        return base * pow(schedule->factor, tw_steps_passed(schedule, epoch));
    case TW_SCHEDULE_DEXP:
        return tw_dexp(schedule, base, epoch, epochs);
    case TW_SCHEDULE_STAIRS:
        return base * pow(schedule->factor, floor(epoch / schedule->epoch[0]));
    }
    return base;
}
