/* SPDX-License-Identifier: BSD-3-Clause
 * tests/policy/test_rules.c - rules of the drop-in: what is read, what is refused and how, and
 * which rule decides. Drawn and hostile text: test_rules_drawn.c.
 */
#include "config.h"

#include <stdio.h>

#include "runtime/policy/rules.h"
#include "tests/codec/common.h"

#define KIB  UINT64_C(1024)
#define MIB  UINT64_C(1048576)
#define GIB  UINT64_C(1073741824)
#define MOST UINT64_MAX

#define NAMES "names given by the program are not compared between the ranks"

static tw_rules_t parsed(const char *text)
{
    tw_rules_t rules = {0};
    char       why[512];

    ck_assert_msg(tw_rules_parse(&rules, text, why, sizeof(why)) == TW_OK, "%s: %s", text, why);
    ck_assert_str_eq(why, "");
    return rules;
}

static void same_rule(const tw_rule_t *got, const tw_rule_t *want, const char *text)
{
    ck_assert_msg(got->op == want->op && got->dtype == want->dtype && got->least == want->least &&
                      got->most == want->most && strcmp(got->comm, want->comm) == 0 &&
                      got->ranks == want->ranks && strcmp(got->spec, want->spec) == 0 &&
                      got->line == want->line && got->reduction == want->reduction,
                  "'%s' is read as operation %d, type %d, %llu..%llu bytes, comm '%s', %d ranks, "
                  "codec '%s', line %d",
                  text, got->op, got->dtype, (unsigned long long)got->least,
                  (unsigned long long)got->most, got->comm, got->ranks, got->spec, got->line);
}

static const struct {
    const char *text;
    tw_rule_t   rule;
} good[] = {
    {"allreduce:float:>=1M=tree8", {TW_RULE_ALLREDUCE, 0, MIB, MOST, "", 0, "tree8", 1, -1}},
    {"bcast:*=bitpack:2", {TW_RULE_BCAST, -1, 0, MOST, "", 0, "bitpack:2", 1, -1}},
    {"comm=world:off", {-1, -1, 0, MOST, "world", 0, "", 1, -1}},
    {"*=tree8:block=512,split=0.55", {-1, -1, 0, MOST, "", 0, "tree8:block=512,split=0.55", 1, -1}},
    {"alltoallv:double=bitpack:6", {TW_RULE_ALLTOALLV, 1, 0, MOST, "", 0, "bitpack:6", 1, -1}},
    {"comm=4:<=64k:off", {-1, -1, 0, 64 * KIB, "", 4, "", 1, -1}},
    {"*:off", {-1, -1, 0, MOST, "", 0, "", 1, -1}},
    {"*=off", {-1, -1, 0, MOST, "", 0, "", 1, -1}},
    {">1M=bf16", {-1, -1, MIB + 1, MOST, "", 0, "bf16", 1, -1}},
    {"<2G=bf16", {-1, -1, 0, 2 * GIB - 1, "", 0, "bf16", 1, -1}},
    {">=4096:<1M=bf16", {-1, -1, 4096, MIB - 1, "", 0, "bf16", 1, -1}},
    {"<=1m:>=1m=bf16", {-1, -1, MIB, MIB, "", 0, "bf16", 1, -1}},
    {">=0:<=inf=bf16", {-1, -1, 0, MOST, "", 0, "bf16", 1, -1}},
    {"float:comm=world=fp16", {-1, 0, 0, MOST, "world", 0, "fp16", 1, -1}},
    {"comm=self=fp32", {-1, -1, 0, MOST, "self", 0, "fp32", 1, -1}},
    {"comm=MPI_COMM_WORLD:off", {-1, -1, 0, MOST, "world", 0, "", 1, -1}},
    {"comm=MPI_COMM_SELF:off", {-1, -1, 0, MOST, "self", 0, "", 1, -1}},
    {"comm=2147483647:off", {-1, -1, 0, MOST, "", 2147483647, "", 1, -1}},
    {"comm=0003=bf16", {-1, -1, 0, MOST, "", 3, "bf16", 1, -1}},
    {"comm=0000000000000000000000000000000000000000000000000000000000000000000000012:off",
     {-1, -1, 0, MOST, "", 12, "", 1, -1}},
    {"\t bcast : double : >= 64k = bitpack:7,round \r",
     {0, 1, 64 * KIB, MOST, "", 0, "bitpack:7,round", 1, -1}},
    {"bcast : off ", {0, -1, 0, MOST, "", 0, "", 1, -1}},
    {"comm= self :off", {-1, -1, 0, MOST, "self", 0, "", 1, -1}},
    {"reduce=tree8 # all of them; *:off", {TW_RULE_REDUCE, -1, 0, MOST, "", 0, "tree8", 1, -1}},
    {"# first a comment\n\n ;; reduce=tree8", {TW_RULE_REDUCE, -1, 0, MOST, "", 0, "tree8", 3, -1}},
    {"max:allreduce=bf16", {TW_RULE_ALLREDUCE, -1, 0, MOST, "", 0, "bf16", 1, TW_MAX}},
    {"*=no such codec", {-1, -1, 0, MOST, "", 0, "no such codec", 1, -1}}, /* not checked here */
};

