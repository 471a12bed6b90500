/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/complete.c - every call that completes requests, on random parts of the slots.
 */
#include "config.h"

#include "tests/interpose/slots.h"

/* Some slots in random order, with their requests in a row. */
typedef struct batch {
    int         n;
    t_slot_t   *slots[T_SLOTS];
    MPI_Request requests[T_SLOTS], before[T_SLOTS];
    MPI_Status  statuses[T_SLOTS];
    MPI_Status *given;      /* statuses, or NULL for MPI_STATUSES_IGNORE */
    int         open, null; /* requests that are active; that are MPI_REQUEST_NULL */
} batch_t;

static void gather(batch_t *batch, uint64_t *own, size_t most, bool single)
{
    int order[T_SLOTS];

    for (int i = 0; i < T_SLOTS; i++) {
        const int k = (int)t_below(own, (size_t)i + 1);

        order[i] = order[k];
        order[k] = i;
    }
    batch->n    = 0;
    batch->open = batch->null = 0;
    for (int i = 0; i < T_SLOTS && batch->n < (int)most; i++) {
        t_slot_t  *slot = &t_slots[order[i]];
        const bool lone = slot->kind == T_COLLECTIVE && slot->persistent;

        /* MPICH 4.0: MPI_Testall fails, and others say nonsense, if a persistent collective is
         * there. */
        if (lone && !(single && slot->open)) {
            continue;
        }
        if (slot->open || t_below(own, 6) == 0) { /* some that are done already */
            batch->slots[batch->n]    = slot;
            batch->requests[batch->n] = batch->before[batch->n] = slot->request;
            batch->open += slot->open;
            batch->null += slot->request == MPI_REQUEST_NULL;
            batch->n++;
        }
    }
    batch->given = t_below(own, 3) == 0 ? NULL : batch->statuses;
}

static void give_back(batch_t *batch)
{
    for (int i = 0; i < batch->n; i++) {
        batch->slots[i]->request = batch->requests[i];
    }
}

static const MPI_Status *status_of(const batch_t *batch, int i)
{
    return batch->given != NULL ? &batch->given[i] : NULL;
}

static void all_completed(batch_t *batch, const char *how)
{
    give_back(batch);
    for (int i = 0; i < batch->n; i++) {
        t_slot_completed(batch->slots[i], status_of(batch, i), how);
    }
}

static void nothing_completed(const batch_t *batch, const char *how)
{
    t_note("by %s", how);
    for (int i = 0; i < batch->n; i++) {
        T_CHECK(batch->requests[i] == batch->before[i],
                "it completed nothing, but request %d of %d is another", i, batch->n);
    }
}

static void one_by_one(uint64_t *own, int way)
{
    batch_t           b;
    MPI_Status        status;
    MPI_Status *const given = t_below(own, 2) == 0 ? &status : MPI_STATUS_IGNORE;
    int               flag  = 1;

    gather(&b, own, 1, true);
    if (b.n == 0) {
        return;
    }
    t_note("slot %d, a %s, way %d", b.slots[0]->index, t_kind_names[b.slots[0]->kind], way);
    if (way == 0) {
        T_OK(MPI_Wait(&b.requests[0], given));
    } else if (way == 1) {
        T_OK(MPI_Test(&b.requests[0], &flag, given));
    } else { /* tells, but does not free */
        T_OK(MPI_Request_get_status(b.requests[0], &flag, given));
        nothing_completed(&b, "MPI_Request_get_status");
        if (flag && b.slots[0]->open && given == &status) {
            t_slot_status(b.slots[0], &status);
        }
        if (!flag) {
            return;
        }
        T_OK(MPI_Test(&b.requests[0], &flag, given));
        T_CHECK(flag, "MPI_Request_get_status said that it is done, MPI_Test does not");
    }
    if (flag) {
        b.given       = given == &status ? b.statuses : NULL;
        b.statuses[0] = status;
        all_completed(&b, way == 0 ? "MPI_Wait" : way == 1 ? "MPI_Test" : "MPI_Test after a look");
    } else {
        nothing_completed(&b, "MPI_Test");
    }
}

