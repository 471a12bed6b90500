/* SPDX-License-Identifier: BSD-3-Clause
 * policy/rules.c - from "allreduce:float:>=1M=tree8" to a rule, and the first rule that holds.
 * Grammar: condition { ":" condition } ( "=" spec | ":" "off" ). Size conditions and comm= contain
 * "=", specs contain ":" and "=": conditions are therefore read from the left, each as far as the
 * first ":" or "=" that is not part of its own beginning; the spec is all that follows.
 */
#include "config.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/reduction.h"
#include "runtime/base/text.h"
#include "runtime/policy/rules.h"

#define TW_RULE_ENDS "a rule ends with =SPEC or :off"

const char *const tw_rule_op_names[TW_RULE_OPS] = {
    "bcast",     "allreduce",  "reduce",   "reduce_scatter", "reduce_scatter_block",
    "allgather", "allgatherv", "alltoall", "alltoallv"};

/* A piece of the text; blanks around it are cut off. */
typedef struct tw_rule_part {
    const char *text;
    size_t      length;
} tw_rule_part_t;

typedef struct tw_rule_reader {
    tw_rule_part_t rule;
    int            line;
    char          *why;
    size_t         why_size;
    unsigned       seen; /* bits of tw_rule_kind_t: conditions before this one */
} tw_rule_reader_t;

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

static bool tw_rule_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static tw_rule_part_t tw_rule_part(const char *text, const char *end)
{
    while (text < end && tw_rule_blank(*text)) {
        text++;
    }
    while (text < end && tw_rule_blank(end[-1])) {
        end--;
    }
    return (tw_rule_part_t){text, (size_t)(end - text)};
}

static bool tw_part_is(tw_rule_part_t part, const char *word)
{
    return strlen(word) == part.length && memcmp(part.text, word, part.length) == 0;
}

static bool tw_part_begins(tw_rule_part_t part, const char *word)
{
    return part.length >= strlen(word) && memcmp(part.text, word, strlen(word)) == 0;
}

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

/* The words that are conditions, by their index; NULL: there are no more. */
static const char *tw_rule_word(size_t index)
{
    const tw_reduction_row_t *row;

    if (index < TW_RULE_OPS) {
        return tw_rule_op_names[index];
    }
    index -= TW_RULE_OPS;
    if (index < TW_DTYPE_ROWS) {
        return tw_dtype_name(tw_dtypes[index]);
    }
    index -= TW_DTYPE_ROWS;
    for (int r = 0; (row = tw_reduction_row(r)) != NULL; r++) {
        if (!row->divides && index-- == 0) {
            return row->name;
        }
    }
    return NULL;
}

static bool tw_rule_is_word(tw_rule_part_t part)
{
    const char *word;

    for (size_t i = 0; (word = tw_rule_word(i)) != NULL; i++) {
        if (tw_part_is(part, word)) {
            return true;
        }
    }
    return false;
}

/* For messages: all that a condition may be. */
typedef struct tw_accepted {
    char text[512];
} tw_accepted_t;

static tw_accepted_t tw_rule_accepted(void)
{
    tw_accepted_t accepted = {"accepted: "};
    size_t        length   = strlen(accepted.text);
    const char   *word;

    for (size_t i = 0; (word = tw_rule_word(i)) != NULL && length < sizeof(accepted.text); i++) {
        length +=
            (size_t)snprintf(accepted.text + length, sizeof(accepted.text) - length, "%s, ", word);
    }
    if (length < sizeof(accepted.text)) {
        snprintf(
            accepted.text + length, sizeof(accepted.text) - length,
            ">=SIZE, >SIZE, <=SIZE, <SIZE, comm=world, comm=self, comm=N, *, then =SPEC or :off");
    }
    return accepted;
}

/* For messages: the beginning of a part, without what would break the line. */
typedef struct tw_quote {
    char text[84];
} tw_quote_t;

