/* SPDX-License-Identifier: BSD-3-Clause
 * tools/commands.h - the subcommands. argv[0] is the subcommand's name. They return an exit code.
 */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

#include "tools/job.h"

int info_main(job_t *job, int argc, char **argv);
int calibrate_main(job_t *job, int argc, char **argv);
int run_main(job_t *job, int argc, char **argv); /* job: only written, MPI is not initialised */
int bench_codec_main(job_t *job, int argc, char **argv);
int bench_collective_main(job_t *job, int argc, char **argv);
int bench_overlap_main(job_t *job, int argc, char **argv);
int plan_main(job_t *job, int argc, char **argv);
int scale_main(job_t *job, int argc, char **argv);

#endif /* TOOLS_COMMANDS_H */
