/* SPDX-License-Identifier: BSD-3-Clause
 * bench/ucc_allreduce.c - time of an allreduce of float32 by UCC, measured as without_mpi.c does:
 * see without-mpi.sh. Not built by make; with UCC 1.0 or later (libucc-dev):
 *
 *     gcc -O2 -D_GNU_SOURCE -I. -Iinclude -Ibuild/include bench/ucc_allreduce.c \
 *         -lucc -o ucc-allreduce
 *     ucc-allreduce allreduce BYTES REPEATS
 *
 * The processes have RANK, WORLD_SIZE and TW_STORE, a folder in which they meet.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ucc/api/ucc.h>

#define THINWIRE_NO_MPI
#include "tests/store/folder.h"

static int           rank, size;
static ucc_context_h context;
static ucc_team_h    team;

static void must(ucc_status_t status, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "ucc-allreduce: %s: %s\n", what, ucc_status_string(status));
        exit(1);
    }
}

/* ---- how UCC's ranks find each other --------------------------------------------------------- */

static ucc_status_t gather(void *mine, void *all, size_t bytes, void *info, void **request)
{
    static int calls;
    char       key[64];

    (void)info;
    *request = NULL;
    snprintf(key, sizeof(key), "ucc/%d/%d", ++calls, rank);
    if (t_folder_put(getenv("TW_STORE"), key, mine, bytes) != 0) {
        return UCC_ERR_NO_MESSAGE;
    }
    for (int r = 0; r < size; r++) {
        snprintf(key, sizeof(key), "ucc/%d/%d", calls, r);
        if (t_folder_get(getenv("TW_STORE"), key, (char *)all + (size_t)r * bytes, bytes, 0) != 0) {
            return UCC_ERR_NO_MESSAGE;
        }
    }
    return UCC_OK;
}

static ucc_status_t gathered(void *request)
{
    (void)request;
    return UCC_OK;
}

static void begin(void)
{
    const ucc_oob_coll_t meeting = {.allgather = gather,
                                    .req_test  = gathered,
                                    .req_free  = gathered,
                                    .n_oob_eps = (uint32_t)size,
                                    .oob_ep    = (uint32_t)rank};
    ucc_lib_params_t     lib     = {.mask        = UCC_LIB_PARAM_FIELD_THREAD_MODE,
                                    .thread_mode = UCC_THREAD_SINGLE};
    ucc_context_params_t of      = {.mask = UCC_CONTEXT_PARAM_FIELD_OOB, .oob = meeting};
    ucc_team_params_t    members = {.mask = UCC_TEAM_PARAM_FIELD_OOB | UCC_TEAM_PARAM_FIELD_EP |
                                            UCC_TEAM_PARAM_FIELD_EP_RANGE,
                                    .oob      = meeting,
                                    .ep       = (uint64_t)rank,
                                    .ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG};
    ucc_lib_config_h     lib_config;
    ucc_context_config_h config;
    ucc_lib_h            library;
    ucc_status_t         status;

    must(ucc_lib_config_read(NULL, NULL, &lib_config), "ucc_lib_config_read");
    must(ucc_init(&lib, lib_config, &library), "ucc_init");
    must(ucc_context_config_read(library, NULL, &config), "ucc_context_config_read");
    must(ucc_context_create(library, &of, config, &context), "ucc_context_create");
    must(ucc_team_create_post(&context, 1, &members, &team), "ucc_team_create_post");
    while ((status = ucc_team_create_test(team)) == UCC_INPROGRESS) {
        ucc_context_progress(context);
    }
    must(status, "ucc_team_create_test");
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void allreduce(float *x, float *y, size_t n, ucc_reduction_op_t op)
{
    ucc_coll_args_t args = {.coll_type = UCC_COLL_TYPE_ALLREDUCE,
                            .src.info  = {x, n, UCC_DT_FLOAT32, UCC_MEMORY_TYPE_HOST},
                            .dst.info  = {y, n, UCC_DT_FLOAT32, UCC_MEMORY_TYPE_HOST},
                            .op        = op};
    ucc_coll_req_h  request;
    ucc_status_t    status;

    must(ucc_collective_init(&args, &request, team), "ucc_collective_init");
    must(ucc_collective_post(request), "ucc_collective_post");
    while ((status = ucc_collective_test(request)) == UCC_INPROGRESS) {
        ucc_context_progress(context);
        sched_yield(); /* there may be more ranks than cores, as Open MPI is told there */
    }
    must(status, "ucc_collective_test");
    must(ucc_collective_finalize(request), "ucc_collective_finalize");
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_time(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

int main(int argc, char **argv)
{
    const size_t n       = argc > 3 ? strtoul(argv[2], NULL, 10) / sizeof(float) : 0;
    const int    repeats = argc > 3 ? atoi(argv[3]) : 0;
    float       *x = calloc(n + 1, sizeof(*x)), *y = calloc(n + 1, sizeof(*y));
    float       *times = calloc((size_t)repeats + 1, sizeof(*times));

    if (n == 0 || repeats < 1 || x == NULL || y == NULL || times == NULL) {
        fprintf(stderr, "usage: ucc-allreduce allreduce BYTES REPEATS\n");
        return 2;
    }
    rank = atoi(getenv("RANK"));
    size = atoi(getenv("WORLD_SIZE"));
    begin();
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(rank + 1);
    }
    for (int i = 0; i <= repeats; i++) { /* the first opens connections */
        double start;
        float  mine;

        allreduce(x, y, 1, UCC_OP_SUM);
        start = now();
        allreduce(x, y, n, UCC_OP_SUM);
        mine = (float)(now() - start);
        if (y[n - 1] != (float)(size * (size + 1) / 2)) {
            fprintf(stderr, "ucc-allreduce: a wrong sum\n");
            return 1;
        }
        allreduce(&mine, &times[i > 0 ? i - 1 : 0], 1, UCC_OP_MAX);
    }
    qsort(times, (size_t)repeats, sizeof(*times), by_time);
    if (rank == 0) {
        printf("allreduce %zu bytes, %d ranks: %.2f ms (%.2f to %.2f)\n", n * sizeof(float), size,
               times[repeats / 2], times[0], times[repeats - 1]);
    }
    return 0;
}
