/* SPDX-License-Identifier: BSD-3-Clause
 * tools/main.c - the thinwire command and what it can do.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include <thinwire/version.h>

#include "tools/commands.h"
#include "command/options.h"
#include "runtime/base/bytes.h"

/* One of the things a command can do. */
typedef struct subcommand {
    const char *name;
    const char *help;  /* one line                                              */
    int         alone; /* only rank 0 works; the others wait until it is done  */
    int (*main)(job_t *job, int argc, char **argv);
} subcommand_t;

static void print_subcommands(const subcommand_t *list, const char *usage, const char *about)
{
    printf("Usage: %s\n\n%s\n\n", usage, about);
    for (const subcommand_t *s = list; s->name != NULL; s++) {
        printf("  %-10s %s\n", s->name, s->help);
    }
    printf("\nEach of them says more with --help; the manual is thinwire(1).\n");
}

/* `name` is NULL where there was none. */
static int unknown_subcommand(const subcommand_t *list, const char *usage, const job_t *job,
                              const char *name)
{
    const char *names[16];
    char        all[160] = "";
    const char *nearest;
    size_t      n = 0;

    for (const subcommand_t *s = list; s->name != NULL && n < 15; s++) {
        names[n++] = s->name;
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", n > 1 ? ", " : "", s->name);
    }
    names[n] = NULL;
    nearest  = name != NULL ? options_nearest(name, names) : NULL;
    if (name == NULL) {
        job_complain(job, "a command is missing; accepted: %s (%s); --help says more", all, usage);
    } else if (nearest != NULL) {
        job_complain(job, "unknown command '%.40s'; did you mean %s? (%s)", name, nearest, usage);
    } else {
        job_complain(job, "unknown command '%.40s'; accepted: %s (%s)", name, all, usage);
    }
    return EXIT_USAGE;
}

/* Run the subcommand named argv[1]; `list` ends with name NULL. */
static int subcommand_run(const subcommand_t *list, const char *usage, const char *about,
                          job_t *job, int argc, char **argv)
{
    if (argc < 2) {
        return unknown_subcommand(list, usage, job, NULL);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        if (job->rank == 0) {
            print_subcommands(list, usage, about);
        }
        return EXIT_OK;
    }
    for (const subcommand_t *s = list; s->name != NULL; s++) {
        if (strcmp(s->name, argv[1]) == 0) {
            job_t solo = *job;

            if (!s->alone) {
                return s->main(job, argc - 1, argv + 1);
            }
            solo.size = 1;
            return job->rank == 0 ? s->main(&solo, argc - 1, argv + 1) : EXIT_OK;
        }
    }
    return unknown_subcommand(list, usage, job, argv[1]);
}

static const subcommand_t benches[] = {
    {"codec", "Encode and decode speed against memcpy, and the error, of each codec.", 1,
     bench_codec_main},
    {"allreduce", "Compressed sum over all ranks against MPI_Allreduce (under mpirun).", 0,
     bench_collective_main},
    {"bcast", "Compressed broadcast against MPI_Bcast (under mpirun).", 0, bench_collective_main},
    {"reduce_scatter", "Compressed sum in blocks against MPI_Reduce_scatter_block (under mpirun).",
     0, bench_collective_main},
    {"allgather", "Compressed blocks to all against MPI_Allgather (under mpirun).", 0,
     bench_collective_main},
    {"alltoall", "Compressed exchange against MPI_Alltoall (under mpirun).", 0,
     bench_collective_main},
    {"overlap", "A nonblocking allreduce beside a computation (under mpirun).", 0,
     bench_overlap_main},
    {NULL, NULL, 0, NULL},
};

static int bench_main(job_t *job, int argc, char **argv)
{
    return subcommand_run(benches, "thinwire bench WHAT [OPTION...]",
                          "Measures on this machine, with random data, never with constants. "
                          "Medians of\nalternated repetitions; the error is measured, the bytes "
                          "on the wire are counted.",
                          job, argc, argv);
}

static const subcommand_t subcommands[] = {
    {"info", "What this library, this MPI and this machine are; settings with --settings.", 0,
     info_main},
    {"bench", "Measure codecs and compressed collectives against memcpy and native MPI.", 0,
     bench_main},
    {"calibrate", "Measure what the codec auto decides by (under mpirun).", 0, calibrate_main},
    {"run", "Run an MPI program with its collectives watched or compressed.", 0, run_main},
    {"plan", "Say how a training is best divided over a machine.", 1, plan_main},
    {"scale", "Predict a program's step on other ranks, networks and codecs.", 1, scale_main},
    {NULL, NULL, 0, NULL},
};

/* mpirun may start ranks with different command lines; then they would wait for each other. */
static int check_arguments(const job_t *job)
{
    uint64_t hash = TW_FNV_START, first;
    char     why[96];

    for (int i = 1; i < job->argc; i++) {
        hash = tw_fnv1a(hash, job->argv[i], strlen(job->argv[i]) + 1);
    }
    first = hash;
    if (job->size > 1) {
        MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    }
    snprintf(why, sizeof(why), "rank %d was started with other arguments than rank 0", job->rank);
    return job_agree(job, hash == first, why);
}

int main(int argc, char **argv)
{
    job_t job;
    int   code;

    if (argc >= 2 && strcmp(argv[1], "run") == 0) { /* MPI is the program's */
        return run_main(&job, argc - 1, argv + 1);
    }
    job_begin(&job, argc, argv);
    if (check_arguments(&job) != 0) {
        code = EXIT_USAGE;
    } else if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
        if (job.rank == 0) {
            printf("thinwire %s\n", tw_version());
        }
        code = EXIT_OK;
    } else {
        code =
            subcommand_run(subcommands, "thinwire COMMAND [OPTION...]",
                           "thinwire makes distributed float32 traffic thin: it encodes what MPI "
                           "collectives\ncarry into 8 bits, 1 bit or a few bytes per number.",
                           &job, job.argc, job.argv);
    }
    return job_end(&job, code);
}
