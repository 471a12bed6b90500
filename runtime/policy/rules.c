/* SPDX-License-Identifier: BSD-3-Clause
 * policy/rules.c - from "allreduce:float:>=1M=tree8" to a rule, and the first rule that holds.
 * Grammar: condition { ":" condition } ( "=" spec | ":" "off" ). Size conditions and comm= contain
 * "=", specs contain ":" and "=": conditions are therefore read from the left, each as far as the
 * first ":" or "=" that is not part of its own beginning; the spec is all that follows.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/reduction.h"
#include "runtime/base/text.h"
#include "runtime/policy/rules_inside.h"

#define TW_RULE_ENDS "a rule ends with =SPEC or :off"

typedef enum tw_rule_kind {
    TW_RULE_KIND_OP,
    TW_RULE_KIND_TYPE,
    TW_RULE_KIND_REDUCTION,
    TW_RULE_KIND_LEAST,
    TW_RULE_KIND_MOST,
    TW_RULE_KIND_COMM,
    TW_RULE_KIND_ANY,
} tw_rule_kind_t;

static const char *const tw_rule_kind_names[] = {
    "operation", "type", "reduction", "lower size", "upper size", "communicator", "'*'"};

/* The element type that it names (tw_dtype_t), or -1. */
static int tw_part_type(tw_rule_part_t part)
{
    for (size_t i = 0; i < TW_DTYPE_ROWS; i++) {
        if (tw_part_is(part, tw_dtype_name(tw_dtypes[i]))) {
            return (int)tw_dtypes[i];
        }
    }
    return -1;
}

/* The reduction that it names (tw_reduction_t), of those that MPI has, or -1. */
static int tw_part_reduction(tw_rule_part_t part)
{
    const tw_reduction_row_t *row;

    for (int r = 0; (row = tw_reduction_row(r)) != NULL; r++) {
        if (!row->divides && tw_part_is(part, row->name)) {
            return r;
        }
    }
    return -1;
}

/* Whether a kind stands here for the first time. */
static tw_status_t tw_rule_once(tw_rule_reader_t *reader, tw_rule_kind_t kind, tw_rule_part_t part)
{
    if (reader->seen & 1u << kind) {
        return tw_rule_refuse(reader, "'%s' is a second condition on one thing; accepted: one %s",
                              tw_rule_quote(part, 40).text, tw_rule_kind_names[kind]);
    }
    reader->seen |= 1u << kind;
    return TW_OK;
}

/* ">=64k", "<1M" */
static tw_status_t tw_rule_size(tw_rule_reader_t *reader, tw_rule_part_t part, tw_rule_t *rule)
{
    const bool           upper = part.text[0] == '<';
    const bool           equal = part.length > 1 && part.text[1] == '=';
    const tw_rule_part_t size  = tw_rule_part(part.text + 1 + equal, part.text + part.length);
    size_t               value = 0;

    if (!tw_text_bytes(tw_rule_quote(size, 80).text, &value)) {
        return tw_rule_refuse(reader, "'%s' is no size; accepted: bytes, such as 4096, 64k, 1M, 2G",
                              tw_rule_quote(size, 40).text);
    }
    if (!equal && value == (upper ? 0 : SIZE_MAX)) {
        return tw_rule_refuse(reader, "no vector is as '%s' says; accepted: bytes, such as <1M",
                              tw_rule_quote(part, 40).text);
    }
    if (upper) {
        rule->most = equal ? value : value - 1;
    } else {
        rule->least = equal ? value : value + 1;
    }
    return tw_rule_once(reader, upper ? TW_RULE_KIND_MOST : TW_RULE_KIND_LEAST, part);
}

/* "comm=world", "comm=4". Nothing else: MPI_Comm_set_name is local, and ranks that know one
 * communicator by different names would decide differently and hang. */
