/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/weight_codec.c - see weight_codec.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/base/text.h"
#include "train/step/weight_codec.h"

/* As the released code of S0 has T; the paper's own values are lost. */
#define TW_AWP_THRESHOLD 1e-4
/* Not that of S0, bitpack:1, which shrinks weights to between a half and a quarter: trainings need
 * fewer steps and end with a lower error (docs/performance.md). */
#define TW_AWP_BYTE "tree8"
/* Most bits of family=int: those of a float32's significand, with which weights travel as fp32. */
#define TW_AWP_INTEGERS 24

#define TW_AWP_FORMS                                                                               \
    "T=X, interval=N (1 to 1000000000 steps), step=N and first=N (1 to 32 bits), group=layer or "  \
    "group=block, family=bitpack or family=int, round, byte=CODEC (of 8 bits, as byte=tree8), "    \
    "absolute, norm=master or norm=packed"

/* "awp", or "awp:" and more? */
static int is_awp(const char *text)
{
    return strncmp(text, "awp", 3) == 0 && (text[3] == '\0' || text[3] == ':');
}

static int whole(const char *text, uint64_t most, uint64_t *value_p)
{
    return tw_text_whole(text, 1, most, value_p) ? 0 : -1;
}

/* One option, its value NULL for a bare word; -1 where it is not understood. */
static int weight_codec_take(tw_weight_codec_t *how, const char *key, const char *value)
{
    uint64_t n = 0;

    if (value == NULL) {
        how->round |= strcmp(key, "round") == 0;
        how->rule.absolute |= strcmp(key, "absolute") == 0;
        return strcmp(key, "round") == 0 || strcmp(key, "absolute") == 0 ? 0 : -1;
    }
    if (strcmp(key, "T") == 0) {
        return tw_text_number(value, &how->rule.threshold) ? 0 : -1;
    }
    if (strcmp(key, "interval") == 0) {
        return whole(value, 1000000000, &how->rule.interval);
    }
    if (strcmp(key, "step") == 0 || strcmp(key, "first") == 0) {
        if (whole(value, 32, &n) != 0) {
            return -1;
        }
        *(key[0] == 's' ? &how->rule.step : &how->rule.first) = (int)n;
        return 0;
    }
    if (strcmp(key, "byte") == 0) {
        return snprintf(how->byte, sizeof(how->byte), "%s", value) < (int)sizeof(how->byte) ? 0
                                                                                            : -1;
    }
    if (strcmp(key, "group") == 0) {
        how->by_block = strcmp(value, "block") == 0;
        return how->by_block || strcmp(value, "layer") == 0 ? 0 : -1;
    }
    if (strcmp(key, "family") == 0) {
        how->integers = strcmp(value, "int") == 0;
        return how->integers || strcmp(value, "bitpack") == 0 ? 0 : -1;
    }
    if (strcmp(key, "norm") == 0) {
        how->norm = strcmp(value, "packed") == 0 ? TW_WEIGHTS_COPIES : TW_WEIGHTS_MASTERS;
        return how->norm == TW_WEIGHTS_COPIES || strcmp(value, "master") == 0 ? 0 : -1;
    }
    return -1;
}

