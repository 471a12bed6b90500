/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/trace.c - see trace.h.
 *
 * A call becomes a word (trace_words.h) and an event of 24 bytes; every TW_TRACE_EVENTS of them are
 * folded into loops (trace_fold.h). What does not fold is told apart by less: first calls of different
 * sizes are taken as alike and their bytes added up; in the end only sums are kept for each word.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/state.h"
#include "interpose/trace.h"
#include "runtime/base/clock.h"

bool       tw_trace_on;
tw_trace_t tw_trace;

bool tw_trace_mine(void)
{
    return tw_trace.everyone || pthread_equal(pthread_self(), tw_trace.thread);
}

/* ---- the sequence -------------------------------------------------------------------------- */

static void tw_trace_give_up(void)
{
    tw_trace.failed = true;
    __atomic_store_n(&tw_trace_on, false, __ATOMIC_RELAXED);
}

static void tw_trace_unorder(void *map, tw_fold_node_t *leaf)
{
    const uint32_t   id   = map != NULL ? ((const uint32_t *)map)[leaf->id] : leaf->id;
    tw_trace_word_t *word = &tw_trace.words.word[id];

    word->compute += leaf->compute;
    word->fixed += leaf->fixed;
}

/* From `from` on, events have other numbers; so have requests. */
static void tw_trace_renumber(const uint32_t *map, size_t from)
{
    for (size_t i = from; i < tw_trace.events; i++) {
        tw_trace.event[i].id = map[tw_trace.event[i].id];
    }
    if (tw_trace.started.start != TW_TRACE_NO_ID) {
        tw_trace.started.start = map[tw_trace.started.start];
        tw_trace.started.wait  = map[tw_trace.started.wait];
    }
    tw_trace_requests_renumber(map);
}

static void tw_trace_drop_order(void *map)
{
    tw_fold_each(&tw_trace.fold, tw_trace_unorder, map);
    tw_fold_fini(&tw_trace.fold);
    tw_trace.level = TW_TRACE_UNORDERED;
}

/* The events from `from` on are not in the fold yet. */
static void tw_trace_coarser(tw_trace_without_t without, size_t from)
{
    uint32_t        *map = malloc((tw_trace.words.count + 1) * sizeof(*map));
    tw_trace_words_t words;
    tw_fold_t        fold;

    if (map == NULL || !tw_trace_words_coarser(&tw_trace.words, without, &words, map)) {
        free(map);
        tw_trace_give_up();
        return;
    }
    tw_trace_words_fini(&tw_trace.words);
    tw_trace.words = words;
    tw_trace_renumber(map, from);
    if (without == TW_TRACE_SIZES && tw_trace.level == TW_TRACE_ALL) {
        tw_trace.level = TW_TRACE_AVERAGED;
    }
    if (tw_trace.level != TW_TRACE_UNORDERED) {
        if (tw_fold_init(&fold, TW_TRACE_NODES) && tw_fold_renumber(&tw_trace.fold, map, &fold)) {
            tw_trace.fold = fold;
        } else {
            tw_fold_fini(&fold);
            tw_trace_drop_order(map);
        }
    }
    free(map);
}

static void tw_trace_event_in(const tw_trace_event_t *event)
{
    const double compute = 1e-9 * (double)event->compute_ns, fixed = 1e-9 * (double)event->fixed_ns;

    if (tw_trace.level == TW_TRACE_UNORDERED) {
        tw_trace.words.word[event->id].compute += compute;
        tw_trace.words.word[event->id].fixed += fixed;
    } else if (!tw_fold_add(&tw_trace.fold, event->id, compute, fixed)) {
        if (tw_trace.level == TW_TRACE_ALL) {
            tw_trace_coarser(TW_TRACE_SIZES, (size_t)(event - tw_trace.event));
        } else {
            tw_trace_drop_order(NULL);
        }
        if (!tw_trace.failed) {
            tw_trace_event_in(event);
        }
    }
}

void tw_trace_flush(void)
{
    for (size_t i = 0; i < tw_trace.events && !tw_trace.failed; i++) {
        tw_trace_event_in(&tw_trace.event[i]);
    }
    tw_trace.events = 0;
}

void tw_trace_coarsen(tw_trace_without_t without)
{
    tw_trace_flush();
    if (!tw_trace.failed) {
        tw_trace_coarser(without, tw_trace.events);
    }
}

void tw_trace_add(uint32_t id)
{
    tw_trace.words.word[id].runs++;
    tw_trace.event[tw_trace.events++] =
        (tw_trace_event_t){id, tw_trace.compute_ns, tw_trace.fixed_ns};
    tw_trace.compute_ns = tw_trace.fixed_ns = 0;
    if (tw_trace.events == TW_TRACE_EVENTS) {
        tw_trace_flush();
    }
}

/* Where words are too many, sizes are left out, then sites. TW_TRACE_NO_ID: no memory. */
static uint32_t tw_trace_word(const tw_trace_key_t *key)
{
    tw_trace_key_t coarse = *key;
    uint32_t       id;

    if (tw_trace.level != TW_TRACE_ALL && key->kind >= TW_TRACE_CALL) {
        coarse.bytes = TW_TRACE_VARIES;
    }
    id = tw_trace_words_get(&tw_trace.words, &coarse, TW_TRACE_WORDS);
    if (id == TW_TRACE_NO_ID && tw_trace.level == TW_TRACE_ALL) {
        tw_trace_coarsen(TW_TRACE_SIZES);
        return tw_trace.failed ? TW_TRACE_NO_ID : tw_trace_word(key);
    }
    if (id == TW_TRACE_NO_ID) {
        coarse.site   = 0;
        coarse.python = 0;
        id            = tw_trace_words_get(&tw_trace.words, &coarse, SIZE_MAX);
    }
    return id;
}

