/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/rules.c - the text of rules, and what is asked of them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/policy/rules.h"
#include "tests/fuzz/target.h"

static void ask(const tw_rules_t *rules)
{
    static const char *const names[] = {"world", "self", ""};
    const uint64_t           sizes[] = {0, 1, 1023, 65536, UINT64_MAX};
    tw_rule_query_t          query   = {.ranks = 2};

    for (int op = 0; op < TW_RULE_OPS; op++) {
        for (int i = 0; i < 5; i++) {
            query.op        = (tw_rule_op_t)op;
            query.dtype     = i % 2 != 0 ? TW_F64 : TW_F32;
            query.bytes     = sizes[i];
            query.comm_name = names[i % 3];
            fuzz_check(tw_rules_match(rules, &query) < (int)rules->count, "a match is a rule");
        }
    }
    for (size_t i = 0; i < rules->count; i++) {
        fuzz_check(memchr(rules->rules[i].spec, '\0', TW_RULE_SPEC_MAX) != NULL,
                   "a spec has an end");
    }
}

static bool run(const uint8_t *data, size_t size)
{
    char        *text  = fuzz_text(data, size), why[512];
    tw_rules_t   rules = {NULL, 0};
    tw_status_t  status;
    const size_t before = 1;

    fuzz_check(tw_rules_parse(&rules, "bcast:off", why, sizeof(why)) == TW_OK, "a rule is taken");
    status = tw_rules_parse(&rules, text, why, size % 2 == 0 ? sizeof(why) : 8);
    fuzz_check(status == TW_OK || status == TW_ERR_SPEC, "text is rules or is refused");
    fuzz_check(status == TW_OK || (rules.count == before && why[0] != '\0'),
               "a refusal says why and changes nothing");
    ask(&rules);
    tw_rules_free(&rules);
    free(text);
    return status == TW_OK;
}

static size_t seed(int index, uint8_t *data)
{
    static const char *const texts[] = {
        "allreduce:>=64k=tree8; bcast:off\n# comment\n*=bf16",
        "allgather:float:>=1k:<1M:comm=world=tree8:block=512,split=0.55\nalltoallv:comm=8:off",
        "double:comm=self=bitpack:5,round;reduce_scatter_block:<=2G=off", "*=auto:0.01",
        "allreduce:comm=MPI_COMM_WORLD:>4=onebit:block=64"};

    return index < 5 ? fuzz_seed_text(data, texts[index]) : 0;
}

const fuzz_target_t fuzz_rules = {"rules", false, NULL, run, seed};
