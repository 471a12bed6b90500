/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/records.c - the table of this process: what was seen, by key.
 *
 * Every MPI call of the program adds to it, so finding a record must cost less than the call: an
 * index with open addressing over records that never move, and a hash of the first part of the key,
 * as object and offset are empty until the report. The program decides how many keys there are (it
 * may name a thousand communicators), so their number is limited.
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interpose/report/python.h"
#include "interpose/report/records.h"
#include "runtime/base/context.h"
#include "runtime/base/traits.h"

#define TW_CHUNK        64   /* records allocated together                                    */
#define TW_RECORDS_FINE 4096 /* records with the communicator told apart                      */
#define TW_RECORDS_MAX  6144 /* then without; beyond this one per operation                   */

#define TW_TEXT(name, text) text,
const char *const tw_why_texts[TW_WHY_COUNT]         = {TW_WHY_LIST(TW_TEXT)};
const char *const tw_traffic_kind_texts[TW_TRAFFICS] = {TW_TRAFFIC_LIST(TW_TEXT)};
const char *const tw_census_texts[TW_CENSUS]         = {TW_CENSUS_LIST(TW_TEXT)};
#undef TW_TEXT

const char *tw_elements_text(tw_elements_t elements)
{
    return elements == TW_ELEMENTS_INTEGERS   ? "integer"
           : elements == TW_ELEMENTS_BYTES    ? "byte"
           : tw_elements_are_values(elements) ? tw_dtype_name(tw_dtypes[elements - 1])
                                              : "other";
}

tw_traffic_kind_t tw_traffic_kind_of(int op)
{
    return op >= TW_WATCHED_PUT                  ? TW_TRAFFIC_ONE_SIDED
           : op >= TW_WATCHED_SEND               ? TW_TRAFFIC_MESSAGE
           : op >= TW_WATCHED_NEIGHBOR_ALLGATHER ? TW_TRAFFIC_NEIGHBOUR
                                                 : TW_TRAFFIC_COLLECTIVE;
}

static tw_candidates_t tw_candidates_made;

/* False: the codec has no form for the type. */
static bool tw_candidate_traits(const char *spec, tw_dtype_t dtype, tw_codec_traits_t *traits)
{
    tw_codec_t  *codec = NULL;
    tw_context_t context;
    const bool   made = tw_context_init(&context) == TW_OK &&
                      tw_codec_create(&context, spec, dtype, &codec, NULL, 0) == TW_OK &&
                      tw_codec_traits(codec, traits) == TW_OK;

    tw_codec_destroy(codec);
    return made;
}

/* The row of a spec, a new one in its place; NULL: there is no room. */
static tw_candidate_t *tw_candidate_of(tw_candidates_t *made, const tw_codec_offer_t *offer)
{
    tw_candidate_t row = {.spec = offer->spec};
    int            c   = 0;

    while (c < made->count && strcmp(made->row[c].spec, offer->spec) != 0) {
        c++;
    }
    if (c < made->count) {
        return &made->row[c];
    }
    if (c == TW_CANDIDATES_MAX || !tw_candidate_traits(offer->spec, offer->dtype, &row.traits)) {
        return NULL;
    }
    for (made->count++; c > 0 && tw_traits_before(&row.traits, &made->row[c - 1].traits); c--) {
        made->row[c] = made->row[c - 1];
    }
    made->row[c] = row;
    return &made->row[c];
}

/* Error and block of a row for a type: by float32, the first of the list, where the codec has no
 * form for doubles. */
static void tw_candidate_fill(tw_candidate_t *row, size_t t)
{
    const bool        half  = tw_dtype_is_half(tw_dtypes[t]);
    const bool        as_is = row->to[t] != 0 || half || !tw_dtype_row(tw_dtypes[t])->in_f32;
    tw_codec_traits_t traits;

    row->error[t] = (double)NAN;
    if (as_is && tw_candidate_traits(row->spec, tw_dtypes[t], &traits)) {
        row->error[t] = traits.max_error;
        row->block[t] = traits.block;
    } else if (!half) {
        row->error[t] = row->error[0];
        row->block[t] = row->block[0];
    }
}

