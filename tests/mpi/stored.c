/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/stored.c - feedback objects, and what their files hold.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/stored.h"

tw_feedback_t *t_feedback_used(tw_comm_t *comm, const char *name, uint64_t seed, size_t count,
                               int steps)
{
    tw_feedback_t *fb  = NULL;
    float         *x   = t_malloc(count * sizeof(float));
    tw_how_t       how = {.codec = t_codec("onebit:block=64", TW_F32)};

    T_OK(tw_feedback_create(comm, name, TW_F32, count, &fb));
    how.feedback  = fb;
    how.algorithm = TW_ALGORITHM_TWO_PASS;
    for (int step = 0; step < steps; step++) {
        t_fill(TW_F32, seed + (unsigned)(8 * step + tw_comm_rank(comm)), 0, count, x);
        T_OK(tw_allreduce(comm, TW_IN_PLACE, x, count, TW_SUM, &how));
    }
    free(x);
    return fb;
}

char *t_feedback_saved(tw_feedback_t *fb, int rank, size_t *bytes_p)
{
    FILE *stream = rank == 0 ? tmpfile() : NULL;
    char *bytes;

    T_OK(tw_feedback_save(fb, stream));
    if (stream == NULL) {
        return NULL;
    }
    T_CHECK(fflush(stream) == 0, "cannot write a temporary file");
    *bytes_p = (size_t)ftell(stream);
    bytes    = t_malloc(*bytes_p);
    rewind(stream);
    T_CHECK(fread(bytes, 1, *bytes_p, stream) == *bytes_p, "cannot read a temporary file");
    fclose(stream);
    return bytes;
}

tw_status_t t_feedback_restored(tw_feedback_t *fb, int rank, char *bytes, size_t n,
                                tw_feedback_use_t use)
{
    FILE       *stream = NULL;
    tw_status_t status;

    if (rank == 0) {
        stream = tmpfile();
        T_CHECK(fwrite(bytes, 1, n, stream) == n, "cannot write a temporary file");
        rewind(stream);
    }
    status = tw_feedback_restore(fb, stream, use);
    if (stream != NULL) {
        fclose(stream);
    }
    return status;
}

void t_feedback_same(tw_feedback_t *a, tw_feedback_t *b)
{
    float  x[T_STORED_COUNT], y[T_STORED_COUNT];
    double p = -1, q = -2;

    T_OK(tw_feedback_read(a, x));
    T_OK(tw_feedback_read(b, y));
    T_SAME(TW_F32, x, y, T_STORED_COUNT);
    T_OK(tw_feedback_norm(a, &p));
    T_OK(tw_feedback_norm(b, &q));
    T_CHECK(p == q && p > 0, "norms %.17g and %.17g", p, q);
}
