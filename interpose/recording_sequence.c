/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/recording_sequence.c - what was recorded so far; see recording_state.h.
 *
 * A call is a word (recording_words.h) and an event of 24 bytes; every TW_RECORDING_EVENTS of them are
 * folded into loops (fold.h). What does not fold is told apart by less: first calls of different
 * sizes are taken as alike and their bytes added up; in the end only sums are kept for each word.
 */
#include "config.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "interpose/recording.h"
#include "interpose/recording_state.h"
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

/* What others had of its processor is no part of a computation, unless it gave it away: to wait for a file
 * or for another thread is. */
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
