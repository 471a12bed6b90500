/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording.c - see recording.h.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "interpose/record/recording_state.h"
#include "runtime/base/clock.h"

/* ---- calls --------------------------------------------------------------------------------- */

/* What a call is in a job: the operation and its bytes, or false. docs/thinwire-run.1.md says the
 * same. */
static bool tw_recording_key_of(const tw_call_t *call, tw_recording_key_t *key, double *bytes)
{
    static const struct {
        bool    known;
        uint8_t operation;
        bool    pairs; /* as many bytes as this rank sends to one other, in the mean */
    } table[TW_RECORD_OPERATIONS] = {
        [TW_RULE_BCAST]                = {true, TW_OPERATION_BCAST, false},
        [TW_RULE_ALLREDUCE]            = {true, TW_OPERATION_ALLREDUCE, false},
        [TW_RULE_REDUCE]               = {true, TW_OPERATION_REDUCE, false},
        [TW_RULE_REDUCE_SCATTER]       = {true, TW_OPERATION_REDUCE_SCATTER, false},
        [TW_RULE_REDUCE_SCATTER_BLOCK] = {true, TW_OPERATION_REDUCE_SCATTER, false},
        [TW_RULE_ALLGATHER]            = {true, TW_OPERATION_ALLGATHER, false},
        [TW_RULE_ALLGATHERV]           = {true, TW_OPERATION_ALLGATHER, true},
        [TW_RULE_ALLTOALL]             = {true, TW_OPERATION_ALLTOALL, false},
        [TW_RULE_ALLTOALLV]            = {true, TW_OPERATION_ALLTOALL, true},
        [TW_WATCHED_GATHER]            = {true, TW_OPERATION_ALLGATHER, false},
        [TW_WATCHED_SCATTER]           = {true, TW_OPERATION_BCAST, false},
    };
    const bool plain = call->why == TW_WHY_TYPE || call->why == TW_WHY_MOVED ||
                       call->why == TW_WHY_OPERATION || call->why == TW_WHY_REDUCTION ||
                       call->why == TW_WHY_COLLECTIVE || call->why == TW_WHY_FORM;
    const int size = call->comm != NULL ? call->comm->size : 0;

    if (size == 0 || !table[call->op].known ||
        (!call->comm->usable && call->comm->why == TW_WHY_COMM)) {
        return false;
    }
    *bytes = (double)call->bytes;
    if (call->op == TW_WATCHED_SCATTER ||
        (call->op == TW_RULE_REDUCE_SCATTER_BLOCK && call->form != 0)) {
        *bytes *= size;
    }
    *key = (tw_recording_key_t){.site   = (uint64_t)(uintptr_t)call->site,
                                .bytes  = (uint64_t)*bytes,
                                .ranks  = (uint32_t)size,
                                .stride = (uint32_t)tw_comms_stride(call->comm),
                                .kind = call->nonblocking ? TW_RECORDING_START : TW_RECORDING_CALL,
                                .operation = table[call->op].operation,
                                .type      = !plain && tw_kind_is_values(call->type.kind)
                                                 ? (uint8_t)call->type.kind
                                                 : TW_ELEMENTS_OTHER,
                                .python    = call->python != NULL};
    if (table[call->op].pairs) {
        *bytes     = size > 1 ? (double)call->uncompressed / (size - 1) : 0.0;
        key->bytes = TW_RECORDING_VARIES;
    }
    return true;
}

/* The word of a nonblocking call, in a slot that no other like it is in, and that of its wait. They
 * are there beyond the limit, too, if the word in slot 0 is: a wait needs its start. */
static uint32_t tw_recording_start_word(const tw_recording_key_t *call)
{
    const uint32_t     first = tw_recording_word(call);
    tw_recording_key_t key;
    uint32_t           wait, id;

    if (first == TW_RECORDING_NO_ID) {
        return first;
    }
    key = tw_recording.words.word[first].key;
    while (key.slot < TW_RECORDING_SLOTS - 1 &&
           (tw_recording.words.word[first].busy >> key.slot & 1) != 0) {
        key.slot++;
    }
    id       = tw_recording_words_get(&tw_recording.words, &key, SIZE_MAX);
    key.kind = TW_RECORDING_WAIT;
    wait     = tw_recording_words_get(&tw_recording.words, &key, SIZE_MAX);
    if (id == TW_RECORDING_NO_ID || wait == TW_RECORDING_NO_ID) {
        return TW_RECORDING_NO_ID;
    }
    tw_recording.words.word[first].busy |= UINT64_C(1) << key.slot;
    tw_recording.started = (tw_recording_started_t){tw_recording.calls, first, wait, key.slot};
    return id;
}

