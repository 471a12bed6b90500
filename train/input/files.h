/* SPDX-License-Identifier: BSD-3-Clause
 * input/files.h - a table of image files, for sources whose images are files of their own
 * (input/folder.c, input/list.c): 16 bytes for each and its path.
 */
#ifndef TW_INPUT_FILES_H
#define TW_INPUT_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "train/input/source.h"

typedef struct tw_file_row {
    uint64_t path;  /* where in the arena                                    */
    uint32_t bytes; /* when it was added; UINT32_MAX: that many or more      */
    uint16_t label;
    uint8_t  part; /* tw_subset_t */
} tw_file_row_t;

typedef struct tw_files {
    char          *folder; /* that paths are relative to                       */
    int            fd;     /* of it                                            */
    int            skip;   /* what is no file is a row, too, which cannot be read */
    char          *arena;  /* all paths, each with its NUL                     */
    size_t         used, room;
    tw_file_row_t *row; /* after tw_files_finish(): of training, then the rest */
    size_t         n, rows;
} tw_files_t;

/** The state of a source; tw_files_close() releases it.
 * @param skip    see tw_files_t.
 * @param folder  "." for the working folder. @return NULL with the problem set. */
tw_files_t *tw_files_create(const char *folder, int skip, tw_problem_t *problem);

/** Add a file.
 * @param where  what a problem's line begins with: "" or "LIST:LINE: ".
 * @param path   from the folder, or absolute.
 * @return 0, or -1 with the problem set: there is no such regular file, unless files->skip. */
int tw_files_add(tw_files_t *files, const char *where, const char *path, uint16_t label,
                 tw_subset_t part, tw_problem_t *problem);

/** Deal all files to the two parts, class by class: those of a class stand in the order of a hash
 * of (seed, path), and the first of them, a share rounded to the nearest number, are for training;
 * of two or more at least one goes to each part, a single one to training. If no class has two, the
 * files are dealt as if all were of one class. So a part depends neither on the order nor on the
 * number of classes, and a file that is added to a class moves at most one other of it. */
int tw_files_split(tw_files_t *files, double share, uint64_t seed, tw_problem_t *problem);

/** Order the table by parts, and set the parts and the manifest of the source from it and from the
 * names of its classes.
 * @return 0, or -1 with the problem set: a part is empty, for example. */
int tw_files_finish(tw_source_t *source, tw_problem_t *problem);

/* The slots of the table of functions. */
int  tw_files_read(const tw_source_t *source, tw_subset_t part, uint32_t index,
                   tw_source_reader_t *reader, tw_image_record_t *record, tw_problem_t *problem);
void tw_files_name_of(const tw_source_t *source, tw_subset_t part, uint32_t index, char *name,
                      size_t size);
void tw_files_close(tw_source_t *source);

#endif /* TW_INPUT_FILES_H */
