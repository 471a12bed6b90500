/* SPDX-License-Identifier: BSD-3-Clause
 * policy/rule_text.c - a rule as it would be written.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/reduction.h"
#include "runtime/policy/rules.h"

static void tw_rule_put(char *text, size_t size, const char *word)
{
    const size_t n = strlen(text);

    snprintf(text + n, size - n, "%s%s", n > 0 ? ":" : "", word);
}

static void tw_rule_put_number(char *text, size_t size, const char *what, uint64_t number,
                               bool bytes)
{
    static const char units[] = {'\0', 'k', 'M', 'G'};
    char              word[48];
    int               unit = 0;

    while (bytes && unit < 3 && number > 0 && number % 1024 == 0) {
        number /= 1024;
        unit++;
    }
    snprintf(word, sizeof(word), "%s%llu%.1s", what, (unsigned long long)number, &units[unit]);
    tw_rule_put(text, size, word);
}

void tw_rule_text(const tw_rule_t *rule, char *text, size_t size)
{
    char comm[16];

    text[0] = '\0';
    if (rule->op >= 0) {
        tw_rule_put(text, size, tw_rule_op_names[rule->op]);
    }
    if (rule->dtype >= 0) {
        tw_rule_put(text, size, tw_dtype_name((tw_dtype_t)rule->dtype));
    }
    if (rule->reduction >= 0) {
        tw_rule_put(text, size, tw_reduction_row(rule->reduction)->name);
    }
    if (rule->least > 0) {
        tw_rule_put_number(text, size, ">=", rule->least, true);
    }
    if (rule->most < UINT64_MAX) {
        tw_rule_put_number(text, size, "<=", rule->most, true);
    }
    if (rule->comm[0] != '\0') {
        snprintf(comm, sizeof(comm), "comm=%.7s", rule->comm);
        tw_rule_put(text, size, comm);
    }
    if (rule->ranks > 0) {
        tw_rule_put_number(text, size, "comm=", (uint64_t)rule->ranks, false);
    }
    if (text[0] == '\0') {
        tw_rule_put(text, size, "*");
    }
    if (rule->spec[0] == '\0') {
        tw_rule_put(text, size, "off");
    } else {
        const size_t n = strlen(text);

        snprintf(text + n, size - n, "=%s", rule->spec);
    }
}
