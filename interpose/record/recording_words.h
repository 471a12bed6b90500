/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_words.h - the words of a recorded sequence of collectives: each
 * different call, start or wait of the program has a number. Knows no MPI.
 */
#ifndef TW_INTERPOSE_RECORDING_WORDS_H
#define TW_INTERPOSE_RECORDING_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/facts.h>

typedef enum tw_recording_kind {
    TW_RECORDING_SETUP, /* nothing but the time before the first collective   */
    TW_RECORDING_END,   /* and that behind the last                           */
    TW_RECORDING_CALL,
    TW_RECORDING_START,
    TW_RECORDING_WAIT
} tw_recording_kind_t;

#define TW_RECORDING_MESSAGES TW_OPERATIONS
#define TW_RECORDING_VARIES   UINT64_MAX /* of bytes: they do not tell words apart, a sum is kept */
#define TW_RECORDING_NO_ID    UINT32_MAX
#define TW_RECORDING_SLOTS    64

/* Ranks that a rank sends to, as offsets, with the bytes to each. */
#define TW_RECORDING_NEIGHBOURS 64
typedef struct tw_recording_neighbours {
    int    count;
    int    offset[TW_RECORDING_NEIGHBOURS];
    double bytes[TW_RECORDING_NEIGHBOURS];
} tw_recording_neighbours_t;

/* What tells words apart. Compared as bytes; it has no padding. */
typedef struct tw_recording_key {
    uint64_t site;   /* as in tw_record_key_t; 0: any                                       */
    uint64_t bytes;  /* of the count of thinwire-job(5): of a vector, block or pair          */
    uint32_t ranks;  /* of the communicator                                                 */
    uint32_t stride; /* from one of them to the next, in MPI_COMM_WORLD                     */
    uint32_t slot;   /* of alike nonblocking ones under way, which one                      */
    uint8_t  kind;   /* tw_recording_kind_t                                                     */
    uint8_t  operation; /* tw_operation_t, or TW_RECORDING_MESSAGES, to the neighbours with the
                           number `stride`, or, 0, to none */
    uint8_t  type;      /* tw_elements_t: values, or other ones */
    uint8_t  python;    /* site is a line of Python */
} tw_recording_key_t;

typedef struct tw_recording_word {
    tw_recording_key_t key;
    uint64_t           runs;
    double             bytes;          /* sum over the runs                                     */
    double             messages;       /* sum of their number                                   */
    double             compute, fixed; /* sums, where no order is kept                          */
    uint64_t           busy;           /* of a start in slot 0: slots that are under way        */
} tw_recording_word_t;

typedef struct tw_recording_words {
    tw_recording_word_t *word; /* by id */
    size_t               count, room;
    uint32_t            *slot; /* by hash: 1 + id, 0 where free; at most half full */
    size_t               slots;
} tw_recording_words_t;

void tw_recording_words_fini(tw_recording_words_t *words);

/* The number of a word, which is new where `most` allows that; else, and without memory,
 * TW_RECORDING_NO_ID. Its runs are not counted here. */
uint32_t tw_recording_words_get(tw_recording_words_t *words, const tw_recording_key_t *key,
                                size_t most);

/* What can be left out of words, so that more are alike. */
typedef enum tw_recording_without {
    TW_RECORDING_SIZES,
    TW_RECORDING_SITES /* and slots, which are counted by site */
} tw_recording_without_t;

/* The words without that, in `to`, which is empty, with their sums; map[id] is the new number.
 * false: no memory. */
bool tw_recording_words_coarser(const tw_recording_words_t *words, tw_recording_without_t without,
                                tw_recording_words_t *to, uint32_t *map);

/* A number for what a word is on any rank: without site, slot and stride. */
uint64_t tw_recording_word_print(const tw_recording_key_t *key);

#endif /* TW_INTERPOSE_RECORDING_WORDS_H */
