/* SPDX-License-Identifier: BSD-3-Clause
 * base/file.c - see file.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/beside.h"
#include "runtime/base/file.h"

static bool tw_file_read_all(int fd, size_t most, char **text_p, size_t *length_p)
{
    struct stat about;
    size_t      used = 0, room;
    char       *text;

    if (fstat(fd, &about) != 0) {
        return false;
    }
    if (!S_ISREG(about.st_mode) || (size_t)about.st_size > most) {
        errno = S_ISREG(about.st_mode) ? EFBIG : EINVAL;
        return false;
    }
    room = (size_t)about.st_size;
    text = malloc(room + 1);
    while (text != NULL && used < room) {
        const ssize_t n = read(fd, text + used, room - used);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            room = n == 0 ? used : room;
            break;
        }
        used += (size_t)n;
    }
    if (text == NULL || used < room) {
        free(text);
        return false;
    }
    text[used] = '\0';
    *text_p    = text;
    *length_p  = used;
    return true;
}

bool tw_file_read(const char *path, size_t most, char **text_p, size_t *length_p)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool      well;
    int       error;

    if (fd < 0) {
        return false;
    }
    well  = tw_file_read_all(fd, most, text_p, length_p);
    error = errno;
    close(fd);
    errno = error;
    return well;
}

static bool tw_file_write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t n = write(fd, text, length);

        if (n < 0 && errno != EINTR) {
            return false;
        }
        text += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS;
}

/* Its name, to be freed, or NULL with errno. */
static char *tw_file_beside(const char *path, int *fd_p)
{
    const size_t room = strlen(path) + 48;
    char        *name = malloc(room);

    *fd_p = name != NULL ? tw_beside_open(path, name, room) : -1;
    if (name != NULL && *fd_p < 0) {
        const int error = errno;

        free(name);
        errno = error;
        return NULL;
    }
    return name;
}

bool tw_file_replace(const char *path, const char *text, size_t length)
{
    int   fd, error;
    char *name = tw_file_beside(path, &fd);
    bool  well;

    if (name == NULL) {
        return false;
    }
    well  = tw_file_write_all(fd, text, length);
    error = errno;
    if (close(fd) != 0 && well) {
        well  = false;
        error = errno;
    }
    if (well && rename(name, path) != 0) {
        well  = false;
        error = errno;
    }
    if (!well) {
        unlink(name);
    }
    free(name);
    errno = error;
    return well;
}

int tw_file_replaceable(const char *path)
{
    int   fd;
    char *name = tw_file_beside(path, &fd);

    if (name == NULL) {
        return errno;
    }
    close(fd);
    unlink(name);
    free(name);
    return 0;
}

/* A file where there is none, or where a link leads to none, and away again. */
static int tw_file_writable_new(const char *path, bool link)
{
    const int fd    = open(path, O_WRONLY | O_CREAT | (link ? 0 : O_EXCL) | O_CLOEXEC, 0666);
    char     *made  = link && fd >= 0 ? realpath(path, NULL) : NULL;
    int       error = 0;

    if (fd < 0) {
        return errno == EEXIST ? 0 : errno; /* made by another just now */
    }
    close(fd);
    if (unlink(made != NULL ? made : path) != 0) {
        error = errno;
    }
    free(made);
    return error;
}

int tw_file_writable(const char *path)
{
    struct stat about;
    int         fd;

    if (stat(path, &about) != 0) {
        return errno == ENOENT ? tw_file_writable_new(path, lstat(path, &about) == 0) : errno;
    }
    if (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode)) {
        return access(path, W_OK) != 0 ? errno : 0; /* opening it would wait for a reader */
    }
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return 0;
}

/* Who holds the lock, by what the system says of all locks; 0: unknown. */
static long tw_file_holder(int fd)
{
    FILE         *locks = fopen("/proc/locks", "r");
    struct stat   about;
    char          line[256];
    long          holder = 0;
    unsigned      major_of, minor_of;
    unsigned long inode;

    while (locks != NULL && fstat(fd, &about) == 0 && holder <= 0 &&
           fgets(line, sizeof(line), locks) != NULL) {
        if (sscanf(line, "%*d: FLOCK %*s %*s %ld %x:%x:%lu", &holder, &major_of, &minor_of,
                   &inode) != 4 ||
            makedev(major_of, minor_of) != about.st_dev || inode != (unsigned long)about.st_ino) {
            holder = 0;
        }
    }
    if (locks != NULL) {
        fclose(locks);
    }
    return holder;
}

int tw_file_lock_folder(const char *path, double limit_s, long *holder_p)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    const uint64_t        start = tw_clock_ns();
    const char           *slash = strrchr(path, '/');
    char *folder = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int   fd     = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    free(folder);
    *holder_p = 0;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) {
            continue;
        }
        if (errno != EWOULDBLOCK || (double)(tw_clock_ns() - start) > limit_s * 1e9) {
            const int error = errno;

            *holder_p = tw_file_holder(fd);
            close(fd);
            errno = error;
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return fd;
}

bool tw_file_folders(const char *path)
{
    char *copy = strdup(path);
    bool  well = copy != NULL;

    for (char *at = well ? copy + 1 : NULL; well && at != NULL && *at != '\0'; at++) {
        if (*at == '/') {
            *at  = '\0';
            well = mkdir(copy, 0777) == 0 || errno == EEXIST;
            *at  = '/';
        }
    }
    free(copy);
    return well;
}
