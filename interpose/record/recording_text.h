/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_text.h - a recorded sequence as the text of a job, thinwire-job(5).
 * Knows no MPI.
 */
#ifndef TW_INTERPOSE_RECORDING_TEXT_H
#define TW_INTERPOSE_RECORDING_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/record/fold.h"
#include "interpose/record/recording_words.h"

typedef struct tw_recording_job {
    const char *program;
    int         ranks;
    int         alike;       /* ranks of which the times are                          */
    bool        averaged;    /* sizes are means where a site has several               */
    bool        unordered;   /* the order of calls is lost                             */
    size_t      threshold;   /* bytes of values that a codec is applied to, at least     */
    bool        placeless;   /* some words have no site, as there were too many         */
    uint64_t    calls;       /* of collectives, by rank 0                              */
    uint64_t    others;      /* that threads made which were not recorded, by all       */
    double      collectives; /* seconds in them, of rank 0                              */
    double      messages;    /* seconds in messages that are told, of rank 0             */
    const tw_recording_neighbours_t *place; /* by number                            */
    const tw_recording_words_t      *words;
    tw_fold_t                       *fold;
    const double *total, *compute; /* of a run of each leaf, seconds: with what is fixed, and
                                                without                                     */
} tw_recording_job_t;

/** The text, to be freed; NULL: no memory. Sites are named, which may take some seconds. */
char *tw_recording_text(const tw_recording_job_t *job, size_t *length_p);

#endif /* TW_INTERPOSE_RECORDING_TEXT_H */