START_TEST(good_rules_are_read)
{
    tw_rules_t rules = parsed(good[_i].text);

    ck_assert_uint_eq(rules.count, 1);
    same_rule(&rules.rules[0], &good[_i].rule, good[_i].text);
    tw_rules_free(&rules);
    ck_assert_ptr_null(rules.rules);
    ck_assert_uint_eq(rules.count, 0);
}
END_TEST

START_TEST(every_operation_is_read)
{
    static const char *const names[] = {
        "bcast",     "allreduce",  "reduce",   "reduce_scatter", "reduce_scatter_block",
        "allgather", "allgatherv", "alltoall", "alltoallv"};
    char       text[64];
    tw_rules_t rules;

    ck_assert_uint_eq(sizeof(names) / sizeof(names[0]), TW_RULE_OPS);
    for (int op = 0; op < TW_RULE_OPS; op++) {
        ck_assert_str_eq(tw_rule_op_names[op], names[op]);
        snprintf(text, sizeof(text), "%s:float=tree8", names[op]);
        rules = parsed(text);
        ck_assert_int_eq(rules.rules[0].op, op);
        tw_rules_free(&rules);
    }
}
END_TEST

/* The message names the bad part and says what is accepted. */
static const struct {
    const char *text, *names, *accepted;
} bad[] = {
    {"allredcue=tree8", "'allredcue' is no condition", "did you mean 'allreduce'?"},
    {"Allreduce=tree8", "'Allreduce' is no condition", "did you mean 'allreduce'?"},
    {"ALLTOALLV:off", "'ALLTOALLV' is no condition", "did you mean 'alltoallv'?"},
    {"ibcast:off", "'ibcast' is no condition", "did you mean 'bcast'?"},
    {"reduce_scater_block=tree8", "'reduce_scater_block'", "did you mean 'reduce_scatter_block'?"},
    {"bcast:flot=tree8", "'flot' is no condition", "did you mean 'float'?"},
    {"comm:off", "'comm' is no condition", "did you mean 'comm='?"},
    {"bcast:of", "'of' is no condition", "did you mean 'off'?"},
    {"scatter=tree8", "'scatter' is never compressed; accepted: bcast", "reduce_scatter"},
    {"igatherv:off", "'igatherv' is never compressed", "accepted: bcast"},
    {"allreduce:float:", "a condition is empty", "> and < need quotes"},
    {"allreduce>=1M=tree8", "a ':' is missing in 'allreduce>' behind 'allreduce'", "accepted:"},
    {"allreduce float=tree8", "a ':' is missing in 'allreduce float' behind 'allreduce'", "float"},
    {"floatallgatherv:off", "a ':' is missing in 'floatallgatherv' behind 'float'", "accepted:"},
    {"bcast:float<1M=tree8", "a ':' is missing in 'float<1M' behind 'float'", "accepted:"},
    {"reduce *=tree8", "a ':' is missing in 'reduce *' behind 'reduce'", "accepted:"},
    {"alltoall comm=4=tree8", "a ':' is missing in 'alltoall comm' behind 'alltoall'", "comm=N"},
    {"quicksort=tree8", "'quicksort' is no condition; accepted:",
     "bcast, allreduce, reduce, reduce_scatter, reduce_scatter_block, allgather, allgatherv, "
     "alltoall, alltoallv, float, double, float16, bfloat16, sum, max, min, prod, >=SIZE, >SIZE, "
     "<=SIZE, <SIZE, "
     "comm=world, comm=self, "
     "comm=N, *, then =SPEC or :off"},
    {"tree8", "'tree8' is no condition", "accepted: bcast"},
    {"tree8:block=64", "'tree8' is no condition", "accepted: bcast"},
    {"=tree8", "a condition is empty", "accepted: bcast"},
    {"bcast::float=tree8", "a condition is empty", "accepted: bcast"},
    {"bcast:=tree8", "a condition is empty", "accepted: bcast"},
    {":off", "a condition is empty", "accepted: bcast"},
    {"bcast:float", "there is no codec", "=SPEC or :off"},
    {"bcast", "there is no codec", "=SPEC or :off"},
    {">=1M", "there is no codec", "=SPEC or :off"},
    {"comm=world", "there is no codec", "=SPEC or :off"},
    {"bcast=", "no codec after", "=SPEC or :off"},
    {"bcast= # tree8", "no codec after", "=SPEC or :off"},
    {"off", "'off' has no condition", "*:off"},
    {"bcast:off:float", "'off' is followed by more", "=SPEC or :off"},
    {"bcast:off=tree8", "'off' is followed by more", "=SPEC or :off"},
    {"bcast:reduce=tree8", "'reduce' is a second condition", "one operation"},
    {"float:double=tree8", "'double' is a second condition", "one type"},
    {">=1:>2=tree8", "'>2' is a second condition", "one lower size"},
    {"<=9:<8=tree8", "'<8' is a second condition", "one upper size"},
    {"comm=self:comm=2=tree8", "'comm=2' is a second condition", "one communicator"},
    {"*:*=tree8", "'*' is a second condition", "one '*'"},
    {">=tree8", "'tree8' is no size", "bytes, such as 4096, 64k"},
    {">==tree8", "'' is no size", "bytes, such as 4096, 64k"},
    {"<-1=tree8", "'-1' is no size", "bytes, such as 4096, 64k"},
    {">=1.5M=tree8", "'1.5M' is no size", "bytes, such as 4096, 64k"},
    {">=1MB=tree8", "'1MB' is no size", "bytes, such as 4096, 64k"},
    {">=18446744073709551616=tree8", "'18446744073709551616' is no size", "bytes"},
    {">=99999999999999999999999999999999999999999=tree8", "'9999999999", "bytes"},
    {">=17179869184G=tree8", "'17179869184G' is no size", "bytes"},
    {"<0=tree8", "no vector is as '<0' says", "<1M"},
    {">inf=tree8", "no vector is as '>inf' says", "<1M"},
    {">=1M:<1M=tree8", "no vector has these sizes", "below the upper"},
    {"comm=row:off", "'comm=row' chooses no communicator",
     "accepted: comm=world (MPI_COMM_WORLD), comm=self (MPI_COMM_SELF), comm=N for N ranks; names "
     "given by the program are not compared between the ranks"},
    {"bcast:comm=a grid=fp16", "'comm=a grid' chooses no communicator", NAMES},
    {"comm=:off", "'comm=' chooses no communicator", NAMES},
    {"comm= :off", "'comm=' chooses no communicator", NAMES},
    {"comm=off:off", "'comm=off' chooses no communicator", NAMES},
    {"comm=4x:off", "'comm=4x' chooses no communicator", NAMES},
    {"comm=4 4:off", "'comm=4 4' chooses no communicator", NAMES},
    {"comm=-4:off", "'comm=-4' chooses no communicator", NAMES},
    {"comm=>=1M:off", "'comm=>' chooses no communicator", NAMES}, /* a name ends at = */
    {"comm=World:off", "'comm=World' chooses no communicator", NAMES},
    {"comm=worl:off", "'comm=worl' chooses no communicator", NAMES},
    {"comm=worlds:off", "'comm=worlds' chooses no communicator", NAMES},
    {"comm=MPI_COMM_SEL:off", "'comm=MPI_COMM_SEL' chooses no communicator", NAMES},
    {"comm=x234567890123456789012345678901234567890123456789012345678901234:off",
     "'comm=x2345678901234567890123456789012345...' chooses no communicator", NAMES},
    {"comm=0:off", "'comm=0' is no number of ranks", "N = 1..2147483647"},
    {"comm=2147483648:off", "'comm=2147483648' is no number of ranks", "N = 1..2147483647"},
    {"comm=99999999999999999999999999:off", "is no number of ranks", "N = 1..2147483647"},
    {"*=tree8:block=000000000000000000000000000000000000000000000000000512",
     "'tree8:block=0000000000000000000000000000...' is too long", "1 to 63 bytes"},
    {"\x01 bcast\x7f=tree8", "'? bcast?' is no condition", "'bcast'"},
};

