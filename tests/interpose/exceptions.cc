/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/exceptions.cc - a C++ program whose MPI error handlers throw, and which goes on
 * with collectives afterwards. Arguments: EXPECTATION RANKS, as in common.h (exact, or lossy). */
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include <mpi.h>

namespace
{

constexpr int N = 20000;

struct mpi_error {
    int code;
};

int  rank, size, failures, differing;
bool lossy;

void check(bool right, const char *what, int round)
{
    if (!right && failures++ < 10) {
        std::printf("rank %d, round %d: %s\n", rank, round, what);
    }
}

void throwing(MPI_Comm *, int *code, ...)
{
    throw mpi_error{*code};
}

/* Calls `what` from a frame far below the caller's: where a call that was left has stood. */
void from_below(const std::function<void()> &what, int depth = 16)
{
    volatile char frame[512];

    frame[0] = 1;
    if (depth > 0) {
        from_below(what, depth - frame[0]);
    } else {
        what();
    }
    frame[1] = frame[0];
}

/* A guard as programs have them: its destructor runs while the exception passes. */
struct guard {
    explicit guard(int &counter) : counter(counter) { counter++; }
    ~guard() { counter--; }
    int &counter;
};

void refused(const char *what, int round, const std::function<int()> &call)
{
    int  depth  = 0;
    bool caught = false;

    try {
        guard outer(depth);
        guard inner(depth);

        call();
    } catch (const mpi_error &error) {
        int error_class;

        MPI_Error_class(error.code, &error_class);
        caught = error_class != MPI_SUCCESS;
    }
    check(caught && depth == 0, what, round);
}

float value(int of, int i, int round)
{
    return std::sin(static_cast<float>(i % 977 + 13 * of + round)) + 1.5f;
}

void sums_are_right(const std::vector<float> &sum, const char *what, int round)
{
    for (int i = 0; i < N; i++) {
        float exact = 0;

        for (int r = 0; r < size; r++) {
            exact += value(r, i, round);
        }
        if (std::fabs(sum[i] - exact) > (lossy ? 1e-3f : 1e-5f) * exact) {
            check(false, what, round);
            return;
        }
        differing += std::fabs(sum[i] - exact) > 1e-5f * exact;
    }
}

/* All ranks, in the same order, whoever has thrown before. */
void collectives(int round)
{
    std::vector<float> mine(N), sum(N), later(N);
    MPI_Request        request;

    for (int i = 0; i < N; i++) {
        mine[i] = value(rank, i, round);
    }
    MPI_Iallreduce(mine.data(), later.data(), N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Allreduce(mine.data(), sum.data(), N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sums_are_right(sum, "MPI_Allreduce", round);
    sums_are_right(later, "MPI_Iallreduce", round);
}

/* Wrong calls on a communicator of one rank, and on one of all. */
void wrong_calls(MPI_Comm comm, int round)
{
    std::vector<float> from(N), to(static_cast<size_t>(N) * size);
    MPI_Request        request;

    refused("MPI_Allreduce", round,
            [&] { return MPI_Allreduce(from.data(), to.data(), N, MPI_FLOAT, MPI_OP_NULL, comm); });
    refused("MPI_Bcast", round, [&] { return MPI_Bcast(to.data(), N, MPI_FLOAT, 100, comm); });
    refused("MPI_Iallgather", round, [&] {
        return MPI_Iallgather(from.data(), -5, MPI_FLOAT, to.data(), N, MPI_FLOAT, comm, &request);
    });
    refused("MPI_Alltoall", round, [&] {
        return MPI_Alltoall(from.data(), 1, MPI_DATATYPE_NULL, to.data(), 1, MPI_FLOAT, comm);
    });
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Comm       own, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    lossy = argc > 1 && std::strncmp(argv[1], "lossy", 5) == 0;
    MPI_Comm_create_errhandler(throwing, &handler);
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_set_errhandler(own, handler);
    MPI_Comm_set_errhandler(all, handler);
    for (int round = 0; round < 3 * size; round++) {
        if (round % size == rank) {
            wrong_calls(own, round);
        }
        from_below([&] { collectives(round); });
        wrong_calls(all, round);
        collectives(round);
    }
    check(!lossy || differing > 0, "no sum was compressed", 0);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&own);
    MPI_Comm_free(&all);
    MPI_Finalize();
    std::printf("rank %d: %d failures, %d values differ\n", rank, failures, differing);
    return failures != 0;
}
