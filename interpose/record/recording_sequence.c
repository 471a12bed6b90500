/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_sequence.c - what was recorded so far; see recording_state.h.
 *
 * A call is a word (recording_words.h) and an event of 24 bytes; every TW_RECORDING_EVENTS of them
 * are folded into loops (fold.h). What does not fold is told apart by less: first calls of
 * different sizes are taken as alike and their bytes added up; in the end only sums are kept for
 * each word.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "interpose/record/recording.h"
#include "interpose/record/recording_state.h"
#include "runtime/base/clock.h"

bool           tw_recording_on;
tw_recording_t tw_recording;

bool tw_recording_mine(void)
{
    return tw_recording.everyone || pthread_equal(pthread_self(), tw_recording.thread);
}

/* ---- the sequence -------------------------------------------------------------------------- */

void tw_recording_give_up(void)
{
    tw_recording.failed = true;
    __atomic_store_n(&tw_recording_on, false, __ATOMIC_RELAXED);
}

static void tw_recording_unorder(void *map, tw_fold_node_t *leaf)
{
    const uint32_t       id   = map != NULL ? ((const uint32_t *)map)[leaf->id] : leaf->id;
    tw_recording_word_t *word = &tw_recording.words.word[id];

    word->compute += leaf->compute;
    word->fixed += leaf->fixed;
}

/* From `from` on, events have other numbers; so have requests. */
static void tw_recording_renumber(const uint32_t *map, size_t from)
{
    for (size_t i = from; i < tw_recording.events; i++) {
        tw_recording.event[i].id = map[tw_recording.event[i].id];
    }
    if (tw_recording.started.start != TW_RECORDING_NO_ID) {
        tw_recording.started.start = map[tw_recording.started.start];
        tw_recording.started.wait  = map[tw_recording.started.wait];
    }
    tw_recording_requests_renumber(map);
}

static void tw_recording_drop_order(void *map)
{
    tw_fold_each(&tw_recording.fold, tw_recording_unorder, map);
    tw_fold_fini(&tw_recording.fold);
    tw_recording.level = TW_RECORDING_UNORDERED;
}

/* Leave the sizes out of everything. The events from `from` on are not in the fold yet. */
static void tw_recording_coarser(size_t from)
{
    uint32_t            *map = malloc((tw_recording.words.count + 1) * sizeof(*map));
    tw_recording_words_t words;
    tw_fold_t            fold;

    if (map == NULL ||
        !tw_recording_words_coarser(&tw_recording.words, TW_RECORDING_SIZES, &words, map)) {
        free(map);
        tw_recording_give_up();
        return;
    }
    tw_recording_words_fini(&tw_recording.words);
    tw_recording.words = words;
    tw_recording_renumber(map, from);
    tw_recording.level = TW_RECORDING_AVERAGED;
    if (tw_fold_init(&fold, TW_RECORDING_NODES) &&
        tw_fold_renumber(&tw_recording.fold, map, &fold)) {
        tw_recording.fold = fold;
    } else {
        tw_fold_fini(&fold);
        tw_recording_drop_order(map);
    }
    free(map);
}

static void tw_recording_event_in(const tw_recording_event_t *event)
{
    const double compute = 1e-9 * (double)event->compute_ns, fixed = 1e-9 * (double)event->fixed_ns;

    if (tw_recording.level == TW_RECORDING_UNORDERED) {
        tw_recording.words.word[event->id].compute += compute;
        tw_recording.words.word[event->id].fixed += fixed;
    } else if (!tw_fold_add(&tw_recording.fold, event->id, compute, fixed)) {
        if (tw_recording.level == TW_RECORDING_ALL) {
            tw_recording_coarser((size_t)(event - tw_recording.event));
        } else {
            tw_recording_drop_order(NULL);
        }
        if (!tw_recording.failed) {
            tw_recording_event_in(event);
        }
    }
}

void tw_recording_flush(void)
{
    for (size_t i = 0; i < tw_recording.events && !tw_recording.failed; i++) {
        tw_recording_event_in(&tw_recording.event[i]);
    }
    tw_recording.events = 0;
}

void tw_recording_coarsen(tw_recording_level_t level)
{
    tw_recording_flush();
    if (!tw_recording.failed && tw_recording.level < level &&
        tw_recording.level == TW_RECORDING_ALL) {
        tw_recording_coarser(tw_recording.events);
    }
    if (!tw_recording.failed && tw_recording.level < level) {
        tw_recording_drop_order(NULL);
    }
}

