/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/comms.c - see comms.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/mpi/comms.h"
#include "interpose/mpi/device.h"
#include "interpose/next.h"
#include "interpose/report/records.h"
#include "interpose/state.h"
#include "runtime/base/bytes.h"
#include "runtime/transport/api/open.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/device/device.h"

/* Newest first; programs have few communicators, and use the newest most. A handle that is looked
 * up again and again is found by the small table before it. */
static tw_entry_t *tw_comms_list;

#define TW_COMMS_BITS 4
static tw_entry_t *tw_comms_quick[1 << TW_COMMS_BITS];

static size_t tw_comms_slot(MPI_Comm comm)
{
    return tw_hash_word((uintptr_t)comm, TW_COMMS_BITS);
}

/* Are all its ranks in MPI_COMM_WORLD? Processes that were spawned or connected to have settings of
 * their own, and perhaps no thinwire. Local, and seen alike by all ranks of the communicator. */
static bool tw_comms_at_home(MPI_Comm comm, int size)
{
    MPI_Group group, world;
    int      *mine   = malloc(2 * (size_t)size * sizeof(*mine));
    int      *theirs = mine != NULL ? mine + size : NULL;
    bool      home;

    if (mine == NULL) { /* alone, this rank may not decide that nothing is compressed */
        tw_give_up(comm, "no memory for a communicator");
    }
    tw_next.Comm_group(comm, &group);
    tw_next.Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < size; i++) {
        mine[i] = i;
    }
    home = tw_next.Group_translate_ranks(group, size, mine, world, theirs) == MPI_SUCCESS;
    for (int i = 0; i < size && home; i++) {
        home = theirs[i] != MPI_UNDEFINED;
    }
    tw_next.Group_free(&group);
    tw_next.Group_free(&world);
    free(mine);
    return home;
}

static void tw_comms_names(tw_entry_t *entry)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int  length                    = 0;

    entry->name = entry->handle == MPI_COMM_WORLD  ? "world"
                  : entry->handle == MPI_COMM_SELF ? "self"
                                                   : "";
    snprintf(entry->label, sizeof(entry->label), "%s", entry->name);
    if (entry->label[0] == '\0' &&
        tw_next.Comm_get_name(entry->handle, name, &length) == MPI_SUCCESS &&
        strncmp(name, "MPI COMM", 8) != 0) { /* the names that MPI gives begin so */
        snprintf(entry->label, sizeof(entry->label), "%.39s", name);
    }
    if (entry->label[0] == '\0') {
        snprintf(entry->label, sizeof(entry->label), "%d rank%s", entry->size,
                 entry->size == 1 ? "" : "s");
    }
}

static tw_entry_t *tw_comms_make(MPI_Comm comm)
{
    tw_entry_t *entry = calloc(1, sizeof(*entry));
    int         inter = 0;

    if (entry == NULL) {
        tw_give_up(comm, "no memory for a communicator");
    }
    entry->handle = comm;
    if (tw_next.Comm_test_inter(comm, &inter) != MPI_SUCCESS) { /* no communicator */
        free(entry);
        return NULL;
    }
    pthread_mutex_init(&entry->lock, NULL);
    tw_next.Comm_rank(comm, &entry->rank);
    tw_next.Comm_size(comm, &entry->size);
    entry->usable = !inter && (entry->size == 1 || tw_comms_at_home(comm, entry->size));
    entry->why    = TW_WHY_COMM;
    if (entry->usable && entry->size == 1) {
        entry->usable = false;
        entry->why    = TW_WHY_SINGLE;
    }
    tw_comms_names(entry);
    tw_comms_get_info(comm, entry->info, sizeof(entry->info));
    return entry;
}

static tw_entry_t *tw_comms_find(MPI_Comm comm)
{
    for (tw_entry_t *entry = tw_comms_list; entry != NULL; entry = entry->next) {
        if (entry->handle == comm && !entry->gone) {
            return entry;
        }
    }
    return NULL;
}