static tw_status_t tw_rule_comm(tw_rule_reader_t *reader, tw_rule_part_t part, tw_rule_t *rule)
{
    const tw_rule_part_t name  = tw_rule_part(part.text + strlen("comm="), part.text + part.length);
    uint64_t             ranks = 0;

    if (tw_part_is(name, "world") || tw_part_is(name, "MPI_COMM_WORLD")) {
        strcpy(rule->comm, "world");
    } else if (tw_part_is(name, "self") || tw_part_is(name, "MPI_COMM_SELF")) {
        strcpy(rule->comm, "self");
    } else if (strspn(name.text, "0123456789") < name.length || name.length == 0) {
        return tw_rule_refuse(reader,
                              "'%s' chooses no communicator; accepted: comm=world "
                              "(MPI_COMM_WORLD), comm=self (MPI_COMM_SELF), comm=N for N ranks; "
                              "names given by the program are not compared between the ranks",
                              tw_rule_quote(part, 40).text);
    } else if (!tw_text_whole(tw_rule_quote(name, 80).text, 1, INT_MAX, &ranks)) {
        return tw_rule_refuse(reader, "'%s' is no number of ranks; accepted: comm=N, N = 1..%d",
                              tw_rule_quote(part, 40).text, INT_MAX);
    }
    rule->ranks = (int)ranks;
    return tw_rule_once(reader, TW_RULE_KIND_COMM, part);
}

static tw_status_t tw_rule_condition(tw_rule_reader_t *reader, tw_rule_part_t part, tw_rule_t *rule)
{
    if (part.length > 0 && (part.text[0] == '<' || part.text[0] == '>')) {
        return tw_rule_size(reader, part, rule);
    }
    if (tw_part_begins(part, "comm=")) {
        return tw_rule_comm(reader, part, rule);
    }
    if (tw_part_is(part, "*")) {
        return tw_rule_once(reader, TW_RULE_KIND_ANY, part);
    }
    if (tw_part_type(part) >= 0) {
        rule->dtype = tw_part_type(part);
        return tw_rule_once(reader, TW_RULE_KIND_TYPE, part);
    }
    if (tw_part_reduction(part) >= 0) {
        rule->reduction = tw_part_reduction(part);
        return tw_rule_once(reader, TW_RULE_KIND_REDUCTION, part);
    }
    for (int op = 0; op < TW_RULE_OPS; op++) {
        if (tw_part_is(part, tw_rule_op_names[op])) {
            rule->op = op;
            return tw_rule_once(reader, TW_RULE_KIND_OP, part);
        }
    }
    return tw_rule_refuse_word(reader, part);
}

/* Where the condition that begins at `at` ends. */
static const char *tw_rule_condition_end(const char *at, const char *end)
{
    const tw_rule_part_t rest = tw_rule_part(at, end);

    at = rest.text;
    if (tw_part_begins(rest, "comm=")) {
        at += strlen("comm=");
    } else if (tw_part_begins(rest, "<=") || tw_part_begins(rest, ">=")) {
        at += 2;
    }
    while (at < end && *at != ':' && *at != '=') {
        at++;
    }
    return at;
}

static tw_status_t tw_rule_spec(const tw_rule_reader_t *reader, tw_rule_part_t spec,
                                tw_rule_t *rule)
{
    if (spec.length == 0) {
        return tw_rule_refuse(reader, "there is no codec after the last '='; %s", TW_RULE_ENDS);
    }
    if (spec.length >= sizeof(rule->spec)) {
        return tw_rule_refuse(reader, "codec spec '%s' is too long; accepted: 1 to %d bytes",
                              tw_rule_quote(spec, 40).text, (int)sizeof(rule->spec) - 1);
    }
    if (!tw_part_is(spec, "off")) {
        memcpy(rule->spec, spec.text, spec.length); /* the rest is zero */
    }
    return TW_OK;
}

static tw_status_t tw_rule_off(const tw_rule_reader_t *reader, bool last)
{
    if (!last) {
        return tw_rule_refuse(reader, "'off' is followed by more; %s", TW_RULE_ENDS);
    }
    if (reader->seen == 0) {
        return tw_rule_refuse(reader, "'off' has no condition; for all calls: *:off");
    }
    return TW_OK;
}

