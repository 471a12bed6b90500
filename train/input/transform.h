/* SPDX-License-Identifier: BSD-3-Clause
 * input/transform.h - what is done to an image between its source and the network: one table of
 * functions per operation, one file in input/transforms/, one line in transforms.h.
 *
 * A list of operations is written as words with spaces between them: "resize:256 crop:224,random
 * mirror mean:124,116,104 scale:0.017". It is taken apart once, and planned for each image:
 * forward, to find what size it has after each operation and which numbers it draws; then backward,
 * to find which part of it each operation has to compute for the next one. So a crop costs nothing,
 * and what it cuts off is neither resized nor decoded.
 *
 * Drawn numbers are a function of (seed, epoch, image, the operations before it in the list), so an
 * image looks the same whoever prepares it, when, and on which side of the transfer.
 */
#ifndef TW_INPUT_TRANSFORM_H
#define TW_INPUT_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/compute/kernels.h"
#include "train/input/buffer.h"
#include "train/input/decode.h"
#include "train/input/image.h"
#include "train/input/pixels.h"

enum { TW_TRANSFORMS_MAX = 16, TW_TRANSFORMS_TEXT = 512, TW_DRAWN = 8 };

typedef struct tw_transform     tw_transform_t;
typedef struct tw_transform_ops tw_transform_ops_t;

/* What is known of all images between two operations. */
typedef struct tw_image_form {
    tw_image_type_t type;
    tw_shape_t      shape; /* h and w 0: they differ from image to image; c of a file is what it
                                 is to be decoded to, 1 or 3 */
    size_t          least; /* where they differ: no side is shorter; 0: not known               */
    int bordered;          /* images reach beyond what is present of them                       */
} tw_image_form_t;

/* One operation on one image. */
typedef struct tw_transform_step {
    tw_shape_t in, out; /* of the whole image before and after                                    */
    tw_region_t need;   /* what it reads of `in`                                                  */
    tw_region_t make;   /* what it has to make of `out`: nothing beyond is needed                 */
    union {
        int32_t whole[TW_DRAWN];
        float   real[TW_DRAWN];
        struct {
            tw_file_facts_t facts;
            int             eighths; /* scale of a JPEG */
        } file;
    } drawn;
    size_t view; /* of those that the operation makes of an image */
} tw_transform_step_t;

/* What one thread works with; zeroed but for pixels, decoder and most. */
typedef struct tw_work {
    const tw_pixels_t *pixels;
    tw_decoder_t      *decoder;
    uint64_t           most; /* pixels of an image that is accepted             */
    tw_buffer_t scratch[2];  /* an operation writes into the one that does not hold its input */
    tw_buffer_t rows;        /* of an operation, for what it needs in between   */
    tw_buffer_t weights;
} tw_work_t;

struct tw_transform_ops {
    const char *name; /* as in a list                                      */
    const char *form; /* for help and errors: "crop:N|HxW[,random|centre]" */
    const char *help;
    size_t      own; /* bytes of its settings, zeroed before parse()      */

    /** Read what stands behind the colon, "" for nothing.
     * @return 0, or -1: the caller says what is accepted, unless the problem is set. */
    int (*parse)(void *own, const char *arguments, tw_problem_t *problem);

    /** Release what parse() made; NULL for nothing. */
    void (*release)(void *own);

    /** See whether it can follow what is in front of it, and say what it makes of it. It may note
     * the form in its settings. NULL: any form, and it leaves that.
     * @return 0, or -1 with the problem set. */
    int (*follow)(void *own, tw_image_form_t *form, tw_problem_t *problem);

    /** What it takes from training images before the run: how many numbers, 0 for nothing; an image
     * adds to their sums, `add`, and the sums of all images are given to it, `learn`. NULL:
     * nothing.
     * @param image  as it comes in front of the operation: not mirrored, all of it present. */
    size_t (*learns)(const void *own);
    void (*add)(const void *own, const tw_image_t *image, const tw_pixels_t *pixels,
                uint64_t *sums);
    void (*learn)(void *own, const uint64_t *sums);

    /** Views of an image that it makes, as corners and the centre; NULL: one. plan() is told which
     * one by step->view. Tests of the network take the mean of all. */
    size_t (*views)(const void *own);

    unsigned draws;   /* numbers that it draws for an image                            */
    int      shrinks; /* a smaller input does as well, down to the size of its output */

    /** Size and drawn numbers for one image: step->in and step->out are its size before; NULL: it
     * stays, and nothing is drawn.
     * @param next   the operation behind it; NULL: none.
     * @param image  as it came, for what reads its bytes.
     * @param key, draw  numbers draw .. draw + draws - 1 of key are its own.
     * @return 0, or -1 with the problem set: the image does not suit. */
    int (*plan)(const void *own, const tw_transform_t *next, const tw_image_t *image, uint64_t key,
                unsigned draw, tw_transform_step_t *step, tw_work_t *work, tw_problem_t *problem);

    /** Which part of its input it reads for `make` of its output; NULL: the same. */
    tw_region_t (*needs)(const void *own, const tw_transform_step_t *step, tw_region_t make);

