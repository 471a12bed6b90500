/* SPDX-License-Identifier: BSD-3-Clause
 * codec/auto.c - `auto[:max_error]`: no codec, but the wish for the fastest one. A collective
 * replaces it by what it decides (transport/auto); by itself it can encode nothing.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/text.h"
#include "runtime/codec/auto.h"
#include "runtime/codec/values.h"

/* Of a codec: its option. */
typedef struct tw_auto_wish {
    double error;
    bool   set;
} tw_auto_wish_t;

static tw_status_t auto_option(tw_codec_t *codec, const char *key, const char *value,
                               const tw_spec_why_t *why)
{
    tw_auto_wish_t *wish = codec->state;

    if (value != NULL || wish->set || !tw_text_number(key, &wish->error) ||
        !(wish->error >= 0.0 && wish->error <= TW_AUTO_ERROR_MAX)) {
        tw_why_set(why, "codec auto: max_error '%s' is not accepted; auto:X takes a number, 0..%d",
                   key, TW_AUTO_ERROR_MAX);
        return TW_ERR_SPEC;
    }
    wish->set = true;
    return TW_OK;
}

static tw_status_t auto_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    tw_auto_wish_t *wish = codec->state;

    (void)why;
    if (!wish->set) {
        wish->error = TW_AUTO_ERROR;
    }
    codec->block           = 1;
    codec->bytes_per_value = (double)codec->element;
    codec->bound           = wish->error;
    snprintf(codec->spec, sizeof(codec->spec), "auto:%.9g", wish->error);
    return TW_OK;
}

const tw_codec_ops_t tw_codec_auto_ops = {
    .name   = "auto",
    .form   = "auto[:max_error]",
    .types  = ~0u,
    .help   = "in collectives: the fastest codec with at most this error, or none",
    .id     = 255,
    .state  = sizeof(tw_auto_wish_t),
    .option = auto_option,
    .finish = auto_finish,
    .size   = tw_values_size,
};

bool tw_codec_auto(const tw_codec_t *codec, double *max_error_p)
{
    if (codec->ops != &tw_codec_auto_ops) {
        return false;
    }
    *max_error_p = codec->bound;
    return true;
}
