/* SPDX-License-Identifier: BSD-3-Clause
 * tests/policy/test_rules_drawn.c - rules drawn at random against what they were drawn from, and
 * text that is no rules: read or refused, never a byte too far.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/policy/rules.h"
#include "tests/codec/common.h"

#define MOST UINT64_MAX

static const char *const comms[] = {"", "world", "self"};
static const char *const specs[] = {"", "tree8", "bitpack:2", "tree8:block=512,split=0.55"};

static void add(char *text, size_t size, const char *more)
{
    ck_assert_uint_lt(strlen(text) + strlen(more), size);
    strcat(text, more);
}

/* One condition as text, "" where the rule does not ask for it. */
static void condition(const tw_rule_t *rule, int kind, char *text, size_t size)
{
    static const char *const types[] = {"float", "double"}, *const made[] = {"sum", "", "max",
                                                                             "min", "prod"};

    text[0] = '\0';
    if (kind == 0 && rule->op >= 0) {
        snprintf(text, size, "%s", tw_rule_op_names[rule->op]);
    } else if (kind == 1 && rule->dtype >= 0) {
        snprintf(text, size, "%s", types[rule->dtype]);
    } else if (kind == 2 && rule->least > 0) {
        snprintf(text, size, rule->least % 2 ? ">%llu" : ">=%llu",
                 (unsigned long long)(rule->least - rule->least % 2));
    } else if (kind == 3 && rule->most < MOST) {
        snprintf(text, size, rule->most % 2 ? "<%llu" : "<=%llu",
                 (unsigned long long)(rule->most + rule->most % 2));
    } else if (kind == 4 && rule->ranks > 0) {
        snprintf(text, size, "comm=%d", rule->ranks);
    } else if (kind == 4 && rule->comm[0] != '\0') {
        snprintf(text, size, "comm=%s", rule->comm);
    } else if (kind == 5 && rule->reduction >= 0) {
        snprintf(text, size, "%s", made[rule->reduction]);
    }
}

/* The rule as text, its conditions in any order, blanks anywhere. */
static void write_rule(const tw_rule_t *rule, test_random_t *random, char *text, size_t size)
{
    const int   first = (int)(test_bits(random) % 6), step = test_bits(random) % 2 ? 1 : 5;
    const char *blank = test_bits(random) % 3 == 0 ? " " : "";
    bool        any   = false;
    char        part[96];

    text[0] = '\0';
    for (int i = 0; i < 6; i++) {
        condition(rule, (first + i * step) % 6, part, sizeof(part));
        if (part[0] != '\0') {
            add(text, size, any ? ":" : "");
            add(text, size, blank);
            add(text, size, part);
            add(text, size, blank);
            any = true;
        }
    }
    add(text, size, any ? "" : "*");
    add(text, size, rule->spec[0] == '\0' ? ":off" : "=");
    add(text, size, rule->spec);
}

static tw_rule_t draw_rule(test_random_t *random, int line)
{
    tw_rule_t rule = {.op = -1, .dtype = -1, .most = MOST, .line = line, .reduction = -1};

    if (test_bits(random) % 2) {
        rule.op = (int)(test_bits(random) % TW_RULE_OPS);
    }
    rule.dtype = (int)(test_bits(random) % 3) - 1;
    if (test_bits(random) % 2) {
        rule.least = test_bits(random) % 100;
    }
    if (test_bits(random) % 2) {
        rule.most = rule.least + test_bits(random) % 100;
    }
    strcpy(rule.comm, comms[test_bits(random) % 3]);
    if (rule.comm[0] == '\0' && test_bits(random) % 2) {
        rule.ranks = 1 + (int)(test_bits(random) % 3);
    }
    if (test_bits(random) % 3 == 0) { /* but an average, which MPI has not */
        rule.reduction = (int)(test_bits(random) % 4);
        rule.reduction += rule.reduction > 0;
    }
    strcpy(rule.spec, specs[test_bits(random) % 4]);
    return rule;
}

