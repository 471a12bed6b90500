/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/facts.c - calibration files, and decisions by what they say.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/policy/model.h"
#include "tests/fuzz/target.h"

#define ROOM ((size_t)64 << 10)

static void decide(const tw_facts_t *facts)
{
    static tw_model_candidate_t list[TW_MODEL_CANDIDATES];
    const double                counts[] = {1.0, 1000.0, 1e6, 1e12};
    tw_model_wish_t             wish     = {.max_error = 0.05, .chunk = 262144};

    for (int o = 0; o < TW_OPERATIONS; o++) {
        for (int i = 0; i < 8; i++) {
            tw_model_candidate_t best;
            int                  count = 0;

            wish.operation = (tw_operation_t)o;
            wish.count     = counts[i / 2];
            wish.dtype     = i % 2 != 0 ? TW_F64 : TW_F32;
            wish.native    = i < 6;
            best           = tw_model_decide(facts, &wish, i % 3 == 0 ? NULL : list, &count);
            fuzz_check(best.codec >= -1 && best.codec < facts->codecs, "a codec is one of these");
            fuzz_check(count <= TW_MODEL_CANDIDATES, "the list is long enough");
        }
    }
}

static bool run(const uint8_t *data, size_t size)
{
    static tw_facts_t     facts, again;
    static tw_facts_key_t key, key_again;
    static char           text[ROOM];
    char                  why[200];
    size_t                length = size > 1 ? size - 1 : 0;

    if (length > FUZZ_MOST) {
        return false;
    }
    memcpy(text, data + (size > 1), length);
    if (size > 0 && data[0] % 2 != 0) { /* a right checksum */
        length += (size_t)snprintf(text + length, 64, "checksum %016" PRIx64 "\n",
                                   tw_fnv1a(TW_FNV_START, text, length));
    }
    if (!tw_facts_read(text, length, &facts, &key, why, sizeof(why))) {
        fuzz_check(why[0] != '\0', "a refusal says why");
        return false;
    }
    decide(&facts);
    tw_facts_fit(&key, &key_again, why, sizeof(why));
    length = tw_facts_write(&facts, &key, text, sizeof(text));
    fuzz_check(length > 0 && tw_facts_read(text, length, &again, &key_again, why, sizeof(why)),
               "what was written can be read");
    fuzz_check(memcmp(&facts, &again, sizeof(facts)) == 0, "and is the same");
    return true;
}

static size_t seed(int index, uint8_t *data)
{
    static tw_facts_t     facts;
    static tw_facts_key_t key = {.version = "1", .hosts = "a*4 b*4", .fabric = "none"};
    size_t                length;
    char                 *cut;

    if (index > 1) {
        return 0;
    }
    facts          = (tw_facts_t){.ranks = 8, .nodes = 1 + index, .local_ranks = 8 / (1 + index)};
    facts.engine   = 1e-6;
    facts.inside   = (tw_link_facts_t){1e-6, 1e10, 5e9, 1e-7};
    facts.between  = facts.inside;
    facts.codecs   = 2;
    facts.codec[0] = (tw_codec_facts_t){.spec = "fp32", .bytes = 4, .block = 1};
    facts.codec[1] = facts.codec[0];
    facts.codec[1].max_error = 0.01;
    strcpy(facts.codec[1].spec, "tree8:block=4096,split=0.45");
    for (int o = 0; o < TW_OPERATIONS; o++) {
        facts.native[o].steps      = 2;
        facts.native[o].bytes[0]   = 4;
        facts.native[o].bytes[1]   = 1e6;
        facts.native[o].seconds[0] = 1e-6;
        facts.native[o].seconds[1] = 1e-3;
    }
    length = tw_facts_write(&facts, &key, (char *)data + 1, FUZZ_MOST - 1);
    fuzz_check(length > 0, "a seed fits");
    data[0]      = 1;
    data[length] = '\0';
    cut          = strstr((char *)data + 1, "checksum ");
    return cut != NULL ? (size_t)(cut - (char *)data) : 0;
}

const fuzz_target_t fuzz_facts = {"facts", false, NULL, run, seed};
