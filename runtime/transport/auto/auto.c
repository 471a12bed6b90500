/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/auto.c - decisions and the tables that keep them; see auto.h.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/codec/auto.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/auto/calibrate.h"
#include "runtime/transport/coll/native/native.h"

bool tw_auto_asked(const tw_how_t *how)
{
    return how != NULL && (how->algorithm == TW_ALGORITHM_MPI ||
                           (how->codec != NULL && how->codec->kernels == NULL));
}

/* ---- codecs and facts ------------------------------------------------------------------------ */

static const tw_codec_t *tw_auto_lossless(tw_comm_t *comm, tw_dtype_t dtype)
{
    return tw_auto_codec(comm, tw_dtype_row(dtype)->lossless, dtype);
}

tw_status_t tw_auto_know(tw_comm_t *comm)
{
    tw_facts_t  facts;
    tw_status_t status;

    if (comm->autos->known) {
        return TW_OK;
    }
    if (comm->asynchronous) {
        return TW_ERR_BUSY;
    }
    status = tw_calibration_load(comm, &facts);
    if (status == TW_ERR_RANGE) { /* there is none that fits */
        status = tw_calibrate(comm, TW_CALIBRATE_QUICK, &facts);
    }
    return status == TW_OK ? tw_auto_learn(comm, &facts) : status;
}

tw_status_t tw_auto_learn(tw_comm_t *comm, const tw_facts_t *facts)
{
    struct tw_auto *autos = comm->autos;

    autos->facts = *facts;
    autos->known = true;
    if (!autos->replay) {
        autos->answer_count  = 0;
        autos->decided.count = 0;
        for (tw_auto_table_t *t = autos->tables; t != NULL; t = t->next) {
            memset(t->answer, 0, sizeof(t->answer));
        }
    }
    return TW_OK;
}

/* The other ranks have decided, and go on. */
static tw_status_t tw_auto_no_memory(tw_comm_t *comm)
{
    TW_ERROR(&comm->log, "no memory for what auto decides; the communicator is dead");
    comm->status = TW_ERR_NO_MEMORY;
    return TW_ERR_NO_MEMORY;
}

/* ---- decisions ------------------------------------------------------------------------------- */

static tw_status_t tw_auto_decide(tw_comm_t *comm, const tw_question_t *question,
                                  tw_decision_t *decision)
{
    struct tw_auto      *autos = comm->autos;
    tw_model_candidate_t list[TW_MODEL_CANDIDATES], chosen;
    const bool           may = !question->feedback &&
                     tw_model_class_count(question->class_index) <= INT_MAX &&
                     tw_native_serves_type(question->operation, question->dtype);
    tw_model_wish_t wish   = {.operation = question->operation,
                              .count     = (double)tw_model_class_count(question->class_index),
                              .dtype     = question->dtype,
                              .max_error = question->max_error,
                              .feedback  = question->feedback,
                              .algorithm = tw_policy_name(question->operation, question->forced),
                              .chunk     = comm->config.chunk};
    tw_status_t     status = tw_auto_know(comm);
    int             count;

    if (status != TW_OK) {
        return status;
    }
    wish.native = may && wish.algorithm == NULL;
    chosen      = tw_model_decide(&autos->facts, &wish, list, &count);
    if (wish.algorithm != NULL && chosen.codec < 0) {
        tw_auto_cannot(comm, question);
        wish.algorithm = NULL;
        wish.native    = may;
        chosen         = tw_model_decide(&autos->facts, &wish, list, &count);
    }
    *decision = (tw_decision_t){.question = *question};
    if (chosen.codec < 0 && wish.native) {
        strcpy(decision->spec, "mpi");
        strcpy(decision->algorithm, "mpi");
    } else {
        snprintf(decision->spec, sizeof(decision->spec), "%s",
                 autos->facts.codec[chosen.codec].spec);
        snprintf(decision->algorithm, sizeof(decision->algorithm), "%s",
                 tw_model_algorithm(chosen.algorithm)->name);
        decision->fragment = chosen.fragment;
    }
    tw_auto_explain(comm, question, list, count, decision);
    return tw_decisions_add(&autos->decided, decision) ? TW_OK : tw_auto_no_memory(comm);
}

