/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/extra/complement.c - a codec for tests only, made by the steps of CONTRIBUTING.md: the complement of
 * a float32's bits, little-endian, 4 bytes a value; `complement:top` keeps the sign bit as it is. Every bit pattern
 * survives. It has no kernels but the scalar ones, none for devices, and offers itself to nobody.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/values.h"

extern const tw_codec_ops_t tw_codec_complement;

typedef struct complement {
    bool top;
} complement_t;

static tw_status_t complement_option(tw_codec_t *codec, const char *key, const char *value,
                                     const tw_spec_why_t *why)
{
    complement_t *complement = codec->state;

    if (value != NULL || strcmp(key, "top") != 0) {
        return tw_codec_no_option(codec, key, value, why);
    }
    complement->top = true;
    return TW_OK;
}

static tw_status_t complement_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    const complement_t *complement = codec->state;

    if (codec->dtype != TW_F32) {
        return tw_codec_only_f32(codec, why);
    }
    codec->block           = 1;
    codec->bytes_per_value = 4.0;
    codec->bound           = 0.0;
    codec->lossless        = true;
    snprintf(codec->spec, sizeof(codec->spec), "complement%s", complement->top ? ":top" : "");
    return TW_OK;
}

/* Its own inverse. */
static uint32_t complement_of(const tw_codec_t *codec, uint32_t u)
{
    const complement_t *complement = codec->state;

    return u ^ (complement->top ? 0x7fffffffu : 0xffffffffu);
}

static void complement_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                              bool stream)
{
    (void)stream;
    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, src + 4 * i, 4);
        tw_store_le32(dst + 4 * i, complement_of(codec, u));
    }
}

static void complement_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                              bool stream)
{
    (void)stream;
    for (size_t i = 0; i < n; i++) {
        const uint32_t u = complement_of(codec, tw_load_le32(src + 4 * i));

        memcpy(dst + 4 * i, &u, 4);
    }
}

static const tw_kernels_t complement_scalar = {
    .encode          = complement_encode,
    .decode          = complement_decode,
    .decode_add      = tw_values_decode_add,
    .encode_feedback = tw_values_encode_feedback,
};

const tw_codec_ops_t tw_codec_complement = {
    .name    = "complement",
    .form    = "complement[:top]",
    .help    = "the complement of float32's bits; for tests",
    .id      = 10,
    .state   = sizeof(complement_t),
    .option  = complement_option,
    .finish  = complement_finish,
    .size    = tw_values_size,
    .kernels = {[TW_CPU_SCALAR] = &complement_scalar},
};
