/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/masters_inside.h - shared declarations of the masters: groups of tensors
 * (masters_groups.c), creation and the exchanges of a step (masters.c).
 */
#ifndef TW_TRAIN_MASTERS_INSIDE_H
#define TW_TRAIN_MASTERS_INSIDE_H

#include "train/step/masters.h"

#define TW_RAISES 31 /* most raises of a group: one bit each, from 1 to 32 */

typedef struct tw_master_group {
    char           name[48];
    size_t         first, count;  /* elements of params->value             */
    size_t         param, params; /* consecutive tensors of params->param  */
    char           spec[TW_WEIGHT_SPEC];
    tw_precision_t precision; /* with AWP, except for the first group  */
} tw_master_group_t;

struct tw_masters {
    tw_masters_config_t  config;
    tw_weights_t        *weights;
    size_t               groups;
    tw_master_group_t   *group;    /* [groups]                              */
    size_t              *group_of; /* [layers] group of its weights; 0: none */
    float               *state;    /* [own] of the optimizer, of the backend */
    double              *norms;    /* [groups]                              */
    tw_masters_change_t *change;   /* [TW_RAISES groups]: bits never fall   */
    size_t               changes;
    size_t               arrived; /* the waits for groups 0 .. arrived - 1 have ended */
    size_t               ready;   /* gradients of groups from `ready` on are final    */
};

/* ---- groups (masters_groups.c) --------------------------------------------------------------- */

const tw_weight_codec_t *tw_masters_weight_codec(const tw_masters_t *m);

/** Is a tensor of the first group? */
int tw_masters_is_first(const tw_param_t *p);

/** This rank's share of a group. */
tw_weights_share_t tw_masters_share(const tw_masters_t *m, size_t g);

/** List the groups of the network with their codecs. Local. @return 0, or -1 with the problem
 * set. */
int tw_masters_list_groups(tw_masters_t *m, tw_problem_t *problem);

/** The same, as input of the library. @param [out] list  [groups]. */
int tw_masters_describe_groups(const tw_masters_t *m, tw_weights_group_t *list,
                               tw_problem_t *problem);

/* ---- all of it (masters.c) ------------------------------------------------------------------ */

/** Result of a collective call: 0, or -1 with the problem set. */
int tw_masters_outcome(const tw_masters_t *m, const char *what, tw_status_t status,
                       tw_problem_t *problem);

#endif /* TW_TRAIN_MASTERS_INSIDE_H */
