/* SPDX-License-Identifier: BSD-3-Clause
 * codec/settings.c - the table.
 */
#include "config.h"

#include "runtime/codec/settings.h"

static const char *const tw_codec_cpus[] = {"auto", "scalar", "avx2", "avx512",
                                            "neon", "vsx",    NULL};

static const tw_setting_field_t tw_codec_fields[] = {
    {"CPU", "auto", "Highest instruction set that codec kernels may use.",
     offsetof(tw_codec_config_t, cpu), TW_SETTING_CHOICE, 0, 0, tw_codec_cpus, true},
    {"OMP_THRESHOLD", "1M", "Bytes of elements from which a codec call uses several threads.",
     offsetof(tw_codec_config_t, omp_threshold), TW_SETTING_MEMUNITS, 0, 0, NULL, true},
    {"STREAM_THRESHOLD", "0",
     "Bytes read and written in a codec call from which kernels may write past the caches; 0 for "
     "3/4 of "
     "the last cache, at most 32 MiB.",
     offsetof(tw_codec_config_t, stream), TW_SETTING_MEMUNITS, 0, 0, NULL, true},
};

const tw_setting_table_t tw_codec_settings = {"codec", tw_codec_fields,
                                              sizeof(tw_codec_fields) / sizeof(tw_codec_fields[0])};
