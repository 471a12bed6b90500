/* SPDX-License-Identifier: BSD-3-Clause
 * train/model/schedule.c - see schedule.h.
 *
 * A schedule's text is a name and fields separated by colons: "steps:25,37:0.1". One table lists
 * the parsers of each kind's fields; messages list the accepted forms from it.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/schedule.h"

#define TW_SCHEDULE_TEXT   256
#define TW_SCHEDULE_PIECES 1e6
#define TW_SCHEDULE_FIELDS 3

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct tw_schedule_reader {
    const char   *text; /* the whole schedule, for messages */
    const char   *form; /* what its kind accepts            */
    tw_problem_t *problem;
} tw_schedule_reader_t;

static int bad(const tw_schedule_reader_t *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int bad(const tw_schedule_reader_t *reader, const char *format, ...)
{
    char    what[160];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return tw_problem_set(reader->problem, "schedule '%.80s': %s; accepted: %s", reader->text, what,
                          reader->form);
}

/* A plain decimal number above 0: no spaces, no words, no hexadecimal digits. */
static int number_of(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return text[0] != '\0' && strspn(text, "0123456789.eE+-") == strlen(text) && *end == '\0' &&
           *value > 0.0 && *value <= 1e9;
}

static int factor_of(const tw_schedule_reader_t *reader, const char *text, double *factor)
{
    return number_of(text, factor)
               ? 0
               : bad(reader, "factor '%.40s' is not a number above 0, at most 1e9", text);
}

static int read_factor(const tw_schedule_reader_t *reader, char *text, tw_schedule_t *schedule)
{
    return factor_of(reader, text, &schedule->factor);
}

static int read_later(const tw_schedule_reader_t *reader, char *text, tw_schedule_t *schedule)
{
    return factor_of(reader, text, &schedule->later);
}

static int read_epoch(const tw_schedule_reader_t *reader, char *text, tw_schedule_t *schedule)
{
    const size_t n = schedule->steps;

    if (n == TW_SCHEDULE_STEPS) {
        return bad(reader, "more than %d epochs", TW_SCHEDULE_STEPS);
    }
    if (!number_of(text, &schedule->epoch[n])) {
        return bad(reader, "epoch '%.40s' is not a number above 0, at most 1e9", text);
    }
    if (n > 0 && schedule->epoch[n] <= schedule->epoch[n - 1]) {
        return bad(reader, "epoch %.40s does not come after %g", text, schedule->epoch[n - 1]);
    }
    schedule->steps++;
    return 0;
}

static int read_epochs(const tw_schedule_reader_t *reader, char *text, tw_schedule_t *schedule)
{
    int status = 0;

    for (char *comma; text != NULL && status == 0; text = comma) {
        comma = strchr(text, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        status = read_epoch(reader, text, schedule);
    }
    return status;
}

static int read_pieces(const tw_schedule_reader_t *reader, char *text, tw_schedule_t *schedule)
{
    double pieces;

    if (!number_of(text, &pieces) || pieces != floor(pieces) || pieces < 2.0 ||
        pieces > TW_SCHEDULE_PIECES) {
        return bad(reader, "'%.40s' is not a number of pieces, 2..%g", text, TW_SCHEDULE_PIECES);
    }
    schedule->steps = (size_t)pieces;
    return 0;
}

static const struct tw_schedule_form {
    const char        *name;
    const char        *form;
    tw_schedule_kind_t kind;
    int                fields, more; /* so many, or so many */
    int (*read[TW_SCHEDULE_FIELDS])(const tw_schedule_reader_t *reader, char *text,
                                    tw_schedule_t *schedule);
} forms[] = {
    {"constant", "constant", TW_SCHEDULE_CONSTANT, 0, 0, {NULL}},
    {"exp",
     "exp:FACTOR or exp:FACTOR:EPOCH:FACTOR, such as exp:0.99 or exp:0.99:60:0.85",
     TW_SCHEDULE_EXP,
     1,
     3,
     {read_factor, read_epoch, read_later}},
    {"steps",
     "steps:EPOCH,EPOCH,...:FACTOR, such as steps:25,37:0.1",
     TW_SCHEDULE_STEPS_AT,
     2,
     2,
     {read_epochs, read_factor}},
    {"dexp",
     "dexp:FACTOR:PIECES, such as dexp:250:4",
     TW_SCHEDULE_DEXP,
     2,
     2,
     {read_factor, read_pieces}},
    {"stairs",
     "stairs:EPOCHS:FACTOR, such as stairs:30:0.16",
     TW_SCHEDULE_STAIRS,
     2,
     2,
     {read_epoch, read_factor}},
};

static const struct tw_schedule_form *find_form(const char *name)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(name, forms[i].name) == 0) {
            return &forms[i];
        }
    }
    return NULL;
}

