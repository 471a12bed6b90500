/* SPDX-License-Identifier: BSD-3-Clause
 * policy/rules_inside.h - the parts of rules.c: the words of a rule, and why one is refused
 * (rule_words.c).
 */
#ifndef TW_POLICY_RULES_INSIDE_H
#define TW_POLICY_RULES_INSIDE_H

#include "runtime/policy/rules.h"

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

/* For messages: the beginning of a part, without what would break the line. */
typedef struct tw_quote {
    char text[84];
} tw_quote_t;

/** What stands from `text` to `end`, without the blanks around it. */
tw_rule_part_t tw_rule_part(const char *text, const char *end);

bool tw_part_is(tw_rule_part_t part, const char *word);
bool tw_part_begins(tw_rule_part_t part, const char *word);

tw_quote_t tw_rule_quote(tw_rule_part_t part, size_t most);

/** Say why a rule is refused: the rule, its line, and the message. @return TW_ERR_SPEC. */
tw_status_t tw_rule_refuse(const tw_rule_reader_t *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The same of a part that is no condition, with the word that may have been meant. */
tw_status_t tw_rule_refuse_word(const tw_rule_reader_t *reader, tw_rule_part_t part);

#endif /* TW_POLICY_RULES_INSIDE_H */
