/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/script.h - what the ranks of a simulation play: a job's items with everything that is
 * needed to play them filled in. thinwire scale writes it, the player (simulation/) reads it: two
 * halves of one command on one machine, so it is the structs as they are.
 */
#ifndef SCALING_SCRIPT_H
#define SCALING_SCRIPT_H

#include <stdio.h>

#include "scaling/workload.h"

typedef struct script_exchange {
    tw_operation_t   operation;
    double           count;    /* as tw_operation_t has it, of the ranks that play             */
    double           messages; /* of all ranks together, about                              */
    char             algorithm[24]; /* of the library's own                                      */
    tw_codec_facts_t codec;         /* what its values are encoded by, and how fast              */
} script_exchange_t;

typedef struct script {
    uint64_t           mark; /* script_write() sets it: of this version, and whole */
    int                ranks, per_node;
    tw_link_facts_t    inside, between; /* of a rank inside a node; of a node            */
    double             group, taper;    /* as in network_t; group 0: one switch          */
    double             engine;          /* seconds that any operation takes              */
    double             share;           /* of computing times that are not fixed */
    double             slower;          /* all of them, by processors that are shared */
    size_t             items, exchanges;
    item_t            *item;
    script_exchange_t *exchange;
} script_t;

/* What a step took, as a line of text between the two halves. */
#define SCRIPT_RESULT      "simulated %lf %lf %lf %lf %lf %lf"
#define SCRIPT_RESULT_LINE "simulated %.17g %.17g %.17g %.17g %.17g %.17g\n"

/* What a platform is: the link between its first two hosts, seconds and bytes per second, and each
 * host's name. */
#define SCRIPT_LINK      "link %lf %lf"
#define SCRIPT_LINK_LINE "link %.17g %.17g\n"
#define SCRIPT_HOST      "host "

/** Rounds of a loop inside so many others that are played; the rest is taken to be like them. */
uint64_t script_rounds(int depth);

/** @return 0, or -1 with errno. */
int script_write(const script_t *script, FILE *file);

/** @return 0 and two arrays that the caller frees, or -1: cut, or by another version. */
int script_read(script_t *script, FILE *file);

#endif /* SCALING_SCRIPT_H */
