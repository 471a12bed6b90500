/* SPDX-License-Identifier: BSD-3-Clause
 * command/beside.c - see beside.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/beside.h"

FILE *beside_special(const char *path)
{
    const int fd    = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    const int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    FILE     *file  = NULL;

    if (flags != -1 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0) {
        file = fdopen(fd, "w");
    }
    if (file == NULL && fd >= 0) {
        const int error = errno;

        close(fd);
        errno = error;
    }
    return file;
}

int beside_try_special(const char *path)
{
    FILE       *file = beside_special(path);
    struct stat info;

    if (file == NULL) {
        return errno;
    }
    if (fstat(fileno(file), &info) == 0 && S_ISFIFO(info.st_mode)) {
        (void)fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
    }
    fputc('\n', file);
    return fclose(file) != 0 ? errno : 0;
}

const char *beside_error(int error)
{
    return error == ENXIO ? "nobody reads this pipe" : strerror(error);
}

/* The folder in which a file that is not there would be made, and its name in it. */
static const char *folder_of(const char *path, struct stat *info)
{
    const char *slash  = strrchr(path, '/');
    char       *folder = slash != NULL ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    const int   there  = folder != NULL && stat(folder, info) == 0;

    free(folder);
    return !there ? NULL : slash != NULL ? slash + 1 : path;
}

static int is_one(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int beside_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const int   a_there = stat(a, &of_a) == 0, b_there = stat(b, &of_b) == 0;
    const char *a_name, *b_name;

    if (a_there || b_there) {
        return a_there && b_there && is_one(&of_a, &of_b);
    }
    a_name = folder_of(a, &of_a);
    b_name = folder_of(b, &of_b);
    return a_name == NULL || b_name == NULL ? strcmp(a, b) == 0
                                            : is_one(&of_a, &of_b) && strcmp(a_name, b_name) == 0;
}
