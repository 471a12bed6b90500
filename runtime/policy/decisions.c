/* SPDX-License-Identifier: BSD-3-Clause
 * policy/decisions.c - see decisions.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/dtype.h"
#include "runtime/policy/decisions.h"
#include "runtime/policy/policy.h"

#define TW_DECISIONS_HEADER "thinwire decisions 1"
#define TW_DECISIONS_LINE   320

static bool tw_question_same(const tw_question_t *a, const tw_question_t *b)
{
    return a->operation == b->operation && a->dtype == b->dtype && a->feedback == b->feedback &&
           a->forced == b->forced && tw_double_bits(a->max_error) == tw_double_bits(b->max_error) &&
           a->class_index == b->class_index;
}

bool tw_decisions_same(const tw_decisions_of_t *a, const tw_decisions_of_t *b)
{
    return a->ranks == b->ranks && a->nodes == b->nodes && a->local_ranks == b->local_ranks &&
           a->leader == b->leader && a->number == b->number;
}

bool tw_decisions_add(tw_decisions_t *decisions, const tw_decision_t *decision)
{
    const size_t count = decisions->count;

    if ((count & (count - 1)) == 0) { /* there is room for the next power of two from count on */
        const size_t   room = count > 0 ? 2 * count : 1;
        tw_decision_t *list = realloc(decisions->list, room * sizeof(*list));

        if (list == NULL) {
            return false;
        }
        decisions->list = list;
    }
    decisions->list[decisions->count++] = *decision;
    return true;
}

const tw_decision_t *tw_decisions_find(const tw_decisions_t *decisions,
                                       const tw_question_t  *question)
{
    for (size_t i = 0; i < decisions->count; i++) {
        if (tw_question_same(&decisions->list[i].question, question)) {
            return &decisions->list[i];
        }
    }
    return NULL;
}

static tw_decisions_t *tw_part_add(tw_decisions_file_t *file, const tw_decisions_of_t *of)
{
    tw_decisions_t *parts = realloc(file->parts, (file->count + 1) * sizeof(*parts));

    if (parts == NULL) {
        return NULL;
    }
    file->parts        = parts;
    parts[file->count] = (tw_decisions_t){.of = *of};
    return &parts[file->count++];
}

bool tw_decisions_put(tw_decisions_file_t *file, const tw_decisions_t *part)
{
    tw_decisions_t *mine = NULL;

    for (size_t p = 0; p < file->count; p++) {
        mine = tw_decisions_same(&file->parts[p].of, &part->of) ? &file->parts[p] : mine;
    }
    if (mine == NULL) {
        mine = tw_part_add(file, &part->of);
    }
    if (mine == NULL) {
        return false;
    }
    mine->count = 0;
    for (size_t i = 0; i < part->count; i++) {
        if (!tw_decisions_add(mine, &part->list[i])) {
            return false;
        }
    }
    return true;
}

void tw_decisions_free(tw_decisions_file_t *file)
{
    for (size_t p = 0; p < file->count; p++) {
        free(file->parts[p].list);
    }
    free(file->parts);
    *file = (tw_decisions_file_t){NULL, 0};
}

/* ---- reading -------------------------------------------------------------------------------- */

static int tw_operation_named(const char *word)
{
    for (int o = 0; o < TW_OPERATIONS; o++) {
        if (strcmp(tw_model_operations[o], word) == 0) {
            return o;
        }
    }
    return -1;
}

static bool tw_part_line(const char *line, tw_decisions_of_t *of)
{
    char rest;

    return sscanf(line, "communicator %9d %9d %9d %9d %9d%c", &of->ranks, &of->nodes,
                  &of->local_ranks, &of->leader, &of->number, &rest) == 5;
}

/* One decision. */
static bool tw_decision_line(const char *line, tw_decision_t *d)
{
    char     operation[24], type[8], form[12], forced[TW_DECISION_NAME], rest;
    uint64_t bits, count, fragment;
    int      o;

    if (strlen(line) >= TW_DECISIONS_LINE ||
        sscanf(line, "%23s %7s %16" SCNx64 " %11s %23s %20" SCNu64 " %95s %23s %9" SCNu64 "%c",
               operation, type, &bits, form, forced, &count, d->spec, d->algorithm, &fragment,
               &rest) != 9) {
        return false;
    }
    o = tw_operation_named(operation);
    memcpy(&d->question.max_error, &bits, sizeof(bits));
    if (o < 0 || !tw_dtype_named(type, &d->question.dtype) ||
        (strcmp(form, "plain") != 0 && strcmp(form, "feedback") != 0) ||
        !(d->question.max_error >= 0.0 && d->question.max_error <= 1e6) || count > SIZE_MAX ||
        tw_model_class_count(tw_model_class((size_t)count)) != count ||
        fragment > (uint64_t)1 << 30) {
        return false;
    }
    d->question.operation = (tw_operation_t)o;
    d->question.forced    = tw_policy_number(d->question.operation, forced);
    if (d->question.forced == 0 && strcmp(forced, "0") != 0) {
        return false;
    }
    d->question.feedback    = strcmp(form, "feedback") == 0;
    d->question.class_index = tw_model_class((size_t)count);
    d->fragment             = (size_t)fragment;
    if (strcmp(d->spec, "mpi") == 0) {
        return strcmp(d->algorithm, "mpi") == 0 && !d->question.feedback;
    }
    return tw_model_find(d->question.operation, d->algorithm) >= 0 && fragment > 0;
}

