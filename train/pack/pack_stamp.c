/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack_stamp.c - the progress of a packer, stored with the images: numbers of 64 bits in
 * this machine's byte order, since only a packer on this machine reads them.
 *
 *     magic, key, next, stored for training, stored for tests, bytes, c, h, w, skipped,
 *     the numbers of the skipped images
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/pack/pack_inside.h"

#define TW_PACK_MAGIC UINT64_C(0x31306b6361707774) /* "twpack01" */

enum { MAGIC, KEY, NEXT, TRAIN, TEST, BYTES, C, H, W, SKIPPED, WORDS };

void tw_pack_stamp_destroy(tw_pack_stamp_t *stamp)
{
    free(stamp->skipped);
    *stamp = (tw_pack_stamp_t){.key = 0};
}

int tw_pack_stamp_add(tw_pack_stamp_t *stamp, tw_subset_t part, const tw_image_record_t *record)
{
    const tw_shape_t is = record->shape, had = stamp->shape;

    if (stamp->n[0] + stamp->n[1] == 0) {
        stamp->shape = is; /* of a file zeros */
    } else if (had.c != is.c) {
        return -1;
    } else if (had.h != is.h || had.w != is.w) {
        stamp->shape = (tw_shape_t){.c = had.c};
    }
    stamp->next++;
    stamp->n[part]++;
    stamp->bytes += record->n;
    return 0;
}

int tw_pack_stamp_skip(tw_pack_stamp_t *stamp)
{
    if (stamp->skipped_n == stamp->room) {
        const size_t room = 2 * stamp->room + 16;
        uint64_t    *more = realloc(stamp->skipped, room * sizeof(*more));

        if (more == NULL) {
            return -1;
        }
        stamp->skipped = more;
        stamp->room    = room;
    }
    stamp->skipped[stamp->skipped_n++] = stamp->next++;
    return 0;
}

size_t tw_pack_stamp_size(const tw_pack_stamp_t *stamp)
{
    return (WORDS + stamp->skipped_n) * sizeof(uint64_t);
}

void tw_pack_stamp_put(const tw_pack_stamp_t *stamp, uint8_t *bytes)
{
    const uint64_t word[WORDS] = {[MAGIC]   = TW_PACK_MAGIC,
                                  [KEY]     = stamp->key,
                                  [NEXT]    = stamp->next,
                                  [TRAIN]   = stamp->n[TW_SUBSET_TRAIN],
                                  [TEST]    = stamp->n[TW_SUBSET_TEST],
                                  [BYTES]   = stamp->bytes,
                                  [C]       = stamp->shape.c,
                                  [H]       = stamp->shape.h,
                                  [W]       = stamp->shape.w,
                                  [SKIPPED] = stamp->skipped_n};

    memcpy(bytes, word, sizeof(word));
    if (stamp->skipped_n > 0) {
        memcpy(bytes + sizeof(word), stamp->skipped, stamp->skipped_n * sizeof(uint64_t));
    }
}

int tw_pack_stamp_take(const void *bytes, size_t n, tw_pack_stamp_t *stamp)
{
    uint64_t  word[WORDS];
    uint64_t *skipped;

    if (n < sizeof(word)) {
        return -1;
    }
    memcpy(word, bytes, sizeof(word));
    if (word[MAGIC] != TW_PACK_MAGIC || word[KEY] != stamp->key ||
        word[SKIPPED] != (n - sizeof(word)) / sizeof(uint64_t) || n % sizeof(uint64_t) != 0 ||
        word[TRAIN] + word[TEST] + word[SKIPPED] != word[NEXT]) {
        return -1;
    }
    skipped = malloc(n);
    if (skipped == NULL) {
        return -1;
    }
    memcpy(skipped, (const uint8_t *)bytes + sizeof(word), n - sizeof(word));
    *stamp = (tw_pack_stamp_t){.key       = stamp->key,
                               .next      = word[NEXT],
                               .n         = {word[TRAIN], word[TEST]},
                               .bytes     = word[BYTES],
                               .shape     = {word[C], word[H], word[W]},
                               .skipped_n = word[SKIPPED],
                               .room      = n / sizeof(uint64_t),
                               .skipped   = skipped};
    return 0;
}
