/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/scheme.h - who computes what in a training: data parallel, or the dense layers split by
 * output unit, in passes (S4 section 4, <thinwire/hybrid.h>), over all ranks or over those of a
 * group, beside other groups that hold the same layers.
 */
#ifndef SCALING_SCHEME_H
#define SCALING_SCHEME_H

#include <stddef.h>

#include "command/problem.h"

typedef enum scheme_kind { SCHEME_DATA, SCHEME_A, SCHEME_B, SCHEME_C, SCHEME_GROUP } scheme_kind_t;

#define SCHEME_TEXT   64
#define SCHEME_GROUPS 65536 /* most ranks of a group */
#define SCHEME_NODE   (-1)

typedef struct scheme {
    scheme_kind_t kind;
    int           group; /* SCHEME_GROUP: ranks that give a pass its examples; else 0 */
    int  split; /* ranks that share the dense layers; 0: all; SCHEME_NODE: those of a node */
    char text[SCHEME_TEXT];
} scheme_t;

/** Read data, a, b, c or group=G, but for data also with :split=N or :split=node behind it.
 * @return 0, or -1 with the problem set. */
int scheme_parse(scheme_t *scheme, const char *text, size_t length, tw_problem_t *problem);

/** Ranks of a node, if all have as many, where all but the last have per_node; 0: they differ. */
int scheme_local(int ranks, int per_node);

/** How many of `ranks` share the dense layers, where a node has `local` of them (0: nodes differ).
 * @return their number, which divides `ranks` and is 2 or more if `ranks` is; 0 with the problem
 * set. Not of SCHEME_DATA. */
int scheme_ranks(const scheme_t *scheme, int ranks, int local, tw_problem_t *problem);

#endif /* SCALING_SCHEME_H */