void tw_trace_passed(uint64_t start_ns, uint64_t end_ns, bool collective)
{
    tw_trace.compute_ns += start_ns > tw_trace.mark_ns ? start_ns - tw_trace.mark_ns : 0;
    *(collective ? &tw_trace.collective_ns : &tw_trace.fixed_ns) += end_ns - start_ns;
}

/* ---- calls --------------------------------------------------------------------------------- */

/* What a call is in a job: the operation and its bytes, or false. docs/thinwire-run.1.md says the same. */
static bool tw_trace_key_of(const tw_call_t *call, tw_trace_key_t *key, double *bytes)
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
    const bool plain = call->why == TW_WHY_TYPE || call->why == TW_WHY_OPERATION ||
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
    *key = (tw_trace_key_t){.site      = (uint64_t)(uintptr_t)call->site,
                            .bytes     = (uint64_t)*bytes,
                            .ranks     = (uint32_t)size,
                            .stride    = (uint32_t)tw_comms_stride(call->comm),
                            .kind      = call->nonblocking ? TW_TRACE_START : TW_TRACE_CALL,
                            .operation = table[call->op].operation,
                            .type      = plain                               ? TW_TRACE_OTHER
                                         : call->type.kind == TW_KIND_FLOAT  ? TW_TRACE_FLOAT
                                         : call->type.kind == TW_KIND_DOUBLE ? TW_TRACE_DOUBLE
                                                                             : TW_TRACE_OTHER,
                            .python    = call->python != NULL};
    if (table[call->op].pairs) {
        *bytes     = size > 1 ? (double)call->uncompressed / (size - 1) : 0.0;
        key->bytes = TW_TRACE_VARIES;
    }
    return true;
}

/* The word of a nonblocking call, in a slot that no other like it is in, and that of its wait. */
static uint32_t tw_trace_start_word(tw_trace_key_t *key)
{
    const uint32_t first = tw_trace_word(key);
    uint32_t       id    = first, wait;
    unsigned       slot  = 0;

    if (first == TW_TRACE_NO_ID) {
        return first;
    }
    while (slot < TW_TRACE_SLOTS - 1 && (tw_trace.words.word[first].busy >> slot & 1) != 0) {
        slot++;
    }
    tw_trace.words.word[first].busy |= UINT64_C(1) << slot;
    key->slot              = slot;
    tw_trace.started.start = first; /* here, as more words may renumber it */
    tw_trace.started.wait  = first;
    tw_trace.started.slot  = slot;
    key->kind              = TW_TRACE_WAIT;
    wait                   = tw_trace_word(key);
    if (wait == TW_TRACE_NO_ID) {
        return wait;
    }
    tw_trace.started.wait = wait;
    key->kind             = TW_TRACE_START;
    id                    = tw_trace_word(key);
    return id;
}

void tw_trace_call(const tw_call_t *call, uint64_t end_ns)
{
    tw_trace_key_t key;
    double         bytes;
    uint32_t       id;

    if (!tw_trace_mine()) {
        __atomic_fetch_add(&tw_trace.others, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!tw_trace_key_of(call, &key, &bytes)) {
        tw_trace_passed(call->start_ns, end_ns, false);
        tw_trace.mark_ns = tw_clock_ns();
        return;
    }
    tw_trace_passed(call->start_ns, end_ns, true);
    if (tw_trace.calls++ == 0) {
        const tw_trace_key_t setup = {.kind = TW_TRACE_SETUP};

        tw_trace_add(tw_trace_word(&setup));
    }
    id = call->nonblocking ? tw_trace_start_word(&key) : tw_trace_word(&key);
    if (id == TW_TRACE_NO_ID) {
        tw_trace_give_up();
        return;
    }
    tw_trace.words.word[id].bytes += bytes;
    tw_trace.sequence =
        tw_trace.sequence * UINT64_C(0x9ddfea08eb382d69) + tw_trace_word_print(&key);
    tw_trace_add(id);
    tw_trace.mark_ns = tw_clock_ns();
}

uint64_t tw_trace_other_begin(void)
{
    return tw_inside == 0 && tw_trace_mine() ? tw_clock_ns() : 0;
}

void tw_trace_other_end(uint64_t start_ns)
{
    if (start_ns != 0) {
        const uint64_t now = tw_clock_ns();

        tw_trace_passed(start_ns, now, false);
        tw_trace.mark_ns = now;
    }
}

/* ---- begin and end ------------------------------------------------------------------------- */

void tw_trace_begin(void)
{
    const tw_trace_key_t setup = {.kind = TW_TRACE_SETUP}, end = {.kind = TW_TRACE_END};

    if (tw_state.config.record[0] == '\0') {
        return;
    }
    tw_trace.everyone      = !tw_state.multiple;
    tw_trace.thread        = pthread_self();
    tw_trace.process       = getpid();
    tw_trace.started.start = TW_TRACE_NO_ID;
    tw_trace.failed        = !tw_fold_init(&tw_trace.fold, TW_TRACE_NODES) ||
                      tw_trace_word(&setup) == TW_TRACE_NO_ID ||
                      tw_trace_word(&end) == TW_TRACE_NO_ID;
    tw_trace.mark_ns = tw_clock_ns();
    __atomic_store_n(&tw_trace_on, !tw_trace.failed, __ATOMIC_RELAXED);
}

void tw_trace_end(void)
{
    const tw_trace_key_t end = {.kind = TW_TRACE_END};
    const uint64_t       now = tw_clock_ns();

    if (!tw_tracing()) {
        return;
    }
    __atomic_store_n(&tw_trace_on, false, __ATOMIC_RELAXED);
    tw_trace_passed(now, now, false);
    tw_trace_add(tw_trace_word(&end));
    tw_trace_flush();
}
