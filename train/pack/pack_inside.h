/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack_inside.h - the parts of a packer: conversion of images (pack_image.c), the file
 * (pack_store.c), the progress record (pack_stamp.c).
 */
#ifndef TW_TRAIN_PACK_INSIDE_H
#define TW_TRAIN_PACK_INSIDE_H

#include <lmdb.h>

#include "train/input/transform.h"
#include "train/input/record.h"
#include "train/pack/pack.h"

/* ---- images (pack_image.c) ------------------------------------------------------------------ */

/* State to read and convert one image. */
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

/** Read an image and convert it to slot->record, or set slot->problem. */
void tw_pack_slot_fill(tw_pack_slot_t *slot, const tw_source_t *source, const tw_transforms_t *list,
                       const tw_pack_config_t *config, tw_subset_t part, uint32_t index);

/** Encode pixels as a JPEG (pack_jpeg.c): 1 or 3 planes. slot->record is set.
 * @return 0, or -1 with the problem set. */
int tw_pack_jpeg(tw_pack_slot_t *slot, const uint8_t *planes, tw_shape_t shape, unsigned quality,
                 tw_problem_t *problem);

/* ---- progress (pack_stamp.c) ---------------------------------------------------------------- */

/* Stored in the same transaction as the images that it counts. */
typedef struct tw_pack_stamp {
    uint64_t   key;           /* hash of the source and of all settings that affect the result */
    uint64_t   next;          /* next image of the source: training images first, then the rest */
    uint64_t   n[TW_SUBSETS]; /* stored images                                             */
    uint64_t   bytes;         /* of stored images                                          */
    tw_shape_t shape;         /* of stored images, see tw_stored_t */
    size_t     skipped_n, room;
    uint64_t  *skipped; /* numbers of skipped images, ascending                        */
} tw_pack_stamp_t;

void tw_pack_stamp_destroy(tw_pack_stamp_t *stamp);

/** Count a stored image.
 * @return -1: it mixes files and pixels, or different numbers of planes. */
int tw_pack_stamp_add(tw_pack_stamp_t *stamp, tw_subset_t part, const tw_image_record_t *record);

/** Record a skipped image. @return -1 without memory. */
int tw_pack_stamp_skip(tw_pack_stamp_t *stamp);

size_t tw_pack_stamp_size(const tw_pack_stamp_t *stamp);
void   tw_pack_stamp_put(const tw_pack_stamp_t *stamp, uint8_t *bytes);

/** @param [in,out] stamp  its key must match that in bytes; all else is read from bytes.
 * @return -1: bytes are not a stamp or have another key; stamp is unchanged. */
int tw_pack_stamp_take(const void *bytes, size_t n, tw_pack_stamp_t *stamp);

/* ---- the file (pack_store.c) ---------------------------------------------------------------- */

enum { TW_PACK_PATH = 4096 };

typedef struct tw_pack_store {
    char folder[TW_PACK_PATH], path[TW_PACK_PATH], part[TW_PACK_PATH]; /* OUT, data.mdb, .part */
    int  fd;                                                           /* of part, locked         */
    MDB_env *env;                                                      /* of part                 */
    MDB_dbi  dbi;
    MDB_txn *txn; /* NULL between batches    */
} tw_pack_store_t;

/** Lock and open OUT/data.mdb.part.
 * @param [in,out] stamp  if its key matches that of the file, packing continues, and the stamp is
 *                        read from the file. */
int tw_pack_store_open(tw_pack_store_t *store, const char *out, tw_pack_stamp_t *stamp,
                       tw_problem_t *problem);

/** Abort an open transaction, unlock and close; a zeroed store with fd -1 is allowed. */
void tw_pack_store_close(tw_pack_store_t *store);

/* Return LMDB's results. After MDB_MAP_FULL: abort, grow, and repeat all calls since begin(). */
int  tw_pack_store_begin(tw_pack_store_t *store);
int  tw_pack_store_put(tw_pack_store_t *store, tw_subset_t part, uint32_t index,
                       const tw_image_record_t *record, uint16_t label);
int  tw_pack_store_commit(tw_pack_store_t *store, const tw_pack_stamp_t *stamp); /* or NULL */
void tw_pack_store_abort(tw_pack_store_t *store);
int  tw_pack_store_grow(tw_pack_store_t *store);

/** Replace the stamp by memory for the header, in an open transaction. */
int tw_pack_store_header(tw_pack_store_t *store, uint64_t size, uint8_t **bytes_p);

/** Sync the committed data to disk, and rename the file. Always closes the store. */
int tw_pack_store_finish(tw_pack_store_t *store, tw_problem_t *problem);

/** Set the problem for an error of LMDB. */
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
    uint64_t                told; /* skipped images below this number were reported              */
    double                  begun, reported;
} tw_packer_t;

/** Write the header after all images are stored: their number, labels and names of classes. */
int tw_pack_complete(tw_packer_t *p, tw_problem_t *problem);

#endif /* TW_TRAIN_PACK_INSIDE_H */
