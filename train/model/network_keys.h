/* SPDX-License-Identifier: BSD-3-Clause
 * model/network_keys.h - the keys of model files: typed tables, one per section.
 */
#ifndef TW_MODEL_NETWORK_KEYS_H
#define TW_MODEL_NETWORK_KEYS_H

#include <libconfig.h>

#include "train/model/network_file.h"

typedef enum tw_key_kind {
    TW_KEY_SECTION, /* a group or list, read by a separate function           */
    TW_KEY_TEXT,    /* char[room], printable                                  */
    TW_KEY_WORD,    /* char[room], letters, digits, '.', '_' and '-'          */
    TW_KEY_CODEC,   /* char[room], a codec's spec                             */
    TW_KEY_SCHEDULE,
    TW_KEY_SIZE,  /* size_t                                                 */
    TW_KEY_COUNT, /* uint64_t                                               */
    TW_KEY_PAIR,  /* size_t[2]: one number for both, or [height, width]     */
    TW_KEY_FLAG,  /* int                                                    */
    TW_KEY_FLOAT,
    TW_KEY_DOUBLE,
    TW_KEY_CHOICE, /* an enum: index in choices                              */
    TW_KEY_INIT,   /* tw_init_t                                              */
    TW_KEY_LAYER,  /* int: name of a layer above, or "image" (-1)            */
    TW_KEY_LAYERS  /* int[room / sizeof(int)]: one or more of them, the rest -2 */
} tw_key_kind_t;

typedef struct tw_key {
    const char        *name;
    tw_key_kind_t      kind;
    size_t             offset; /* in the section's record */
    size_t             room;   /* of text                 */
    double             least, most;
    const char *const *choices; /* NULL-terminated */
    unsigned           kinds;   /* layers: bits of the kinds that have the key; else 1 */
    unsigned           needed;  /* bits of the kinds that require it                   */
} tw_key_t;

typedef struct tw_keys {
    const char     *section;
    const tw_key_t *key;
    size_t          n;
} tw_keys_t;

extern const tw_keys_t tw_keys_file, tw_keys_input, tw_keys_training, tw_keys_defaults;
extern const tw_keys_t tw_keys_layer; /* kinds.c */

/* State of the reader of one text. */
typedef struct tw_reader {
    tw_network_t *net; /* its layers [0, layers) are read */
    const char   *source;
    tw_problem_t *problem;
} tw_reader_t;

/** Set the problem "SOURCE:LINE: ...". @return -1 */
int tw_reader_wrong(const tw_reader_t *reader, const config_setting_t *setting, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

/** Line of a setting, at least 1. */
int tw_reader_line(const config_setting_t *setting);

/** Read the members of a group into a record by a table.
 * @param who    for messages: "a conv layer", "training"
 * @param kind   bit that a key's kinds must have
 * @param seen   bits of the keys found are added
 * @return 0, or -1 with the problem set. */
int tw_keys_read(const tw_reader_t *reader, const tw_keys_t *keys, const char *who, unsigned kind,
                 const config_setting_t *group, void *record, uint64_t *seen);

/** Check that all needed keys were seen; messages give the line of setting. @return 0, or -1 */
int tw_keys_complete(const tw_reader_t *reader, const tw_keys_t *keys, const char *who,
                     unsigned kind, const config_setting_t *setting, uint64_t seen);

/** Value of one setting. @return 0, or -1 with the problem set. */
int tw_key_read(const tw_reader_t *reader, const tw_key_t *key, const config_setting_t *setting,
                void *record);

#endif /* TW_MODEL_NETWORK_KEYS_H */
