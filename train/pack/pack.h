/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack.h - conversion of any source to an LMDB database (thinwire-train pack), in the
 * format of docs/image-records.md, which "lmdb:DIR" reads.
 */
#ifndef TW_TRAIN_PACK_H
#define TW_TRAIN_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/input/pixels.h"

#define TW_PACK_RESIZE_MAX 16384u

typedef struct tw_pack_config {
    const char *source; /* see --data                                                    */
    const char *out;    /* a folder, created if missing; the database is OUT/data.mdb    */

    /* Resize images to this shorter side, as the transform resize:N, up to TW_PACK_RESIZE_MAX; 0:
     * do not resize. */
    size_t resize;

    /* 1 to 100: encode images as JPEGs of this quality, 4:2:0; 0: store resized images as pixels,
     * others unchanged. */
    unsigned quality;

    /* Do not apply the orientation in the files; only with resize or quality. */
    int stored;

    /* Skip and count broken images; else the first one is an error. */
    int skip;

    /* Number of threads that read, decode, resize and encode, at least 1; does not affect the
     * result. */
    int threads;

    const tw_pixels_t *pixels; /* loops for resizing; NULL: the scalar ones */

    /* Called in the calling thread; each may be NULL. */
    int (*cancelled)(void *arg); /* true: stop, and keep the packed images */

    /** About twice a second, and at the end.
     * @param done     images out of `total` of the source, by this run and earlier ones.
     * @param seconds  of this run. */
    void (*progress)(void *arg, uint64_t done, uint64_t total, double seconds);

    void (*skipped)(void *arg, const char *line); /* a skipped image, and the reason */
    void *arg;
} tw_pack_config_t;

typedef struct tw_pack_result {
    uint64_t images, bytes; /* in the database                                     */
    uint64_t skipped;
    uint64_t continued; /* images of the source that earlier runs had packed       */
    double   seconds;   /* of this run                                             */
} tw_pack_result_t;

/** Pack a source.
 * Writes to OUT/data.mdb.part, which is renamed when it is complete: until then an older
 * OUT/data.mdb is unchanged. After an error or a cancellation the same call continues with the
 * committed images if source and settings are equal; else it starts again.
 * @param [out] result  set on success.
 * @return 0; -1 with the problem set, for example if another packer writes to OUT. */
int tw_pack(const tw_pack_config_t *config, tw_pack_result_t *result, tw_problem_t *problem);

#endif /* TW_TRAIN_PACK_H */
