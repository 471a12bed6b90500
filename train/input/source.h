/* SPDX-License-Identifier: BSD-3-Clause
 * input/source.h - sources of images: one table of functions per kind of source.
 *
 * A source has the number of images of its two parts and all labels in memory. Images are read one
 * at a time, from any thread, so a set may be larger than memory. An image is a record: pixels, or
 * the bytes of a JPEG or PNG file.
 */
#ifndef TW_INPUT_SOURCE_H
#define TW_INPUT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/input/buffer.h"
#include "train/input/image.h"
#include "train/base/shape.h"

typedef enum tw_subset { TW_SUBSET_TRAIN, TW_SUBSET_TEST, TW_SUBSETS } tw_subset_t;

#define TW_SOURCE_IMAGES_MAX  UINT32_C(0x7fffffff) /* of a part                      */
#define TW_SOURCE_CLASSES_MAX 65536u
#define TW_SOURCE_FILE_MAX    ((size_t)1 << 28) /* bytes of one encoded image     */

/* One image of a source. */
typedef struct tw_image_record {
    int        file;  /* bytes are a JPEG or PNG file; else pixels [c][h][w] of 8 bits         */
    tw_shape_t shape; /* of pixels                                                             */
    const uint8_t
          *bytes; /* of the source, or of the reader's buffer: until its next read         */
    size_t n;     /* bytes                                                                 */
} tw_image_record_t;

/* Reader state of one thread. Zero it before the first use. */
typedef struct tw_source_reader {
    tw_buffer_t buffer;
} tw_source_reader_t;

typedef struct tw_source       tw_source_t;
typedef struct tw_source_ranks tw_source_ranks_t; /* root.h */

/* A kind of source. All slots are filled. */
typedef struct tw_source_ops {
    const char
        *name; /* as in --data, in front of the colon: "folder"                              */
    const char
        *form; /* for help and errors: "folder:DIR[,split=F][,seed=S]"                       */
    const char *help;

    /** Set all members except the images.
     * @param source     zeroed except ops; close() is called even after a failure.
     * @param spec       the text of --data, for messages.
     * @param arguments  the part of spec after the name; may be "".
     * @return 0, or -1 with the problem set. */
    int (*open)(tw_source_t *source, const char *spec, const char *arguments,
                tw_problem_t *problem);

    /** Read one image. From any thread, one reader per thread.
     * @param index  below source->part[part].n.
     * @return 0, or -1 with the problem set, which names the image: the image is broken; or the
     *         machine has no memory, see tw_problem_machine(). */
    int (*read)(const tw_source_t *source, tw_subset_t part, uint32_t index,
                tw_source_reader_t *reader, tw_image_record_t *record, tw_problem_t *problem);

    /** The name of an image in messages: a path or a number. */
    void (*name_of)(const tw_source_t *source, tw_subset_t part, uint32_t index, char *name,
                    size_t size);

    void (*close)(tw_source_t *source);
} tw_source_ops_t;

typedef struct tw_source_part {
    size_t    n;
    uint16_t *labels; /* [n], below classes */
} tw_source_part_t;

struct tw_source {
    const tw_source_ops_t *ops;
    void                  *state; /* of the kind */
    tw_shape_t       shape; /* of every image; h and w 0: they differ; c 0 too: they are files */
    int              in_memory; /* images are in memory                                      */
    int              skip;      /* an unreadable image is broken; else the source is         */
    size_t           classes;
    char           **class_names; /* [classes], or NULL                                       */
    tw_source_part_t part[TW_SUBSETS];
    uint64_t         manifest; /* hash of names, sizes and labels, not of the images           */
    uint64_t         hash;     /* of tw_source_hash(); 0: computed                             */
    const tw_source_ranks_t *ranks; /* in open(): that open it together; NULL: this process */

    /* Collective: image[n] of a part are a batch, which the ranks read by shares (tw_share()) after
     * this call, and none else. By one thread, before any other reads them. NULL: images can be
     * read at any time. */
    void (*fetch)(const tw_source_t *source, tw_subset_t part, const uint32_t *image, size_t n);
};

/** Open the source that a text names.
 * @param ranks  that do so at the same time, where images of one may be sent to others; NULL: such
 *               sources are refused.
 * @param skip   detect an image that is not a file when it is read; else fail here.
 * @return 0, or -1 with the problem set and nothing to release. */
int tw_source_open(tw_source_t *source, const char *spec, int skip, const tw_source_ranks_t *ranks,
                   tw_problem_t *problem);

/** Release it, after all readers; a zeroed one is allowed. */
void tw_source_close(tw_source_t *source);

/** Release the reader state of a thread. */
void tw_reader_destroy(tw_source_reader_t *reader);

/** Hash over the manifest, shape, classes, labels and a few images of both parts: detects different
 * data on ranks without reading all of it. An unreadable image counts as an empty one. */
uint64_t tw_source_hash(const tw_source_t *source);

/** The view of a record as input of operations; valid as long as the record's bytes. */
tw_image_t tw_source_image(const tw_image_record_t *record);

/** The k-th kind of source, NULL beyond the last. */
const tw_source_ops_t *tw_source_kind(size_t k);

/** Allocate the labels of a part. @return 0, or -1 with the problem set. */
int tw_source_part_create(tw_source_part_t *part, size_t n, tw_problem_t *problem);

#endif /* TW_INPUT_SOURCE_H */
