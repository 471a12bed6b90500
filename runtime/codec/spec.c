/* SPDX-License-Identifier: BSD-3-Clause
 * codec/spec.c - from "tree8:block=512,split=0.55" to a codec, and lists of specs.
 * Grammar: name [ ":" option { "," option } ]; option: word [ "=" value ].
 */
#include "config.h"

#include <assert.h>
#include <fenv.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/context.h"
#include "runtime/base/fpmode.h"
#include "runtime/base/threads.h"
#include "runtime/codec/narrow.h"
#include "runtime/codec/settings.h"

static const tw_codec_ops_t *tw_codec_find_in(const tw_codec_ops_t *const *list, const char *name,
                                              size_t length)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        if (strlen(list[i]->name) == length && strncmp(list[i]->name, name, length) == 0) {
            return list[i];
        }
    }
    return NULL;
}

static const tw_codec_ops_t *tw_codec_find(const char *name, size_t length)
{
    const tw_codec_ops_t *found = tw_codec_find_in(tw_codecs, name, length);

    return found != NULL ? found : tw_codec_find_in(tw_codec_wishes, name, length);
}

/* "fp32, bitpack:K[,round], ...": the accepted forms of all codecs. */
static void tw_codec_forms(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; tw_codecs[i] != NULL && used < size; i++) {
        const int n =
            snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", tw_codecs[i]->form);

        used += n > 0 ? (size_t)n : 0;
    }
    for (size_t i = 0; tw_codec_wishes[i] != NULL && used < size; i++) {
        const int n = snprintf(text + used, size - used, ", %s", tw_codec_wishes[i]->form);

        used += n > 0 ? (size_t)n : 0;
    }
}

#define TW_OPTIONS_MAX 8

/* Whether one of the options read before has this key. */
static bool tw_codec_seen(const char *const *keys, int count, const char *key)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Read the options after the colon; text is a writable copy of them. */
static tw_status_t tw_codec_read_options(tw_codec_t *codec, char *text, const tw_spec_why_t *why)
{
    const char *keys[TW_OPTIONS_MAX];
    char       *option = text;
    int         count  = 0;

    while (option != NULL) {
        char       *comma = strchr(option, ',');
        char       *equals;
        tw_status_t status;

        if (comma != NULL) {
            *comma = '\0';
        }
        if (*option == '\0') {
            tw_why_set(why, "codec spec '%s:...' has an empty option; accepted: %s",
                       codec->ops->name, codec->ops->form);
            return TW_ERR_SPEC;
        }
        equals = strchr(option, '=');
        if (equals != NULL) {
            *equals = '\0';
        }
        if (count == TW_OPTIONS_MAX || tw_codec_seen(keys, count, option)) {
            tw_why_set(why, "codec spec '%s:...' has option '%s' twice; accepted: %s",
                       codec->ops->name, option, codec->ops->form);
            return TW_ERR_SPEC;
        }
        keys[count++] = option;
        status        = (codec->ops->option != NULL ? codec->ops->option : tw_codec_no_option)(
            codec, option, equals != NULL ? equals + 1 : NULL, why);
        if (status != TW_OK) {
            return status;
        }
        option = comma != NULL ? comma + 1 : NULL;
    }
    return TW_OK;
}

static unsigned tw_codec_types(const tw_codec_ops_t *ops)
{
    return ops->types != 0 ? ops->types : TW_TYPE(TW_F32);
}

/* Does it take such elements? Else says which it takes, and who takes them. */
static tw_status_t tw_codec_takes(const tw_codec_t *codec, const tw_spec_why_t *why)
{
    char   own[120] = "", others[200] = "";
    size_t length;

    if ((tw_codec_types(codec->ops) & TW_TYPE(codec->dtype)) != 0) {
        return TW_OK;
    }
    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        length = strlen(own);
        if ((tw_codec_types(codec->ops) & TW_TYPE(tw_dtypes[t])) != 0) {
            snprintf(own + length, sizeof(own) - length, "%s%s", length > 0 ? ", " : "",
                     tw_dtype_name(tw_dtypes[t]));
        }
    }
    for (size_t c = 0; tw_codecs[c] != NULL; c++) {
        length = strlen(others);
        if ((tw_codec_types(tw_codecs[c]) & TW_TYPE(codec->dtype)) != 0) {
            snprintf(others + length, sizeof(others) - length, "%s%s", length > 0 ? ", " : "",
                     tw_codecs[c]->form);
        }
    }
    tw_why_set(why, "codec %s takes %s; accepted for %s: %s", codec->ops->name, own,
               codec->type->name, others[0] != '\0' ? others : "none");
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_codec_new(const tw_codec_t *like, tw_dtype_t dtype, const char *spec,
                                const tw_spec_why_t *why, tw_codec_t **codec_p);

