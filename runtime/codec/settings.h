/* SPDX-License-Identifier: BSD-3-Clause
 * codec/settings.h - the settings of the codecs.
 */
#ifndef TW_CODEC_SETTINGS_H
#define TW_CODEC_SETTINGS_H

#include "runtime/base/settings.h"

typedef struct tw_codec_config {
    int    cpu;           /* 0 auto, else 1 + tw_cpu_level_id_t                        */
    size_t omp_threshold; /* bytes of elements from which a call uses several threads  */
    size_t stream; /* bytes read and written from which stores pass the cache; 0: 3/4 of it */
} tw_codec_config_t;

extern const tw_setting_table_t tw_codec_settings;

#endif /* TW_CODEC_SETTINGS_H */
