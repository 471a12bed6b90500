/* SPDX-License-Identifier: BSD-3-Clause
 * train/codecs.c - see codecs.h. A spec may contain commas ("tree8:block=64,split=0.55"), so a new
 * part begins only at a comma followed by a class's name and '='.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "train/codecs.h"

#define TW_FORMS "SPEC for all, or CLASS=SPEC,... with the classes grad, act, back and weight"

static const char *const class_names[TW_CLASSES] = {"grad", "act", "back", "weight"};

/* The class whose name and '=' stand there, or TW_CLASSES. */
static int class_at(const char *text)
{
    int c;

    for (c = 0; c < TW_CLASSES; c++) {
        const size_t length = strlen(class_names[c]);

        if (strncmp(text, class_names[c], length) == 0 && text[length] == '=') {
            break;
        }
    }
    return c;
}

/* Where the part that begins here ends. */
static const char *end_of_part(const char *part)
{
    const char *comma = part;

    while ((comma = strchr(comma, ',')) != NULL && class_at(comma + 1) == TW_CLASSES) {
        comma++;
    }
    return comma != NULL ? comma : part + strlen(part);
}

/* A word before '=' where no codec's options can stand, which begin at a colon; NULL if there is
 * none. */
static const char *unknown_class(const char *begin, const char *end, size_t *length_p)
{
    const char *colon = memchr(begin, ':', (size_t)(end - begin));
    const char *equal = memchr(begin, '=', (size_t)((colon != NULL ? colon : end) - begin));
    const char *word  = equal;

    if (equal == NULL) {
        return NULL;
    }
    while (word > begin && word[-1] != ',') {
        word--;
    }
    *length_p = (size_t)(equal - word);
    return word;
}

