/* SPDX-License-Identifier: BSD-3-Clause
 * command/beside.c - see beside.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "command/beside.h"
#include "runtime/base/beside.h"

int beside_try_special(const char *path)
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
