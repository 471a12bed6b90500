/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/extra/complement.c - a codec for tests only, made by the steps of CONTRIBUTING.md:
 * the complement of an element's bits, little-endian, as many bytes as it has; `complement:top`
 * keeps the sign bit as it is. Every bit pattern survives. It has no kernels but the scalar ones,
 * none for devices, and offers itself to nobody.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

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

    (void)why;
    codec->block           = 1;
    codec->bytes_per_value = (double)codec->element;
    codec->bound           = 0.0;
    codec->lossless        = true;
    snprintf(codec->spec, sizeof(codec->spec), "complement%s", complement->top ? ":top" : "");
    return TW_OK;
}

/* Byte b of an element's code, little-endian; `sign`: it has the sign bit. */
static uint8_t complement_of(const tw_codec_t *codec, uint8_t byte, bool sign)
{
    const complement_t *complement = codec->state;

    return byte ^ (complement->top && sign ? 0x7f : 0xff);
}

/* Where byte b of the code is in the element. */
static size_t complement_place(size_t b, size_t bytes)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? b : bytes - 1 - b;
}

static void complement_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                              bool stream)
{
    const size_t bytes = codec->element;

    (void)stream;
    for (size_t i = 0; i < n * bytes; i += bytes) {
        for (size_t b = 0; b < bytes; b++) {
            dst[i + b] = complement_of(codec, src[i + complement_place(b, bytes)], b + 1 == bytes);
        }
    }
}

static void complement_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                              bool stream)
{
    const size_t bytes = codec->element;

    (void)stream;
    for (size_t i = 0; i < n * bytes; i += bytes) {
        for (size_t b = 0; b < bytes; b++) {
            dst[i + complement_place(b, bytes)] = complement_of(codec, src[i + b], b + 1 == bytes);
        }
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