/* MPI is called without the lock; should two threads be here with one communicator, one entry
 * stays. */
static tw_entry_t *tw_comms_add(MPI_Comm comm)
{
    tw_entry_t *made = tw_comms_make(comm), *entry;

    if (made == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&tw_state.lock);
    entry = tw_comms_find(comm);
    if (entry == NULL) {
        made->next    = tw_comms_list;
        tw_comms_list = entry = made;
    }
    tw_comms_quick[tw_comms_slot(comm)] = entry;
    pthread_mutex_unlock(&tw_state.lock);
    if (entry != made) {
        pthread_mutex_destroy(&made->lock);
        free(made);
    }
    return entry;
}

tw_entry_t *tw_comms_get(MPI_Comm comm)
{
    tw_entry_t *entry;

    if (comm == MPI_COMM_NULL) {
        return NULL;
    }
    pthread_mutex_lock(&tw_state.lock);
    entry = tw_comms_quick[tw_comms_slot(comm)];
    if (entry == NULL || entry->handle != comm) {
        entry = tw_comms_find(comm);
        if (entry != NULL) {
            tw_comms_quick[tw_comms_slot(comm)] = entry;
        }
    }
    pthread_mutex_unlock(&tw_state.lock);
    return entry != NULL ? entry : tw_comms_add(comm);
}

int tw_comms_stride(tw_entry_t *entry)
{
    const int ends[2]  = {0, entry->size - 1};
    int       there[2] = {0, 0};
    MPI_Group group, world;

    if (entry->stride > 0) {
        return entry->stride;
    }
    entry->stride = 1;
    if (entry->usable && entry->handle != MPI_COMM_WORLD) {
        tw_next.Comm_group(entry->handle, &group);
        tw_next.Comm_group(MPI_COMM_WORLD, &world);
        if (tw_next.Group_translate_ranks(group, 2, ends, world, there) == MPI_SUCCESS) {
            const int span = abs(there[1] - there[0]), steps = entry->size - 1;

            entry->stride = span > steps ? (span + steps / 2) / steps : 1;
        }
        tw_next.Group_free(&group);
        tw_next.Group_free(&world);
    }
    return entry->stride;
}

static uint64_t tw_comms_made; /* duplicates so far */

/* Collective, so one thread at a time is here with an entry; others that complete its calls look at
 * the duplicate under the lock. */
tw_comm_t *tw_comms_duplicate(tw_entry_t *entry)
{
    tw_comm_t *made = NULL;

    if (entry->duplicate != NULL || entry->no_duplicate) {
        return entry->duplicate;
    }
    if (tw_comm_create_with(&tw_state.context, &tw_state.ops, entry->handle, &made) != TW_OK) {
        entry->no_duplicate = true;
        return NULL;
    }
    made->exec = tw_state.exec;
    pthread_mutex_lock(&tw_state.lock);
    entry->duplicate = made;
    entry->made      = tw_comms_made++;
    pthread_mutex_unlock(&tw_state.lock);
    return made;
}

/* Unlink; under the lock. */
static void tw_comms_unlink(tw_entry_t *entry)
{
    tw_entry_t **at = &tw_comms_list;

    while (*at != NULL && *at != entry) {
        at = &(*at)->next;
    }
    if (*at == entry) {
        *at = entry->next;
    }
    if (tw_comms_quick[tw_comms_slot(entry->handle)] == entry) {
        tw_comms_quick[tw_comms_slot(entry->handle)] = NULL;
    }
}

/* The duplicate and what hangs on it. */
static void tw_comms_drop_duplicate(tw_entry_t *entry)
{
    tw_comm_t *duplicate;

    tw_comms_drop_feedbacks(entry);
    pthread_mutex_lock(&tw_state.lock); /* another thread may end the last pending call meanwhile */
    duplicate        = entry->duplicate;
    entry->duplicate = NULL;
    pthread_mutex_unlock(&tw_state.lock);
    if (duplicate != NULL) {
        tw_device_enter(entry->handle, entry->device);
        if (entry->device != NULL && entry->device->gone) {
            duplicate->device->open = false; /* nothing of it is left to be released */
        }
        tw_comm_destroy(duplicate);
        tw_device_leave(entry->device);
    }
}