static tw_status_t tw_rule_read(tw_rule_reader_t *reader, tw_rule_t *rule)
{
    const char *at = reader->rule.text, *end = at + reader->rule.length;

    *rule = (tw_rule_t){
        .op = -1, .dtype = -1, .reduction = -1, .most = UINT64_MAX, .line = reader->line};
    for (;;) {
        const char          *stop = tw_rule_condition_end(at, end);
        const tw_rule_part_t part = tw_rule_part(at, stop);
        tw_status_t          status;

        if (tw_part_is(part, "off")) {
            return tw_rule_off(reader, stop == end);
        }
        status = tw_rule_condition(reader, part, rule);
        if (status != TW_OK) {
            return status;
        }
        if (rule->least > rule->most) {
            return tw_rule_refuse(reader, "no vector has these sizes; accepted: a lower size that "
                                          "is below the upper one");
        }
        if (stop == end) {
            return tw_rule_refuse(reader, "there is no codec; %s", TW_RULE_ENDS);
        }
        if (*stop == '=') {
            return tw_rule_spec(reader, tw_rule_part(stop + 1, end), rule);
        }
        at = stop + 1;
    }
}

/* The array has room for the next power of two from count on. */
static tw_status_t tw_rules_append(tw_rules_t *rules, const tw_rule_t *rule)
{
    if ((rules->count & (rules->count - 1)) == 0) {
        const size_t room  = rules->count > 0 ? 2 * rules->count : 1;
        tw_rule_t   *grown = realloc(rules->rules, room * sizeof(*grown));

        if (grown == NULL) {
            return TW_ERR_NO_MEMORY;
        }
        rules->rules = grown;
    }
    rules->rules[rules->count++] = *rule;
    return TW_OK;
}

/* One rule, or nothing but blanks. */
static tw_status_t tw_rules_add(tw_rules_t *rules, tw_rule_reader_t reader)
{
    tw_rule_t   rule;
    tw_status_t status;

    if (reader.rule.length == 0) {
        return TW_OK;
    }
    status = tw_rule_read(&reader, &rule);
    if (status == TW_OK) {
        status = tw_rules_append(rules, &rule);
        if (status != TW_OK) {
            snprintf(reader.why, reader.why_size, "out of memory");
        }
    }
    return status;
}

tw_status_t tw_rules_parse(tw_rules_t *rules, const char *text, char *why, size_t why_size)
{
    const size_t before = rules->count;
    int          line   = 1;

    if (why == NULL) {
        why_size = 0;
    }
    snprintf(why, why_size, "%s", "");
    while (*text != '\0') {
        const char       *end    = text + strcspn(text, ";#\n");
        const tw_status_t status = tw_rules_add(
            rules, (tw_rule_reader_t){tw_rule_part(text, end), line, why, why_size, 0});

        if (status != TW_OK) {
            rules->count = before;
            if (before == 0) {
                tw_rules_free(rules);
            }
            return status;
        }
        if (*end == '#') {
            end += strcspn(end, "\n");
        }
        line += *end == '\n';
        text = end + (*end != '\0');
    }
    return TW_OK;
}

void tw_rules_free(tw_rules_t *rules)
{
    free(rules->rules);
    *rules = (tw_rules_t){0};
}

static bool tw_rule_holds(const tw_rule_t *rule, const tw_rule_query_t *query)
{
    return (rule->op < 0 || rule->op == (int)query->op) &&
           (rule->dtype < 0 || rule->dtype == (int)query->dtype) &&
           (rule->reduction < 0 || rule->reduction == query->reduction) &&
           query->bytes >= rule->least && query->bytes <= rule->most &&
           (rule->ranks == 0 || rule->ranks == query->ranks) &&
           (rule->comm[0] == '\0' || strcmp(rule->comm, query->comm_name) == 0);
}

int tw_rules_match(const tw_rules_t *rules, const tw_rule_query_t *query)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (tw_rule_holds(&rules->rules[i], query)) {
            return (int)i;
        }
    }
    return -1;
}
