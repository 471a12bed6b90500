/* SPDX-License-Identifier: BSD-3-Clause
 * base/file.c - see file.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool tw_file_replace(const char *path, const char *text, size_t length)
{
    const size_t room = strlen(path) + 32;
    char        *name = malloc(room);
    bool         well;
    int          fd, error;

    if (name == NULL) {
        return false;
    }
    snprintf(name, room, "%s.%ld.tmp", path, (long)getpid());
    fd    = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    well  = fd >= 0 && tw_file_write_all(fd, text, length);
    error = errno;
    if (fd >= 0 && close(fd) != 0 && well) {
        well  = false;
        error = errno;
    }
    if (well && rename(name, path) != 0) {
        well  = false;
        error = errno;
    }
    if (!well && fd >= 0) {
        unlink(name);
    }
    free(name);
    errno = error;
    return well;
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
