/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack_inside.h - the parts of a packer: images as they are to be stored (pack_image.c), the
 * file (pack_store.c), what was done so far (pack_stamp.c).
 */
#ifndef TW_TRAIN_PACK_INSIDE_H
#define TW_TRAIN_PACK_INSIDE_H

#include <lmdb.h>

#include "train/input/transform.h"
#include "train/input/record.h"
#include "train/pack.h"

/* ---- images (pack_image.c) ------------------------------------------------------------------ */

/* What one image is read and made with. */
typedef struct tw_pack_slot {
    tw_source_reader_t reader;
    tw_work_t          work;
    tw_buffer_t        made; /* pixels                             */
    uint8_t           *jpeg;
    size_t             jpeg_room;
    tw_image_record_t  record;
    tw_problem_t       problem; /* of the image: it is broken         */
} tw_pack_slot_t;

/* The transforms between a source and the database: none, decode, or decode and resize. */
int tw_pack_transforms(tw_transforms_t *list, const tw_pack_config_t *config, tw_shape_t shape,
                       tw_problem_t *problem);

/** @return -1 without memory. */
int  tw_pack_slot_create(tw_pack_slot_t *slot, const tw_pixels_t *pixels);
void tw_pack_slot_destroy(tw_pack_slot_t *slot);

/** Read an image and make of it what is stored, slot->record, or set slot->problem. */
void tw_pack_slot_fill(tw_pack_slot_t *slot, const tw_source_t *source, const tw_transforms_t *list,
                       const tw_pack_config_t *config, tw_subset_t part, uint32_t index);

/** Encode pixels as a JPEG (pack_jpeg.c): 1 or 3 planes. slot->record is set.
 * @return 0, or -1 with the problem set. */
int tw_pack_jpeg(tw_pack_slot_t *slot, const uint8_t *planes, tw_shape_t shape, unsigned quality,
                 tw_problem_t *problem);

/* ---- what was done (pack_stamp.c) ----------------------------------------------------------- */

/* Stored with the images it counts, in one transaction. */
typedef struct tw_pack_stamp {
    uint64_t   key;           /* hash of the source and of all that decides what is stored */
    uint64_t   next;          /* image of the source: first those for training, then the rest */
    uint64_t   n[TW_SUBSETS]; /* stored                                                    */
    uint64_t   bytes;         /* of them                                                   */
    tw_shape_t shape;         /* of them, as tw_stored_t has it */
    size_t     skipped_n, room;
    uint64_t  *skipped; /* numbers of images left out, ascending                       */
} tw_pack_stamp_t;

void tw_pack_stamp_destroy(tw_pack_stamp_t *stamp);

/** Count an image that is stored.
 * @return -1: files and pixels, or numbers of planes, do not mix. */
int tw_pack_stamp_add(tw_pack_stamp_t *stamp, tw_subset_t part, const tw_image_record_t *record);

/** Note an image that is left out. @return -1 without memory. */
int tw_pack_stamp_skip(tw_pack_stamp_t *stamp);

size_t tw_pack_stamp_size(const tw_pack_stamp_t *stamp);
void   tw_pack_stamp_put(const tw_pack_stamp_t *stamp, uint8_t *bytes);

/** @param [in,out] stamp  its key is to be found again; all else comes from bytes.
 * @return -1: they are no stamp, or another one's, and stamp is as it was. */
int tw_pack_stamp_take(const void *bytes, size_t n, tw_pack_stamp_t *stamp);

/* ---- the file (pack_store.c) ---------------------------------------------------------------- */

enum { TW_PACK_PATH = 4096 };

typedef struct tw_pack_store {
    char folder[TW_PACK_PATH], path[TW_PACK_PATH], part[TW_PACK_PATH]; /* OUT, data.mdb, .part */
    int  fd;                                                           /* of part, which it locks */
    MDB_env *env;                                                      /* of part                 */
    MDB_dbi  dbi;
    MDB_txn *txn; /* NULL between batches    */
} tw_pack_store_t;

/** Lock and open what is packed into.
 * @param [in,out] stamp  by its key is decided whether to go on; it says then how far it is. */
int tw_pack_store_open(tw_pack_store_t *store, const char *out, tw_pack_stamp_t *stamp,
                       tw_problem_t *problem);

/** Throw an open transaction away, unlock and close; a zeroed one with fd -1 is allowed. */
void tw_pack_store_close(tw_pack_store_t *store);

/* LMDB's results. MDB_MAP_FULL: abort, grow, and do all since begin() again. */
int  tw_pack_store_begin(tw_pack_store_t *store);
int  tw_pack_store_put(tw_pack_store_t *store, tw_subset_t part, uint32_t index,
                       const tw_image_record_t *record, uint16_t label);
int  tw_pack_store_commit(tw_pack_store_t *store, const tw_pack_stamp_t *stamp); /* or NULL */
void tw_pack_store_abort(tw_pack_store_t *store);
int  tw_pack_store_grow(tw_pack_store_t *store);

/** Room for the header, in an open transaction; the stamp goes. */
int tw_pack_store_header(tw_pack_store_t *store, uint64_t size, uint8_t **bytes_p);

/** Bring what was committed to the disk, and rename it to its place. Closes it in any case. */
int tw_pack_store_finish(tw_pack_store_t *store, tw_problem_t *problem);

/** The line for a result of LMDB. */
int tw_pack_store_failed(const tw_pack_store_t *store, int error, tw_problem_t *problem);

/* ---- all of it (pack.c), and the header (pack_header.c) -------------------------------------- */

typedef struct tw_packer {
    const tw_pack_config_t *config;
    tw_source_t             source;
    uint64_t                total; /* images of the source */
    tw_transforms_t         list;
    tw_pack_store_t         store;
    tw_pack_stamp_t         stamp;
    tw_pack_slot_t         *slot;
    size_t                  slots;
    uint64_t                ready_from; /* number of the image in the first slot */
    size_t                  ready;      /* images in the slots                   */
    uint64_t told; /* images of which it was said that they are left out: those below */
    double   begun, reported;
} tw_packer_t;

/** Write the header, when all images are stored: how many, their labels and names of classes. */
int tw_pack_complete(tw_packer_t *p, tw_problem_t *problem);

#endif /* TW_TRAIN_PACK_INSIDE_H */
