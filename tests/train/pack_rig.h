/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/pack_rig.h - packing in the folder of source_rig.h, for tests.
 */
#ifndef TW_TESTS_TRAIN_PACK_RIG_H
#define TW_TESTS_TRAIN_PACK_RIG_H

#include "tests/train/source_rig.h"
#include "train/pack/pack.h"

/* Some batches of pixels, in a map that has to grow. */
#define PACK_MANY "random:32x32x3,10,n=2500,test=300"

typedef struct pack_rig {
    tw_source_t      source, packed; /* for tests to open                                 */
    tw_problem_t     problem;        /* of the last pack_run()                            */
    tw_pack_result_t result;
    uint64_t         stop_at; /* how often it asks whether to stop until it shall; 0: goes on */
    uint64_t         asked, reported;
    uint64_t         skips; /* lines about images that were left out                     */
    char             line[700];
} pack_rig_t;

extern pack_rig_t rig; /* of this process, which is one test */

/** One thread, into out.lmdb. */
tw_pack_config_t pack_config(const char *spec);

/** Pack. @return the text of the problem, "" for none. */
const char *pack_run(const tw_pack_config_t *config);

/* The same as expected to end well. */
void pack_good(const tw_pack_config_t *config);

/** What lies in out.lmdb is what a spec names, and as much as was counted. */
void pack_same(const char *spec);

/* d/ant, d/bee and d/cow: 12, 5 and 2 images; and the spec of d. */
const char *pack_folder(void);

#endif /* TW_TESTS_TRAIN_PACK_RIG_H */