/* Of a type whose sums are of another one: by that one's codec, and the conversion between them. */
static tw_status_t tw_codec_parse_narrow(tw_codec_t *codec, const char *spec,
                                         const tw_spec_why_t *why)
{
    tw_codec_t *wide = NULL, *plain = NULL;
    tw_status_t status = tw_codec_new(codec, codec->type->sum, spec, why, &wide);

    if (status == TW_OK) {
        status = tw_codec_new(codec, codec->type->sum, codec->type->lossless, why, &plain);
    }
    if (status == TW_OK) {
        status = tw_narrow_finish(codec, wide, plain, why);
    }
    if (status != TW_OK) {
        tw_codec_destroy(wide);
        tw_codec_destroy(plain);
    }
    return status;
}

/* What the spec begins with. */
static tw_status_t tw_codec_parse_name(tw_codec_t *codec, const char *spec, size_t length,
                                       const tw_spec_why_t *why)
{
    char forms[512];

    codec->ops = tw_codec_find(spec, length);
    if (codec->ops == NULL) {
        tw_codec_forms(forms, sizeof(forms));
        tw_why_set(why, "unknown codec '%.*s'; accepted: %s", (int)(length < 64 ? length : 64),
                   spec, forms);
    }
    return codec->ops != NULL ? TW_OK : TW_ERR_SPEC;
}

static tw_status_t tw_codec_parse(tw_codec_t *codec, const char *spec, const tw_spec_why_t *why)
{
    const char  *colon  = strchr(spec, ':');
    const size_t length = colon != NULL ? (size_t)(colon - spec) : strlen(spec);
    tw_status_t  status = tw_codec_parse_name(codec, spec, length, why);

    if (status != TW_OK) {
        return status;
    }
    if (tw_dtype_is_narrow(codec->type) &&
        (tw_codec_types(codec->ops) & TW_TYPE(codec->dtype)) == 0) {
        return tw_codec_parse_narrow(codec, spec, why);
    }
    codec->state = codec->ops->state > 0 ? calloc(1, codec->ops->state) : NULL;
    if (codec->ops->state > 0 && codec->state == NULL) {
        tw_why_set(why, "%s", "out of memory");
        return TW_ERR_NO_MEMORY;
    }
    if (colon != NULL) {
        char options[TW_CODEC_SPEC_MAX];

        if (strlen(colon + 1) >= sizeof(options)) {
            tw_why_set(why, "codec spec '%.32s...' is too long; accepted: %s", spec,
                       codec->ops->form);
            return TW_ERR_SPEC;
        }
        strcpy(options, colon + 1);
        status = tw_codec_read_options(codec, options, why);
    }
    status = status == TW_OK ? tw_codec_takes(codec, why) : status;
    if (status == TW_OK) {
        codec->bound = NAN;
        status       = codec->ops->finish(codec, why); /* level tables are computed there */
        assert(status != TW_OK || codec->bound >= 0.0);
    }
    if (status == TW_OK && codec->ops->kernels[TW_CPU_SCALAR] != NULL) {
        status = tw_kernels_choose(codec);
        tw_why_set(why, "%s", status != TW_OK ? "out of memory" : "");
    }
    return status;
}

/* Numbers of a spec, and what is computed from them, are the same in every floating-point mode;
 * that of strtod() is the one of <fenv.h>. */
static tw_status_t tw_codec_parse_in_mode(tw_codec_t *codec, const char *spec,
                                          const tw_spec_why_t *why)
{
    const tw_fpmode_t mode = tw_fpmode_enter(); /* all of it, where the caller's units disagree */
    const int         rounding = fegetround();
    tw_status_t       status;

    fesetround(FE_TONEAREST);
    status = tw_codec_parse(codec, spec, why);
    fesetround(rounding);
    tw_fpmode_leave(mode);
    return status;
}

/* With the settings of `like`, and like no other in anything else. */
static tw_status_t tw_codec_new(const tw_codec_t *like, tw_dtype_t dtype, const char *spec,
                                const tw_spec_why_t *why, tw_codec_t **codec_p)
{
    tw_codec_t *codec = calloc(1, sizeof(*codec));
    tw_status_t status;

    if (codec == NULL) {
        tw_why_set(why, "%s", "out of memory");
        return TW_ERR_NO_MEMORY;
    }
    codec->dtype         = dtype;
    codec->type          = tw_dtype_row(dtype);
    codec->wide          = codec;
    codec->element       = codec->type->bytes;
    codec->cpu           = like->cpu;
    codec->omp_threshold = like->omp_threshold;
    codec->stream        = like->stream;
    codec->threads       = like->threads;
    status               = tw_codec_parse_in_mode(codec, spec, why);
    if (status != TW_OK) {
        tw_codec_destroy(codec);
        return status;
    }
    *codec_p = codec;
    return TW_OK;
}

