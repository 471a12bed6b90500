/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators with graphs, whose ranks MPI may reorder, as the first that a program does after
 * MPI_Init: the neighbours of drawn graphs learn each other's ranks.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { GRAPHS = 8, MOST = 8 };

/* Rank i sends to i + each step. */
static void graph(int round, int rank, int size)
{
    int steps = 1 + rand() % (size < MOST ? size : MOST), to[MOST], from[MOST], got[MOST],
        weights[2][MOST], in, out, weighted;
    int      me, first = rand() % size;
    MPI_Comm comm;

    for (int i = 0; i < steps; i++) {
        weights[0][i] = weights[1][i] = 1;

        to[i]   = (rank + first + i) % size;
        from[i] = (rank + 2 * size - first - i) % size;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, steps, from, weights[0], steps, to, weights[1],
                                   MPI_INFO_NULL, 1, &comm);
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    MPI_Comm_rank(comm, &me);
    MPI_Dist_graph_neighbors(comm, in, from, weights[0], out, to, weights[1]);
    MPI_Neighbor_allgather(&me, 1, MPI_INT, got, 1, MPI_INT, comm);
    for (int i = 0; i < in; i++) {
        if (in != steps || out != steps || got[i] != from[i]) {
            printf("wrong: graph %d, rank %d, neighbour %d\n", round, rank, i);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    srand(1);
    for (int round = 0; round < GRAPHS; round++) {
        graph(round, rank, size);
    }
    MPI_Finalize();
    return 0;
}
