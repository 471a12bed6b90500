/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/slots.c - how requests of all kinds begin, and what must be true of one that is
 * done.
 */
#include "config.h"

#include "tests/interpose/slots.h"

#define MOST     1500 /* basic elements in a message of a collective */
#define SOURCE   421  /* what a generalized request says */
#define TAG      87
#define ELEMENTS 5

const char *const t_kind_names[T_KINDS] = {"collective",
                                           "send",
                                           "receive",
                                           "persistent send",
                                           "persistent receive",
                                           "barrier",
                                           "generalized request",
                                           "null request"};

t_slot_t t_slots[T_SLOTS];

static int left(void)
{
    return (t_rank + t_size - 1) % t_size;
}

/* ---- generalized requests -------------------------------------------------------------------- */

static int general_query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, ELEMENTS);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = SOURCE;
    status->MPI_TAG    = TAG;
    return MPI_SUCCESS;
}

static int general_free(void *state)
{
    ((t_slot_t *)state)->freed++;
    return MPI_SUCCESS;
}

static int general_cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static int word(int from, int slot, int i)
{
    return from * 1000003 + slot * 1009 + i;
}

static void begin_message(t_slot_t *slot, MPI_Comm comm)
{
    const bool sends = slot->kind == T_SEND || slot->kind == T_PERSISTENT_SEND;
    const int  right = (t_rank + 1) % t_size;

    for (int i = 0; i < T_MESSAGE; i++) {
        slot->message[i] = sends ? word(t_rank, slot->index / 2, i) : -1;
    }
    switch (slot->kind) {
    case T_SEND:
        T_OK(MPI_Isend(slot->message, T_MESSAGE, MPI_INT, right, slot->index / 2, comm,
                       &slot->request));
        break;
    case T_RECV:
        T_OK(MPI_Irecv(slot->message, T_MESSAGE, MPI_INT, left(), slot->index / 2, comm,
                       &slot->request));
        break;
    case T_PERSISTENT_SEND:
        T_OK(MPI_Send_init(slot->message, T_MESSAGE, MPI_INT, right, slot->index / 2, comm,
                           &slot->request));
        break;
    default:
        T_OK(MPI_Recv_init(slot->message, T_MESSAGE, MPI_INT, left(), slot->index / 2, comm,
                           &slot->request));
        break;
    }
    slot->persistent = slot->kind == T_PERSISTENT_SEND || slot->kind == T_PERSISTENT_RECV;
    if (slot->persistent) {
        T_OK(MPI_Start(&slot->request));
    }
}

static void begin_collective(t_slot_t *slot, const t_place_t *place, uint64_t *shared)
{
    t_call_t call;

    t_call_draw(&call, place, t_random(shared), MOST, false);
    t_job_open(&slot->job, place, &call);
    T_OK(t_job_issue(&slot->job, &slot->request));
    slot->persistent = call.form == T_PERSISTENT;
    if (slot->persistent) {
        T_OK(MPI_Start(&slot->request));
    }
}

static void begin(t_slot_t *slot, const t_place_t *place, MPI_Comm messages, uint64_t *shared)
{
    slot->open       = slot->kind != T_NOTHING;
    slot->persistent = false;
    slot->request    = MPI_REQUEST_NULL;
    slot->freed      = 0;
    t_note("slot %d, a %s begins", slot->index, t_kind_names[slot->kind]);
    switch (slot->kind) {
    case T_COLLECTIVE:
        begin_collective(slot, place, shared);
        break;
    case T_BARRIER:
        T_OK(MPI_Ibarrier(place->comm, &slot->request));
        break;
    case T_GENERAL:
        T_OK(MPI_Grequest_start(general_query, general_free, general_cancel, slot, &slot->request));
        T_OK(MPI_Grequest_complete(slot->request));
        break;
    case T_NOTHING:
        break;
    default:
        begin_message(slot, messages);
        break;
    }
}

