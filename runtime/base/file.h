/* SPDX-License-Identifier: BSD-3-Clause
 * base/file.h - small files, read and replaced as a whole.
 */
#ifndef TW_BASE_FILE_H
#define TW_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* All of a regular file of at most `most` bytes, to be freed, with a NUL behind it; false with
 * errno (EFBIG: it is longer; EINVAL: it is no regular file). */
bool tw_file_read(const char *path, size_t most, char **text_p, size_t *length_p);

/* Write another file beside it, a new one whatever stands there, and rename that: a reader sees the
 * old one or the new one. Folders are not made. false with errno; then the old one is as it was. */
bool tw_file_replace(const char *path, const char *text, size_t length);

/* Can tw_file_replace() do that? Nothing is changed, and nothing left. 0, or errno. */
int tw_file_replaceable(const char *path);

/* Can something be written to path, as a new file or over the one that is there? Nothing is
 * changed, and nothing left. 0, or errno. */
int tw_file_writable(const char *path);

/* Hold a lock on the folder of path until the result is closed; -1 with errno: EWOULDBLOCK if
 * others hold it for limit_s seconds, of whom *holder_p is one, or 0 where the system does not
 * say. */
int tw_file_lock_folder(const char *path, double limit_s, long *holder_p);

/* Make the folders in which path lies; false with errno. */
bool tw_file_folders(const char *path);

#endif /* TW_BASE_FILE_H */