static bool tw_bad(char *why, size_t why_size, const char *text)
{
    snprintf(why, why_size, "%s", text);
    return false;
}

/* Where the line of the checksum begins, if it is right; else 0. */
static size_t tw_decisions_checked(const char *text, size_t length)
{
    char   want[40];
    size_t at = length;

    if (length < 2 || text[length - 1] != '\n') {
        return 0;
    }
    for (at = length - 1; at > 0 && text[at - 1] != '\n'; at--) {
    }
    snprintf(want, sizeof(want), "checksum %016" PRIx64 "\n", tw_fnv1a(TW_FNV_START, text, at));
    return length - at == strlen(want) && memcmp(text + at, want, length - at) == 0 ? at : 0;
}

static bool tw_decisions_lines(const char *text, size_t from, size_t end, tw_decisions_file_t *file,
                               char *why, size_t why_size)
{
    for (int number = 3; from < end; number++) {
        const char       *stop = memchr(text + from, '\n', end - from);
        const size_t      n    = stop != NULL ? (size_t)(stop - text) - from : TW_DECISIONS_LINE;
        char              line[TW_DECISIONS_LINE];
        tw_decision_t     decision = {.fragment = 0};
        tw_decisions_of_t of;

        if (n >= sizeof(line) || memchr(text + from, '\0', n) != NULL) {
            return tw_bad(why, why_size, "it is no text of lines");
        }
        memcpy(line, text + from, n);
        line[n] = '\0';
        from += n + 1;
        if (tw_part_line(line, &of)) {
            if (tw_part_add(file, &of) == NULL) {
                return tw_bad(why, why_size, "there is no memory for it");
            }
        } else if (file->count == 0 || !tw_decision_line(line, &decision)) {
            snprintf(why, why_size, "line %d is not understood", number);
            return false;
        } else if (!tw_decisions_add(&file->parts[file->count - 1], &decision)) {
            return tw_bad(why, why_size, "there is no memory for it");
        }
    }
    return true;
}

bool tw_decisions_read(const char *text, size_t length, const char *version,
                       tw_decisions_file_t *file, char *why, size_t why_size)
{
    static const char header[] = TW_DECISIONS_HEADER "\nversion ";
    char              here[64];
    size_t            end, n;

    *file = (tw_decisions_file_t){NULL, 0};
    tw_bad(why, why_size, "");
    if (length < strlen(header) || memcmp(text, header, strlen(header)) != 0) {
        return tw_bad(why, why_size, "it does not begin with '" TW_DECISIONS_HEADER "'");
    }
    end = tw_decisions_checked(text, length);
    if (end == 0) {
        return tw_bad(why, why_size, "its checksum is missing or wrong: it was cut or changed");
    }
    snprintf(here, sizeof(here), "%s\n", version);
    n = strlen(header);
    if (end - n < strlen(here) || memcmp(text + n, here, strlen(here)) != 0) {
        return tw_bad(why, why_size, "it was written by another version");
    }
    if (!tw_decisions_lines(text, n + strlen(here), end, file, why, why_size)) {
        tw_decisions_free(file);
        return false;
    }
    return true;
}

/* ---- writing -------------------------------------------------------------------------------- */

char *tw_decisions_write(const tw_decisions_file_t *file, const char *version, size_t *length_p)
{
    size_t room = 256, used = 0;
    char  *text;

    for (size_t p = 0; p < file->count; p++) {
        room += TW_DECISIONS_LINE * (1 + file->parts[p].count);
    }
    text = malloc(room);
    if (text == NULL) {
        return NULL;
    }
    used += (size_t)snprintf(text, room, TW_DECISIONS_HEADER "\nversion %s\n", version);
    for (size_t p = 0; p < file->count; p++) {
        const tw_decisions_t *part = &file->parts[p];

        used += (size_t)snprintf(text + used, room - used, "communicator %d %d %d %d %d\n",
                                 part->of.ranks, part->of.nodes, part->of.local_ranks,
                                 part->of.leader, part->of.number);
        for (size_t i = 0; i < part->count; i++) {
            const tw_decision_t *d      = &part->list[i];
            const char          *forced = tw_policy_name(d->question.operation, d->question.forced);

            used += (size_t)snprintf(
                text + used, room - used, "%s %s %016" PRIx64 " %s %s %zu %s %s %zu\n",
                tw_model_operations[d->question.operation], tw_dtype_name(d->question.dtype),
                tw_double_bits(d->question.max_error), d->question.feedback ? "feedback" : "plain",
                forced != NULL ? forced : "0", tw_model_class_count(d->question.class_index),
                d->spec, d->algorithm, d->fragment);
        }
    }
    used += (size_t)snprintf(text + used, room - used, "checksum %016" PRIx64 "\n",
                             tw_fnv1a(TW_FNV_START, text, used));
    *length_p = used;
    return text;
}
