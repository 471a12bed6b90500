/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/agree.c - see agree.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/watch.h"
#include "train/base/agree.h"

static void complain(const tw_problem_t *problem, int rank)
{
    fflush(stdout);
    if (rank < 0) {
        fprintf(stderr, "thinwire-train: %s\n", problem->text);
    } else {
        fprintf(stderr, "thinwire-train: rank %d: %s\n", rank, problem->text);
    }
}

int tw_agree(MPI_Comm comm, tw_problem_t *problem)
{
    int rank, size, mine[2], all[2];

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (problem->fatal) {
        complain(problem, rank);
        MPI_Abort(comm, 1);
    }
    mine[0] = problem->set ? rank : size; /* lowest: the rank that speaks             */
    mine[1] = problem->set ? 1 : 0;       /* lowest: whether all have the same problem */
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MIN, comm);
    watch_end();
    if (all[0] == size) {
        return 0;
    }
    if (rank == all[0] && problem->text[0] != '\0') {
        complain(problem, all[1] || rank == 0 ? -1 : rank);
    }
    return -1;
}

int tw_compare_words(const uint64_t *words, int ranks, size_t n, int *rank_p, size_t *index_p)
{
    for (int r = 1; r < ranks; r++) {
        for (size_t i = 0; i < n; i++) {
            if (words[(size_t)r * n + i] != words[i]) {
                *rank_p  = r;
                *index_p = i;
                return -1;
            }
        }
    }
    return 0;
}

int tw_agree_words(MPI_Comm comm, const uint64_t *words, size_t n, int *rank_p, size_t *index_p)
{
    int       size, status;
    uint64_t *all;

    MPI_Comm_size(comm, &size);
    all = malloc((size_t)size * n * sizeof(*all));
    if (all == NULL) {
        fputs("thinwire-train: out of memory\n", stderr);
        MPI_Abort(comm, 1);
        abort();
    }
    watch_begin("MPI_Allgather");
    MPI_Allgather(words, (int)n, MPI_UINT64_T, all, (int)n, MPI_UINT64_T, comm);
    watch_end();
    status = tw_compare_words(all, size, n, rank_p, index_p);
    free(all);
    return status;
}

/* What the library tells all ranks alike they can agree on; anything else one rank may see alone,
 * while others wait for it. */
int tw_problem_status(const tw_comm_t *comm, const char *what, tw_status_t status,
                      tw_problem_t *problem)
{
    if (status == TW_OK) {
        return 0;
    }
    problem->fatal = (status != TW_ERR_MISMATCH && status != TW_ERR_NO_MEMORY &&
                      status != TW_ERR_IO && status != TW_ERR_FORMAT && status != TW_ERR_SPEC) ||
                     tw_comm_status(comm) != TW_OK;
    return tw_problem_set(problem, "%s: %s", what, tw_status_text(status));
}
