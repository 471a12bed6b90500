/* SPDX-License-Identifier: BSD-3-Clause
 * base/beside.c - see beside.h.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/beside.h"

#define NAMES 100 /* that are tried */

/* The process in "BASE.PID.tmp" or "BASE.PID-N.tmp"; 0: it is another name. */
static long process_of(const char *name, const char *base)
{
    const size_t length = strlen(base);
    const char  *at     = name + length;
    char        *end;
    long         pid;

    if (strncmp(name, base, length) != 0 || *at != '.' || at[1] < '1' || at[1] > '9') {
        return 0;
    }
    errno = 0;
    pid   = strtol(at + 1, &end, 10);
    if (*end == '-') {
        end += 1 + strspn(end + 1, "0123456789");
    }
    return errno == 0 && pid == (long)(pid_t)pid && strcmp(end, ".tmp") == 0 ? pid : 0;
}

/* A file whose writer is not among the processes here, and holds no lock from elsewhere. */
static void remove_left(int folder, const char *name)
{
    const int   fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;

    if (fd >= 0) {
        if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)unlinkat(folder, name, 0);
        }
        close(fd);
    }
}

static void clean_up(const char *target)
{
    const char *slash = strrchr(target, '/');
    const char *base  = slash != NULL ? slash + 1 : target;
    char       *path  = slash != NULL ? strndup(target, (size_t)(slash + 1 - target)) : strdup(".");
    DIR        *folder = path != NULL ? opendir(path) : NULL;
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const long pid = process_of(entry->d_name, base);

        if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
            remove_left(dirfd(folder), entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    free(path);
}

int tw_beside_open(const char *target, char *name, size_t size)
{
    int fd = -1;

    for (int i = 0; i < NAMES && fd < 0; i++) {
        const int length = snprintf(name, size, "%s.%ld%s%.*d.tmp", target, (long)getpid(),
                                    i > 0 ? "-" : "", i > 0 ? 1 : 0, i);

        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) {
            return -1;
        }
    }
    if (fd >= 0) {
        (void)flock(fd, LOCK_EX | LOCK_NB); /* for those who cannot see this process */
        clean_up(target);
    }
    return fd;
}

FILE *tw_file_open(const char *path)
{
    const int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
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

const char *tw_file_error(int error)
{
    return error == ENXIO ? "nobody reads this pipe" : strerror(error);
}

/* The folder in which a file that is not there would be made, and its name in it. */
static const char *tw_folder_of(const char *path, struct stat *info)
{
    const char *slash  = strrchr(path, '/');
    char       *folder = slash != NULL ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    const bool  there  = folder != NULL && stat(folder, info) == 0;

    free(folder);
    return !there ? NULL : slash != NULL ? slash + 1 : path;
}

static bool tw_is_one(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool tw_file_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const bool  a_there = stat(a, &of_a) == 0, b_there = stat(b, &of_b) == 0;
    const char *a_name, *b_name;

    if (a_there || b_there) {
        return a_there && b_there && tw_is_one(&of_a, &of_b) && !S_ISCHR(of_a.st_mode);
    }
    a_name = tw_folder_of(a, &of_a);
    b_name = tw_folder_of(b, &of_b);
    return a_name == NULL || b_name == NULL
               ? strcmp(a, b) == 0
               : tw_is_one(&of_a, &of_b) && strcmp(a_name, b_name) == 0;
}
