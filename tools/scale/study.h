/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/study.h - the rows of a scaling study: what a step takes on each network, number of
 * ranks and codec; as a table, JSON, a drawing and a verdict.
 */
#ifndef TOOLS_SCALE_STUDY_H
#define TOOLS_SCALE_STUDY_H

#include <stdint.h>

#include "tools/report.h"
#include "tools/scale/network.h"
#include "tools/scale/step.h"
#include "tools/specs.h"

enum { STUDY_RANKS = 64, STUDY_NETWORKS = 16 };

typedef struct study {
    const job_t *job;
    workload_t   work;
    network_t    network[STUDY_NETWORKS];
    size_t       networks;
    int          ranks[STUDY_RANKS]; /* rising */
    size_t       sizes;
    int          per_node;
    int          weak;  /* the examples of a rank stay as they are */
    tw_facts_t   facts; /* of which links and ranks are replaced   */
    specs_t      specs; /* those without an error first            */
} study_t;

#define STUDY_FP32 SIZE_MAX

/** One step with one of the codecs, by its place in specs, or STUDY_FP32. @return 1, or 0 with one line in why. */
int study_step(const study_t *study, const network_t *network, int ranks, size_t which,
               step_time_t *time, char *why, size_t why_size);

/** How many times faster than on one rank, as much work as that has. */
double study_speedup(const study_t *study, int ranks, const step_time_t *time);

/** All rows: printed, and into the report. @return 1, or 0 and rank 0 has said why. */
int study_rows(const study_t *study, report_t *report);

/** Up to which rate of the links the codecs pay, and which one is best on how many ranks. */
int study_verdict(const study_t *study, report_t *report);

/** Time of a step, efficiency and exposed share by ranks. */
int study_plot(const study_t *study, const char *path);

#endif /* TOOLS_SCALE_STUDY_H */
