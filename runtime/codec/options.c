/* SPDX-License-Identifier: BSD-3-Clause
 * codec/options.c - what codecs say of options, and the option that several of them have.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/text.h"
#include "runtime/codec/ops.h"

#define TW_BLOCK_STEP 64
#define TW_BLOCK_MAX  1048576

void tw_why_set(const tw_spec_why_t *why, const char *format, ...)
{
    va_list args;

    if (why->text == NULL || why->size == 0) {
        return;
    }
    va_start(args, format);
    vsnprintf(why->text, why->size, format, args);
    va_end(args);
    for (char *c = why->text; *c != '\0'; c++) { /* one line, whatever a spec holds */
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
    }
}

tw_status_t tw_codec_no_option(tw_codec_t *codec, const char *key, const char *value,
                               const tw_spec_why_t *why)
{
    (void)value;
    tw_why_set(why, "codec %s has no option '%s'; accepted: %s", codec->ops->name, key,
               codec->ops->form);
    return TW_ERR_SPEC;
}

tw_status_t tw_codec_option_block(tw_codec_t *codec, const char *value, const tw_spec_why_t *why)
{
    uint64_t block;

    if (value == NULL || !tw_text_whole(value, TW_BLOCK_STEP, TW_BLOCK_MAX, &block) ||
        block % TW_BLOCK_STEP != 0) {
        tw_why_set(why,
                   "codec %s: block=%s is not accepted; block=N takes a multiple of %d, %d..%d",
                   codec->ops->name, value != NULL ? value : "", TW_BLOCK_STEP, TW_BLOCK_STEP,
                   TW_BLOCK_MAX);
        return TW_ERR_SPEC;
    }
    codec->block = (size_t)block;
    return TW_OK;
}
