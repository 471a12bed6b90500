/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/codecs.c - see codecs.h. Medians of short runs over an array of the size of a
 * fragment's values, which lies in the second-level cache as it does in a collective.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "tools/measure.h"
#include "tools/scale/codecs.h"

enum { VALUES = 16384, TURNS = 9, ROUNDS = 8 };

/* Of a codec without a bound, or with a wide one: the most that facts hold. */
#define NO_BOUND 1e6

/* values: the numbers, of the codec's type. */
static struct {
    double numbers[VALUES];
    _Alignas(64) unsigned char values[VALUES * sizeof(double)], sums[VALUES * sizeof(double)],
        codes[2 * VALUES * sizeof(double)];
} arrays;

typedef enum codec_work { WORK_ENCODE, WORK_DECODE, WORK_ADD } codec_work_t;

static void work_once(codec_work_t work, const tw_codec_t *codec, size_t n)
{
    static const tw_exec_t one = {.threads = 1};

    switch (work) {
    case WORK_ENCODE:
        tw_codec_encode(codec, &one, arrays.values, n, arrays.codes);
        break;
    case WORK_DECODE:
        tw_codec_decode(codec, &one, arrays.codes, n, arrays.sums);
        break;
    case WORK_ADD:
        tw_codec_decode_add(codec, &one, arrays.codes, n, arrays.sums);
        break;
    }
}

/* Seconds of one call with n values. */
static double work_seconds(codec_work_t work, const tw_codec_t *codec, size_t n)
{
    double taken[TURNS];

    work_once(work, codec, n);
    for (int k = 0; k < TURNS; k++) {
        const double start = measure_now();

        for (int round = 0; round < ROUNDS; round++) {
            work_once(work, codec, n);
        }
        taken[k] = (measure_now() - start) / ROUNDS;
    }
    return measure_median(taken, TURNS);
}

static void measure_codec(const tw_codec_t *codec, tw_dtype_t dtype, tw_codec_facts_t *facts)
{
    tw_codec_traits_t traits;
    size_t            bytes = 0;

    tw_codec_traits(codec, &traits);
    tw_codec_size(codec, VALUES, &bytes);
    *facts =
        (tw_codec_facts_t){.dtype      = dtype,
                           .bytes      = (double)bytes / VALUES,
                           .block      = tw_codec_block(codec),
                           .max_error  = traits.max_error < NO_BOUND ? traits.max_error : NO_BOUND,
                           .feedback   = traits.feedback,
                           .encode     = work_seconds(WORK_ENCODE, codec, VALUES) / VALUES,
                           .decode     = work_seconds(WORK_DECODE, codec, VALUES) / VALUES,
                           .decode_add = work_seconds(WORK_ADD, codec, VALUES) / VALUES,
                           .call       = work_seconds(WORK_DECODE, codec, 1)};
    snprintf(facts->spec, sizeof(facts->spec), "%s", tw_codec_spec(codec));
    if (traits.identity) { /* moves from buffer to buffer */
        facts->encode = facts->decode = 0.0;
    }
}

/* A row for each element type that the codec takes. */
static int add_codec(const char *spec, tw_context_t *ctx, tw_facts_t *facts, tw_problem_t *problem)
{
    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        const tw_dtype_t dtype = tw_dtypes[t];
        tw_codec_t      *codec;

        if (tw_codec_create(ctx, spec, dtype, &codec, NULL, 0) != TW_OK) {
            continue;
        }
        if (strlen(tw_codec_spec(codec)) >= sizeof(facts->codec[0].spec)) {
            tw_problem_set(problem, "--codec '%.80s': up to %zu characters are possible here", spec,
                           sizeof(facts->codec[0].spec) - 1);
            tw_codec_destroy(codec);
            return -1;
        }
        if (tw_facts_codec(facts, tw_codec_spec(codec), dtype) != NULL) { /* it is there */
            tw_codec_destroy(codec);
            continue;
        }
        if (facts->codecs == TW_FACTS_CODECS) {
            tw_codec_destroy(codec);
            return tw_problem_set(problem, "--codec: up to %d codecs are possible here",
                                  TW_FACTS_CODECS / TW_DTYPE_ROWS - 1);
        }
        tw_dtype_row(dtype)->from_f64(arrays.numbers, VALUES, arrays.values);
        measure_codec(codec, dtype, &facts->codec[facts->codecs++]);
        tw_codec_destroy(codec);
    }
    return 0;
}

