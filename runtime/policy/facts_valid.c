/* SPDX-License-Identifier: BSD-3-Clause
 * policy/facts_valid.c - facts with which the model can compute, wherever they are from.
 */
#include "config.h"

#include <string.h>

#include "runtime/policy/model.h"

static bool tw_within(double value, double least, double most)
{
    return value >= least && value <= most; /* false for NaN */
}

static bool tw_link_valid(const tw_link_facts_t *link)
{
    return tw_within(link->latency, 0.0, 1e6) && tw_within(link->bandwidth, 0.0, 1e18) &&
           tw_within(link->shared, 0.0, 1e18) && tw_within(link->message, 0.0, 1e6);
}

static bool tw_ladder_valid(const tw_ladder_t *ladder)
{
    bool valid = ladder->steps >= 0 && ladder->steps <= TW_LADDER_STEPS;

    for (int i = 0; valid && i < ladder->steps; i++) {
        valid = tw_within(ladder->bytes[i], 1.0, 1e18) &&
                tw_within(ladder->seconds[i], 1e-12, 1e9) &&
                (i == 0 || ladder->bytes[i] > ladder->bytes[i - 1]);
    }
    return valid;
}

static bool tw_codec_valid(const tw_codec_facts_t *c)
{
    return memchr(c->spec, '\0', sizeof(c->spec)) != NULL && c->spec[0] != '\0' &&
           tw_within(c->bytes, 0.01, 16.0) && c->block >= 1 && c->block <= 1048576 &&
           tw_within(c->max_error, 0.0, 1e6) && tw_within(c->encode, 0.0, 1.0) &&
           tw_within(c->decode, 0.0, 1.0) && tw_within(c->decode_add, 0.0, 1.0) &&
           tw_within(c->call, 0.0, 1.0);
}

/* Of a rank's part, 1 / 65536 is the least: as many ranks as thinwire scale knows, on one. */
static bool tw_processor_valid(const tw_facts_t *facts)
{
    return (facts->processor == 0.0 || tw_within(facts->processor, 0x1p-16, 1.0)) &&
           tw_within(facts->moving, 0.0, TW_FACTS_MOVING);
}

bool tw_facts_valid(const tw_facts_t *facts)
{
    bool valid = facts->ranks >= 1 && facts->nodes >= 1 && facts->local_ranks >= 1 &&
                 facts->nodes <= facts->ranks && facts->local_ranks <= facts->ranks &&
                 tw_within(facts->engine, 0.0, 1e6) && tw_link_valid(&facts->inside) &&
                 tw_link_valid(&facts->between) && tw_processor_valid(facts) &&
                 facts->codecs >= 1 && facts->codecs <= TW_FACTS_CODECS;

    for (int o = 0; valid && o < TW_OPERATIONS; o++) {
        valid = tw_ladder_valid(&facts->native[o]);
    }
    for (int c = 0; valid && c < facts->codecs; c++) {
        valid = tw_codec_valid(&facts->codec[c]);
    }
    for (int a = 0; valid && a < TW_FACTS_FACTORS; a++) {
        for (int i = 0; i < 2; i++) {
            valid = valid && tw_within(facts->factor[a][i], 0.0, 1e6) &&
                    tw_within(facts->factor_bytes[a][i], 0.0, 1e18);
        }
    }
    return valid;
}
