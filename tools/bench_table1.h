/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_table1.h - Table 1 of Dettmers, "8-Bit Approximations for Parallelism in Deep
 * Learning", 2015, with our codecs beside its printed values.
 */
#ifndef TOOLS_BENCH_TABLE1_H
#define TOOLS_BENCH_TABLE1_H

#include <thinwire/codec.h>

#include "tools/report.h"

/* threads: 0 for all cores of this process. @return 1 if all went well. */
int bench_table1(const job_t *job, tw_context_t *ctx, int threads, report_t *report);

#endif /* TOOLS_BENCH_TABLE1_H */