/* The first of calls that were started together has the time of all. */
static void tw_recording_called(const tw_call_t *call, uint64_t end_ns, bool collective)
{
    if (!tw_recording.together.on) {
        tw_recording_passed(call->start_ns, end_ns, collective);
    } else if (collective && tw_recording.together.end_ns != 0) {
        tw_recording_passed(tw_recording.together.start_ns, tw_recording.together.end_ns, true);
        tw_recording.together.end_ns = 0;
    }
}

void tw_recording_call(const tw_call_t *call, uint64_t end_ns)
{
    tw_recording_key_t key;
    double             bytes;
    uint32_t           id;

    if (!tw_recording_mine()) {
        __atomic_fetch_add(&tw_recording.others, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!tw_recording_key_of(call, &key, &bytes)) {
        tw_recording_called(call, end_ns, false);
        tw_recording_leave();
        return;
    }
    tw_recording_called(call, end_ns, true);
    if (tw_recording.calls++ == 0) {
        const tw_recording_key_t setup = {.kind = TW_RECORDING_SETUP};

        tw_recording_add(tw_recording_word(&setup));
    }
    id = call->nonblocking ? tw_recording_start_word(&key) : tw_recording_word(&key);
    if (id == TW_RECORDING_NO_ID) {
        tw_recording_give_up();
        return;
    }
    tw_recording.words.word[id].bytes += bytes;
    tw_recording.sequence =
        tw_recording.sequence * UINT64_C(0x9ddfea08eb382d69) + tw_recording_word_print(&key);
    tw_recording_add(id);
    tw_recording_leave();
}

void tw_recording_begins(void)
{
    if (tw_recording_mine()) {
        tw_recording_enter();
    }
}

void tw_recording_together_begin(uint64_t start_ns)
{
    if (tw_is_recording() && tw_inside == 0 && tw_recording_mine()) {
        tw_recording.together.on       = true;
        tw_recording.together.start_ns = start_ns;
        tw_recording.together.end_ns   = tw_clock_ns();
    }
}

void tw_recording_together_end(void)
{
    if (tw_is_recording() && tw_recording_mine() && tw_recording.together.on) {
        if (tw_recording.together.end_ns != 0) { /* there was no collective among them */
            tw_recording_passed_messages(tw_recording.together.start_ns,
                                         tw_recording.together.end_ns, false);
        }
        tw_recording.together.on = false;
        tw_recording_leave();
    }
}

uint64_t tw_recording_other_begin(void)
{
    if (!tw_is_recording() || !tw_recording_mine()) {
        return 0;
    }
    tw_recording_enter();
    return tw_clock_ns();
}

void tw_recording_other_end(uint64_t start_ns)
{
    if (start_ns != 0) {
        tw_recording_passed_messages(start_ns, tw_clock_ns(), false);
        tw_recording_leave();
    }
}

void tw_recording_received(uint64_t start_ns)
{
    if (start_ns != 0) {
        tw_recording_passed_messages(start_ns, tw_clock_ns(), true);
        tw_recording_leave();
    }
}

/* ---- begin and end ------------------------------------------------------------------------- */

void tw_recording_begin(void)
{
    const tw_recording_key_t setup = {.kind = TW_RECORDING_SETUP}, end = {.kind = TW_RECORDING_END};

    if (tw_state.config.record[0] == '\0') {
        return;
    }
    tw_recording.everyone = !tw_state.multiple;
    tw_recording.thread   = pthread_self();
    tw_recording.process  = getpid();
    tw_recording.job      = tw_clock_ns() ^ (uint64_t)getpid() << 40;
    tw_next.Bcast(&tw_recording.job, (int)sizeof(tw_recording.job), MPI_BYTE, 0, MPI_COMM_WORLD);
    tw_recording.started.start = TW_RECORDING_NO_ID;
    tw_recording.failed        = !tw_fold_init(&tw_recording.fold, TW_RECORDING_NODES) ||
                          tw_recording_word(&setup) == TW_RECORDING_NO_ID ||
                          tw_recording_word(&end) == TW_RECORDING_NO_ID;
    tw_recording_leave();
    __atomic_store_n(&tw_recording_on, !tw_recording.failed, __ATOMIC_RELAXED);
}

bool tw_recording_unfinished(void)
{
    return tw_is_recording() && tw_recording.process == getpid();
}

/* A name that one process at a time may have, and loses when it ends; it is no file. */
bool tw_recording_first_to_say(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int          name    = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "thinwire-record-%016llx",
             (unsigned long long)tw_recording.job);
    return name < 0 || bind(name, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
           errno != EADDRINUSE;
}

void tw_recording_end(void)
{
    const tw_recording_key_t end = {.kind = TW_RECORDING_END};
    const uint64_t           now = tw_clock_ns();

    if (!tw_is_recording()) {
        return;
    }
    __atomic_store_n(&tw_recording_on, false, __ATOMIC_RELAXED);
    tw_recording_enter();
    tw_recording_passed(now, now, false);
    tw_recording_add(tw_recording_word(&end));
    tw_recording_flush();
}
