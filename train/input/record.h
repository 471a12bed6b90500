/* SPDX-License-Identifier: BSD-3-Clause
 * input/record.h - images in an LMDB database: keys, records and the header, byte by byte as
 * docs/image-records.md defines them. Written by train/pack/pack.c, read by input/lmdb.c; the
 * parsers validate all input.
 */
#ifndef TW_INPUT_RECORD_H
#define TW_INPUT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "train/input/source.h"

enum {
    TW_STORED_KEY    = 9,       /* bytes of an image's key                                       */
    TW_STORED_RECORD = 24,      /* bytes in front of an image's                                  */
    TW_STORED_HEADER = 80,      /* bytes in front of the note, the names and the labels          */
    TW_STORED_SIDE   = 1 << 24, /* the longest side, and the most channels                  */
    TW_STORED_TEXT   = 1 << 26  /* bytes that the note or the names have at most            */
};

/** The key of an image. Keys are ordered by part and index. */
void tw_stored_key(tw_subset_t part, uint32_t index, uint8_t key[TW_STORED_KEY]);

/* Keys of one byte: in front of all images that of what a packer notes for itself, behind them the
 * header's. */
extern const uint8_t tw_stored_stamp_key, tw_stored_header_key;

/** Write what stands in front of an image's bytes. */
void tw_stored_put(const tw_image_record_t *record, uint16_t label,
                   uint8_t bytes[TW_STORED_RECORD]);

/** Take a record apart.
 * @param [out] record  its bytes are those behind the head.
 * @return NULL; or what is wrong with it. */
const char *tw_stored_take(const void *bytes, size_t n, tw_image_record_t *record,
                           uint16_t *label_p);

/* What a database holds, and what it was made from. Texts are not NUL-terminated. */
typedef struct tw_stored {
    size_t      classes, n[TW_SUBSETS];
    tw_shape_t  shape;    /* of every image; h and w 0: they differ; and c 0: they are files   */
    uint64_t    manifest; /* of the source                                                     */
    uint64_t    bytes;    /* of all images                                                     */
    size_t      resize;   /* shorter side that they were brought to; 0: none                   */
    unsigned    quality;  /* of the JPEGs that were made of them; 0: none were                 */
    const char *note;     /* where they came from, for people                                  */
    size_t      note_n;
    const char *names; /* of the classes, each with a NUL; names_n 0: they have none           */
    size_t      names_n;
    const uint8_t
        *labels[TW_SUBSETS]; /* [n], 2 bytes each                                         */
} tw_stored_t;

/** Bytes of a header. */
uint64_t tw_stored_header_size(const tw_stored_t *stored);

/** Write a header but for its labels. @param bytes  tw_stored_header_size() of them.
 * @return where the labels of both parts go, as tw_stored_put_labels() writes them. */
uint8_t *tw_stored_put_header(const tw_stored_t *stored, uint8_t *bytes);

/** @return behind them. */
uint8_t *tw_stored_put_labels(const uint16_t *labels, size_t n, uint8_t *bytes);

/** Take a header apart: counts are possible, all names are there, all labels are below the classes.
 * @param [out] stored  points into bytes.
 * @return NULL; or what is wrong with it. */
const char *tw_stored_take_header(const void *bytes, size_t n, tw_stored_t *stored);

/** Whether an image is as the header says of all: a file, or pixels of its shape. */
int tw_stored_fits(tw_shape_t shape, const tw_image_record_t *record);

/** Label i of a part. */
static inline uint16_t tw_stored_label(const tw_stored_t *stored, tw_subset_t part, size_t i)
{
    const uint8_t *at = stored->labels[part] + 2 * i;

    return (uint16_t)(at[0] | at[1] << 8);
}

/** Hash of all that a header says but the note. */
uint64_t tw_stored_hash(const tw_stored_t *stored);

#endif /* TW_INPUT_RECORD_H */