static tw_status_t tw_auto_replay(tw_comm_t *comm, const tw_question_t *question,
                                  tw_decision_t *decision)
{
    const tw_decision_t *found = tw_decisions_find(&comm->autos->decided, question);

    if (found == NULL) {
        if (comm->rank == 0) {
            TW_ERROR(
                &comm->log,
                "%s holds no decision for %s of %zu %ss with auto:%g: this is another run than the "
                "recorded one; remove the file to record anew",
                comm->autos->path, tw_model_operations[question->operation],
                tw_model_class_count(question->class_index), tw_dtype_name(question->dtype),
                question->max_error);
        }
        return TW_ERR_MISMATCH;
    }
    *decision = *found;
    tw_auto_explain(comm, question, NULL, 0, decision);
    return TW_OK;
}

/* The answer to a question that was not asked before. */
static tw_status_t tw_auto_answer(tw_comm_t *comm, const tw_question_t *question, int *index_p)
{
    struct tw_auto   *autos = comm->autos;
    tw_auto_answer_t *answers, *answer;
    tw_decision_t     decision;
    tw_status_t       status = autos->replay ? tw_auto_replay(comm, question, &decision)
                                             : tw_auto_decide(comm, question, &decision);

    if (status != TW_OK) {
        return status;
    }
    answers = realloc(autos->answers, (size_t)(autos->answer_count + 1) * sizeof(*answers));
    if (answers == NULL) {
        return tw_auto_no_memory(comm);
    }
    autos->answers = answers;
    answer         = &answers[autos->answer_count];
    *answer        = (tw_auto_answer_t){.native   = strcmp(decision.spec, "mpi") == 0,
                                        .fragment = decision.fragment};
    strcpy(answer->algorithm, decision.algorithm);
    answer->codec = answer->native ? tw_auto_lossless(comm, question->dtype)
                                   : tw_auto_codec(comm, decision.spec, question->dtype);
    if (answer->codec == NULL) {
        return tw_auto_no_memory(comm);
    }
    *index_p = autos->answer_count++;
    return TW_OK;
}

/* ---- the way of a call ----------------------------------------------------------------------- */

static bool tw_table_is(const tw_auto_table_t *table, double max_error, tw_dtype_t dtype,
                        const tw_how_t *how)
{
    return table->max_error == max_error && table->dtype == dtype &&
           table->feedback == (how->feedback != NULL) && table->forced == (int)how->algorithm;
}

static tw_auto_table_t *tw_table_get(tw_comm_t *comm, double max_error, tw_dtype_t dtype,
                                     const tw_how_t *how)
{
    tw_auto_table_t *table;

    for (table = comm->autos->tables; table != NULL; table = table->next) {
        if (tw_table_is(table, max_error, dtype, how)) {
            return table;
        }
    }
    table = calloc(1, sizeof(*table));
    if (table != NULL) {
        table->max_error    = max_error;
        table->dtype        = dtype;
        table->feedback     = how->feedback != NULL;
        table->forced       = (int)how->algorithm;
        table->next         = comm->autos->tables;
        comm->autos->tables = table;
    }
    return table;
}

/* TW_ALGORITHM_MPI, named by the caller. */
static tw_status_t tw_auto_named_native(tw_comm_t *comm, tw_auto_choice_t *choice)
{
    double max_error;

    choice->how.algorithm = TW_ALGORITHM_AUTO;
    choice->native = choice->named = true;
    choice->how.codec              = tw_how_codec(comm, &choice->how);
    if (tw_codec_auto(choice->how.codec, &max_error)) {
        choice->how.codec = tw_auto_lossless(comm, choice->how.codec->dtype);
        return choice->how.codec != NULL ? TW_OK : tw_auto_no_memory(comm);
    }
    if (!choice->how.codec->lossless || choice->how.feedback != NULL) {
        TW_ERROR(&comm->log,
                 "MPI's own collective was asked for with codec %s%s; accepted: codecs that lose "
                 "nothing",
                 tw_codec_spec(choice->how.codec),
                 choice->how.feedback != NULL ? " and feedback" : "");
        return TW_ERR_INVALID_ARG;
    }
    return TW_OK;
}