static void tw_candidates_make(void)
{
    tw_candidates_t        *made = &tw_candidates_made;
    const tw_codec_offer_t *offer;

    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        for (size_t i = 0; (offer = tw_codec_offer(TW_OFFER_REPORT, tw_dtypes[t], i)) != NULL;
             i++) {
            tw_candidate_t *row = tw_candidate_of(made, offer);

            if (row != NULL) {
                row->to[t] = offer->to;
            }
        }
    }
    for (int c = 0; c < made->count; c++) {
        for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
            tw_candidate_fill(&made->row[c], t);
        }
    }
}

const tw_candidates_t *tw_candidates(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, tw_candidates_make);
    return &tw_candidates_made;
}

typedef struct tw_chunk {
    struct tw_chunk *next;
    size_t           used;
    tw_record_t      records[TW_CHUNK];
} tw_chunk_t;

typedef struct tw_records_entry {
    uint64_t     hash;
    tw_record_t *record; /* NULL: free */
} tw_records_entry_t;

typedef struct tw_table {
    pthread_mutex_t     lock;
    tw_records_entry_t *index;
    size_t              size; /* of the index: 0, or a power of two, at least twice the count */
    size_t              count;
    tw_chunk_t         *chunks;
    tw_record_t         rest[TW_RECORD_OPERATIONS]; /* what has no record of its own */
} tw_table_t;

static tw_table_t tw_table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- finding ------------------------------------------------------------------------------- */

/* Two chains, as a multiplication has to wait for the one before it. The best mixed bits are the
 * highest ones. */
static uint64_t tw_key_hash(const tw_record_key_t *key)
{
    enum { WORDS = offsetof(tw_record_key_t, object) / sizeof(uint64_t) };
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t       words[WORDS], a = 0, b = 1;

    _Static_assert(WORDS % 2 == 0 && offsetof(tw_record_key_t, object) % sizeof(uint64_t) == 0,
                   "the hashed part of the key is pairs of words");
    memcpy(words, key, sizeof(words));
    for (int i = 0; i < WORDS; i += 2) {
        a = (a ^ words[i]) * factor;
        b = (b ^ words[i + 1]) * factor;
    }
    a = (a ^ (b >> 32) ^ b) * factor;
    return a ^ (a >> 32);
}

/* The entry of a key, or the free one where it would stand. */
static tw_records_entry_t *tw_table_look(const tw_record_key_t *key, uint64_t hash)
{
    const size_t mask = tw_table.size - 1;
    size_t       at   = (size_t)hash & mask;

    while (tw_table.index[at].record != NULL &&
           (tw_table.index[at].hash != hash ||
            memcmp(&tw_table.index[at].record->key, key, sizeof(*key)) != 0)) {
        at = (at + 1) & mask;
    }
    return &tw_table.index[at];
}

static bool tw_table_grow(void)
{
    const size_t        size  = tw_table.size == 0 ? 256 : 2 * tw_table.size;
    tw_records_entry_t *old   = tw_table.index;
    tw_records_entry_t *index = calloc(size, sizeof(*index));

    if (index == NULL) {
        return false;
    }
    for (size_t i = 0; i < tw_table.size; i++) {
        if (old[i].record != NULL) {
            size_t at = (size_t)old[i].hash & (size - 1);

            while (index[at].record != NULL) {
                at = (at + 1) & (size - 1);
            }
            index[at] = old[i];
        }
    }
    tw_table.index = index;
    tw_table.size  = size;
    free(old);
    return true;
}

/* A new record with this key, NULL without memory. */
static tw_record_t *tw_table_add(const tw_record_key_t *key, uint64_t hash)
{
    tw_chunk_t  *chunk = tw_table.chunks;
    tw_record_t *record;

    if (2 * (tw_table.count + 1) > tw_table.size && !tw_table_grow()) {
        return NULL;
    }
    if (chunk == NULL || chunk->used == TW_CHUNK) {
        chunk = calloc(1, sizeof(*chunk));
        if (chunk == NULL) {
            return NULL;
        }
        chunk->next     = tw_table.chunks;
        tw_table.chunks = chunk;
    }
    record                    = &chunk->records[chunk->used++];
    record->key               = *key;
    *tw_table_look(key, hash) = (tw_records_entry_t){hash, record};
    tw_table.count++;
    return record;
}

