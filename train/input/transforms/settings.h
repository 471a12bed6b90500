/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/settings.h - how operations read what stands behind their colon.
 */
#ifndef TW_INPUT_TRANSFORMS_SETTINGS_H
#define TW_INPUT_TRANSFORMS_SETTINGS_H

#include "train/input/transform.h"

enum { TW_CHANNELS_MAX = 1024 };

/** parse() of an operation that has no settings, and in_tests() of one that tests go without. */
int  tw_setting_none(void *own, const char *arguments, tw_problem_t *problem);
void tw_setting_dropped(const char *word, char *text, size_t size);

/** "N" or "HxW", each 1 to 16384, up to the end or a comma.
 * @param [out] both  0: there was one number, for both.
 * @return what follows it, without the comma; NULL: it is something else. */
const char *tw_setting_size(const char *text, size_t *h, size_t *w, int *both);

/** Numbers with commas between them, for all planes or one for each.
 * @param least, most  accepted.
 * @return how many, up to room; 0: it is something else. */
size_t tw_setting_numbers(const char *text, double least, double most, float *number, size_t room);

/** "name=X" at the beginning of text, up to the end or a comma.
 * @return what follows it, without the comma; NULL: it is something else. */
const char *tw_setting_named(const char *text, const char *name, double least, double most,
                             double *value);

/** Whether n numbers are for images of c planes; what they are for stands in the problem. */
int tw_setting_suits(size_t n, size_t c, tw_problem_t *problem);

/** Make every value (value - mean) * scale, as floats: mean and scale for all planes, or one for
 * each (n of them; 1: for all).
 * @param out  as in run() of an operation.
 * @return 0, or -1 with the problem set: no memory. */
int tw_setting_affine(tw_image_t *image, const float *mean, size_t means, const float *scale,
                      size_t scales, tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem);

#endif /* TW_INPUT_TRANSFORMS_SETTINGS_H */