static void all_at_once(uint64_t *own, bool wait)
{
    batch_t     b;
    int         flag = 1;
    MPI_Status *given;

    gather(&b, own, 1 + t_below(own, 20), false);
    given = b.given != NULL ? b.given : MPI_STATUSES_IGNORE;
    t_note("%s of %d", wait ? "MPI_Waitall" : "MPI_Testall", b.n);
    if (wait) {
        T_OK(MPI_Waitall(b.n, b.requests, given));
    } else {
        T_OK(MPI_Testall(b.n, b.requests, &flag, given));
    }
    if (flag) {
        all_completed(&b, wait ? "MPI_Waitall" : "MPI_Testall");
    } else {
        nothing_completed(&b, "MPI_Testall");
    }
}

static void any(uint64_t *own, bool wait)
{
    const char *const how = wait ? "MPI_Waitany" : "MPI_Testany";
    batch_t           b;
    MPI_Status       *given;
    int               flag = 1, index = -5;

    gather(&b, own, t_below(own, 20), false);
    given = b.given != NULL ? b.statuses : MPI_STATUS_IGNORE;
    t_note("%s of %d", how, b.n);
    if (wait) {
        T_OK(MPI_Waitany(b.n, b.requests, &index, given));
    } else {
        T_OK(MPI_Testany(b.n, b.requests, &index, &flag, given));
    }
    if (b.open == 0 || !flag) {
        T_CHECK(flag == (b.open == 0) && index == MPI_UNDEFINED,
                "flag %d, index %d; %d of the requests were active", flag, index, b.open);
        if (b.null == b.n && b.given != NULL) { /* MPICH 4.0 wants all of them null for that */
            t_empty_status(&b.statuses[0]);
        }
        nothing_completed(&b, how);
        return;
    }
    T_CHECK(index >= 0 && index < b.n && b.slots[index]->open, "index %d of %d", index, b.n);
    if (index >= 0 && index < b.n) {
        give_back(&b);
        t_slot_completed(b.slots[index], b.given, how);
    }
}

static void some(uint64_t *own, bool wait)
{
    const char *const how = wait ? "MPI_Waitsome" : "MPI_Testsome";
    batch_t           b;
    MPI_Status       *given;
    int               done = -5, indices[T_SLOTS];

    gather(&b, own, t_below(own, 20), false);
    given = b.given != NULL ? b.given : MPI_STATUSES_IGNORE;
    t_note("%s of %d", how, b.n);
    if (wait) {
        T_OK(MPI_Waitsome(b.n, b.requests, &done, indices, given));
    } else {
        T_OK(MPI_Testsome(b.n, b.requests, &done, indices, given));
    }
    if (b.open == 0) {
        T_CHECK(done == MPI_UNDEFINED, "outcount is %d, and no request was active", done);
        return;
    }
    T_CHECK(done >= wait && done <= b.open, "outcount is %d of %d", done, b.open);
    give_back(&b);
    for (int i = 0; i < done; i++) {
        T_CHECK(indices[i] >= 0 && indices[i] < b.n && b.slots[indices[i]]->open,
                "index %d is %d of %d", i, indices[i], b.n);
        t_slot_completed(b.slots[indices[i]], status_of(&b, i), how);
    }
}

static int still_open(void)
{
    int n = 0;

    for (int i = 0; i < T_SLOTS; i++) {
        n += t_slots[i].open;
    }
    return n;
}

void t_slots_complete(uint64_t *own)
{
    while (still_open() > 0) {
        const int way = (int)t_below(own, 9);

        switch (way) {
        case 0:
        case 1:
        case 2:
            one_by_one(own, way);
            break;
        case 3:
        case 4:
            all_at_once(own, way == 3 && t_below(own, 4) == 0);
            break;
        case 5:
        case 6:
            any(own, way == 5);
            break;
        default:
            some(own, way == 7);
            break;
        }
    }
}