/* Slots 2 k and 2 k + 1 are a send and the receive that goes with it, or two other things. */
void t_slots_begin(const t_place_t *place, MPI_Comm messages, uint64_t *shared)
{
    for (int i = 0; i < T_SLOTS; i += 2) {
        const size_t what = t_below(shared, 10);

        for (int k = i; k < i + 2; k++) {
            t_slots[k].index = k;
            t_slots[k].kind  = T_COLLECTIVE;
        }
        if (what == 0) {
            t_slots[i].kind     = T_SEND;
            t_slots[i + 1].kind = T_RECV;
        } else if (what == 1) {
            t_slots[i].kind     = T_PERSISTENT_RECV;
            t_slots[i + 1].kind = T_PERSISTENT_SEND;
        } else if (what == 2) {
            t_slots[i].kind     = T_BARRIER;
            t_slots[i + 1].kind = T_GENERAL;
        } else if (what == 3) {
            t_slots[i].kind = T_NOTHING;
        }
        begin(&t_slots[i], place, messages, shared);
        begin(&t_slots[i + 1], place, messages, shared);
        if (t_below(shared, 8) == 0) { /* a blocking call in the middle of it */
            t_call_t call;

            t_call_draw(&call, place, t_random(shared), MOST, true);
            t_job_once(place, &call);
        }
    }
}

/* ---- completing ------------------------------------------------------------------------------ */

void t_slot_status(const t_slot_t *slot, const MPI_Status *status)
{
    int count = -1, elements = -1;

    MPI_Get_count(status, MPI_INT, &count);
    MPI_Get_elements(status, MPI_INT, &elements);
    if (slot->kind == T_RECV || slot->kind == T_PERSISTENT_RECV) {
        T_CHECK(status->MPI_SOURCE == left() && status->MPI_TAG == slot->index / 2 &&
                    count == T_MESSAGE,
                "the status says source %d, tag %d, count %d", status->MPI_SOURCE, status->MPI_TAG,
                count);
    } else if (slot->kind == T_GENERAL) {
        T_CHECK(status->MPI_SOURCE == SOURCE && status->MPI_TAG == TAG && elements == ELEMENTS,
                "the status says source %d, tag %d, %d elements", status->MPI_SOURCE,
                status->MPI_TAG, elements);
    }
}

void t_empty_status(const MPI_Status *status)
{
    int count = -1;

    MPI_Get_count(status, MPI_INT, &count);
    T_CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0,
            "the status of a null request says source %d, tag %d, count %d", status->MPI_SOURCE,
            status->MPI_TAG, count);
}

void t_slot_completed(t_slot_t *slot, const MPI_Status *status, const char *how)
{
    t_note("slot %d, a %s, by %s", slot->index, t_kind_names[slot->kind], how);
    if (!slot->open) { /* null, or persistent and not active */
        if (status != NULL) {
            t_empty_status(status);
        }
        return;
    }
    slot->open = false;
    T_CHECK((slot->request == MPI_REQUEST_NULL) == !slot->persistent,
            "the request is %s MPI_REQUEST_NULL", slot->persistent ? "" : "not");
    if (status != NULL) {
        t_slot_status(slot, status);
    }
    if (slot->kind == T_COLLECTIVE) {
        t_job_check(&slot->job, NULL);
        t_note("slot %d, by %s", slot->index, how);
    } else if (slot->kind == T_RECV || slot->kind == T_PERSISTENT_RECV) {
        for (int i = 0; i < T_MESSAGE; i++) {
            T_CHECK(slot->message[i] == word(left(), slot->index / 2, i), "word %d is %d, not %d",
                    i, slot->message[i], word(left(), slot->index / 2, i));
        }
    } else if (slot->kind == T_GENERAL) {
        T_CHECK(slot->freed == 1, "its free function was called %d times", slot->freed);
    }
}

void t_slots_free(void)
{
    for (int i = 0; i < T_SLOTS; i++) {
        if (t_slots[i].kind == T_COLLECTIVE) {
            t_job_close(&t_slots[i].job);
        }
        if (t_slots[i].request != MPI_REQUEST_NULL) {
            T_OK(MPI_Request_free(&t_slots[i].request));
        }
    }
}
