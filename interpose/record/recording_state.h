/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_state.h - between the files of --record (recording.h): the sequence so
 * far, and the requests of collectives that are under way.
 */
#ifndef TW_INTERPOSE_RECORDING_STATE_H
#define TW_INTERPOSE_RECORDING_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "interpose/record/fold.h"
#include "interpose/mpi/late.h"
#include "interpose/record/recording_words.h"

/* ---- the sequence -------------------------------------------------------------------------- */

/* How much is told apart, so that it fits. */
typedef enum tw_recording_level {
    TW_RECORDING_ALL,      /* everything                                                    */
    TW_RECORDING_AVERAGED, /* calls of a site whose sizes differ have their mean             */
    TW_RECORDING_UNORDERED /* the order of the calls is lost                                 */
} tw_recording_level_t;

typedef struct tw_recording_event {
    uint32_t id;
    uint64_t compute_ns, fixed_ns; /* since the one before */
} tw_recording_event_t;

#define TW_RECORDING_EVENTS 1024   /* that are folded together              */
#define TW_RECORDING_NODES  120000 /* of the folded sequence: 10 MB of text */
#define TW_RECORDING_WORDS  40000  /* different calls                       */

/* A nonblocking call. */
typedef struct tw_recording_started {
    uint64_t order;       /* among all calls                                          */
    uint32_t start, wait; /* start: its word in slot 0, or TW_RECORDING_NO_ID        */
    uint32_t slot;
} tw_recording_started_t;

/* Messages since the last event. Every event has those before it as two words, also where there are
 * none, so that ranks that send nothing are like others. */
#define TW_RECORDING_PLACES 256 /* sets of neighbours */
typedef struct tw_recording_round {
    bool     sent;      /* by the call at hand                                        */
    bool     under_way; /* nothing was completed since                                */
    int      elements;  /* tw_elements_t of all; of several types of values, floats    */
    bool     python;    /* site: of the first one                                     */
    uint64_t site, count;
    uint64_t before_ns,
        beside_ns; /* of computing: not beside messages that are under way; beside them */
    uint64_t                  in_ns; /* in MPI's functions for messages                       */
    tw_recording_neighbours_t to;
} tw_recording_round_t;

typedef struct tw_recording {
    bool                 everyone; /* calls of all threads are recorded                     */
    pid_t                process;
    uint64_t             job;    /* a number that no other job has                        */
    pthread_t            thread; /* else those of this one                                */
    uint64_t             others; /* calls of other threads                                */
    bool                 failed; /* no memory                                             */
    tw_recording_level_t level;
    bool                 placeless; /* some words have no site, as there were too many   */
    tw_recording_words_t words;
    tw_fold_t            fold;
    uint64_t             mark_ns; /* when MPI was left                                      */
    uint64_t             compute_ns, fixed_ns; /* since the last event             */
    uint64_t             collective_ns;        /* in what is recorded              */
    uint64_t             calls;
    struct {              /* the processor's time of computations; not of each         */
        bool      over;   /* that at hand is                                           */
        bool      on;     /* it is looked at; at its begin                             */
        pthread_t thread; /* this was the thread, which                                */
        uint64_t  cpu_ns; /* had had a processor for so long                           */
        long      sleeps; /* and had so often given it away                            */
        double    share;  /* what it had of one                                        */
        uint64_t  looks, begin_ns;
        double    lasted, had; /* those that were looked at                                 */
    } processor;
    uint64_t                   message_ns; /* in messages of rounds                         */
    tw_recording_round_t       round;
    int                        places;
    tw_recording_neighbours_t *place;    /* by number                                      */
    uint64_t                   sequence; /* hash of all calls, without their sites             */
    struct {                             /* calls that were started together                   */
        bool     on;
        uint64_t start_ns, end_ns; /* of what no call has taken yet                       */
    } together;
    tw_recording_started_t started; /* whose request is to come                            */
    size_t                 events;
    tw_recording_event_t   event[TW_RECORDING_EVENTS];
} tw_recording_t;

extern tw_recording_t tw_recording;

/* Does this thread record? */
bool tw_recording_mine(void);

/* Now this thread enters MPI, or leaves it. */
void tw_recording_enter(void);
void tw_recording_leave(void);

/* This thread was in MPI from start_ns to end_ns. */
void tw_recording_passed(uint64_t start_ns, uint64_t end_ns, bool collective);

/* The same in messages; completed: some have arrived. */
void tw_recording_passed_messages(uint64_t start_ns, uint64_t end_ns, bool completed);

/* The two words of the messages since the last event. */
void tw_recording_add_messages(void);

/* The next of the sequence, and without what is before it. */
void tw_recording_push(uint32_t id);

/* The next of the sequence. */
void tw_recording_add(uint32_t id);

/* All that was added is in words and fold. */
void tw_recording_flush(void);

/* Tell no more apart than this. */
void tw_recording_coarsen(tw_recording_level_t level);

/* The number of a word. Where words are too many, sizes are left out of all, then sites of new
 * ones. TW_RECORDING_NO_ID: no memory. */
uint32_t tw_recording_word(const tw_recording_key_t *key);

/* No memory: nothing is recorded any more, and nothing written. */
void tw_recording_give_up(void);

/* ---- requests ------------------------------------------------------------------------------ */

/* A collective that was started. */
typedef struct tw_recording_under_way {
    struct tw_recording_under_way *next;
    MPI_Request                    request;
    tw_recording_started_t         started;
    bool                           claimed; /* by the completion call at hand */
} tw_recording_under_way_t;

extern size_t tw_recording_under_ways;

/* Keep what has this request; without memory its wait is not recorded. */
void tw_recording_file(const tw_recording_under_way_t *what);

/* What has the request and is not claimed, or NULL. */
tw_recording_under_way_t *tw_recording_find(MPI_Request request);

/* The oldest of many that have this handle and are not looked at, which another thread waits for;
 * or NULL. */
enum { TW_RECORDING_ALIKE = 64 };
tw_recording_under_way_t *tw_recording_forgotten(MPI_Request request);

/* It is complete. What it was stays readable until the next one is kept. */
void tw_recording_unfile(tw_recording_under_way_t *what);

/* Words have other numbers: map[id]. */
void tw_recording_requests_renumber(const uint32_t *map);

#endif /* TW_INTERPOSE_RECORDING_STATE_H */