START_TEST(bad_rules_are_explained)
{
    tw_rules_t rules = {0};
    char       why[512];

    ck_assert_int_eq(tw_rules_parse(&rules, bad[_i].text, why, sizeof(why)), TW_ERR_SPEC);
    ck_assert_uint_eq(rules.count, 0);
    ck_assert_ptr_null(rules.rules);
    ck_assert_msg(strstr(why, bad[_i].names) != NULL, "%s: %s", bad[_i].names, why);
    ck_assert_msg(strstr(why, bad[_i].accepted) != NULL, "%s: %s", bad[_i].accepted, why);
    ck_assert_ptr_eq(strstr(why, "rule '"), why);
    ck_assert_ptr_nonnull(strstr(why, "' (line 1): "));
    ck_assert_ptr_null(strchr(why, '\n'));
}
END_TEST

START_TEST(the_message_names_rule_and_line)
{
    tw_rules_t rules = parsed("*=tree8;*:off;bcast=bf16");
    char       why[512];

    ck_assert_int_eq(tw_rules_parse(&rules,
                                    "# comment\r\nbcast=bf16\r\n\r\n*:off; bcast:flaot=tree8 # x\n",
                                    why, sizeof(why)),
                     TW_ERR_SPEC);
    ck_assert_ptr_eq(strstr(why, "rule 'bcast:flaot=tree8' (line 4): 'flaot'"), why);
    ck_assert_uint_eq(rules.count, 3); /* as before: nothing of the refused text */
    ck_assert_int_eq(tw_rules_parse(&rules, "comm=3=fp16\nfloat=tree8", NULL, 0), TW_OK);
    ck_assert_int_eq(tw_rules_parse(&rules, "?", NULL, 0), TW_ERR_SPEC);
    ck_assert_uint_eq(rules.count, 5);
    ck_assert_str_eq(rules.rules[0].spec, "tree8");
    ck_assert_str_eq(rules.rules[2].spec, "bf16");
    ck_assert_str_eq(rules.rules[3].spec, "fp16");
    ck_assert_int_eq(rules.rules[4].line, 2);
    tw_rules_free(&rules);
}
END_TEST