static tw_quote_t tw_rule_quote(tw_rule_part_t part, size_t most)
{
    tw_quote_t quote;
    size_t     length = part.length < most ? part.length : most;

    while (length > 0 && length < part.length && (part.text[length] & 0xc0) == 0x80) {
        length--; /* no half characters of UTF-8 */
    }
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)part.text[i];

        quote.text[i] = c < 0x20 || c == 0x7f ? '?' : part.text[i];
    }
    strcpy(quote.text + length, length < part.length ? "..." : "");
    return quote;
}

/* Say why a rule is refused: the rule, its line, and the message. */
static tw_status_t tw_rule_refuse(const tw_rule_reader_t *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static tw_status_t tw_rule_refuse(const tw_rule_reader_t *reader, const char *format, ...)
{
    char    message[768];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    snprintf(reader->why, reader->why_size, "rule '%s' (line %d): %s",
             tw_rule_quote(reader->rule, 80).text, reader->line, message);
    return TW_ERR_SPEC;
}

/* The word that a user may have meant, or NULL. Capitals do not count as far away. */
static const char *tw_rule_nearest(tw_rule_part_t part)
{
    static const char *const others[] = {"off", "comm=", NULL};

    const char *nearest = NULL, *name = "";
    char        word[32];
    size_t      best = (part.length + 1) / 2 + 1; /* what is farther away is another word */

    if (part.length >= sizeof(word)) {
        return NULL;
    }
    for (size_t i = 0; i < part.length; i++) {
        const char c = part.text[i];

        word[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    word[part.length] = '\0';
    for (size_t i = 0, other = 0; name != NULL; i++) {
        size_t distance;

        name     = tw_rule_word(i) != NULL ? tw_rule_word(i) : others[other++];
        distance = name != NULL ? tw_edit_distance(word, name) : best;
        if (distance < best) {
            best    = distance;
            nearest = name;
        }
    }
    return nearest;
}

/* Collectives of MPI that there is no compressed form of: nobody meant another one. */
static bool tw_rule_is_passed_on(tw_rule_part_t part)
{
    static const char *const passed[] = {"gather",  "gatherv",  "scatter",  "scatterv",
                                         "scan",    "exscan",   "barrier",  "alltoallw",
                                         "igather", "igatherv", "iscatter", "iscatterv"};

    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        if (tw_part_is(part, passed[i])) {
            return true;
        }
    }
    return false;
}

/* Where a condition that is understood ends and another one follows at once, or behind a blank;
 * 0 if that is not so. */
static size_t tw_rule_joint(tw_rule_part_t part)
{
    for (size_t at = part.length; at-- > 1;) {
        const tw_rule_part_t first = tw_rule_part(part.text, part.text + at);
        const tw_rule_part_t next  = tw_rule_part(part.text + at, part.text + part.length);
        const bool sized = next.length > 0 && (next.text[0] == '<' || next.text[0] == '>');

        if (tw_rule_is_word(first) && (sized || tw_rule_is_word(next) || tw_part_is(next, "*") ||
                                       tw_part_is(next, "off") || tw_part_begins(next, "comm"))) {
            return at;
        }
    }
    return 0;
}

static tw_status_t tw_rule_refuse_word(const tw_rule_reader_t *reader, tw_rule_part_t part)
{
    const char  *nearest = tw_rule_nearest(part);
    const size_t joint   = tw_rule_joint(part);

    const tw_accepted_t accepted = tw_rule_accepted();

    if (part.length == 0) {
        return tw_rule_refuse(reader,
                              "a condition is empty (in a shell > and < need quotes, as in "
                              "'allreduce:>=1M=tree8'); %s",
                              accepted.text);
    }
    if (joint > 0) {
        return tw_rule_refuse(
            reader, "a ':' is missing in '%s' behind '%s'; %s", tw_rule_quote(part, 40).text,
            tw_rule_quote(tw_rule_part(part.text, part.text + joint), 40).text, accepted.text);
    }
    if (tw_rule_is_passed_on(part)) {
        return tw_rule_refuse(reader, "'%s' is never compressed; %s", tw_rule_quote(part, 40).text,
                              accepted.text);
    }
    return tw_rule_refuse(reader, "'%s' is no condition%s%s%s; %s", tw_rule_quote(part, 40).text,
                          nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                          nearest != NULL ? "'?" : "", accepted.text);
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
