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
