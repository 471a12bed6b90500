/* SPDX-License-Identifier: BSD-3-Clause
 * tools/topology.h - thinwire info --topology: a machine and the places of its ranks, drawn as a
 * tree of lines and as JSON.
 */
#ifndef TOOLS_TOPOLOGY_H
#define TOOLS_TOPOLOGY_H

#include <stdio.h>

#include <jansson.h>

#include <thinwire/topology.h>

#include "tools/job.h"
#include "tools/report.h"

typedef struct topology_options {
    int         wanted; /* --topology                                                       */
    const char *xml;    /* --xml; NULL: this machine                                        */
    int         ranks;  /* --ranks; 0: those of mpirun, else as many as GPUs or NUMA nodes   */
} topology_options_t;

/* What a rank of mpirun says of itself. */
typedef struct topology_rank {
    char binding[TW_PUS_TEXT];
    char devices[2048]; /* what it sees, as tw_rank_t has it */
} topology_rank_t;

/* Of all ranks on this machine, to the first one, which frees *facts_p; NULL elsewhere, and where
 * they are not asked for: under --xml, --ranks, or with one rank. Collective.
 * @return 0, or -1: out of memory, said. */
int topology_gather(const job_t *job, tw_context_t *ctx, const topology_options_t *options,
                    topology_rank_t **facts_p);

/* What is drawn. */
typedef struct drawing {
    const tw_node_t  *node;
    const char       *source;               /* the file, or "this machine"            */
    char              binding[TW_PUS_TEXT]; /* of this process; "": none */
    int               ranks;
    const tw_place_t *places;
    int               round_count;
    const tw_round_t *rounds; /* exchange order of the GPUs that ranks have */
    int              *child;  /* by part: its first child, -1: none     */
    int              *next;   /* by part: its next sibling, -1: none    */
} drawing_t;

#define TOPOLOGY_LIST 96

/* The ranks that have a part (a core, GPU or network interface), as "0", "0-3" or "0,2"; cut with
 * "..." if long. Returns how many. */
int topology_users(const drawing_t *d, const tw_part_t *part, char *text, size_t size);

/* The first rank that has it; -1: none. */
int topology_first_user(const drawing_t *d, const tw_part_t *part);

/* "same switch", "same package", ... */
const char *topology_distance(tw_distance_t distance);

/* Whether a rank's GPU is at another package than its cores or its network interface, and a line
 * that says so. */
int topology_warning(const drawing_t *d, int rank, char *text, size_t size);

/* The part's line without its ranks: "GPU 0  0000:34:00.0  Tesla V100". */
void topology_label(const tw_part_t *part, char *text, size_t size);

/* Numbers as a list of runs: "0-5,48". */
void topology_list(const int *numbers, int count, char *text, size_t size);

void    topology_print(const drawing_t *d);
json_t *topology_json(const drawing_t *d);

/* All of --topology; rank_facts: of topology_gather(). @return 0, or -1: one line has said why. */
int topology_show(const job_t *job, tw_context_t *ctx, const topology_options_t *options,
                  const topology_rank_t *rank_facts, report_t *report);

#endif /* TOOLS_TOPOLOGY_H */