static void tw_comms_release(tw_entry_t *entry)
{
    tw_comms_drop_levels(entry);
    pthread_mutex_destroy(&entry->lock);
    free(entry);
}

/* Freed by the program while operations were under way that have ended since: what is left of it
 * goes. They may have ended inside MPI's progress engine, where nothing can be freed, and each rank
 * comes here at its own time, which neither Open MPI's MPI_Comm_free nor the transport minds. */
static void tw_comms_reap(void)
{
    tw_entry_t *entry;

    do {
        pthread_mutex_lock(&tw_state.lock);
        for (entry = tw_comms_list; entry != NULL && (!entry->gone || entry->users > 0);) {
            entry = entry->next;
        }
        if (entry != NULL) {
            tw_comms_unlink(entry);
        }
        pthread_mutex_unlock(&tw_state.lock);
        if (entry != NULL) {
            tw_comms_drop_duplicate(entry);
            tw_comms_release(entry);
        }
    } while (entry != NULL);
}

void tw_comms_hold(tw_entry_t *entry)
{
    pthread_mutex_lock(&tw_state.lock);
    entry->users++;
    pthread_mutex_unlock(&tw_state.lock);
}

void tw_comms_let_go(tw_entry_t *entry)
{
    bool last;

    pthread_mutex_lock(&tw_state.lock);
    last = --entry->users == 0 && entry->gone && entry->duplicate == NULL;
    if (last) {
        tw_comms_unlink(entry);
    }
    pthread_mutex_unlock(&tw_state.lock);
    if (last) {
        tw_comms_release(entry);
    }
}

void tw_comms_forget(MPI_Comm comm)
{
    tw_entry_t *entry;
    bool        two_stage = false;

    tw_comms_reap();
    pthread_mutex_lock(&tw_state.lock);
    entry = tw_comms_find(comm);
    if (entry != NULL) {
        entry->users++; /* another thread may end its last pending call meanwhile */
        two_stage   = entry->two_stage > 0;
        entry->gone = true;
        if (tw_comms_quick[tw_comms_slot(comm)] == entry) {
            tw_comms_quick[tw_comms_slot(comm)] = NULL;
        }
    }
    pthread_mutex_unlock(&tw_state.lock);
    if (entry == NULL) {
        return;
    }
    if (!two_stage) {
        tw_comms_drop_duplicate(entry);
    }
    tw_comms_let_go(entry);
}

static tw_entry_t *tw_comms_left; /* never freed, but not lost either */

/* Into the list at from_p, before the first entry whose duplicate is younger. */
static void tw_comms_sort_in(tw_entry_t **from_p, tw_entry_t *entry)
{
    while (*from_p != NULL && (*from_p)->made <= entry->made) {
        from_p = &(*from_p)->next;
    }
    entry->next = *from_p;
    *from_p     = entry;
}

void tw_comms_stop(void)
{
    tw_entry_t *oldest_first = NULL;

    while (tw_comms_list != NULL) {
        tw_entry_t *entry = tw_comms_list;

        tw_comms_list = entry->next;
        tw_comms_sort_in(&oldest_first, entry);
    }
    memset(tw_comms_quick, 0, sizeof(tw_comms_quick));
    while (oldest_first != NULL) {
        tw_entry_t *entry = oldest_first;

        oldest_first = entry->next;
        if (entry->users >
            0) { /* the program never completed an operation: MPI may still use its memory */
            entry->next   = tw_comms_left;
            tw_comms_left = entry;
            continue;
        }
        tw_comms_drop_duplicate(entry);
        tw_comms_release(entry);
    }
}