/* `text`, cut at its colons. Returns their number, field by field up to the most there can be. */
static int cut(char *text, char **field)
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

int tw_schedule_parse(const char *text, tw_schedule_t *schedule, tw_problem_t *problem)
{
    tw_schedule_reader_t reader = {text, "constant, exp:F[:E:F], steps:E,E:F, dexp:F:N, stairs:E:F",
                                   problem};
    const struct tw_schedule_form *form;
    tw_schedule_t                  read = {.factor = 1.0};
    char                           copy[TW_SCHEDULE_TEXT], *field[TW_SCHEDULE_FIELDS];
    int                            fields;

    if (strlen(text) >= sizeof(copy)) {
        return bad(&reader, "longer than %d characters", TW_SCHEDULE_TEXT - 1);
    }
    strcpy(copy, text[0] != '\0' ? text : "constant");
    fields = cut(copy, field);
    form   = find_form(copy);
    if (form == NULL) {
        return bad(&reader, "there is no '%.40s'", copy);
    }
    reader.form = form->form;
    if (fields != form->fields && fields != form->more) {
        return bad(&reader, "%d fields after the name, not %d", fields, form->fields);
    }
    read.kind = form->kind;
    for (int i = 0; i < fields; i++) {
        if (form->read[i](&reader, field[i], &read) != 0) {
            return -1;
        }
    }
    *schedule = read;
    return 0;
}

/* ---- the rate ------------------------------------------------------------------------------- */

static double steps_passed(const tw_schedule_t *schedule, double epoch)
{
    size_t passed = 0;

    while (passed < schedule->steps && schedule->epoch[passed] <= epoch) {
        passed++;
    }
    return (double)passed;
}

/* Whole epochs up to epoch[0], if there is one, have the first factor, those after it the later
 * one. */
static double exp_rate(const tw_schedule_t *schedule, double base, double epoch)
{
    const double passed = floor(epoch);
    const double first  = schedule->steps > 0 ? fmin(passed, floor(schedule->epoch[0])) : passed;
    const double rate   = base * pow(schedule->factor, first);

    return passed > first ? rate * pow(schedule->later, passed - first) : rate;
}

/* cuda-convnet2's "dexp": piece i of N, from 0, has base x factor^(-i / (N - 1)). */
static double dexp_rate(const tw_schedule_t *schedule, double base, double epoch, double epochs)
{
    const double last  = (double)schedule->steps - 1.0;
    const double piece = epochs > 0.0 ? floor(epoch * (double)schedule->steps / epochs) : 0.0;

    return piece < last ? base * pow(schedule->factor, -piece / last) : base / schedule->factor;
}

double tw_schedule_rate(const tw_schedule_t *schedule, double base, double epoch, double epochs)
{
    if (!(epoch > 0.0)) {
        epoch = 0.0;
    }
    switch (schedule->kind) {
    case TW_SCHEDULE_CONSTANT:
        break;
    case TW_SCHEDULE_EXP:
        return exp_rate(schedule, base, epoch);
    case TW_SCHEDULE_STEPS_AT:
        return base * pow(schedule->factor, steps_passed(schedule, epoch));
    case TW_SCHEDULE_DEXP:
        return dexp_rate(schedule, base, epoch, epochs);
    case TW_SCHEDULE_STAIRS:
        return base * pow(schedule->factor, floor(epoch / schedule->epoch[0]));
    }
    return base;
}
