/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/policy_roots.c - what policy does when its first word is `roots`: broadcasts from
 * memory of many kinds. To MPI the root's buffer is input, so it may be read-only, have holes that
 * are not the program's, or name an element twice. Rank 0 prints a line for each: "took" where its
 * buffer then holds what rank 1 has, "kept" where no bit of it was changed, else "WRONG"; and
 * "far off" where rank 1 has not what the root sent.
 */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/interpose/policy.h"

#define PAGES 16 /* of a buffer; the layout with holes takes every other one */

typedef struct source {
    const char  *name;
    void        *buffer;
    int          count;
    MPI_Datatype type;
    bool         nonblocking;
} source_t;

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Pages of their own, filled. */
static float *map_pages(size_t pages)
{
    const size_t n = pages * page_size() / sizeof(float);
    float       *floats =
        mmap(NULL, n * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (floats == MAP_FAILED) {
        fprintf(stderr, "no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    for (size_t i = 0; i < n; i++) {
        floats[i] = sinf((float)i);
    }
    return floats;
}

static void protect(float *floats, size_t page, size_t pages, int how)
{
    if (mprotect((char *)floats + page * page_size(), pages * page_size(), how) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* The root's numbers one after another. */
static void packed(const source_t *source, float *vector, size_t n)
{
    /* MPI_Pack of MPICH takes no MPI_BOTTOM. */
    PMPI_Sendrecv(source->buffer, source->count, source->type, 0, 0, vector, (int)n, MPI_FLOAT, 0,
                  0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void broadcast(const source_t *source, void *buffer, int count, MPI_Datatype type)
{
    MPI_Request request;

    if (source->nonblocking) {
        MPI_Ibcast(buffer, count, type, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Bcast(buffer, count, type, 0, MPI_COMM_WORLD);
    }
}

static void judge(const source_t *source, size_t n, const float *before, const float *after,
                  const float *theirs)
{
    const size_t bytes = n * sizeof(float);
    double       worst = 0.0;

    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)theirs[i] - (double)before[i]));
    }
    printf("%s: %s%s\n", source->name,
           memcmp(after, theirs, bytes) == 0   ? "took"
           : memcmp(after, before, bytes) == 0 ? "kept"
                                               : "WRONG",
           worst < 0.05 ? "" : ", far off");
}

/* Collective; the others know how many numbers come, and no more. */
static void send_from(const source_t *source, int rank)
{
    int    size = 0;
    size_t n;
    float *before, *after, *theirs;

    PMPI_Type_size(source->type, &size);
    n      = (size_t)source->count * (size_t)size / sizeof(float);
    before = allocate(n * sizeof(*before));
    after  = allocate(n * sizeof(*after));
    theirs = allocate(n * sizeof(*theirs));
    packed(source, before, n);
    if (rank == 0) {
        broadcast(source, source->buffer, source->count, source->type);
    } else {
        broadcast(source, theirs, (int)n, MPI_FLOAT);
    }
    packed(source, after, n);
    PMPI_Bcast(theirs, (int)n, MPI_FLOAT, 1, MPI_COMM_WORLD);
    if (rank == 0) {
        judge(source, n, before, after, theirs);
    }
    free(before);
    free(after);
    free(theirs);
}

/* A page of floats, and as much left out, PAGES / 2 times; `item` pages from one to the next. */
static MPI_Datatype every_other(int item)
{
    const int    page = (int)(page_size() / sizeof(float));
    MPI_Datatype type;

    MPI_Type_vector(PAGES / 2, page, item * page, MPI_FLOAT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void with_holes(int rank)
{
    float       *open = map_pages(PAGES), *shut = map_pages(PAGES), *gone = map_pages(PAGES);
    MPI_Datatype two = every_other(2), none = every_other(0);
    source_t     source = {"holes", open, 1, two, false};

    send_from(&source, rank);
    source.name        = "holes, nonblocking";
    source.nonblocking = true;
    send_from(&source, rank);
    source = (source_t){"an element named twice", open, 1, none, false};
    send_from(&source, rank);
    for (size_t page = 1; page < PAGES; page += 2) {
        protect(gone, page, 1, PROT_NONE);
        munmap((char *)gone + page * page_size(), page_size());
        protect(shut, page, 1, PROT_READ);
    }
    source = (source_t){"holes that are not mapped", gone, 1, two, false};
    send_from(&source, rank);
    source = (source_t){"holes that are read-only", shut, 1, two, false};
    send_from(&source, rank);
    MPI_Type_free(&two);
    MPI_Type_free(&none);
}

int roots(void)
{
    const int    page = (int)(page_size() / sizeof(float));
    float       *open = map_pages(2048), *shut = map_pages(2048), *half = map_pages(PAGES);
    int          rank;
    source_t     source;
    MPI_Datatype far_type;
    MPI_Aint     at[2];

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    source = (source_t){"writable", open + 1, PAGES * page, MPI_FLOAT, false};
    send_from(&source, rank);
    source.name        = "writable, nonblocking";
    source.nonblocking = true;
    send_from(&source, rank);
    source = (source_t){"many pages", open, 2048 * page, MPI_FLOAT, false};
    send_from(&source, rank);
    protect(shut, 0, 2048, PROT_READ);
    source = (source_t){"read-only", shut + 1, PAGES * page, MPI_FLOAT, false};
    send_from(&source, rank);
    source.name        = "read-only, nonblocking";
    source.nonblocking = true;
    send_from(&source, rank);
    source = (source_t){"many pages, read-only", shut, 2048 * page, MPI_FLOAT, false};
    send_from(&source, rank);
    protect(half, PAGES - 1, 1, PROT_READ);
    source = (source_t){"the last page read-only", half, PAGES * page, MPI_FLOAT, false};
    send_from(&source, rank);
    source.count = (PAGES - 1) * page;
    source.name  = "up to a read-only page";
    send_from(&source, rank);
    with_holes(rank);
    MPI_Get_address(open, &at[0]);
    MPI_Get_address(half, &at[1]);
    MPI_Type_create_hindexed_block(2, 4 * page, at, MPI_FLOAT, &far_type);
    MPI_Type_commit(&far_type);
    source = (source_t){"two places, absolute", MPI_BOTTOM, 1, far_type, false};
    send_from(&source, rank);
    MPI_Type_free(&far_type);
    return 0;
}
