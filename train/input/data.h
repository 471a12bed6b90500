/* SPDX-License-Identifier: BSD-3-Clause
 * input/data.h - data sets in memory: images of 8-bit pixels with labels, and batches of them.
 */
#ifndef TW_INPUT_DATA_H
#define TW_INPUT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "train/problem.h"
#include "train/shape.h"

typedef struct tw_set {
    size_t    n;
    uint8_t  *pixels; /* [n][c][h][w]: planes */
    uint16_t *labels; /* [n]                  */
} tw_set_t;

typedef struct tw_data {
    tw_shape_t shape;   /* of an image                                    */
    size_t     pixels;  /* of an image: c h w                             */
    size_t     classes; /* of the data set; every label is below it       */
    tw_set_t   train, test;
} tw_data_t;

/** Load a data set.
 * @param [in]  spec     "mnist:DIR", "cifar10:DIR", "digits[:train=N][,seed=S]" or
 *                       "random:HxWxC,CLASSES[,n=N][,test=N][,seed=S]".
 * @param [in]  pixels   what the model takes per image; 0: any, data->shape says what came.
 * @param [in]  classes  labels must be below it; 0: any, data->classes says.
 * @return 0, or -1 with the problem set and nothing to release. Every rank gets the same data from
 * the same spec and files. */
int tw_data_load(tw_data_t *data, const char *spec, size_t pixels, size_t classes,
                 tw_problem_t *problem);

void tw_data_destroy(tw_data_t *data);

/** Hash of the shape and of all pixels and labels. */
uint64_t tw_data_hash(const tw_data_t *data);

/** What data sets there are, for help and errors. */
#define TW_DATA_ACCEPTED                                                                           \
    "mnist:DIR, cifar10:DIR, digits[:train=N][,seed=S] or "                                        \
    "random:HxWxC,CLASSES[,n=N][,test=N][,seed=S]"

/** How training images are varied (input/augment.c). What image i looks like is a function of
 * (seed, epoch, i) alone: the same for any number of ranks and any share of the batch. */
typedef struct tw_augment {
    size_t   pad;    /* a crop of the image's own size out of the image with pad zeros around it,
                        its corner anywhere in 0 .. 2 pad down and across; 0: no crop; at most
                        TW_PAD_MAX                                                              */
    int      mirror; /* left and right exchanged in half of the images                          */
    uint64_t seed, epoch;
} tw_augment_t;

#define TW_PAD_MAX 1024u

/** Where an image is put: the crop's corner in the padded image, both pad for the image itself. */
typedef struct tw_placement {
    size_t down, across;
    int    mirror; /* after the crop */
} tw_placement_t;

/** What tw_data_rows does with the image of this index. */
tw_placement_t tw_augment_place(const tw_augment_t *augment, uint32_t index);

/** One image as floats (pixel - mean) * scale; what lies outside it becomes 0, which is what a
 * pixel of the mean becomes.
 * @param [in]  pixels  [c][h][w].
 * @param [in]  pad     that of the placement.
 * @param [out] out     [c][h][w]. */
void tw_image_place(tw_shape_t shape, const uint8_t *pixels, size_t pad, tw_placement_t placement,
                    float mean, float scale, float *out);

/** Images of a set as the input of a network.
 * @param [in]  data     gives the shape.
 * @param [in]  set      its train or test set.
 * @param [in]  indices  [n] of images, below set->n.
 * @param [in]  augment  NULL: the images as they are.
 * @param [in]  mean, scale  a pixel 0 .. 255 becomes (pixel - mean) * scale.
 * @param [in]  threads  at least 1; the result does not depend on it.
 * @param [out] out      [n][c][h][w]. */
void tw_data_rows(const tw_data_t *data, const tw_set_t *set, const uint32_t *indices, size_t n,
                  const tw_augment_t *augment, float mean, float scale, int threads, float *out);

#endif /* TW_INPUT_DATA_H */
