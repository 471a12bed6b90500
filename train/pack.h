/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack.h - makes an LMDB database of any source (thinwire-train pack), in the format of
 * docs/image-records.md, which "lmdb:DIR" reads.
 */
#ifndef TW_TRAIN_PACK_H
#define TW_TRAIN_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/input/pixels.h"

#define TW_PACK_RESIZE_MAX 16384u

typedef struct tw_pack_config {
    const char *source; /* as --data takes it                                            */
    const char *out;    /* a folder, made if there is none; the database is OUT/data.mdb */

    /* Shorter side that images are brought to, as the transform resize:N does it, up to
     * TW_PACK_RESIZE_MAX; 0: they stay as they are. */
    size_t resize;

    /* 1 to 100: images become JPEGs of this quality, 4:2:0; 0: resized ones become pixels, others
     * are stored as they are. */
    unsigned quality;

    /* The orientation that files name is left alone: only where they are resized or encoded. */
    int stored;

    /* Broken images are left out and counted; else the first one is an error. */
    int skip;

    /* That read, decode, resize and encode, at least 1; the result does not depend on it. */
    int threads;

    const tw_pixels_t *pixels; /* loops to resize with; NULL: the scalar ones */

    /* Called by the calling thread; each may be NULL. */
    int (*cancelled)(void *arg); /* true: stop, and keep what was packed */

    /** About twice a second, and at the end.
     * @param done     of `total` images of the source, by this run and by those before it.
     * @param seconds  of this run. */
    void (*progress)(void *arg, uint64_t done, uint64_t total, double seconds);

    void (*skipped)(void *arg, const char *line); /* an image that was left out, and why */
    void *arg;
} tw_pack_config_t;

typedef struct tw_pack_result {
    uint64_t images, bytes; /* in the database                                     */
    uint64_t skipped;
    uint64_t continued; /* images of the source that an earlier run had done       */
    double   seconds;   /* of this run                                             */
} tw_pack_result_t;

/** Pack a source.
 * What is written goes to OUT/data.mdb.part, which is renamed when it is whole: until then an older
 * OUT/data.mdb is untouched. After an error or a cancellation the same call goes on with what was
 * committed, of the same source with the same settings; of others it begins anew.
 * @param [out] result  set on success.
 * @return 0; -1 with the problem set, as if another packer writes to OUT. */
int tw_pack(const tw_pack_config_t *config, tw_pack_result_t *result, tw_problem_t *problem);

#endif /* TW_TRAIN_PACK_H */
