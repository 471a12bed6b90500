/* SPDX-License-Identifier: BSD-3-Clause
 * command/file.c - see file.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/file.h"
#include "runtime/base/beside.h"

static int cannot(const char *what, const char *path, int error, tw_problem_t *problem)
{
    return tw_problem_set(problem, "%s %s: cannot be written: %s", what, path,
                          tw_file_error(error));
}

/* A link to a file is followed, not replaced. */
static const char *target_of(const tw_file_t *file)
{
    return file->target != NULL ? file->target : file->path;
}

int tw_file_begin(tw_file_t *file, const char *what, const char *path, tw_problem_t *problem)
{
    struct stat info;
    int         fd;

    *file = (tw_file_t){.path = path, .target = realpath(path, NULL)};
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            free(file->target);
            return cannot(what, path, EISDIR, problem);
        }
        file->special = !S_ISREG(info.st_mode);
    }
    if (file->special) {
        file->stream = tw_file_open(path);
    } else {
        fd           = tw_beside_open(target_of(file), file->beside, sizeof(file->beside));
        file->stream = fd < 0 ? NULL : fdopen(fd, "w+b");
        if (file->stream == NULL && fd >= 0) {
            close(fd);
            unlink(file->beside);
        }
    }
    if (file->stream == NULL) {
        const int error = errno;

        free(file->target);
        return cannot(what, path, error, problem);
    }
    return 0;
}

int tw_file_end(tw_file_t *file, const char *what, tw_problem_t *problem)
{
    int error = 0;

    if (fflush(file->stream) != 0 || ferror(file->stream) ||
        (!file->special && fsync(fileno(file->stream)) != 0)) {
        error = errno != 0 ? errno : EIO;
    }
    if (fclose(file->stream) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0 && !file->special && rename(file->beside, target_of(file)) != 0) {
        error = errno;
    }
    if (error != 0 && !file->special) {
        unlink(file->beside);
    }
    free(file->target);
    return error == 0 ? 0 : cannot(what, file->path, error, problem);
}

void tw_file_drop(tw_file_t *file)
{
    fclose(file->stream);
    if (!file->special) {
        unlink(file->beside);
    }
    free(file->target);
}

/* See whether a device or a pipe can be written to: write white space, which changes nothing in
 * front of a JSON object. A pipe stays open until the process ends, or its reader would take that
 * for all. Returns 0, or errno. */
static int try_special(const char *path)
{
    FILE       *file = tw_file_open(path);
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

int tw_file_try(const char *what, const char *path, tw_problem_t *problem)
{
    tw_file_t   file;
    struct stat info;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        const int error = try_special(path);

        return error == 0 ? 0 : cannot(what, path, error, problem);
    }
    if (tw_file_begin(&file, what, path, problem) != 0) {
        return -1;
    }
    tw_file_drop(&file);
    return 0;
}