tw_status_t tw_auto_resolve(const tw_collective_call_t *call, tw_auto_choice_t *choice)
{
    tw_comm_t           *comm      = call->comm;
    const tw_operation_t operation = call->collective->operation;
    tw_question_t question = {.operation = operation, .class_index = tw_model_class(call->count)};
    tw_auto_table_t  *table;
    tw_auto_answer_t *answer;
    int              *slot, index;
    tw_status_t       status;

    *choice = (tw_auto_choice_t){.native = false};
    if (call->how != NULL) {
        choice->how = *call->how;
    }
    if (choice->how.algorithm == TW_ALGORITHM_MPI) {
        return tw_auto_named_native(comm, choice);
    }
    if (choice->how.codec == NULL || !tw_codec_auto(choice->how.codec, &question.max_error)) {
        return TW_OK;
    }
    question.dtype    = choice->how.codec->dtype;
    question.feedback = choice->how.feedback != NULL;
    table             = tw_table_get(comm, question.max_error, question.dtype, &choice->how);
    if (table == NULL) {
        return tw_auto_no_memory(comm);
    }
    question.forced = call->named != NULL ? tw_policy_number(operation, call->named->name)
                                          : tw_policy_named(&comm->policy, operation);
    slot            = &table->answer[operation][question.class_index];
    if (*slot == 0) {
        status = tw_auto_answer(comm, &question, &index);
        if (status != TW_OK) {
            return status;
        }
        *slot = index + 1;
    }
    answer            = &comm->autos->answers[*slot - 1];
    choice->native    = answer->native;
    choice->how.codec = answer->codec;
    choice->fragment  = answer->fragment;
    choice->algorithm = answer->native ? NULL : answer->algorithm;
    if (call->named != NULL) { /* what can be done by that, and only that */
        choice->native    = false;
        choice->algorithm = NULL;
    }
    return TW_OK;
}

tw_status_t tw_auto_resolve_unequal(tw_comm_t *comm, const tw_how_t *how, tw_auto_choice_t *choice)
{
    double max_error;

    *choice = (tw_auto_choice_t){.native = false};
    if (how != NULL) {
        choice->how = *how;
    }
    if (choice->how.algorithm == TW_ALGORITHM_MPI) {
        TW_ERROR(&comm->log,
                 "MPI's own collective was asked for; accepted where all ranks know all counts");
        return TW_ERR_UNSUPPORTED;
    }
    if (choice->how.codec != NULL && tw_codec_auto(choice->how.codec, &max_error)) {
        choice->how.codec = tw_auto_lossless(comm, choice->how.codec->dtype);
        return choice->how.codec != NULL ? TW_OK : tw_auto_no_memory(comm);
    }
    return TW_OK;
}

bool tw_auto_is_native(const tw_comm_t *comm, tw_operation_t operation, size_t count,
                       const tw_how_t *how)
{
    double max_error;

    if (comm == NULL || comm->status != TW_OK || how == NULL || how->codec == NULL ||
        count > INT_MAX || (how->flags & ~TW_BCAST_SAME) != 0 ||
        (how->exec != NULL && how->exec->memory != TW_MEMORY_HOST) || !tw_native_blocks(comm) ||
        !tw_codec_auto(how->codec, &max_error)) {
        return false;
    }
    for (const tw_auto_table_t *table = comm->autos->tables; table != NULL; table = table->next) {
        if (tw_table_is(table, max_error, how->codec->dtype, how)) {
            const int index = table->answer[operation][tw_model_class(count)];

            return index > 0 && comm->autos->answers[index - 1].native;
        }
    }
    return false;
}
