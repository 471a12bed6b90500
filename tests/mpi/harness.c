/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/harness.c - statuses, comparisons, and the main program.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"

tw_context_t *t_ctx;
tw_comm_t    *t_world;

void t_codecs_release(void); /* data.c */

void t_status(const char *file, int line, const char *call, tw_status_t got, tw_status_t want)
{
    if (got != want) {
        t_fail(file, line, "%.200s is %s, not %s", call, tw_status_name(got), tw_status_name(want));
    }
}

void t_expect(const char *what, uint64_t got, uint64_t want)
{
    T_CHECK(got == want, "%s: %llu, not %llu", what, (unsigned long long)got,
            (unsigned long long)want);
}

uint64_t t_over_all(uint64_t mine)
{
    uint64_t sum;

    MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void compare(const char *file, int line, tw_dtype_t dtype, const void *got, const void *want,
                    size_t n, int any_nan)
{
    const size_t bytes     = tw_dtype_size(dtype);
    size_t       different = 0, first = 0;

    if (n == 0 || memcmp(got, want, n * bytes) == 0) {
        return;
    }
    for (size_t i = n; i-- > 0;) {
        const double g = t_value(dtype, got, i), w = t_value(dtype, want, i);

        if (memcmp((const char *)got + i * bytes, (const char *)want + i * bytes, bytes) != 0 &&
            !(any_nan && g != g && w != w)) {
            different++;
            first = i;
        }
    }
    if (different != 0) {
        t_fail(file, line, "%zu of %zu elements differ, first [%zu]: %a (%.9g), not %a (%.9g)",
               different, n, first, t_value(dtype, got, first), t_value(dtype, got, first),
               t_value(dtype, want, first), t_value(dtype, want, first));
    }
}

void t_same(const char *file, int line, tw_dtype_t dtype, const void *got, const void *want,
            size_t n)
{
    compare(file, line, dtype, got, want, n, 0);
}

void t_same_or_nan(const char *file, int line, tw_dtype_t dtype, const void *got, const void *want,
                   size_t n)
{
    compare(file, line, dtype, got, want, n, 1);
}

void t_same_everywhere(const char *file, int line, MPI_Comm comm, const void *data, size_t bytes)
{
    uint64_t hash = bytes, root;

    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    root = hash;
    MPI_Bcast(&root, 1, MPI_UINT64_T, 0, comm);
    if (root != hash) {
        t_fail(file, line, "this rank holds other bits than rank 0");
    }
}

/* ---- the main program ----------------------------------------------------------------------- */

static const char *set_up(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    t_ctx   = t_context();
    t_world = t_comm(t_ctx, MPI_COMM_WORLD);
    return NULL;
}

static void tear_down(void)
{
    t_codecs_release();
    t_comm_done(t_world, t_ctx);
}

int t_main(int argc, char **argv, const t_case_t *cases, size_t count)
{
    static const t_rig_t rig      = {T_RANKS_MAX, set_up, tear_down};
    const char          *progress = getenv("THINWIRE_PROGRESS");

    if (progress != NULL && strcmp(progress, "thread") == 0) {
        t_thread_level = MPI_THREAD_MULTIPLE;
    }
    return t_run(argc, argv, &rig, cases, count);
}
