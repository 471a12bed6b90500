/* SPDX-License-Identifier: BSD-3-Clause
 * model/network_values.c - the value of one key of a model file, checked and stored.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/codec.h>
#include <thinwire/context.h>

#include "train/model/network_keys.h"
#include "train/model/schedule.h"

int tw_reader_line(const config_setting_t *setting)
{
    const unsigned line = config_setting_source_line(setting);

    return line > 0 ? (int)line : 1;
}

int tw_network_wrong(const tw_network_t *net, size_t l, tw_problem_t *problem, const char *format,
                     ...)
{
    char    text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return tw_problem_set(problem, "%.100s:%d: layer '%s': %s", net->source, net->layer[l].line,
                          net->layer[l].name, text);
}

int tw_reader_wrong(const tw_reader_t *reader, const config_setting_t *setting, const char *format,
                    ...)
{
    char    text[480];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return tw_problem_set(reader->problem, "%.100s:%d: %s", reader->source, tw_reader_line(setting),
                          text);
}

static int is_integer(const config_setting_t *setting)
{
    return config_setting_type(setting) == CONFIG_TYPE_INT;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static int read_integer(const tw_reader_t *reader, const tw_key_t *key,
                        const config_setting_t *setting, size_t *value_p)
{
    const int value = is_integer(setting) ? config_setting_get_int(setting) : -1;

    if (!is_integer(setting) || value < (int)key->least || value > (int)key->most) {
        return tw_reader_wrong(reader, setting,
                               "%s: accepted are whole numbers from %.0f to %.0f%s", key->name,
                               key->least, key->most,
                               key->kind == TW_KEY_PAIR ? ", or two of them: [height, width]" : "");
    }
    *value_p = (size_t)value;
    return 0;
}

static int read_pair(const tw_reader_t *reader, const tw_key_t *key,
                     const config_setting_t *setting, size_t pair[2])
{
    if (config_setting_is_array(setting) && config_setting_length(setting) == 2 &&
        is_integer(config_setting_get_elem(setting, 0))) {
        const int high = config_setting_get_int_elem(setting, 0);
        const int wide = config_setting_get_int_elem(setting, 1);

        if (high >= (int)key->least && high <= (int)key->most && wide >= (int)key->least &&
            wide <= (int)key->most) {
            pair[0] = (size_t)high;
            pair[1] = (size_t)wide;
            return 0;
        }
    }
    if (read_integer(reader, key, setting, &pair[0]) != 0) {
        return -1;
    }
    pair[1] = pair[0];
    return 0;
}

static int read_real(const tw_reader_t *reader, const tw_key_t *key,
                     const config_setting_t *setting, double *value_p)
{
    double value = NAN;

    if (config_setting_type(setting) == CONFIG_TYPE_FLOAT) {
        value = config_setting_get_float(setting);
    } else if (is_integer(setting)) {
        value = config_setting_get_int(setting);
    }
    if (!(value >= key->least && value <= key->most)) {
        return tw_reader_wrong(reader, setting, "%s: accepted are numbers from %g to %g", key->name,
                               key->least, key->most);
    }
    *value_p = value;
    return 0;
}

static int read_flag(const tw_reader_t *reader, const tw_key_t *key,
                     const config_setting_t *setting, int *flag_p)
{
    if (config_setting_type(setting) != CONFIG_TYPE_BOOL) {
        return tw_reader_wrong(reader, setting, "%s: accepted are true and false", key->name);
    }
    *flag_p = config_setting_get_bool(setting) != 0;
    return 0;
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *text_of(const config_setting_t *setting)
{
    const char *text = config_setting_type(setting) == CONFIG_TYPE_STRING
                           ? config_setting_get_string(setting)
                           : NULL;

    return text != NULL ? text : "";
}

static int read_text(const tw_reader_t *reader, const tw_key_t *key,
                     const config_setting_t *setting, char *text)
{
    const char *value = text_of(setting);
    const int   word  = key->kind == TW_KEY_WORD;

    for (const char *c = value; *c != '\0'; c++) {
        if (word ? strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-",
                          *c) == NULL
                 : *c < ' ' || *c > '~') {
            value = "";
            break;
        }
    }
    if (*value == '\0' || strlen(value) >= key->room) {
        return tw_reader_wrong(
            reader, setting, "%s: accepted are 1 to %zu %s in quotes", key->name, key->room - 1,
            word ? "letters, digits, '.', '_' and '-'" : "printable ASCII characters");
    }
    memcpy(text, value, strlen(value) + 1);
    return 0;
}

static int read_choice(const tw_reader_t *reader, const tw_key_t *key,
                       const config_setting_t *setting, int *choice_p)
{
    const char *value = text_of(setting), *nearest;
    char        list[200], shown[48];
    size_t      n = 0;

    for (; key->choices[n] != NULL; n++) {
        if (strcmp(key->choices[n], value) == 0) {
            *choice_p = (int)n;
            return 0;
        }
    }
    nearest = tw_nearest(value, key->choices, n);
    return tw_reader_wrong(reader, setting, "%s '%s' is unknown%s%s; accepted are %s in quotes",
                           key->name, tw_shown(shown, sizeof(shown), value),
                           nearest != NULL ? ", nearest is " : "", nearest != NULL ? nearest : "",
                           tw_join(list, sizeof(list), key->choices, n));
}

static int read_layer(const tw_reader_t *reader, const tw_key_t *key,
                      const config_setting_t *setting, int *layer_p)
{
    const tw_network_t *net   = reader->net;
    const char         *value = text_of(setting);
    char                shown[48];

    if (strcmp(value, "image") == 0) {
        *layer_p = -1;
        return 0;
    }
    for (size_t l = 0; l < net->layers; l++) {
        if (strcmp(net->layer[l].name, value) == 0) {
            *layer_p = (int)l;
            return 0;
        }
    }
    return tw_reader_wrong(reader, setting,
                           "%s '%s' is no layer above this one; accepted are the names of these, "
                           "and \"image\"",
                           key->name, tw_shown(shown, sizeof(shown), value));
}

static int read_layers(const tw_reader_t *reader, const tw_key_t *key,
                       const config_setting_t *setting, int *layers)
{
    const int most = (int)(key->room / sizeof(int)), is_array = config_setting_is_array(setting),
              n = is_array ? config_setting_length(setting) : 1;

    if (n < 1 || n > most) {
        return tw_reader_wrong(reader, setting, "%s: accepted are 1 to %d layers: [\"NAME\", ...]",
                               key->name, most);
    }
    for (int i = 0; i < n; i++) {
        if (read_layer(reader, key,
                       is_array ? config_setting_get_elem(setting, (unsigned)i) : setting,
                       &layers[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- specs --------------------------------------------------------------------------------- */

