/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/messages.c - see messages.h. Records of messages are found by an index that is read
 * without a lock, and their counters are added to at once: no other part of the drop-in changes
 * these records.
 */
#include "config.h"

#include <string.h>

#include "interpose/mpi/comms.h"
#include "interpose/mpi/messages.h"
#include "interpose/mpi/named.h"
#include "interpose/next.h"
#include "interpose/report/python.h"
#include "interpose/record/recording.h"
#include "interpose/state.h"
#include "runtime/base/bytes.h"
#include "runtime/codec/owner.h"

/* ---- finding ------------------------------------------------------------------------------- */

/* Each derived type of a kind is the same one here: a handle may come back as another type. */
typedef struct tw_message_slot {
    uint64_t     site;
    uint64_t     type;
    uint64_t     what;
    tw_record_t *record;
} tw_message_slot_t;

#define TW_MESSAGE_BITS  12
#define TW_MESSAGE_SLOTS (1 << TW_MESSAGE_BITS)

static tw_message_slot_t tw_message_slots[TW_MESSAGE_SLOTS];
static int               tw_message_filled;
static pthread_mutex_t   tw_message_lock = PTHREAD_MUTEX_INITIALIZER;

/* The slot of this key, or the free one where it would stand; one is always free. */
static tw_message_slot_t *tw_message_look(const tw_message_slot_t *key)
{
    size_t at = tw_hash_word((uintptr_t)(key->site ^ key->type << 20 ^ key->type >> 44 ^ key->what),
                             TW_MESSAGE_BITS);

    for (;; at = (at + 1) % TW_MESSAGE_SLOTS) {
        tw_message_slot_t *slot = &tw_message_slots[at];

        if (__atomic_load_n(&slot->record, __ATOMIC_ACQUIRE) == NULL ||
            (slot->site == key->site && slot->type == key->type && slot->what == key->what)) {
            return slot;
        }
    }
}

