/* SPDX-License-Identifier: BSD-3-Clause
 * command/beside.c - see beside.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "command/beside.h"

#define NAMES 100 /* that are tried */

int beside_open(const char *target, char *name, size_t size)
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
    return fd;
}
