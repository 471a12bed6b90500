/* SPDX-License-Identifier: BSD-3-Clause
 * policy/rule_words.c - the words that a rule may have, and why a rule is refused.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/reduction.h"
#include "runtime/base/text.h"
#include "runtime/policy/rules_inside.h"

const char *const tw_rule_op_names[TW_RULE_OPS] = {
    "bcast",     "allreduce",  "reduce",   "reduce_scatter", "reduce_scatter_block",
    "allgather", "allgatherv", "alltoall", "alltoallv"};

static bool tw_rule_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

tw_rule_part_t tw_rule_part(const char *text, const char *end)
{
    while (text < end && tw_rule_blank(*text)) {
        text++;
    }
    while (text < end && tw_rule_blank(end[-1])) {
        end--;
    }
    return (tw_rule_part_t){text, (size_t)(end - text)};
}

bool tw_part_is(tw_rule_part_t part, const char *word)
{
    return strlen(word) == part.length && memcmp(part.text, word, part.length) == 0;
}

bool tw_part_begins(tw_rule_part_t part, const char *word)
{
    return part.length >= strlen(word) && memcmp(part.text, word, strlen(word)) == 0;
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

tw_quote_t tw_rule_quote(tw_rule_part_t part, size_t most)
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

tw_status_t tw_rule_refuse(const tw_rule_reader_t *reader, const char *format, ...)
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

tw_status_t tw_rule_refuse_word(const tw_rule_reader_t *reader, tw_rule_part_t part)
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
