/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/pool.c - see pool.h.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/interpose/pool.h"

void t_pool_begin(t_pool_t *pool, const t_place_t *place, const t_call_t *call)
{
    t_pooled_t *one = t_malloc(sizeof(*one));

    one->request = MPI_REQUEST_NULL;
    t_job_open(&one->job, place, call);
    t_note("%s begins on %s", t_op_names[call->op], place->name);
    T_OK(t_job_issue(&one->job, &one->request));
    if (call->form == T_PERSISTENT) {
        T_OK(MPI_Start(&one->request));
    }
    pool->open[pool->count++] = one;
}

static void finish(t_pooled_t *one)
{
    t_job_check(&one->job, NULL);
    if (one->request != MPI_REQUEST_NULL) { /* persistent */
        T_OK(MPI_Request_free(&one->request));
    }
    t_job_close(&one->job);
    free(one);
}

/* Some of the open ones in any order, as MPI wants them; which[] says where they stand. Where a
 * persistent collective is in a list, MPICH 4.0's MPI_Testall fails: such a one comes alone. */
static int gather(const t_pool_t *pool, uint64_t *own, MPI_Request *requests, int *which)
{
    const int want = 1 + (int)t_below(own, (size_t)pool->count);
    int       n = 0, at = (int)t_below(own, (size_t)pool->count);

    for (int i = 0; i < pool->count && n < want; i++, at = (at + 1) % pool->count) {
        const bool persistent = pool->open[at]->job.call.form == T_PERSISTENT;

        if (n > 0 && persistent) {
            continue;
        }
        which[n]      = at;
        requests[n++] = pool->open[at]->request;
        if (persistent) {
            break;
        }
    }
    return n;
}

/* Marks in done[] what a call has completed; way 0 to 7. */
static void complete(int way, int n, MPI_Request *requests, bool *done)
{
    MPI_Status statuses[T_POOL];
    int        indices[T_POOL], flag = 1, index = MPI_UNDEFINED, count = 0;

    switch (way) {
    case 0:
        T_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        index = 0;
        break;
    case 1:
        T_OK(MPI_Test(&requests[0], &flag, &statuses[0]));
        index = flag ? 0 : MPI_UNDEFINED;
        break;
    case 2:
        T_OK(MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE));
        if (flag) {
            T_OK(MPI_Wait(&requests[0], &statuses[0]));
            index = 0;
        }
        break;
    case 3:
        T_OK(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
        break;
    case 4:
        T_OK(MPI_Testany(n, requests, &index, &flag, &statuses[0]));
        index = flag ? index : MPI_UNDEFINED;
        break;
    case 5:
    case 6:
        T_OK(way == 5 ? MPI_Waitsome(n, requests, &count, indices, statuses)
                      : MPI_Testsome(n, requests, &count, indices, statuses));
        T_CHECK(count >= (way == 5) && count <= n, "outcount is %d of %d", count, n);
        break;
    default:
        T_OK(way == 7 ? MPI_Waitall(n, requests, statuses)
                      : MPI_Testall(n, requests, &flag, statuses));
        break;
    }
    for (int i = 0; i < n; i++) {
        done[i] = i == index || (way >= 7 && flag);
    }
    for (int i = 0; i < count && count <= n; i++) {
        done[indices[i]] = true;
    }
}

void t_pool_some(t_pool_t *pool, uint64_t *own)
{
    MPI_Request requests[T_POOL];
    int         which[T_POOL], n, left = 0;
    bool        done[T_POOL], alone;

    if (pool->count == 0) {
        return;
    }
    n     = gather(pool, own, requests, which);
    alone = pool->open[which[0]]->job.call.form == T_PERSISTENT;
    t_note("%d of %d open requests are completed", n, pool->count);
    complete((int)t_below(own, alone ? 3 : 9), n, requests, done);
    for (int i = 0; i < n; i++) {
        t_pooled_t *one = pool->open[which[i]];

        one->request = requests[i];
        if (done[i]) {
            finish(one);
            pool->open[which[i]] = NULL;
        }
    }
    for (int i = 0; i < pool->count; i++) {
        if (pool->open[i] != NULL) {
            pool->open[left++] = pool->open[i];
        }
    }
    pool->count = left;
}

void t_pool_drain(t_pool_t *pool, uint64_t *own)
{
    while (pool->count > 0) {
        t_pool_some(pool, own);
    }
}