START_TEST(long_text_is_quoted_in_part)
{
    static const char letter[] = "\xc3\xa4"; /* two bytes of UTF-8 */
    tw_rules_t        rules    = {0};
    char              text[4096], why[512];

    for (size_t shift = 0; shift < 2; shift++) {
        memset(text, 'x', sizeof(text));
        for (size_t i = shift; i + 2 < sizeof(text); i += 2) {
            memcpy(text + i, letter, 2);
        }
        text[sizeof(text) - 1] = '\0';
        ck_assert_int_eq(tw_rules_parse(&rules, text, why, sizeof(why)), TW_ERR_SPEC);
        ck_assert_uint_lt(strlen(why), sizeof(why) - 1); /* nothing cut off */
        ck_assert_ptr_nonnull(strstr(why, "then =SPEC or :off"));
        ck_assert_ptr_nonnull(strstr(why, "\xa4...' (line 1): "));
        ck_assert_ptr_nonnull(strstr(why, "\xa4...' is no condition"));
    }
}
END_TEST

/* A size and a spec of the greatest length, and of one byte more. */
START_TEST(lengths_have_limits)
{
    static const struct {
        const char *before, *behind;
        int         most;
    } parts[] = {{"<=64k:off;>=", "=tree8", 80}, {"*=", "", 63}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (int length = parts[i].most; length <= parts[i].most + 1; length++) {
            tw_rules_t rules = {0};
            char       text[128];

            snprintf(text, sizeof(text), "%s%0*d%s", parts[i].before, length, 1, parts[i].behind);
            ck_assert_int_eq(tw_rules_parse(&rules, text, NULL, 0),
                             length == parts[i].most ? TW_OK : TW_ERR_SPEC);
            ck_assert_int_eq(rules.rules == NULL, length > parts[i].most);
            tw_rules_free(&rules);
        }
    }
}
END_TEST

