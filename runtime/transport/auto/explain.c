/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/explain.c - THINWIRE_EXPLAIN: log each decision and its candidates, at any log
 * level.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/transport/auto/auto.h"

typedef struct tw_line {
    char   text[TW_LOG_LINE_MAX];
    size_t used;
} tw_line_t;

static void tw_say(tw_line_t *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tw_say(tw_line_t *line, const char *format, ...)
{
    va_list args;
    int     n;

    va_start(args, format);
    n = vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format, args);
    va_end(args);
    line->used += n > 0 ? (size_t)n : 0;
    line->used = line->used < sizeof(line->text) ? line->used : sizeof(line->text) - 1;
}

static void tw_say_seconds(tw_line_t *line, double seconds)
{
    if (seconds < 1e-3) {
        tw_say(line, "%.1f us", seconds * 1e6);
    } else if (seconds < 1.0) {
        tw_say(line, "%.2f ms", seconds * 1e3);
    } else {
        tw_say(line, "%.2f s", seconds);
    }
}

/* The one that is predicted to be the fastest; NULL without any. */
static const tw_model_candidate_t *tw_fastest(const tw_model_candidate_t *list, int count)
{
    const tw_model_candidate_t *fastest = NULL;

    for (int i = 0; i < count; i++) {
        fastest = fastest == NULL || list[i].seconds < fastest->seconds ? &list[i] : fastest;
    }
    return fastest;
}

static bool tw_is_decision(const tw_facts_t *facts, const tw_model_candidate_t *one,
                           const tw_decision_t *decision)
{
    return one->codec < 0
               ? strcmp(decision->spec, "mpi") == 0
               : strcmp(facts->codec[one->codec].spec, decision->spec) == 0 &&
                     strcmp(tw_model_algorithm(one->algorithm)->name, decision->algorithm) == 0;
}

/* Where the fastest prediction was not taken: by which rule. */
static void tw_say_rule(tw_line_t *line, const tw_facts_t *facts, const tw_model_candidate_t *list,
                        int count, const tw_decision_t *decision)
{
    const tw_model_candidate_t *fastest = tw_fastest(list, count);
    const bool                  mpi     = strcmp(decision->spec, "mpi") == 0;
    double                      doubt;

    if (fastest == NULL || fastest->codec < 0 || tw_is_decision(facts, fastest, decision)) {
        return;
    }
    doubt = tw_model_doubt(facts, &facts->codec[fastest->codec]);
    tw_say(line, ", though %s by %s is predicted to be faster", facts->codec[fastest->codec].spec,
           tw_model_algorithm(fastest->algorithm)->name);
    if (mpi) {
        tw_say(line, " at %.2f of its time: it must be below %.2f, margin %.2f%s",
               fastest->seconds / list[0].seconds, tw_model_margin(facts) / doubt,
               tw_model_margin(facts), facts->long_form ? "" : " after a short measurement");
    } else {
        tw_say(line, ": a less exact codec must win by more than %.0f %%",
               100.0 * (1.0 - TW_MODEL_LESS_EXACT));
    }
    if (doubt > 1.0) {
        tw_say(line, "%s doubt %.1f of a lossy codec inside a node", mpi ? " over" : ", and by",
               doubt);
    }
}

void tw_auto_explain(const tw_comm_t *comm, const tw_question_t *question,
                     const tw_model_candidate_t *list, int count, const tw_decision_t *decision)
{
    const tw_facts_t *facts = &comm->autos->facts;
    tw_log_t          log   = comm->log;
    tw_line_t         line  = {.used = 0};

    if (!comm->autos->explain || comm->rank != 0) {
        return;
    }
    tw_say(&line, "auto:%g, %s of %zu %ss%s: %s", question->max_error,
           tw_model_operations[question->operation], tw_model_class_count(question->class_index),
           tw_dtype_name(question->dtype), question->feedback ? " with feedback" : "",
           decision->spec);
    if (decision->fragment > 0) {
        tw_say(&line, " by %s in fragments of %zu bytes", decision->algorithm, decision->fragment);
    }
    tw_say_rule(&line, facts, list, count, decision);
    tw_say(&line, "%s", list == NULL ? ", as recorded" : "; predicted:");
    for (int i = 0; i < count; i++) {
        if (list[i].codec < 0) {
            tw_say(&line, " mpi ");
        } else {
            tw_say(&line, "%s %s by %s ", i > 0 ? "," : "", facts->codec[list[i].codec].spec,
                   tw_model_algorithm(list[i].algorithm)->name);
        }
        tw_say_seconds(&line, list[i].seconds);
    }
    log.level = TW_LOG_INFO;
    TW_INFO(&log, "%s", line.text);
}

void tw_auto_cannot(const tw_comm_t *comm, const tw_question_t *question)
{
    static const char *const settings[] = {[TW_OPERATION_ALLREDUCE] = "THINWIRE_ALLREDUCE",
                                           [TW_OPERATION_REDUCE]    = "THINWIRE_ALLREDUCE",
                                           [TW_OPERATION_REDUCE_SCATTER] =
                                               "THINWIRE_REDUCE_SCATTER",
                                           [TW_OPERATION_BCAST]     = "THINWIRE_BCAST",
                                           [TW_OPERATION_ALLGATHER] = "THINWIRE_ALLGATHER",
                                           [TW_OPERATION_ALLTOALL]  = "THINWIRE_ALLTOALL"};

    if (comm->rank == 0 && /* what a call names is refused where it cannot be followed */
        question->forced == tw_policy_named(&comm->policy, question->operation)) {
        TW_INFO(&comm->log,
                "%s=%s cannot be followed by %s on %d ranks, on %d nodes of at most %d: decided as "
                "if it named none",
                settings[question->operation],
                tw_policy_name(question->operation, question->forced),
                tw_model_operations[question->operation], comm->size, comm->nodes->count,
                comm->nodes->most);
    }
}