void tw_recording_push(uint32_t id)
{
    tw_recording.words.word[id].runs++;
    tw_recording.event[tw_recording.events++] =
        (tw_recording_event_t){id, tw_recording.compute_ns, tw_recording.fixed_ns};
    tw_recording.compute_ns = tw_recording.fixed_ns = 0;
    if (tw_recording.events == TW_RECORDING_EVENTS) {
        tw_recording_flush();
    }
}

void tw_recording_add(uint32_t id)
{
    const tw_recording_key_t key = tw_recording.words.word[id].key;

    if (key.kind != TW_RECORDING_SETUP) {
        tw_recording_add_messages();
        if (tw_recording.failed) {
            return;
        }
        id = tw_recording_word(&key); /* words may have other numbers now */
    }
    tw_recording_push(id);
}

uint32_t tw_recording_word(const tw_recording_key_t *key)
{
    tw_recording_key_t coarse = *key;
    uint32_t           id;

    if (tw_recording.level != TW_RECORDING_ALL && key->kind >= TW_RECORDING_CALL) {
        coarse.bytes = TW_RECORDING_VARIES;
    }
    id = tw_recording_words_get(&tw_recording.words, &coarse, TW_RECORDING_WORDS);
    if (id == TW_RECORDING_NO_ID && tw_recording.level == TW_RECORDING_ALL) {
        tw_recording_coarsen(TW_RECORDING_AVERAGED);
        return tw_recording.failed ? TW_RECORDING_NO_ID : tw_recording_word(key);
    }
    if (id == TW_RECORDING_NO_ID) {
        tw_recording.placeless = true;
        coarse.site            = 0;
        coarse.python          = 0;
        id                     = tw_recording_words_get(&tw_recording.words, &coarse, SIZE_MAX);
    }
    return id;
}

/* ---- times --------------------------------------------------------------------------------- */

/* Between two looks at the processor's time, in the mean: each takes a microsecond. */
#define TW_RECORDING_LOOK_NS 100000