    /** Do it. The image, where it is no file, has exactly step->need present of it, and is to have
     * step->make.
     * @param out  where a new image is to be put, or NULL: tw_work_free() says where.
     * @return 0, or -1 with the problem set: the image is broken, or there is no memory. */
    int (*run)(const void *own, const tw_transform_step_t *step, tw_image_t *image, tw_work_t *work,
               tw_buffer_t *out, tw_problem_t *problem);

    /** Where it makes every value (value - mean) * 1, or (value - 0) * scale, as floats: the
     * numbers of the one, n of them (1: for all planes), with the other NULL. Then it needs no pass
     * of its own behind or in front of its counterpart, with the same bits. NULL: it does something
     * else. */
    void (*affine)(const void *own, const tw_transform_step_t *step, const float **mean,
                   const float **scale, size_t *n);

    /** Where it subtracts a number of its own from each value of the whole image, as floats: these
     * numbers, [c][h][w] of its input. NULL: it does something else. */
    const float *(*pixels)(const void *own);

    int view; /* run() changes what is seen of an image, and touches no value and no memory */

    /** What takes the place of the word in tests of the network, where their list is not given: ""
     * for nothing. NULL: the word itself. */
    void (*in_tests)(const char *word, char *text, size_t size);
};

struct tw_transform {
    const tw_transform_ops_t *ops;
    void                     *own;
};

typedef struct tw_transforms {
    size_t          n;
    tw_transform_t  op[TW_TRANSFORMS_MAX];
    unsigned        draw[TW_TRANSFORMS_MAX]; /* the first number that each draws */
    size_t          at[TW_TRANSFORMS_MAX];   /* where the word of each begins in text */
    size_t          views;                   /* of an image: the product of all operations' */
    tw_image_form_t form;                    /* of what comes out: of one shape  */
    char            text[TW_TRANSFORMS_TEXT];
} tw_transforms_t;

/* An image and its plan. */
typedef struct tw_planned {
    tw_image_t          image;
    uint64_t            key;   /* of its draws                                  */
    size_t              view;  /* which one of list->views                      */
    int                 ready; /* the steps are planned: 0 for a new image      */
    tw_transform_step_t step[TW_TRANSFORMS_MAX];
} tw_planned_t;

/** Take a list apart whose images may differ in size at its end. Otherwise as
 * tw_transforms_parse(). */
int tw_transforms_read(tw_transforms_t *list, const char *text, tw_image_form_t from,
                       const char *what, tw_problem_t *problem);

/** Take a list apart. Files are decoded first, whether the list says so or not.
 * @param from  what the source has.
 * @param what  "--augment", for errors.
 * @return 0, or -1 with the problem set and nothing to release. */
int tw_transforms_parse(tw_transforms_t *list, const char *text, tw_image_form_t from,
                        const char *what, tw_problem_t *problem);

void tw_transforms_destroy(tw_transforms_t *list); /* a zeroed one is allowed */

/** The list for tests of the network that follows from one for training: crops in the centre, no
 * mirror, no noise. */
void tw_transforms_for_tests(const tw_transforms_t *list, char *text, size_t size);

/** The k-th operation that there is; NULL beyond the last. */
const tw_transform_ops_t *tw_transform_kind(size_t k);

/** Run operations first .. end - 1 of a list on an image; those before have been run, by whomever.
 * A new image is planned, from the first operation to the last, before any of them runs. After that
 * nothing of the image is in anyone else's memory but `out`, a scratch buffer of `work` or what it
 * came with.
 * @param out  where to put what the last of them makes, if it makes anything; or NULL.
 * @return 0, or -1 with the problem set. */
int tw_transforms_run(const tw_transforms_t *list, size_t first, size_t end, tw_planned_t *planned,
                      tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem);

/** What is present of an image, as floats in [c][h][w], 0 elsewhere. @param shape  its own. */
void tw_image_floats(const tw_image_t *image, const tw_pixels_t *pixels, float *out);

/** Copy what is present to `to`, without gaps and not mirrored; the image is there then.
 * @return bytes copied; SIZE_MAX without memory. */
size_t tw_image_move(tw_image_t *image, const tw_pixels_t *pixels, tw_buffer_t *to);

/** Bytes that tw_image_move() copies. */
size_t tw_image_bytes(const tw_image_t *image);

/** Keep of an image what lies in a region of it, as it is seen. */
void tw_image_cut(tw_image_t *image, tw_region_t region);

/** Make an image whose rows are seen backward one that is not. Moves bytes.
 * @return 0, or -1 with the problem set: no memory. */
int tw_image_straighten(tw_image_t *image, tw_work_t *work, tw_problem_t *problem);

/** The scratch buffer that does not hold an image, or out where that is one. */
tw_buffer_t *tw_work_free(tw_work_t *work, const tw_image_t *image, tw_buffer_t *out);

void tw_work_destroy(tw_work_t *work); /* the decoder too; a zeroed one is allowed */

/** How often buffers of a thread were allocated. */
uint64_t tw_work_grown(const tw_work_t *work);

#endif /* TW_INPUT_TRANSFORM_H */
