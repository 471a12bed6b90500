/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/specs.c - see specs.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/scheduler/specs.h"

/* Takes the codec. */
static tw_status_t tw_specs_add(tw_specs_t *specs, tw_codec_t *codec)
{
    tw_codec_t **all = realloc(specs->codec, (specs->count + 1) * sizeof(tw_codec_t *));

    if (all == NULL) {
        tw_codec_destroy(codec);
        return TW_ERR_NO_MEMORY;
    }
    specs->codec                 = all;
    specs->codec[specs->count++] = codec;
    return TW_OK;
}

const tw_codec_t *tw_specs_find(const tw_specs_t *specs, const char *spec)
{
    for (size_t i = 0; i < specs->count; i++) {
        if (strcmp(tw_codec_spec(specs->codec[i]), spec) == 0) {
            return specs->codec[i];
        }
    }
    return NULL;
}

tw_status_t tw_specs_codec(tw_specs_t *specs, tw_comm_t *comm, const char *what, const char *name,
                           const char *spec, const tw_codec_t **codec_p)
{
    char        why[200];
    tw_codec_t *codec;
    tw_status_t status =
        tw_codec_create(tw_comm_context(comm), spec, specs->dtype, &codec, why, sizeof(why));

    if (status != TW_OK) {
        TW_ERROR(tw_comm_log(comm), "%s '%s': %s", what, name, why);
        return status;
    }
    *codec_p = tw_specs_find(specs, tw_codec_spec(codec));
    if (*codec_p != NULL) {
        tw_codec_destroy(codec);
        return TW_OK;
    }
    status = tw_specs_add(specs, codec);
    if (status == TW_OK) {
        *codec_p = codec;
    }
    return status;
}

void tw_specs_shorten(tw_specs_t *specs, size_t count)
{
    while (specs->count > count) {
        tw_codec_destroy(specs->codec[--specs->count]);
    }
}

void tw_specs_destroy(tw_specs_t *specs)
{
    tw_specs_shorten(specs, 0);
    free(specs->codec);
}

tw_dtype_t tw_codec_dtype_of(const tw_codec_t *codec)
{
    tw_codec_traits_t traits = {.dtype = TW_F32};

    if (codec != NULL) {
        tw_codec_traits(codec, &traits);
    }
    return traits.dtype;
}

tw_status_t tw_codec_check_f32(const tw_comm_t *comm, const char *who, const tw_codec_t *codec)
{
    if (tw_codec_dtype_of(codec) == TW_F32) {
        return TW_OK;
    }
    TW_ERROR(tw_comm_log(comm), "%s: codec %s is not of float32", who, tw_codec_spec(codec));
    return TW_ERR_UNSUPPORTED;
}

const char *tw_codec_spec_of(const tw_codec_t *codec)
{
    return codec != NULL ? tw_codec_spec(codec) : "fp32";
}

bool tw_codec_lossy(const tw_codec_t *codec)
{
    tw_codec_traits_t traits = {.lossless = 1};

    return codec != NULL && tw_codec_traits(codec, &traits) == TW_OK && !traits.lossless;
}
