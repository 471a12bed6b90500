/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/trust.c - validation of facts and decisions from a file or a caller against the
 * properties of the codecs. Rank 0 validates them before it broadcasts them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/codec/auto.h"
#include "runtime/transport/auto/auto.h"

const tw_codec_t *tw_auto_codec(tw_comm_t *comm, const char *spec, tw_dtype_t dtype)
{
    tw_auto_codec_t *made;

    for (made = comm->autos->codecs; made != NULL; made = made->next) {
        if (made->dtype == dtype && strcmp(made->spec, spec) == 0) {
            return made->codec;
        }
    }
    made = calloc(1, sizeof(*made));
    if (made == NULL || tw_codec_create(comm->ctx, spec, dtype, &made->codec, NULL, 0) != TW_OK) {
        free(made);
        return NULL;
    }
    snprintf(made->spec, sizeof(made->spec), "%s", spec);
    made->dtype         = dtype;
    made->next          = comm->autos->codecs;
    comm->autos->codecs = made;
    return made->codec;
}

/* What a spec promises; false where it names no codec of the type that can encode. */
static bool tw_trust_traits(tw_comm_t *comm, const char *spec, tw_dtype_t dtype,
                            tw_codec_traits_t *traits)
{
    const tw_codec_t *codec = tw_auto_codec(comm, spec, dtype);

    return codec != NULL && tw_codec_traits(codec, traits) == TW_OK && !traits->chooses;
}

/* One codec as it is; false: there is none such. */
static bool tw_trust_codec(tw_comm_t *comm, tw_codec_facts_t *codec)
{
    tw_codec_traits_t traits;

    if (!tw_trust_traits(comm, codec->spec, codec->dtype, &traits)) {
        TW_WARN(&comm->log, "a calibration knows codec %s of %ss, which does not exist: left out",
                codec->spec, tw_dtype_name(codec->dtype));
        return false;
    }
    if (codec->max_error < traits.max_error) {
        TW_WARN(&comm->log, "a calibration says that codec %s has an error of %g; it has %g",
                codec->spec, codec->max_error, traits.max_error);
        codec->max_error = traits.max_error;
    }
    codec->feedback = codec->feedback || traits.feedback;
    return true;
}

static bool tw_trust_has_lossless(const tw_facts_t *facts, tw_dtype_t dtype)
{
    for (int c = 0; c < facts->codecs; c++) {
        if (facts->codec[c].dtype == dtype && facts->codec[c].max_error <= 0.0) {
            return true;
        }
    }
    return false;
}

/* Something of every type for the wish for no error at all; the last of a full list make room for
 * it. */
static void tw_trust_lossless(tw_facts_t *facts)
{
    tw_codec_facts_t missing[TW_DTYPE_ROWS];
    int              count = 0;

    for (size_t i = 0; i < TW_DTYPE_ROWS; i++) {
        const tw_dtype_row_t *row = tw_dtype_row(tw_dtypes[i]);

        if (!tw_trust_has_lossless(facts, tw_dtypes[i])) {
            missing[count] =
                (tw_codec_facts_t){.dtype = tw_dtypes[i], .bytes = (double)row->bytes, .block = 1};
            snprintf(missing[count++].spec, TW_FACTS_SPEC, "%s", row->lossless);
        }
    }
    if (facts->codecs > TW_FACTS_CODECS - count) {
        facts->codecs = TW_FACTS_CODECS - count;
    }
    memcpy(&facts->codec[facts->codecs], missing, (size_t)count * sizeof(*missing));
    facts->codecs += count;
}

void tw_auto_trust_facts(tw_comm_t *comm, tw_facts_t *facts)
{
    int kept = 0;

    for (int c = 0; c < facts->codecs; c++) {
        if (tw_trust_codec(comm, &facts->codec[c])) {
            facts->codec[kept++] = facts->codec[c];
        }
    }
    facts->codecs = kept;
    tw_trust_lossless(facts);
}

bool tw_auto_trust_decision(tw_comm_t *comm, const tw_decision_t *decision, char *why,
                            size_t why_size)
{
    const tw_question_t *question = &decision->question;
    tw_codec_traits_t    traits;

    if (strcmp(decision->spec, "mpi") == 0) {
        return true;
    }
    if (!tw_trust_traits(comm, decision->spec, question->dtype, &traits)) {
        snprintf(why, why_size, "it names codec %s, which does not exist for %ss", decision->spec,
                 tw_dtype_name(question->dtype));
        return false;
    }
    if (!(traits.max_error <= question->max_error) || (traits.feedback && !question->feedback)) {
        snprintf(why, why_size, "it answers auto:%g%s by codec %s, which has an error of %g",
                 question->max_error, question->feedback ? "" : " without feedback", decision->spec,
                 traits.max_error);
        return false;
    }
    return true;
}