static uint64_t tw_recording_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How often this thread has given its processor away. */
static long tw_recording_sleeps(void)
{
    struct rusage usage = {.ru_nvcsw = 0};

    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

void tw_recording_leave(void)
{
    const uint64_t now = tw_clock_ns();

    tw_recording.processor.over = false;
    if (tw_recording.processor.looks == 0) {
        tw_recording.processor.begin_ns = now;
    }
    tw_recording.processor.on = tw_recording.processor.looks * TW_RECORDING_LOOK_NS <=
                                now - tw_recording.processor.begin_ns;
    tw_recording.mark_ns = now;
    if (tw_recording.processor.on) {
        tw_recording.processor.looks++;
        tw_recording.processor.thread = pthread_self();
        tw_recording.processor.sleeps = tw_recording_sleeps();
        tw_recording.processor.cpu_ns = tw_recording_cpu_ns();
        tw_recording.mark_ns          = tw_clock_ns();
    }
}

/* What others had of its processor is no part of a computation, unless it gave it away: to wait for
 * a file or for another thread is. */
void tw_recording_enter(void)
{
    double lasted, had;

    if (tw_recording.processor.over) {
        return;
    }
    tw_recording.processor.over = true;
    if (tw_recording.processor.on && pthread_equal(pthread_self(), tw_recording.processor.thread)) {
        had    = (double)(tw_recording_cpu_ns() - tw_recording.processor.cpu_ns);
        lasted = (double)(tw_clock_ns() - tw_recording.mark_ns);
        had = had < lasted && tw_recording_sleeps() == tw_recording.processor.sleeps ? had : lasted;
        tw_recording.processor.lasted += lasted;
        tw_recording.processor.had += had;
        tw_recording.processor.share = lasted > 0.0 ? had / lasted : 1.0;
    } else {
        tw_recording.processor.share =
            tw_recording.processor.lasted > 0.0
                ? tw_recording.processor.had / tw_recording.processor.lasted
                : 1.0;
    }
}

void tw_recording_passed(uint64_t start_ns, uint64_t end_ns, bool collective)
{
    const uint64_t lasted = start_ns > tw_recording.mark_ns ? start_ns - tw_recording.mark_ns : 0;

    tw_recording.compute_ns += (uint64_t)(tw_recording.processor.share * (double)lasted);
    *(collective ? &tw_recording.collective_ns : &tw_recording.fixed_ns) += end_ns - start_ns;
}

/* ---- messages ------------------------------------------------------------------------------ */

void tw_recording_sent(const void *site, bool python, int offset, uint64_t bytes, int elements)
{
    tw_recording_round_t      *round = &tw_recording.round;
    tw_recording_neighbours_t *to    = &round->to;
    int                        i     = 0;

    if (!tw_recording_mine() || offset == 0) {
        return;
    }
    if (round->count++ == 0) {
        to->count       = 0;
        round->elements = elements;
        round->site     = (uint64_t)(uintptr_t)site;
        round->python   = python;
    }
    round->sent = true;
    if (!tw_elements_are_values((tw_elements_t)elements)) {
        round->elements = TW_ELEMENTS_OTHER;
    } else if (round->elements != elements && round->elements != TW_ELEMENTS_OTHER) {
        round->elements = TW_ELEMENTS_f32;
    }
    while (i < to->count && to->offset[i] != offset) {
        i++;
    }
    if (i == to->count && i < TW_RECORDING_NEIGHBOURS) {
        to->offset[to->count]  = offset;
        to->bytes[to->count++] = 0.0;
    }
    to->bytes[i < to->count ? i : i - 1] += (double)bytes;
}

/* Computing until the call is beside what is under way, if anything is. */
void tw_recording_passed_messages(uint64_t start_ns, uint64_t end_ns, bool completed)
{
    tw_recording_round_t *round = &tw_recording.round;

    tw_recording_passed(start_ns, start_ns, false);
    if (round->sent || completed) {
        *(round->under_way ? &round->beside_ns : &round->before_ns) += tw_recording.compute_ns;
        tw_recording.compute_ns = 0;
    }
    round->in_ns += end_ns - start_ns;
    round->under_way = (round->under_way || round->sent) && !completed;
    round->sent      = false;
}

/* The number of a set of neighbours, from 1 on; that of the first one, where there are too many. */
static uint32_t tw_recording_place(const tw_recording_neighbours_t *to)
{
    int p = 0;

    if (tw_recording.place == NULL) {
        tw_recording.place = calloc(TW_RECORDING_PLACES, sizeof(*tw_recording.place));
    }
    if (tw_recording.place == NULL) {
        tw_recording_give_up();
        return 0;
    }
    while (p < tw_recording.places && (tw_recording.place[p].count != to->count ||
                                       memcmp(tw_recording.place[p].offset, to->offset,
                                              (size_t)to->count * sizeof(*to->offset)) != 0)) {
        p++;
    }
    if (p == TW_RECORDING_PLACES) {
        return 1;
    }
    if (p == tw_recording.places) {
        tw_recording.place[tw_recording.places++] = *to;
    } else {
        for (int i = 0; i < to->count; i++) {
            tw_recording.place[p].bytes[i] += to->bytes[i];
        }
    }
    return (uint32_t)p + 1;
}

/* Sizes may differ from time to time, and from rank to rank: their mean is kept. The time in
 * messages is theirs, but that of a rank which sends none, and so waits for what others do,
 * stays. */
void tw_recording_add_messages(void)
{
    tw_recording_round_t *round = &tw_recording.round;
    tw_recording_key_t    key   = {.bytes     = TW_RECORDING_VARIES,
                                   .kind      = TW_RECORDING_START,
                                   .operation = TW_RECORDING_MESSAGES};
    double                bytes = 0.0;
    uint32_t              start, wait;

    if (round->count > 0) {
        key.site   = round->site;
        key.python = round->python;
        key.stride = tw_recording_place(&round->to);
        key.type   = (uint8_t)round->elements;
        tw_recording.message_ns += round->in_ns;
        for (int i = 0; i < round->to.count; i++) {
            bytes += round->to.bytes[i];
        }
    } else {
        tw_recording.fixed_ns += round->in_ns;
    }
    tw_recording.compute_ns += round->before_ns;
    start    = tw_recording_word(&key);
    key.kind = TW_RECORDING_WAIT;
    wait     = start != TW_RECORDING_NO_ID ? tw_recording_word(&key) : start;
    if (wait == TW_RECORDING_NO_ID) {
        tw_recording_give_up();
        return;
    }
    key.kind = TW_RECORDING_START; /* a new word may have made all coarser */
    start    = tw_recording_word(&key);
    tw_recording.words.word[start].bytes += bytes;
    tw_recording.words.word[start].messages += (double)round->count;
    tw_recording_push(start);
    tw_recording.compute_ns = round->beside_ns;
    tw_recording_push(wait);
    round->under_way = false;
    round->before_ns = round->beside_ns = round->in_ns = round->count = 0;
}
