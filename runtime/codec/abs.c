/* SPDX-License-Identifier: BSD-3-Clause
 * codec/abs.c - `abs:E`: no codec, but the wish for results within E of the exact ones. A
 * collective replaces it (transport/auto/abs.h); by itself it can encode nothing.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "runtime/base/text.h"
#include "runtime/codec/abs.h"
#include "runtime/codec/int/int.h"
#include "runtime/codec/values.h"

/* Steps for up to 2^24 ranks are those of a grid. */
#define TW_ABS_LEAST(dtype) ((dtype) == TW_F64 ? 1e-280 : 1e-28)
#define TW_ABS_MOST(dtype)  ((dtype) == TW_F64 ? 1e280 : 1e28)

static tw_status_t abs_option(tw_codec_t *codec, const char *key, const char *value,
                              const tw_spec_why_t *why)
{
    const double least = TW_ABS_LEAST(codec->dtype), most = TW_ABS_MOST(codec->dtype);
    double      *error = codec->state;

    if (value != NULL || *error > 0.0 || !tw_text_number(key, error) ||
        !(*error >= least && *error <= most)) {
        tw_why_set(why, "codec abs: E '%s' is not accepted; abs:E takes one number, %g..%g for %s",
                   key, least, most, codec->dtype == TW_F64 ? "double" : "float32");
        return TW_ERR_SPEC;
    }
    return TW_OK;
}

static tw_status_t abs_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    const double error = *(const double *)codec->state;

    if (!(error > 0.0)) {
        tw_why_set(why, "codec abs: E, the largest error of a value, is missing; accepted: %s",
                   codec->ops->form);
        return TW_ERR_SPEC;
    }
    codec->block           = 1;
    codec->bytes_per_value = (double)codec->element;
    codec->bound           = INFINITY; /* not relative to any value */
    snprintf(codec->spec, sizeof(codec->spec), "abs:%.9g", error);
    return TW_OK;
}

const tw_codec_ops_t tw_codec_abs_ops = {
    .name   = "abs",
    .form   = "abs:E",
    .types  = TW_TYPE(TW_F32) | TW_TYPE(TW_F64),
    .help   = "in blocking collectives: results within E of the exact ones, in every call",
    .id     = 254,
    .state  = sizeof(double),
    .option = abs_option,
    .finish = abs_finish,
    .size   = tw_values_size,
};

const tw_codec_ops_t *const tw_codec_wishes[] = {&tw_codec_auto_ops, &tw_codec_abs_ops, NULL};

bool tw_codec_abs(const tw_codec_t *codec, double *error_p)
{
    if (codec->ops != &tw_codec_abs_ops) {
        return false;
    }
    *error_p = *(const double *)codec->state;
    return true;
}

double tw_codec_largest(const tw_codec_t *codec, const void *values, size_t n)
{
    double largest = 0.0;

    if (n > 0 && codec->dtype == TW_F64) {
        largest = tw_bits_double(tw_int_most_f64(values, NULL, n));
    } else if (n > 0) {
        largest = (double)tw_bits_float(tw_absmax(codec->cpu, values, n));
    }
    return isfinite(largest) ? largest : INFINITY;
}
