/* SPDX-License-Identifier: BSD-3-Clause
 * model/network_keys.c - see network_keys.h; thinwire-model(5) describes every key.
 */
#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "train/model/network_keys.h"

/* ---- tables -------------------------------------------------------------------------------- */

static const char *const losses[]     = {"softmax", "logistic", NULL};
static const char *const optimizers[] = {"sgd", "rmsprop", NULL};

#define AT(field)         offsetof(tw_network_t, field)
#define ROOM(type, field) sizeof(((type *)NULL)->field)
#define NET(field)        AT(field), ROOM(tw_network_t, field)

static const tw_key_t file_keys[] = {
    {"name", TW_KEY_WORD, NET(name), 0, 0, NULL, 1, 0},
    {"help", TW_KEY_TEXT, NET(help), 0, 0, NULL, 1, 0},
    {"input", TW_KEY_SECTION, 0, 0, 0, 0, NULL, 1, 1},
    {"classes", TW_KEY_SIZE, NET(classes), 2, 1048576, NULL, 1, 1},
    {"loss", TW_KEY_CHOICE, NET(loss), 0, 0, losses, 1, 0},
    {"training", TW_KEY_SECTION, 0, 0, 0, 0, NULL, 1, 0},
    {"defaults", TW_KEY_SECTION, 0, 0, 0, 0, NULL, 1, 0},
    {"layers", TW_KEY_SECTION, 0, 0, 0, 0, NULL, 1, 1},
};

static const tw_key_t input_keys[] = {
    {"channels", TW_KEY_SIZE, NET(input.c), 1, 1024, NULL, 1, 1},
    {"height", TW_KEY_SIZE, NET(input.h), 1, 16384, NULL, 1, 1},
    {"width", TW_KEY_SIZE, NET(input.w), 1, 16384, NULL, 1, 1},
    {"mean", TW_KEY_FLOAT, NET(mean), 0, 255, NULL, 1, 0},
    {"scale", TW_KEY_FLOAT, NET(scale), 1e-6, 1e6, NULL, 1, 0},
    {"crop_pad", TW_KEY_SIZE, NET(crop_pad), 0, 1024, NULL, 1, 0},
    {"mirror", TW_KEY_FLAG, NET(mirror), 0, 0, NULL, 1, 0},
    {"augment", TW_KEY_TEXT, NET(augment), 0, 0, NULL, 1, 0},
    {"augment_test", TW_KEY_TEXT, NET(augment_test), 0, 0, NULL, 1, 0},
};

static const tw_key_t training_keys[] = {
    {"optimizer", TW_KEY_CHOICE, NET(optimizer), 0, 0, optimizers, 1, 0},
    {"rate", TW_KEY_DOUBLE, NET(rate), TW_RATE_LEAST, TW_RATE_MOST, NULL, 1, 0},
    {"momentum", TW_KEY_DOUBLE, NET(momentum), 0, 0.999999, NULL, 1, 0},
    {"decay", TW_KEY_DOUBLE, NET(decay), 0, 1, NULL, 1, 0},
    {"rms_decay", TW_KEY_DOUBLE, NET(rms_decay), 0, 0.999999, NULL, 1, 0},
    {"max_norm", TW_KEY_DOUBLE, NET(max_norm), 0, 1e9, NULL, 1, 0},
    {"batch", TW_KEY_COUNT, NET(batch), 1, 1000000, NULL, 1, 0},
    {"epochs", TW_KEY_COUNT, NET(epochs), 1, 1000000, NULL, 1, 0},
    {"schedule", TW_KEY_SCHEDULE, NET(schedule), 0, 0, NULL, 1, 0},
    {"dropout_schedule", TW_KEY_SCHEDULE, NET(dropout_schedule), 0, 0, NULL, 1, 0},
};

#define TW_KIND(kind, name) {#name, TW_KEY_SECTION, 0, 0, 0, 0, NULL, 1, 0},
static const tw_key_t defaults_keys[] = {TW_KINDS(TW_KIND)};
#undef TW_KIND

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const tw_keys_t tw_keys_file     = {"file", file_keys, COUNT(file_keys)};
const tw_keys_t tw_keys_input    = {"input", input_keys, COUNT(input_keys)};
const tw_keys_t tw_keys_training = {"training", training_keys, COUNT(training_keys)};
const tw_keys_t tw_keys_defaults = {"defaults", defaults_keys, COUNT(defaults_keys)};

_Static_assert(sizeof(tw_loss_t) == sizeof(int), "choices are stored as int");

/* ---- sections ------------------------------------------------------------------------------ */

static int unknown_key(const tw_reader_t *reader, const tw_keys_t *keys, const char *who,
                       unsigned kind, const config_setting_t *setting)
{
    const char *names[64], *nearest;
    char        list[400], shown[48];
    size_t      n = 0;

    for (size_t i = 0; i < keys->n; i++) {
        if (keys->key[i].kinds & kind) {
            names[n++] = keys->key[i].name;
        }
    }
    nearest = tw_nearest(config_setting_name(setting), names, n);
    return tw_reader_wrong(reader, setting, "%s has no '%s'%s%s; accepted are %s", who,
                           tw_shown(shown, sizeof(shown), config_setting_name(setting)),
                           nearest != NULL ? ", nearest is " : "", nearest != NULL ? nearest : "",
                           tw_join(list, sizeof(list), names, n));
}

static size_t find_key(const tw_keys_t *keys, unsigned kind, const char *name)
{
    for (size_t i = 0; i < keys->n; i++) {
        if ((keys->key[i].kinds & kind) && strcmp(keys->key[i].name, name) == 0) {
            return i;
        }
    }
    return keys->n;
}

int tw_keys_read(const tw_reader_t *reader, const tw_keys_t *keys, const char *who, unsigned kind,
                 const config_setting_t *group, void *record, uint64_t *seen)
{
    for (int m = 0; m < config_setting_length(group); m++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)m);
        const size_t            i       = find_key(keys, kind, config_setting_name(setting));

        if (i == keys->n) {
            return unknown_key(reader, keys, who, kind, setting);
        }
        if (tw_key_read(reader, &keys->key[i], setting, record) != 0) {
            return -1;
        }
        *seen |= (uint64_t)1 << i;
    }
    return 0;
}

int tw_keys_complete(const tw_reader_t *reader, const tw_keys_t *keys, const char *who,
                     unsigned kind, const config_setting_t *setting, uint64_t seen)
{
    for (size_t i = 0; i < keys->n; i++) {
        if ((keys->key[i].needed & kind) && !(seen >> i & 1)) {
            return tw_reader_wrong(reader, setting, "%s needs '%s'", who, keys->key[i].name);
        }
    }
    return 0;
}