/* The definition, once more: one question after the other. */
static bool holds(const tw_rule_t *rule, const tw_rule_query_t *query)
{
    if (rule->op != -1 && rule->op != (int)query->op) {
        return false;
    }
    if ((rule->dtype == 0 && query->dtype) || (rule->dtype == 1 && !query->dtype)) {
        return false;
    }
    if (query->bytes < rule->least || query->bytes > rule->most) {
        return false;
    }
    if (rule->comm[0] != '\0' && strcmp(rule->comm, query->comm_name) != 0) {
        return false;
    }
    if (rule->reduction != -1 && rule->reduction != query->reduction) {
        return false;
    }
    return rule->ranks == 0 || rule->ranks == query->ranks;
}

static void check_same(const tw_rule_t *got, const tw_rule_t *want, const char *text)
{
    ck_assert_msg(got->op == want->op && got->dtype == want->dtype && got->least == want->least &&
                      got->most == want->most && strcmp(got->comm, want->comm) == 0 &&
                      got->ranks == want->ranks && strcmp(got->spec, want->spec) == 0 &&
                      got->line == want->line && got->reduction == want->reduction,
                  "line %d differs:\n%s", want->line, text);
}

START_TEST(drawn_rules_are_read_and_decide)
{
    test_random_t random = test_random(1);

    for (int round = 0; round < 2000; round++) {
        const int  count = 1 + (int)(test_bits(&random) % 9);
        tw_rule_t  rules[9];
        tw_rules_t read;
        char       text[4096] = "", line[256];

        for (int i = 0; i < count; i++) {
            rules[i] = draw_rule(&random, i + 1);
            write_rule(&rules[i], &random, line, sizeof(line));
            add(text, sizeof(text), line);
            add(text, sizeof(text), test_bits(&random) % 2 ? "\n" : " # comment\r\n");
        }
        read = (tw_rules_t){0};
        ck_assert_msg(tw_rules_parse(&read, text, line, sizeof(line)) == TW_OK, "%s", line);
        ck_assert_int_eq((int)read.count, count);
        for (int i = 0; i < count; i++) {
            check_same(&read.rules[i], &rules[i], text);
        }
        for (int q = 0; q < 20; q++) {
            const tw_rule_query_t query = {(tw_rule_op_t)(test_bits(&random) % TW_RULE_OPS),
                                           test_bits(&random) % 2,
                                           test_bits(&random) % 200,
                                           comms[test_bits(&random) % 3],
                                           1 + (int)(test_bits(&random) % 4),
                                           (int)(test_bits(&random) % 6) - 1};
            int                   want  = 0;

            while (want < count && !holds(&rules[want], &query)) {
                want++;
            }
            ck_assert_int_eq(tw_rules_match(&read, &query), want < count ? want : -1);
        }
        tw_rules_free(&read);
    }
}
END_TEST

/* Text of bytes, of the letters of rules, or of pieces of rules. */
static size_t draw_text(test_random_t *random, char *text, size_t size)
{
    static const char        letters[] = ":=<>*#;\n, 0159kMGacdeflmortux_";
    static const char *const pieces[]  = {"bcast",
                                          "alltoallv",
                                          "float",
                                          "double",
                                          ":",
                                          "=",
                                          "comm=",
                                          ">=",
                                          "<",
                                          "64k",
                                          "99999999999999999999",
                                          "off",
                                          "tree8",
                                          "*",
                                          "bitpack:2",
                                          "\n",
                                          ";",
                                          " ",
                                          "#",
                                          "comm=4",
                                          ">=1M",
                                          ":",
                                          "=",
                                          "world",
                                          "comm=self",
                                          "row",
                                          "inf"};
    const uint32_t           kind      = test_bits(random) % 3;
    const size_t             most      = test_bits(random) % (size - 32);
    size_t                   used      = 0;

    while (used < most) {
        const char *piece = pieces[test_bits(random) % (sizeof(pieces) / sizeof(pieces[0]))];

        if (kind == 2) {
            memcpy(text + used, piece, strlen(piece));
            used += strlen(piece);
        } else if (kind == 1) {
            text[used++] = letters[test_bits(random) % (sizeof(letters) - 1)];
        } else {
            text[used++] = (char)(1 + test_bits(random) % 255);
        }
    }
    text[used] = '\0';
    return used;
}