/* Three quarters of the last cache: what is larger together does not stay in it. No more than 32
 * MiB, as others use that cache too, and virtual machines tell of all of it. */
static size_t tw_codec_stream_default(void)
{
    const size_t most  = (size_t)32 << 20;
    long         bytes = -1;

#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return bytes > 0 && (size_t)bytes / 4 * 3 < most ? (size_t)bytes / 4 * 3 : most;
}

static tw_cpu_level_id_t tw_codec_cpu_cap(const tw_codec_config_t *config)
{
    const tw_cpu_level_id_t found = tw_cpu_detect();

    return config->cpu > 0 ? tw_cpu_cap(found, (tw_cpu_level_id_t)(config->cpu - 1)) : found;
}

const char *tw_cpu_level(const tw_context_t *ctx)
{
    tw_codec_config_t config = {0};

    if (ctx == NULL || tw_settings_load(&ctx->log, &tw_codec_settings, &config) != TW_OK) {
        return tw_cpu_name(tw_cpu_detect());
    }
    return tw_cpu_name(tw_codec_cpu_cap(&config));
}

#define TW_DTYPE_WORD(dtype, ...) ", " #dtype

tw_status_t tw_codec_create(tw_context_t *ctx, const char *spec, tw_dtype_t dtype,
                            tw_codec_t **codec_p, char *why, size_t why_size)
{
    const tw_spec_why_t reason = {why, why_size};
    tw_codec_config_t   config;
    tw_status_t         status;

    tw_why_set(&reason, "%s", "");
    if (ctx == NULL || spec == NULL || codec_p == NULL) {
        tw_why_set(&reason, "a context, a spec and an output are needed");
        return TW_ERR_INVALID_ARG;
    }
    if (tw_dtype_row(dtype) == NULL) {
        tw_why_set(&reason, "element type %d is not supported; accepted: %s", (int)dtype,
                   &TW_DTYPES(TW_DTYPE_WORD)[2]);
        return TW_ERR_UNSUPPORTED;
    }
    status = tw_settings_load(&ctx->log, &tw_codec_settings, &config);
    if (status != TW_OK) {
        tw_why_set(&reason, "%s", "a THINWIRE_ setting is malformed");
        return status;
    }
    return tw_codec_new(
        &(tw_codec_t){.cpu           = tw_codec_cpu_cap(&config),
                      .omp_threshold = config.omp_threshold,
                      .stream = config.stream > 0 ? config.stream : tw_codec_stream_default(),
                      .threads =
                          ctx->config.threads > 0 ? ctx->config.threads : tw_threads_bound()},
        dtype, spec, &reason, codec_p);
}

void tw_codec_destroy(tw_codec_t *codec)
{
    if (codec != NULL && codec->dtype != TW_BYTE) {
        if (codec->wide != codec) {
            tw_codec_destroy((tw_codec_t *)(uintptr_t)codec->wide);
            tw_codec_destroy((tw_codec_t *)(uintptr_t)codec->plain);
        }
        free(codec->table);
        free(codec->vectors);
        free(codec->state);
        free(codec);
    }
}

/* Does a new spec begin here? The codec of bytes has a name, though no spec. */
static bool tw_codec_begins(const char *name)
{
    const size_t      length = strcspn(name, ":,");
    const char *const bytes  = tw_codec_spec(tw_codec_bytes());

    return tw_codec_find(name, length) != NULL ||
           (length == strlen(bytes) && strncmp(name, bytes, length) == 0);
}

tw_status_t tw_codec_list_next(const char *list, size_t *cursor, char *spec, size_t spec_size)
{
    const char *start = list + *cursor;
    const char *end   = start;
    size_t      length;

    if (*start == '\0') {
        return TW_ERR_RANGE;
    }
    for (;;) {
        const char *next;

        end = strchr(end, ',');
        if (end == NULL) {
            end = start + strlen(start);
            break;
        }
        next = end + 1;
        if (tw_codec_begins(next) || *next == '\0' || *next == ',') {
            break;
        }
        end = next;
    }
    length = (size_t)(end - start);
    if (length == 0 || length >= spec_size || (*end == ',' && end[1] == '\0')) {
        return TW_ERR_SPEC;
    }
    memcpy(spec, start, length);
    spec[length] = '\0';
    *cursor += length + (*end == ',');
    return TW_OK;
}
