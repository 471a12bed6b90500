/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_words.c - see recording_words.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/record/recording_words.h"

enum { TW_RECORDING_ROOM = 64 };

static uint64_t tw_recording_hash(const tw_recording_key_t *key)
{
    enum { WORDS = sizeof(*key) / sizeof(uint64_t) };
    uint64_t words[WORDS], hash = 1;

    _Static_assert(sizeof(*key) % sizeof(uint64_t) == 0 && sizeof(*key) == 32, "no padding");
    memcpy(words, key, sizeof(words));
    for (int i = 0; i < WORDS; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

uint64_t tw_recording_word_print(const tw_recording_key_t *key)
{
    tw_recording_key_t bare = *key;

    bare.site   = 0;
    bare.slot   = 0;
    bare.stride = 0;
    bare.python = 0;
    if (bare.operation == TW_RECORDING_MESSAGES) { /* a rank may have none */
        bare.type = 0;
    }
    return tw_recording_hash(&bare);
}

void tw_recording_words_fini(tw_recording_words_t *words)
{
    free(words->word);
    free(words->slot);
    *words = (tw_recording_words_t){.count = 0};
}

static uint32_t *tw_recording_look(const tw_recording_words_t *words, const tw_recording_key_t *key)
{
    size_t at = (size_t)tw_recording_hash(key) & (words->slots - 1);

    while (words->slot[at] != 0 &&
           memcmp(&words->word[words->slot[at] - 1].key, key, sizeof(*key)) != 0) {
        at = (at + 1) & (words->slots - 1);
    }
    return &words->slot[at];
}

static bool tw_recording_grow(tw_recording_words_t *words)
{
    const size_t         room = words->room > 0 ? 2 * words->room : TW_RECORDING_ROOM;
    tw_recording_word_t *word;
    uint32_t            *slot;

    if (words->count < words->room) {
        return true;
    }
    word = realloc(words->word, room * sizeof(*word));
    if (word == NULL) {
        return false;
    }
    words->word = word;
    slot        = calloc(2 * room, sizeof(*slot));
    if (slot == NULL) {
        return false;
    }
    free(words->slot);
    words->slot  = slot;
    words->slots = 2 * room;
    words->room  = room;
    for (size_t i = 0; i < words->count; i++) {
        *tw_recording_look(words, &words->word[i].key) = (uint32_t)i + 1;
    }
    return true;
}

uint32_t tw_recording_words_get(tw_recording_words_t *words, const tw_recording_key_t *key,
                                size_t most)
{
    uint32_t *slot = words->slots > 0 ? tw_recording_look(words, key) : NULL;

    if (slot != NULL && *slot != 0) {
        return *slot - 1;
    }
    if (words->count >= most || !tw_recording_grow(words)) {
        return TW_RECORDING_NO_ID;
    }
    words->word[words->count]      = (tw_recording_word_t){.key = *key};
    *tw_recording_look(words, key) = (uint32_t)++words->count;
    return (uint32_t)words->count - 1;
}

bool tw_recording_words_coarser(const tw_recording_words_t *words, tw_recording_without_t without,
                                tw_recording_words_t *to, uint32_t *map)
{
    *to = (tw_recording_words_t){.count = 0};
    for (size_t i = 0; i < words->count; i++) {
        const tw_recording_word_t *from = &words->word[i];
        tw_recording_key_t         key  = from->key;
        tw_recording_word_t       *word;

        if (without == TW_RECORDING_SIZES) {
            key.bytes = key.kind >= TW_RECORDING_CALL ? TW_RECORDING_VARIES : 0;
        } else {
            key.site   = 0;
            key.slot   = 0;
            key.python = 0;
        }
        map[i] = tw_recording_words_get(to, &key, SIZE_MAX);
        if (map[i] == TW_RECORDING_NO_ID) {
            tw_recording_words_fini(to);
            return false;
        }
        word = &to->word[map[i]];
        word->runs += from->runs;
        word->bytes += from->bytes;
        word->messages += from->messages;
        word->compute += from->compute;
        word->fixed += from->fixed;
        word->busy |= from->busy;
    }
    return true;
}
