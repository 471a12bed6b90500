/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/scale_rig.c - see scale_rig.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tools/scale_rig.h"

tw_facts_t made_up(int ranks, int local)
{
    tw_facts_t facts = {.ranks       = ranks,
                        .nodes       = (ranks - 1) / local + 1,
                        .local_ranks = local,
                        .engine      = 1e-6,
                        .codecs      = 4};

    facts.between  = (tw_link_facts_t){20e-6, LINK, LINK, 2e-6};
    facts.inside   = (tw_link_facts_t){1e-6, 1e10, 5e9, 1e-7};
    facts.codec[0] = (tw_codec_facts_t){"fp32", 0, 4.0, 1, 0.0, 0, 0.0, 0.0, 3e-10, 1e-8};
    facts.codec[1] = (tw_codec_facts_t){"tree8", 0, 1.0, 4096, 0.01, 0, 1e-9, 5e-10, 5e-10, 1e-8};
    facts.codec[2] = (tw_codec_facts_t){"onebit", 0, 0.125, 2048, 1, 1, 1e-9, 5e-10, 5e-10, 1e-8};
    facts.codec[3] = (tw_codec_facts_t){"bitpack:8", 1, 8.0, 1, 0.0, 0, 2e-10, 2e-10, 3e-10, 1e-8};
    return facts;
}

tw_prediction_t predicted(const tw_facts_t *facts, tw_operation_t operation, double count,
                          const char *spec, tw_dtype_t dtype)
{
    tw_prediction_t prediction;

    ck_assert_int_eq(tw_facts_predict(facts, operation, count, spec, dtype, NULL, &prediction),
                     TW_OK);
    return prediction;
}

void put_file(char *path, const char *text, size_t length)
{
    FILE *file;

    strcpy(path, "/tmp/thinwire-scale.XXXXXX");
    ck_assert_int_ge(close(mkstemp(path)), 0);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

int read_text(workload_t *work, const char *text, tw_problem_t *problem)
{
    char path[64];
    int  status;

    put_file(path, text, strlen(text));
    status = workload_read(work, path, problem);
    unlink(path);
    return status;
}

double drawn(test_random_t *random, double least, double most) /* in the logarithm */
{
    return least * pow(most / least, test_below(random, 10001) / 10000.0);
}

tw_facts_t drawn_facts(test_random_t *random, int one_per_node)
{
    const int  ranks = 2 + test_below(random, 40);
    tw_facts_t facts = made_up(ranks, one_per_node ? 1 : 1 + test_below(random, ranks));

    facts.engine            = drawn(random, 1e-8, 1e-5);
    facts.between.latency   = drawn(random, 1e-6, 1e-4);
    facts.between.shared    = drawn(random, 1e7, 1e10);
    facts.between.bandwidth = facts.between.shared * drawn(random, 1.0, 4.0);
    facts.between.message   = drawn(random, 1e-8, 1e-5);
    facts.inside.shared     = drawn(random, 1e9, 1e10);
    for (int c = 0; c < facts.codecs; c++) {
        facts.codec[c].encode     = c == 0 ? 0.0 : drawn(random, 1e-11, 1e-8);
        facts.codec[c].decode     = c == 0 ? 0.0 : drawn(random, 1e-11, 1e-8);
        facts.codec[c].decode_add = drawn(random, 1e-11, 1e-8);
        facts.codec[c].call       = drawn(random, 1e-9, 1e-7);
    }
    return facts;
}
