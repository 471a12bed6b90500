/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/study.h - the rows of a scaling study: what a step takes on each network, number of
 * ranks and codec; as a table, JSON, a drawing and a verdict.
 */
#ifndef TOOLS_SCALE_STUDY_H
#define TOOLS_SCALE_STUDY_H

#include "tools/report.h"
#include "scaling/network.h"
#include "scaling/step.h"
#include "scaling/training.h"
#include "tools/specs.h"

enum { STUDY_RANKS = 64, STUDY_NETWORKS = 16, STUDY_VARIANTS = 64 };

/* Bytes of all codecs by which weights travel, as text. */
enum { STUDY_TRAVEL = TW_FACTS_CODECS * TW_FACTS_SPEC };

/* A codec pays where it makes a step shorter by so much. */
#define STUDY_PAYS 0.95

/* How a step is done, but for its codec. */
typedef struct variant {
    scheme_t    scheme;    /* data where the job is not of layers */
    const char *algorithm; /* of allreduces; NULL: the fastest    */
    int         per_node;  /* ranks of a node                     */
} variant_t;

typedef struct study {
    const job_t *job;
    workload_t   work;
    network_t    network[STUDY_NETWORKS];
    size_t       networks;
    int          ranks[STUDY_RANKS]; /* rising */
    size_t       sizes;
    variant_t    variant[STUDY_VARIANTS];
    size_t       variants;
    size_t       schemes, algorithms, nodes; /* how many of each were asked for, 1 for none */
    int          weak;                       /* the examples of a rank stay as they are */
    int          narrow;                     /* doubles of a recorded program too    */
    int          simulate;                   /* steps are played, not computed */
    tw_facts_t   facts;                      /* of which links and ranks are replaced   */
    char         taken[400]; /* codecs that facts have not, by which they are told */
    specs_t      specs;
    const char  *act;     /* codec of activations and their gradients; NULL: as that of gradients */
    const char  *weights; /* codec of weights with owners; NULL: as the job says               */
    const char  *travel[TW_FACTS_CODECS + 1]; /* what they travel by, each codec once, then NULL */
    double       alone; /* seconds of a step on one rank: with all examples, or as
                                           many as every rank has */
    step_time_t *time;  /* [networks][sizes][variants][specs.count + 1]: study_time() */
} study_t;

/** All combinations of lists of schemes (NULL: data; jobs that are not of layers have none),
 * algorithms (NULL: the fastest) and ranks per node (NULL: by study_per_node()). @return 0, or -1
 * with the problem set. */
int study_variants(study_t *study, const char *schemes, const char *algorithms,
                   const char *per_node, tw_problem_t *problem);

/** Ranks of a node where no list said them. */
void study_per_node(study_t *study, int ranks);

/** Lines that say what of a step the table does not tell. */
void study_unmodelled(const study_t *study);

/** A step by the places of variant and codec (specs.count: fp32) on any network and number of
 * ranks. @return as above. */
int study_step(const study_t *study, const network_t *network, int ranks, size_t v, size_t s,
               step_time_t *time, tw_problem_t *problem);

/** Ways of a step: variants, and for each the codecs and fp32. */
size_t study_ways(const study_t *study);

/** Every row, and fp32 beside the codecs; needs all of the above but alone and time. @return 0, or
 * -1 with the problem set. */
int study_compute(study_t *study, tw_problem_t *problem);

/** The job too; what study_compute() has not made is NULL. */
void study_free(study_t *study);

/** A row, by the places of network, number of ranks, variant and codec; specs.count: fp32. */
const step_time_t *study_time(const study_t *study, size_t n, size_t r, size_t v, size_t s);

/** "tree8", or "tree8 with scheme c by grid, 8 per node": what there are several of. */
void study_way(const study_t *study, size_t v, size_t s, char *text, size_t size);

/** The codecs by which weights travel, with blanks between them. */
void study_travel(const study_t *study, char text[STUDY_TRAVEL]);

/** How many times faster than on one rank, as much work as that has. */
double study_speedup(const study_t *study, int ranks, const step_time_t *time);

/** All rows: printed, and into the report. */
void study_rows(const study_t *study, report_t *report);

/** Up to which rate of the links the codecs pay, and which one is best on how many ranks. */
void study_verdict(const study_t *study, report_t *report);

/** Time of a step, efficiency and exposed share by ranks. @return 0, or -1 and rank 0 has said
 * why. */
int study_plot(const study_t *study, const char *path);

#endif /* TOOLS_SCALE_STUDY_H */