START_TEST(no_text_is_no_rule)
{
    static const char *const texts[] = {"", " ", "\n", ";;;", "# only\n# comments", "#"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tw_rules_t rules = parsed(texts[i]);

        ck_assert_uint_eq(rules.count, 0);
        tw_rules_free(&rules);
    }
}
END_TEST

static const char list[] = "allreduce:float:>=1M=tree8\n"
                           "allreduce:float:>=64k=bf16\n"
                           "comm=self:off\n"
                           "comm=4:double=bitpack:6\n"
                           "bcast:>4:<8=bitpack:2\n"
                           "comm=world:reduce=onebit\n";

static const struct {
    tw_rule_query_t query;
    int             first;
} queries[] = {
    {{TW_RULE_ALLREDUCE, false, 1048576, "", 2, -1}, 0},
    {{TW_RULE_ALLREDUCE, false, 1048575, "", 2, -1}, 1},
    {{TW_RULE_ALLREDUCE, false, 65536, "self", 2, -1}, 1},
    {{TW_RULE_ALLREDUCE, false, 65535, "self", 2, -1}, 2},
    {{TW_RULE_ALLREDUCE, true, 1048576, "self", 4, -1}, 2},
    {{TW_RULE_ALLREDUCE, true, 1048576, "world", 4, -1}, 3},
    {{TW_RULE_ALLREDUCE, true, 1048576, "", 5, -1}, -1},
    {{TW_RULE_ALLREDUCE, false, 8, "world", 5, -1}, -1},
    {{TW_RULE_BCAST, false, 4, "", 5, -1}, -1},
    {{TW_RULE_BCAST, false, 5, "", 5, -1}, 4},
    {{TW_RULE_BCAST, true, 7, "", 5, -1}, 4},
    {{TW_RULE_BCAST, true, 7, "", 4, -1}, 3},
    {{TW_RULE_BCAST, true, 8, "", 5, -1}, -1},
    {{TW_RULE_REDUCE, true, UINT64_MAX, "world", 5, -1}, 5},
    {{TW_RULE_REDUCE_SCATTER, true, UINT64_MAX, "world", 5, -1}, -1},
};

START_TEST(the_first_rule_that_holds_decides)
{
    tw_rules_t rules = parsed(list), none = {0};

    ck_assert_int_eq(tw_rules_match(&rules, &queries[_i].query), queries[_i].first);
    ck_assert_int_eq(tw_rules_match(&none, &queries[_i].query), -1);
    tw_rules_free(&rules);
}
END_TEST

/* What is written says the same when it is read. */
START_TEST(a_rule_as_text)
{
    static const char *const texts[] = {"allreduce:float:>=1M=tree8",
                                        "*=bf16",
                                        "bcast:double:>=64k:<=1048575:comm=world:off",
                                        "alltoallv:comm=3=bitpack:6,round=1",
                                        "allreduce:double:max:>=1M=bitpack:4",
                                        "reduce_scatter_block:<=7:comm=self:off"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tw_rules_t rules = {0};
        char       text[128 + TW_RULE_SPEC_MAX];

        ck_assert_int_eq(tw_rules_parse(&rules, texts[i], NULL, 0), TW_OK);
        tw_rule_text(&rules.rules[0], text, sizeof(text));
        ck_assert_str_eq(text, texts[i]);
        tw_rules_free(&rules);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tcase = test_case(suite, "rules");

    TEST_EACH(tcase, good_rules_are_read, good);
    tcase_add_test(tcase, every_operation_is_read);
    tcase_add_test(tcase, a_rule_as_text);
    TEST_EACH(tcase, bad_rules_are_explained, bad);
    tcase_add_test(tcase, the_message_names_rule_and_line);
    tcase_add_test(tcase, long_text_is_quoted_in_part);
    tcase_add_test(tcase, lengths_have_limits);
    tcase_add_test(tcase, no_text_is_no_rule);
    TEST_EACH(tcase, the_first_rule_that_holds_decides, queries);
    return test_main(suite);
}
