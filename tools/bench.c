/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench.c - thinwire bench: the list of what can be measured.
 */
#include "config.h"

#include "tools/commands.h"

static const subcommand_t benches[] = {
    {"codec", "Encode and decode speed against memcpy, and the error, of each codec.", 1,
     bench_codec_main},
    {"allreduce", "Compressed sum over all ranks against MPI_Allreduce (under mpirun).", 0,
     bench_allreduce_main},
    {"bcast", "Compressed broadcast against MPI_Bcast (under mpirun).", 0, bench_bcast_main},
    {"alltoall", "Compressed exchange against MPI_Alltoall (under mpirun).", 0,
     bench_alltoall_main},
    {"overlap", "A nonblocking allreduce beside a computation (under mpirun).", 0,
     bench_overlap_main},
    {NULL, NULL, 0, NULL},
};

int bench_main(job_t *job, int argc, char **argv)
{
    return subcommand_run(benches, "thinwire bench WHAT [OPTION...]",
                          "Measures on this machine, with random data, never with constants. "
                          "Medians of\nalternated repetitions; the error is measured, the bytes "
                          "on the wire are counted.",
                          job, argc, argv);
}
