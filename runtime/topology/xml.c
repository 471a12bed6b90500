/* SPDX-License-Identifier: BSD-3-Clause
 * topology/xml.c - a file that claims to be a topology.
 *
 * hwloc refuses a bad one without saying why, so the file is looked at here first: what it is, how
 * large, and which version of the format it names. And hwloc (2.9) takes a well-formed file at its
 * word: some that are damaged make it crash or complain in a box of its own on stderr. So a child
 * process loads the file first; only what it could load in silence is loaded here.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/topology/node.h"

#define TW_XML_MAX ((size_t)16 << 20) /* the largest machines known make some MB */

#define TW_XML_SECONDS 60 /* of a child that makes no end */

#define TW_XML_ACCEPTED "accepted: XML of hwloc, format 2, as `lstopo machine.xml` writes it"

/* All of a file with a NUL at its end; TW_OK or an error that was logged. */
static tw_status_t tw_xml_read(const tw_log_t *log, const char *path, char **text_p, size_t *size_p)
{
    FILE  *file = fopen(path, "rb");
    char  *text = NULL;
    size_t size = 0, room = 0;
    int    ended = 0;

    while (file != NULL && !ended && size <= TW_XML_MAX) {
        if (size + 1 >= room) {
            char *more = realloc(text, room = room > 0 ? 2 * room : 65536);

            if (more == NULL) {
                free(text);
                fclose(file);
                return TW_ERR_NO_MEMORY;
            }
            text = more;
        }
        errno = 0;
        size += fread(text + size, 1, room - size - 1, file);
        ended = feof(file) || ferror(file);
    }
    if (file == NULL || ferror(file)) {
        TW_ERROR(log, "%s: cannot be read: %s", path, strerror(errno));
        free(text);
        if (file != NULL) {
            fclose(file);
        }
        return TW_ERR_IO;
    }
    fclose(file);
    if (size > TW_XML_MAX) {
        TW_ERROR(log, "%s: larger than %zu MiB, which no topology is; " TW_XML_ACCEPTED, path,
                 TW_XML_MAX >> 20);
        free(text);
        return TW_ERR_FORMAT;
    }
    text[size] = '\0';
    *text_p    = text;
    *size_p    = size;
    return TW_OK;
}

/* XML begins with a bracket, after a byte order mark and blanks perhaps. */
static int tw_xml_begins(const char *text)
{
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    return text[strspn(text, " \t\r\n")] == '<';
}

/* Look at <topology version="...">. Format 1 has no version, and hwloc 2 still reads it. */
static tw_status_t tw_xml_check(const tw_log_t *log, const char *path, const char *text,
                                size_t size)
{
    const char *open = strstr(text, "<topology");
    const char *end  = open != NULL ? strchr(open, '>') : NULL;
    const char *version;

    if (strlen(text) != size || !tw_xml_begins(text) || end == NULL ||
        strchr(" \t\r\n>", open[9]) == NULL) {
        TW_ERROR(log, "%s: no topology; " TW_XML_ACCEPTED, path);
        return TW_ERR_FORMAT;
    }
    version = strstr(open, "version=\"");
#if HWLOC_API_VERSION < 0x00030000
    if (version != NULL && version < end && strtol(version + 9, NULL, 10) > 2) {
        TW_ERROR(log,
                 "%s: hwloc's XML format %.*s, which hwloc %d cannot read; "
                 "accepted: format 2, as `lstopo --export-xml-flags v2 machine.xml` of hwloc 3 or "
                 "any lstopo 2 writes it",
                 path, (int)strcspn(version + 9, "\"") > 8 ? 8 : (int)strcspn(version + 9, "\""),
                 version + 9, HWLOC_API_VERSION >> 16);
        return TW_ERR_UNSUPPORTED;
    }
#else
    (void)version;
#endif
    return TW_OK;
}

/* What the child does: stderr is the pipe, and "+" is all that stands in it if the file is good. */
static _Noreturn void tw_xml_child(const char *text, size_t size, int out)
{
    hwloc_topology_t topology;

    dup2(out, STDERR_FILENO);
    alarm(TW_XML_SECONDS);
    if (hwloc_topology_init(&topology) == 0 && tw_hwloc_configure(topology) == 0 &&
        hwloc_topology_set_xmlbuffer(topology, text, (int)size + 1) == 0 &&
        hwloc_topology_load(topology) == 0) {
        _exit(write(STDERR_FILENO, "+", 1) != 1);
    }
    _exit(1);
}

/* Whether hwloc loads the text in silence: 1, 0, or -1 with errno where no child could be made. */
static int tw_xml_try(const char *text, size_t size)
{
    char    said[2] = "";
    size_t  length  = 0;
    ssize_t n;
    int     ends[2];
    pid_t   child;

    if (pipe(ends) != 0) {
        return -1;
    }
    child = fork();
    if (child == 0) {
        tw_xml_child(text, size, ends[1]);
    }
    close(ends[1]);
    while (child > 0) {
        char rest[512];

        n = read(ends[0], rest, sizeof(rest));
        if (n > 0) {
            said[0] = rest[0];
            length += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            break;
        }
    }
    close(ends[0]);
    /* The program may have a handler that has waited already: what was said decides. */
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return child < 0 ? -1 : length == 1 && said[0] == '+';
}

tw_status_t tw_xml_load(const tw_log_t *log, const char *path, hwloc_topology_t topology)
{
    char       *text = NULL;
    size_t      size = 0;
    tw_status_t status;
    int         good;

    status = tw_xml_read(log, path, &text, &size);
    if (status == TW_OK) {
        status = tw_xml_check(log, path, text, size);
    }
    if (status == TW_OK) {
        good = tw_xml_try(text, size);
        if (good < 0) {
            TW_ERROR(log, "%s: no child process to read it: %s", path, strerror(errno));
            status = TW_ERR_IO;
        } else if (!good || hwloc_topology_set_xmlbuffer(topology, text, (int)size + 1) != 0 ||
                   hwloc_topology_load(topology) != 0) { /* the size is with the NUL */
            TW_ERROR(log, "%s: a damaged or incomplete topology; " TW_XML_ACCEPTED, path);
            status = TW_ERR_FORMAT;
        }
    }
    free(text);
    return status;
}