static tw_record_t *tw_table_get(const tw_record_key_t *key, size_t limit)
{
    const uint64_t hash = tw_key_hash(key);

    if (tw_table.size > 0) {
        tw_record_t *record = tw_table_look(key, hash)->record;

        if (__builtin_expect(record != NULL, 1)) {
            return record;
        }
    }
    return tw_table.count < limit ? tw_table_add(key, hash) : NULL;
}

/* The record of keys that get none of their own. */
static tw_record_t *tw_table_rest(const tw_record_key_t *key)
{
    tw_record_key_t coarse = *key;
    tw_record_t    *record;

    memset(coarse.comm, 0, sizeof(coarse.comm));
    memcpy(coarse.comm, TW_COMM_OTHERS, sizeof(TW_COMM_OTHERS));
    record = tw_table_get(&coarse, TW_RECORDS_MAX);
    if (record == NULL) {
        record = &tw_table.rest[key->op < TW_RECORD_OPERATIONS ? key->op : 0];
        memset(&record->key, 0, sizeof(record->key));
        record->key.op = key->op;
        memcpy(record->key.comm, TW_COMM_OTHERS, sizeof(TW_COMM_OTHERS));
        memcpy(record->key.object, TW_COMM_OTHERS, sizeof(TW_COMM_OTHERS));
    }
    return record;
}

tw_record_t *tw_records_find(const tw_record_key_t *key)
{
    tw_record_t *record = tw_table_get(key, TW_RECORDS_FINE);

    return __builtin_expect(record != NULL, 1) ? record : tw_table_rest(key);
}

void tw_records_lock(void)
{
    pthread_mutex_lock(&tw_table.lock);
}

void tw_records_unlock(void)
{
    pthread_mutex_unlock(&tw_table.lock);
}

void tw_records_add(const tw_record_key_t *key, const tw_record_t *delta)
{
    tw_records_lock();
    tw_record_merge(tw_records_find(key), delta);
    tw_records_unlock();
}

/* ---- leaving the process ------------------------------------------------------------------- */

/* Of messages there are calls and bytes alone (messages.c); the rest follows from these. */
static void tw_record_complete(tw_record_t *record)
{
    const tw_traffic_kind_t traffic = tw_traffic_kind_of(record->key.op);
    const tw_why_t          why = traffic == TW_TRAFFIC_MESSAGE ? TW_WHY_MESSAGE : TW_WHY_ONE_SIDED;

    if (traffic == TW_TRAFFIC_MESSAGE || traffic == TW_TRAFFIC_ONE_SIDED) {
        record->sent           = record->uncompressed;
        record->why[why]       = record->calls;
        record->why_bytes[why] = record->uncompressed;
    }
}

static void tw_record_resolve(tw_record_t *record)
{
    tw_record_complete(record);
    if (record->key.site == 0) {
        return;
    }
    if (record->key.python) {
        const tw_python_place_t *place = (const tw_python_place_t *)(uintptr_t)record->key.site;

        memcpy(record->key.object, place->text, sizeof(record->key.object));
        record->key.offset = place->line;
    } else {
        tw_site_locate(record->key.site, record->key.object, sizeof(record->key.object),
                       &record->key.offset);
    }
    record->key.site = 0;
}

tw_record_t *tw_records_copy(size_t *count_p)
{
    tw_record_t    *copy;
    struct timespec limit;
    size_t          n = 0;
    bool            locked;

    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 1;
    locked = pthread_mutex_timedlock(&tw_table.lock, &limit) == 0;
    copy   = malloc((tw_table.count + 1 + TW_RECORD_OPERATIONS) * sizeof(*copy));
    if (copy != NULL) {
        for (const tw_chunk_t *chunk = tw_table.chunks; chunk != NULL; chunk = chunk->next) {
            memcpy(copy + n, chunk->records, chunk->used * sizeof(*copy));
            n += chunk->used;
        }
        for (int op = 0; op < TW_RECORD_OPERATIONS; op++) {
            if (tw_table.rest[op].calls > 0) {
                copy[n++] = tw_table.rest[op];
            }
        }
    }
    if (locked) {
        pthread_mutex_unlock(&tw_table.lock);
    }
    for (size_t i = 0; i < n; i++) {
        tw_record_resolve(&copy[i]);
    }
    *count_p = n;
    if (n == 0) {
        free(copy);
        copy = NULL;
    }
    return copy;
}