int codecs_measure(const specs_t *specs, const char *const *more, tw_context_t *ctx,
                   tw_facts_t *facts, tw_problem_t *problem)
{
    int status = 0;

    facts->codecs = 0;
    data_normal((float *)(void *)arrays.values, VALUES, 1, 1.0);
    tw_dtype_row(TW_F32)->to_f64(arrays.values, VALUES, arrays.numbers);
    for (size_t t = 0; status == 0 && t < TW_DTYPE_ROWS; t++) { /* as they are */
        status = add_codec(tw_dtype_row(tw_dtypes[t])->lossless, ctx, facts, problem);
    }
    for (size_t i = 0; status == 0 && i < specs->count; i++) {
        status = specs->traits[i].chooses
                     ? tw_problem_set(problem,
                                      "--codec '%.80s': it chooses a codec; name those to compare",
                                      specs->text[i])
                     : add_codec(specs->text[i], ctx, facts, problem);
    }
    for (; status == 0 && *more != NULL; more++) {
        status = add_codec(*more, ctx, facts, problem);
    }
    return status;
}

/* The codec of floats that is most like it: of the same name, if there is one, and then of the size
 * of its codes. */
static const tw_codec_facts_t *nearest_codec(const tw_facts_t *facts, const char *name,
                                             double bytes)
{
    const size_t            length = strlen(name);
    const tw_codec_facts_t *found  = NULL;
    int                     alike  = 0;

    for (int c = 0; c < facts->codecs; c++) {
        const tw_codec_facts_t *codec = &facts->codec[c];
        const int               same  = strncmp(codec->spec, name, length) == 0 &&
                         (codec->spec[length] == ':' || codec->spec[length] == '\0');

        if (codec->dtype != TW_F32 || tw_dtype_is_lossless(TW_F32, codec->spec) || same < alike) {
            continue;
        }
        if (found == NULL || same > alike ||
            fabs(codec->bytes - bytes) < fabs(found->bytes - bytes)) {
            found = codec;
            alike = same;
        }
    }
    return found;
}

int codecs_complete(const char *const *specs, tw_context_t *ctx, tw_facts_t *facts, char *taken,
                    size_t size, tw_problem_t *problem)
{
    size_t used = 0;

    taken[0] = '\0';
    for (; *specs != NULL; specs++) {
        const tw_codec_facts_t *by;
        tw_codec_facts_t       *made = &facts->codec[facts->codecs];
        tw_codec_traits_t       traits;
        tw_codec_t             *codec = NULL;
        int                     n;

        if (tw_facts_codec(facts, *specs, TW_F32) != NULL) {
            continue;
        }
        if (facts->codecs == TW_FACTS_CODECS ||
            tw_codec_create(ctx, *specs, TW_F32, &codec, NULL, 0) != TW_OK) {
            return tw_problem_set(problem, "%s is not in the facts, which hold no more codecs",
                                  *specs);
        }
        tw_codec_traits(codec, &traits);
        by = nearest_codec(facts, traits.name, traits.bytes);
        if (by == NULL) {
            tw_problem_set(problem, "%s is not in the facts, nor is any codec like it", *specs);
            tw_codec_destroy(codec);
            return -1;
        }
        *made = *by;
        snprintf(made->spec, sizeof(made->spec), "%s", *specs);
        made->bytes     = traits.bytes;
        made->block     = traits.block;
        made->max_error = fmin(traits.max_error, NO_BOUND);
        made->feedback  = traits.feedback;
        facts->codecs++;
        n = snprintf(taken + used, size - used, "%s%s as %s", used > 0 ? ", " : "", *specs,
                     by->spec);
        used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
        tw_codec_destroy(codec);
    }
    return 0;
}

void codecs_set_rate(tw_facts_t *facts, double rate)
{
    for (int k = 0; k < facts->codecs && rate > 0.0; k++) {
        tw_codec_facts_t *codec = &facts->codec[k];
        const double      each  = (double)tw_dtype_size(codec->dtype) / rate;

        codec->decode_add = codec->encode > 0.0 ? each : fmin(each, codec->decode_add);
        codec->encode     = codec->encode > 0.0 ? each : 0.0;
        codec->decode     = codec->decode > 0.0 ? each : 0.0;
    }
}

int codecs_read(tw_context_t *ctx, const char *what, const char *spec, char text[TW_FACTS_SPEC],
                tw_codec_traits_t *traits, tw_problem_t *problem)
{
    char        wrong[400] = "";
    tw_codec_t *codec      = NULL;
    tw_status_t status     = tw_codec_create(ctx, spec, TW_F32, &codec, wrong, sizeof(wrong));
    int         length;

    if (status != TW_OK) {
        return tw_problem_set(problem, "%s: %s", what,
                              wrong[0] != '\0' ? wrong : tw_status_text(status));
    }
    tw_codec_traits(codec, traits);
    length = snprintf(text, TW_FACTS_SPEC, "%s", tw_codec_spec(codec));
    tw_codec_destroy(codec);
    if (traits->chooses) {
        return tw_problem_set(problem, "%s '%.80s': it chooses a codec; name the one to use", what,
                              spec);
    }
    return length < TW_FACTS_SPEC
               ? 0
               : tw_problem_set(problem, "%s '%.80s': up to %d characters are possible here", what,
                                spec, TW_FACTS_SPEC - 1);
}