/* The specs of the classes; spec[TW_CLASSES] is that of all the others. */
static int split_text(const char *text, char spec[TW_CLASSES + 1][256], tw_problem_t *problem)
{
    while (*text != '\0') {
        const char  *end    = end_of_part(text);
        const int    c      = class_at(text);
        const char  *begin  = c < TW_CLASSES ? text + strlen(class_names[c]) + 1 : text;
        const size_t length = (size_t)(end - begin);
        const char  *word;
        size_t       word_length = 0;

        if (length == 0 || length >= sizeof(spec[c])) {
            return tw_problem_set(problem, "--codec: a spec is empty or too long at '%s'", text);
        }
        if (spec[c][0] != '\0') {
            return tw_problem_set(problem, "--codec: two specs for %s",
                                  c < TW_CLASSES ? class_names[c] : "all");
        }
        if ((word = unknown_class(begin, end, &word_length)) != NULL) {
            return tw_problem_set(problem, "--codec: unknown class '%.*s'; accepted are " TW_FORMS,
                                  (int)word_length, word);
        }
        memcpy(spec[c], begin, length);
        spec[c][length] = '\0';
        text            = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static int refuse_one_bit(int c, const tw_codec_t *codec, int force, tw_problem_t *problem)
{
    tw_codec_traits_t traits;

    tw_codec_traits(codec, &traits);
    if (!traits.feedback || force) {
        return 0;
    }
    return tw_problem_set(problem,
                          "--codec %s=%s: one bit is too coarse for %s, which no residual "
                          "corrects; use tree8 or wider, or --force",
                          class_names[c], tw_codec_spec(codec),
                          c == TW_CLASS_WEIGHT ? "weights" : "activations");
}

/* The same of weights, whose codec is made where they are. */
static int check_weight(const tw_codecs_t *codecs, tw_context_t *ctx, int force,
                        tw_problem_t *problem)
{
    tw_codec_t *codec;
    int         status;

    if (codecs->weight.adaptive) {
        return 0;
    }
    if (tw_codec_create(ctx, codecs->weight.spec, TW_F32, &codec, NULL, 0) != TW_OK) {
        return tw_problem_set(problem, "out of memory");
    }
    status = refuse_one_bit(TW_CLASS_WEIGHT, codec, force, problem);
    tw_codec_destroy(codec);
    return status;
}

/* A codec for what never travels would govern nothing. */
static int check_classes(char spec[TW_CLASSES + 1][256], int owners, int split,
                         tw_problem_t *problem)
{
    if (spec[TW_CLASS_WEIGHT][0] != '\0' && !owners) {
        return tw_problem_set(problem,
                              "--codec weight=%s: weights travel only with --update root or "
                              "--update sharded",
                              spec[TW_CLASS_WEIGHT]);
    }
    for (int c = TW_CLASS_ACT; c <= TW_CLASS_BACK && !split; c++) {
        if (spec[c][0] != '\0') {
            return tw_problem_set(problem,
                                  "--codec %s=%s: activations travel only between split layers, "
                                  "with --scheme a, b, c or group=G",
                                  class_names[c], spec[c]);
        }
    }
    return 0;
}

static int create_one(tw_codecs_t *codecs, int c, tw_context_t *ctx, const char *spec,
                      tw_problem_t *problem)
{
    char        why[400] = "";
    tw_status_t status;

    if (strcmp(spec, "mpi") == 0) {
        if (c == TW_CLASS_GRAD) {
            codecs->native = 1;
            return 0;
        }
        spec = "fp32"; /* mpi is a way for gradients; activations travel as they are */
    }
    status = tw_codec_create(ctx, spec, TW_F32, &codecs->codec[c], why, sizeof(why));
    return status == TW_OK
               ? 0
               : tw_problem_set(problem, "--codec '%s': %s; also accepted: mpi, and " TW_FORMS,
                                spec, why[0] != '\0' ? why : tw_status_text(status));
}

int tw_codecs_create(tw_codecs_t *codecs, tw_context_t *ctx, const char *text, int owners,
                     int split, int force, tw_problem_t *problem)
{
    char        spec[TW_CLASSES + 1][256] = {{0}};
    const char *rest;

    *codecs = (tw_codecs_t){0};
    if (split_text(text, spec, problem) != 0 || check_classes(spec, owners, split, problem) != 0 ||
        tw_weight_codec_parse(&codecs->weight, ctx,
                              spec[TW_CLASS_WEIGHT][0] != '\0' ? spec[TW_CLASS_WEIGHT] : "fp32",
                              problem) != 0 ||
        check_weight(codecs, ctx, force, problem) != 0) {
        return -1;
    }
    rest = spec[TW_CLASSES][0] != '\0' ? spec[TW_CLASSES] : "fp32";
    for (int c = 0; c < TW_CLASS_WEIGHT; c++) {
        const char *own = spec[c];

        if (own[0] == '\0' && c == TW_CLASS_BACK) {
            own = spec[TW_CLASS_ACT];
        }
        if (create_one(codecs, c, ctx, own[0] != '\0' ? own : rest, problem) != 0) {
            return -1;
        }
        if (codecs->native && owners) {
            return tw_problem_set(problem, "--codec grad=mpi sums gradients to every rank; it goes "
                                           "only with --update replicated");
        }
        if (split && c != TW_CLASS_GRAD &&
            refuse_one_bit(c, codecs->codec[c], force, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

int tw_codecs_storage(tw_codecs_t *codecs, tw_context_t *ctx, const char *spec,
                      tw_problem_t *problem)
{
    tw_codec_traits_t traits;
    char              why[400] = "";

    if (strcmp(spec, "fp32") == 0) {
        return 0;
    }
    if (tw_codec_create(ctx, spec, TW_F32, &codecs->storage, why, sizeof(why)) != TW_OK) {
        return tw_problem_set(problem, "--storage '%s': %s", spec,
                              why[0] != '\0' ? why : "out of memory");
    }
    tw_codec_traits(codecs->storage, &traits);
    if (traits.chooses) {
        return tw_problem_set(problem,
                              "--storage %s: only collectives choose a codec; accepted are codecs "
                              "by name, such as bf16",
                              spec);
    }
    return !traits.feedback
               ? 0
               : tw_problem_set(problem,
                                "--storage %s: one bit is too coarse for outputs, which no "
                                "residual corrects; accepted are wider codecs, such as bf16",
                                spec);
}

void tw_codecs_destroy(tw_codecs_t *codecs)
{
    tw_codec_destroy(codecs->storage);
    for (int c = 0; c < TW_CLASS_WEIGHT; c++) {
        tw_codec_destroy(codecs->codec[c]);
    }
}

static const char *spec_of(const tw_codecs_t *codecs, int c)
{
    return c == TW_CLASS_GRAD && codecs->native ? "mpi" : tw_codec_spec(codecs->codec[c]);
}

void tw_codecs_text(const tw_codecs_t *codecs, int owners, int split, char *text, size_t size)
{
    char weight[200] = "";

    if (owners) {
        memcpy(weight, "weight=", 8);
        tw_weight_codec_text(&codecs->weight, weight + 7, sizeof(weight) - 8);
        strcat(weight, ",");
    }
    if (split) {
        snprintf(text, size, "%sgrad=%s,act=%s,back=%s", weight, spec_of(codecs, TW_CLASS_GRAD),
                 spec_of(codecs, TW_CLASS_ACT), spec_of(codecs, TW_CLASS_BACK));
    } else {
        snprintf(text, size, "%s%s%s", weight, owners ? "grad=" : "",
                 spec_of(codecs, TW_CLASS_GRAD));
    }
}