static const struct {
    const char   *name;
    tw_init_how_t how;
    int           with; /* a number: 0 never, 1 if wanted (else 1.0), 2 always */
    double        least;
} inits[] = {
    {"zero", TW_INIT_ZERO, 0, 0.0},
    {"constant", TW_INIT_CONSTANT, 2, -1e6},
    {"gaussian", TW_INIT_GAUSSIAN, 2, 0.0},
    {"truncated", TW_INIT_TRUNCATED, 2, 0.0},
    {"glorot", TW_INIT_UNIFORM_GLOROT, 1, 0.0},
    {"he", TW_INIT_GAUSSIAN_HE, 1, 0.0},
};

static int read_init(const tw_reader_t *reader, const tw_key_t *key,
                     const config_setting_t *setting, tw_init_t *init)
{
    const char  *value  = text_of(setting);
    const size_t length = strcspn(value, ":");
    char         shown[48];

    for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]); i++) {
        const int number = value[length] == ':';
        char     *end    = NULL;
        double    x      = 1.0;

        if (strlen(inits[i].name) != length || strncmp(inits[i].name, value, length) != 0 ||
            (number ? inits[i].with == 0 : inits[i].with == 2)) {
            continue;
        }
        if (number) {
            x = strtod(value + length + 1, &end);
        }
        if (!number ||
            (end != value + length + 1 && *end == '\0' && x >= inits[i].least && x <= 1e6)) {
            *init = (tw_init_t){inits[i].how, inits[i].how == TW_INIT_ZERO ? 0.0f : (float)x};
            return 0;
        }
    }
    return tw_reader_wrong(
        reader, setting,
        "%s '%s': accepted are \"zero\", \"constant:VALUE\", \"gaussian:DEVIATION\", "
        "\"truncated:DEVIATION\", \"glorot[:FACTOR]\" and \"he[:FACTOR]\"",
        key->name, tw_shown(shown, sizeof(shown), value));
}