static int parse_awp(tw_weight_codec_t *how, const char *text, tw_problem_t *problem)
{
    const char *at = text[3] == ':' ? text + 4 : NULL;

    while (at != NULL) {
        const char  *comma  = strchr(at, ',');
        const size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        char         word[64], *equal;

        if (length == 0 || length >= sizeof(word)) {
            return tw_problem_set(problem, "--codec weight=awp: an option is empty or too long; "
                                           "accepted are " TW_AWP_FORMS);
        }
        memcpy(word, at, length);
        word[length] = '\0';
        equal        = strchr(word, '=');
        if (equal != NULL) {
            *equal = '\0';
        }
        if (weight_codec_take(how, word, equal != NULL ? equal + 1 : NULL) != 0) {
            return tw_problem_set(
                problem, "--codec weight=awp: '%.*s' is not understood; accepted are " TW_AWP_FORMS,
                (int)length, at);
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    return 0;
}

/* Does it exist, and take about a byte for a number? */
static int check_byte(const tw_weight_codec_t *how, tw_context_t *ctx, tw_problem_t *problem)
{
    const size_t n        = 1 << 20;
    char         why[400] = "";
    tw_codec_t  *codec    = NULL;
    size_t       bytes    = 0;
    tw_status_t  status;

    if (how->byte[0] == '\0') {
        return 0;
    }
    status = tw_codec_create(ctx, how->byte, TW_F32, &codec, why, sizeof(why));
    if (status != TW_OK) {
        return tw_problem_set(problem, "--codec weight=awp:byte=%s: %s", how->byte,
                              why[0] != '\0' ? why : tw_status_text(status));
    }
    tw_codec_size(codec, n, &bytes);
    tw_codec_destroy(codec);
    return bytes > n / 16 * 15 && bytes < n / 16 * 17
               ? 0
               : tw_problem_set(problem,
                                "--codec weight=awp:byte=%s: takes %.3g bits a number; accepted: a "
                                "codec of 8 bits",
                                how->byte, 8.0 * (double)bytes / (double)n);
}

/* What the family decides: the levels of `int`, 0 where it has none of so many bits or more. */
static int settle_family(tw_weight_codec_t *how, tw_context_t *ctx, tw_problem_t *problem)
{
    how->rule.step = how->rule.step != 0 ? how->rule.step : how->integers ? 4 : 8;
    if (!how->integers) {
        if (how->byte[0] == '\0') {
            memcpy(how->byte, TW_AWP_BYTE, sizeof(TW_AWP_BYTE));
        }
        return 0;
    }
    how->rule.last = TW_AWP_INTEGERS;
    if (how->round || how->rule.first > TW_AWP_INTEGERS) {
        return tw_problem_set(problem,
                              "--codec weight=awp:family=int: rounds to the nearest, and has 1 to "
                              "%d bits; accepted: no 'round', and first=N up to %d",
                              TW_AWP_INTEGERS, TW_AWP_INTEGERS);
    }
    for (int bits = TW_AWP_INTEGERS, level = 0; bits > 0; bits--) {
        char        spec[16];
        tw_codec_t *codec = NULL;

        snprintf(spec, sizeof(spec), "int:%d", bits);
        level = tw_codec_create(ctx, spec, TW_F32, &codec, NULL, 0) == TW_OK ? bits : level;
        tw_codec_destroy(codec);
        how->level[bits] = level;
    }
    return 0;
}

int tw_weight_codec_parse(tw_weight_codec_t *how, tw_context_t *ctx, const char *text,
                          tw_problem_t *problem)
{
    char              why[400] = "";
    tw_codec_t       *codec    = NULL;
    tw_codec_traits_t traits;
    tw_status_t       status;

    *how = (tw_weight_codec_t){.adaptive = is_awp(text),
                               .rule     = {.threshold = TW_AWP_THRESHOLD, .first = 8, .last = 32},
                               .norm     = TW_WEIGHTS_MASTERS};
    if (how->adaptive) {
        return parse_awp(how, text, problem) != 0 || settle_family(how, ctx, problem) != 0 ||
                       check_byte(how, ctx, problem) != 0
                   ? -1
                   : 0;
    }
    status = tw_codec_create(ctx, text, TW_F32, &codec, why, sizeof(why));
    if (status != TW_OK) {
        return tw_problem_set(problem, "--codec weight=%s: %s; also accepted: awp[:OPTIONS]", text,
                              why[0] != '\0' ? why : tw_status_text(status));
    }
    snprintf(how->spec, sizeof(how->spec), "%s", tw_codec_spec(codec));
    tw_codec_traits(codec, &traits);
    how->plain   = tw_dtype_is_lossless(TW_F32, how->spec);
    how->chooses = traits.chooses;
    tw_codec_destroy(codec);
    return 0;
}

void tw_weight_codec_spec(const tw_weight_codec_t *how, int bits, char spec[TW_WEIGHT_SPEC])
{
    const int bytes = tw_precision_bytes(bits);

    if (!how->adaptive) {
        memcpy(spec, how->spec, TW_WEIGHT_SPEC);
    } else if (bytes == 1 && how->byte[0] != '\0' &&
               (how->integers || strcmp(how->byte, "bitpack:1") != 0)) {
        snprintf(spec, TW_WEIGHT_SPEC, "%s", how->byte);
    } else if (bytes == 4 || (how->integers && how->level[bits] == 0)) {
        snprintf(spec, TW_WEIGHT_SPEC, "fp32");
    } else if (how->integers) {
        snprintf(spec, TW_WEIGHT_SPEC, "int:%d", how->level[bits]);
    } else {
        snprintf(spec, TW_WEIGHT_SPEC, "bitpack:%d%s", bytes, how->round ? ",round" : "");
    }
}

void tw_weight_codec_text(const tw_weight_codec_t *how, char *text, size_t size)
{
    if (!how->adaptive) {
        snprintf(text, size, "%s", how->spec);
        return;
    }
    snprintf(text, size,
             "awp:T=%.9g,interval=%" PRIu64 ",step=%d,first=%d,group=%s%s%s%s%s%s,norm=%s",
             how->rule.threshold, how->rule.interval, how->rule.step, how->rule.first,
             how->by_block ? "block" : "layer", how->integers ? ",family=int" : "",
             how->round ? ",round" : "", how->byte[0] != '\0' ? ",byte=" : "", how->byte,
             how->rule.absolute ? ",absolute" : "",
             how->norm == TW_WEIGHTS_COPIES ? "packed" : "master");
}
