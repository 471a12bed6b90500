/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/source_rig.h - a folder for tests of sources, with small JPEG and PNG files, and what
 * these tests share. Checks end the test that calls.
 */
#ifndef TW_TESTS_TRAIN_SOURCE_RIG_H
#define TW_TESTS_TRAIN_SOURCE_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "train/input/source.h"

/* Whether sources are opened as with --bad-images skip. */
extern int rig_skip;

/* Fixtures of a case. */
void rig_create(void);
void rig_remove(void);

/** A path in the folder; valid until the 16th call after it. */
const char *rig_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Names are paths in the folder; folders on the way are made. */
void rig_folder(const char *name);
void rig_write(const char *name, const void *bytes, size_t n);
void rig_text(const char *name, const char *text);
void rig_images(const char *folder, const char *const *names,
                size_t n);                   /* small ones, all different */
void rig_many(const char *folder, size_t n); /* 00000.png and so on */

/** A file of the folder, to be freed. */
uint8_t *rig_read(const char *name, size_t *n_p);

/** Open "KIND:" and a path in the folder: "folder:%/a,seed=2", where % is the folder.
 * @return the text of the problem, "" for none. */
const char *rig_open(tw_source_t *source, const char *spec);

/* The same as expected to end well, or in a line that holds both fragments. */
void rig_opened(tw_source_t *source, const char *spec);
void rig_refused(const char *spec, const char *a, const char *b);

/* A line holds both, and no line break. */
void rig_says(const char *text, const char *a, const char *b);

/** What name_of() says, without the folder in front. Valid until the next call. */
const char *rig_name(const tw_source_t *source, tw_subset_t part, uint32_t index);

/** A part has these files, with their bytes, and labels. */
void rig_has(const tw_source_t *source, tw_subset_t part, const char *const *names,
             const uint16_t *labels, size_t n);

/** Two sources have the same images, labels and names of classes. */
void rig_same(const tw_source_t *a, const tw_source_t *b);

#endif /* TW_TESTS_TRAIN_SOURCE_RIG_H */
