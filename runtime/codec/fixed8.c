/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fixed8.c - see fixed8.h.
 */
#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/fixed8.h"
#include "runtime/codec/levels.h"
#include "runtime/codec/values.h"

#define FIELDS   128
#define NAN_CODE 0x80u

static const char *const offsets[] = {"1", "10", "100", "1000", "10000"};

tw_status_t tw_fixed8_option(tw_codec_t *codec, const char *key, const char *value,
                             const tw_spec_why_t *why)
{
    if (strcmp(key, "offset") != 0) {
        return tw_codec_no_option(codec, key, value, why);
    }
    for (int i = 0; i < (int)(sizeof(offsets) / sizeof(offsets[0])); i++) {
        if (value != NULL && strcmp(value, offsets[i]) == 0) {
            ((tw_fixed8_t *)codec->state)->offset = offsets[i];
            return TW_OK;
        }
    }
    tw_why_set(why, "codec %s: offset=%s is not accepted; offset takes 1, 10, 100, 1000 or 10000",
               codec->ops->name, value != NULL ? value : "");
    return TW_ERR_SPEC;
}

static float fixed8_magnitude(uint32_t field, tw_fixed8_fn_t v, int decades)
{
    tw_fixed8_v_t d = v(field & 15);

    if (field == 0 || d.number == 0) {
        return 0.0f;
    }
    d.decimals += 7 - (int)(field >> 4) - decades;
    for (; d.decimals < 0; d.decimals++) {
        d.number *= 10;
    }
    return tw_levels_decimal(d.number, d.decimals);
}

/* The distinct magnitudes in ascending order, each with its lowest field. Returns how many. */
static int fixed8_sort(const float *of_field, float *magnitude, uint8_t *code)
{
    int count = 0;

    for (uint32_t field = 0; field < FIELDS; field++) {
        int at = count;

        while (at > 0 && magnitude[at - 1] > of_field[field]) {
            at--;
        }
        if (at > 0 && magnitude[at - 1] == of_field[field]) {
            continue;
        }
        memmove(magnitude + at + 1, magnitude + at, (size_t)(count - at) * sizeof(*magnitude));
        memmove(code + at + 1, code + at, (size_t)(count - at));
        magnitude[at] = of_field[field];
        code[at]      = (uint8_t)field;
        count++;
    }
    return count;
}

tw_status_t tw_fixed8_finish(tw_codec_t *codec, tw_fixed8_fn_t v, const tw_spec_why_t *why)
{
    tw_fixed8_t *fixed8 = codec->state;
    float        of_field[FIELDS], magnitude[FIELDS + 1];
    uint8_t      code[FIELDS + 1];
    tw_levels_t *levels;
    int          count;
    bool         fits;

    levels = malloc(sizeof(*levels));
    if (levels == NULL) {
        tw_why_set(why, "%s", "out of memory");
        return TW_ERR_NO_MEMORY;
    }
    codec->table           = levels;
    fixed8->offset         = fixed8->offset != NULL ? fixed8->offset : offsets[1];
    codec->block           = 1;
    codec->bytes_per_value = 1.0;
    codec->bound           = INFINITY; /* saturates */
    codec->finer           = "int:12";
    codec->cuda            = TW_CUDA_FIXED8;
    for (uint32_t field = 0; field < FIELDS; field++) {
        of_field[field] = fixed8_magnitude(field, v, (int)strlen(fixed8->offset) - 1);
    }
    count = fixed8_sort(of_field, magnitude, code);
    fits  = tw_levels_build(levels, magnitude, code, count);
    assert(fits);
    (void)fits;
    for (uint32_t field = 0; field < FIELDS; field++) { /* duplicates decode too */
        levels->value[field]            = of_field[field];
        levels->value[field | NAN_CODE] = -of_field[field];
    }
    levels->value[NAN_CODE] = tw_bits_float(0x7fc00000u);
    snprintf(codec->spec, sizeof(codec->spec), "%s:offset=%s", codec->ops->name, fixed8->offset);
    return TW_OK;
}

static void fixed8_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                          bool stream)
{
    const tw_levels_t *levels = codec->table;

    (void)stream;
    for (size_t i = 0; i < n; i++) {
        uint32_t x, size, code;

        memcpy(&x, src + 4 * i, 4);
        size   = x & 0x7fffffffu;
        code   = levels->code[tw_levels_rank(levels, size)];
        code   = code != 0 ? code | (x >> 24 & 0x80u) : 0;
        dst[i] = (uint8_t)(size < 0x7f800000u ? code : NAN_CODE);
    }
}

static void fixed8_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                          bool stream)
{
    const tw_levels_t *levels = codec->table;

    (void)stream;
    for (size_t i = 0; i < n; i++) {
        memcpy(dst + 4 * i, &levels->value[src[i]], 4);
    }
}

const tw_kernels_t tw_fixed8_scalar = {TW_VALUES_VERBS_OF(fixed8)};