/* What must be true of the rules from `first` on, whatever the text was. */
static void check_rules(const tw_rules_t *rules, size_t first)
{
    for (size_t i = first; i < rules->count; i++) {
        const tw_rule_t *rule = &rules->rules[i];

        ck_assert_int_ge(rule->op, -1);
        ck_assert_int_lt(rule->op, TW_RULE_OPS);
        ck_assert_int_ge(rule->dtype, -1);
        ck_assert_int_le(rule->dtype, 1);
        ck_assert(rule->least <= rule->most);
        ck_assert_int_ge(rule->ranks, 0);
        ck_assert(rule->ranks == 0 || rule->comm[0] == '\0');
        ck_assert(strcmp(rule->comm, "") == 0 || strcmp(rule->comm, "world") == 0 ||
                  strcmp(rule->comm, "self") == 0);
        ck_assert_ptr_nonnull(memchr(rule->spec, '\0', sizeof(rule->spec)));
        ck_assert_ptr_null(strpbrk(rule->spec, ";#\n"));
        ck_assert_int_ge(rule->line, 1);
    }
}

START_TEST(hostile_text_is_read_or_refused)
{
    const tw_rule_query_t query  = {TW_RULE_BCAST, false, 65536, "world", 4, -1};
    test_random_t         random = test_random(2);
    tw_rules_t            rules  = {0};
    char                  drawn[512];
    int                   good_texts = 0;

    for (int round = 0; round < 20000; round++) {
        const size_t  length = draw_text(&random, drawn, round % 2 ? sizeof(drawn) : 48);
        const size_t  size   = test_bits(&random) % 4 ? 512 : test_bits(&random) % 64;
        const size_t  before = rules.count;
        char         *text   = (char *)test_fenced(length + 1, 0); /* no byte behind it is read */
        test_buffer_t why    = test_buffer(size, 0);
        tw_status_t   status;

        memcpy(text, drawn, length + 1);
        status = tw_rules_parse(&rules, text, (char *)why.data, size);
        ck_assert(status == TW_OK || status == TW_ERR_SPEC);
        good_texts += status == TW_OK && rules.count > before;
        if (status != TW_OK) {
            ck_assert_uint_eq(rules.count, before);
        }
        if (size > 0) {
            ck_assert_ptr_nonnull(memchr(why.data, '\0', size));
            ck_assert_ptr_null(strchr((char *)why.data, '\n'));
            ck_assert(size == 1 || (why.data[0] == '\0') == (status == TW_OK));
        }
        check_rules(&rules, before);
        ck_assert_int_lt(tw_rules_match(&rules, &query), (int)rules.count);
        test_buffer_free(&why);
        test_fenced_free((uint8_t *)text, length + 1, 0);
        if (rules.count > 64) {
            tw_rules_free(&rules);
        }
    }
    ck_assert_int_gt(good_texts, 20); /* or nothing but refusals was tried */
    tw_rules_free(&rules);
}
END_TEST

START_TEST(many_rules_and_long_lines)
{
    const size_t bytes = 1 << 20;
    char        *text  = malloc(bytes + 1), why[512];
    tw_rules_t   rules = {0};

    memset(text, '\n', bytes);
    for (size_t i = 0; i + 6 < bytes; i += 100) {
        memcpy(text + i, "*:off;", 6);
    }
    text[bytes] = '\0';
    ck_assert_int_eq(tw_rules_parse(&rules, text, why, sizeof(why)), TW_OK);
    ck_assert_uint_eq(rules.count, (bytes - 7) / 100 + 1);
    ck_assert_int_eq(rules.rules[1].line, 95);
    memset(text, 'a', bytes);
    ck_assert_int_eq(tw_rules_parse(&rules, text, why, sizeof(why)), TW_ERR_SPEC);
    memset(text, ':', bytes);
    ck_assert_int_eq(tw_rules_parse(&rules, text, why, sizeof(why)), TW_ERR_SPEC);
    ck_assert_uint_eq(rules.count, (bytes - 7) / 100 + 1);
    tw_rules_free(&rules);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("drawn rules");
    TCase *tcase = test_case(suite, "rules");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, drawn_rules_are_read_and_decide);
    tcase_add_test(tcase, hostile_text_is_read_or_refused);
    tcase_add_test(tcase, many_rules_and_long_lines);
    return test_main(suite);
}