static int read_schedule(const tw_reader_t *reader, const tw_key_t *key,
                         const config_setting_t *setting, char *text)
{
    const char   *value = text_of(setting);
    tw_problem_t  why   = {0};
    tw_schedule_t schedule;

    if (config_setting_type(setting) != CONFIG_TYPE_STRING || strlen(value) >= key->room) {
        return tw_reader_wrong(reader, setting, "%s: accepted are up to %zu characters in quotes",
                               key->name, key->room - 1);
    }
    if (tw_schedule_parse(value, &schedule, &why) != 0) {
        char shown[300];

        return tw_reader_wrong(reader, setting, "%s", tw_shown(shown, sizeof(shown), why.text));
    }
    memcpy(text, value, strlen(value) + 1);
    return 0;
}

static int read_codec(const tw_reader_t *reader, const tw_key_t *key,
                      const config_setting_t *setting, char *text)
{
    tw_context_t *ctx   = NULL;
    tw_codec_t   *codec = NULL;
    tw_status_t   status;
    char          why[300] = "", shown[300];

    if (read_text(reader, key, setting, text) != 0) {
        return -1;
    }
    if (tw_context_create(&ctx) != TW_OK) {
        return tw_problem_set(reader->problem, "thinwire does not start; see above");
    }
    status = tw_codec_create(ctx, text, TW_F32, &codec, why, sizeof(why));
    tw_codec_destroy(codec);
    tw_context_destroy(ctx);
    return status == TW_OK
               ? 0
               : tw_reader_wrong(reader, setting, "%s", tw_shown(shown, sizeof(shown), why));
}

/* ---- all ----------------------------------------------------------------------------------- */

int tw_key_read(const tw_reader_t *reader, const tw_key_t *key, const config_setting_t *setting,
                void *record)
{
    void  *field = record != NULL ? (char *)record + key->offset : NULL; /* NULL: sections only */
    size_t count;
    double real;

    switch (key->kind) {
    case TW_KEY_SECTION:
        return 0;
    case TW_KEY_TEXT:
    case TW_KEY_WORD:
        return read_text(reader, key, setting, field);
    case TW_KEY_CODEC:
        return read_codec(reader, key, setting, field);
    case TW_KEY_SCHEDULE:
        return read_schedule(reader, key, setting, field);
    case TW_KEY_SIZE:
        return read_integer(reader, key, setting, field);
    case TW_KEY_COUNT:
        if (read_integer(reader, key, setting, &count) != 0) {
            return -1;
        }
        *(uint64_t *)field = count;
        return 0;
    case TW_KEY_PAIR:
        return read_pair(reader, key, setting, field);
    case TW_KEY_FLAG:
        return read_flag(reader, key, setting, field);
    case TW_KEY_FLOAT:
        if (read_real(reader, key, setting, &real) != 0) {
            return -1;
        }
        *(float *)field = (float)real;
        return 0;
    case TW_KEY_DOUBLE:
        return read_real(reader, key, setting, field);
    case TW_KEY_CHOICE:
        return read_choice(reader, key, setting, field);
    case TW_KEY_INIT:
        return read_init(reader, key, setting, field);
    case TW_KEY_LAYER:
        return read_layer(reader, key, setting, field);
    case TW_KEY_LAYERS:
        return read_layers(reader, key, setting, field);
    }
    return -1;
}