static tw_record_t *tw_message_make(const tw_message_slot_t *key, const tw_type_t *type,
                                    bool python)
{
    tw_record_key_t    full;
    tw_message_slot_t *slot;
    tw_record_t       *record;

    memset(&full, 0, sizeof(full));
    full.site        = key->site;
    full.python      = python;
    full.op          = (uint8_t)key->what;
    full.nonblocking = (uint8_t)(key->what >> 8);
    full.form        = (uint8_t)(key->what >> 16);
    full.elements    = (uint8_t)type->elements;
    memcpy(full.type, type->name, sizeof(full.type));
    tw_records_lock();
    record = tw_records_find(&full);
    tw_records_unlock();
    pthread_mutex_lock(&tw_message_lock);
    slot = tw_message_look(key);
    if (slot->record == NULL && tw_message_filled < TW_MESSAGE_SLOTS / 2) {
        slot->site = key->site;
        slot->type = key->type;
        slot->what = key->what;
        tw_message_filled++;
        __atomic_store_n(&slot->record, record, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&tw_message_lock);
    return record;
}

/* The record of a call and its type, which MPI has taken; NULL: MPI does not say what the type
 * is. */
static tw_record_t *tw_message_record(const void *site, unsigned what, MPI_Datatype datatype,
                                      const tw_type_t **type_p, tw_type_t *derived)
{
    const tw_python_place_t *place = tw_python_place(site);
    const tw_type_t         *type  = tw_named_at(datatype);
    tw_message_slot_t        key   = {.type = (uintptr_t)datatype, .what = what};
    const tw_record_t       *record;

    if (type == NULL) {
        if (!tw_type_glance(datatype, derived)) {
            return NULL;
        }
        type = derived;
        if (!derived->named) {
            key.type = (uintptr_t)derived->kind;
        }
    }
    *type_p  = type;
    key.site = place != NULL ? (uint64_t)(uintptr_t)place : (uint64_t)(uintptr_t)site;
    record   = __atomic_load_n(&tw_message_look(&key)->record, __ATOMIC_ACQUIRE);
    return record != NULL ? (tw_record_t *)(uintptr_t)record
                          : tw_message_make(&key, type, place != NULL);
}

/* ---- counting ------------------------------------------------------------------------------ */

/* From this rank to another one, in MPI_COMM_WORLD if the communicator's are evenly spread
 * there. */
static int tw_message_offset(int dest, MPI_Comm comm)
{
    tw_entry_t *entry = tw_comms_get(comm);

    return entry != NULL && entry->usable ? (dest - entry->rank) * tw_comms_stride(entry) : 0;
}

/* Does this rank send to itself? The ranks of an inter-communicator's other side are others. */
static bool tw_message_to_self(int dest, MPI_Comm comm)
{
    int rank = MPI_PROC_NULL, inter = 0;

    return tw_next.Comm_rank(comm, &rank) == MPI_SUCCESS && rank == dest &&
           tw_next.Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

bool tw_message_of(tw_sending_t *message, const void *site, unsigned what, const void *buf,
                   MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm)
{
    const tw_type_t *type;
    tw_type_t        derived;

    if (dest == MPI_PROC_NULL) {
        return false;
    }
    message->record = tw_message_record(site, what, datatype, &type, &derived);
    if (message->record == NULL) {
        return false;
    }
    message->bytes =
        count > 0 && !tw_message_to_self(dest, comm) ? (uint64_t)count * type->size : 0;
    message->offset   = tw_is_recording() ? tw_message_offset(dest, comm) : 0;
    message->elements = (int)type->elements;
    message->dtype    = tw_kind_dtype(type->kind);
    message->count    = count > 0 ? (size_t)count * type->values : 0;
    message->values   = type->dense && tw_kind_is_values(type->kind) ? buf : NULL;
    return true;
}

/* The first messages of a record, and then one in 61, which no program's rounds are a multiple
 * of. */
enum { TW_MESSAGE_FIRST = 8, TW_MESSAGE_EVERY = 61 };

static __attribute__((noinline)) void tw_message_look_into(const tw_sending_t *message)
{
    tw_record_t *record = message->record;
    unsigned     kinds;

    if (message->count == 0 || tw_owner_of(message->values) != TW_OWNER_HOST) {
        return;
    }
    kinds = tw_census_of(message->values, message->count, message->dtype);
    __atomic_fetch_add(&record->looked, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < TW_CENSUS; i++) {
        __atomic_fetch_add(&record->census[i], kinds >> i & 1, __ATOMIC_RELAXED);
    }
}

void tw_message_count(const tw_sending_t *message)
{
    tw_record_t   *record = message->record;
    const uint64_t before = __atomic_fetch_add(&record->calls, 1, __ATOMIC_RELAXED);

    if (message->values != NULL && (before < TW_MESSAGE_FIRST || before % TW_MESSAGE_EVERY == 0)) {
        tw_message_look_into(message);
    }
    __atomic_fetch_add(&record->uncompressed, message->bytes, __ATOMIC_RELAXED);
    if (tw_is_recording()) {
        tw_recording_sent((const void *)(uintptr_t)record->key.site, record->key.python,
                          message->offset, message->bytes, message->elements);
    }
}

void tw_message_sent(const void *site, unsigned what, const void *buf, MPI_Count count,
                     MPI_Datatype datatype, int dest, MPI_Comm comm)
{
    tw_sending_t message;

    if (tw_message_of(&message, site, what, buf, count, datatype, dest, comm)) {
        tw_message_count(&message);
    }
}

void tw_message_moved(const void *site, unsigned what, MPI_Count count, MPI_Datatype datatype,
                      int target)
{
    const tw_type_t *type;
    tw_type_t        derived;
    tw_sending_t     message = {.offset = 0};

    if (target == MPI_PROC_NULL) {
        return;
    }
    message.record = tw_message_record(site, what, datatype, &type, &derived);
    if (message.record != NULL) {
        message.bytes = count > 0 ? (uint64_t)count * type->size : 0;
        tw_message_count(&message);
    }
}
