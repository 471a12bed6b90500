/* SPDX-License-Identifier: BSD-3-Clause
 * topology/visible.c - CUDA_VISIBLE_DEVICES: which GPUs a program sees, and by which numbers.
 *
 * As CUDA reads it: a list of numbers and of UUIDs (or the beginning of one that fits a single
 * GPU); the GPUs are counted in the order of the list; an entry that is none ends the list (-1 is
 * the usual way to say so); a GPU named twice leaves none. CUDA says nothing about a bad entry, so
 * a line is logged here. GPUs that this process may not open (a container has others, a device
 * cgroup forbids them) CUDA does not count at all, though PCI shows them; nor does it count AMD's.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "runtime/topology/near.h"
#include "runtime/topology/node.h"

#define TW_VISIBLE_ENTRY 96
#define TW_VISIBLE_PATH  4096

/* The UUID that NVIDIA's driver shows for a GPU of this machine, where hwloc found none. */
static void tw_uuid_from_driver(tw_gpu_facts_t *gpu, const char *bus)
{
    char  path[96], line[256];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%.20s/information", bus);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "GPU UUID:", 9) == 0) {
            line[strcspn(line, "\n")] = '\0';
            tw_node_text(gpu->uuid, sizeof(gpu->uuid), line + 9 + strspn(line + 9, " \t"));
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* The number of a GPU's file /dev/nvidiaN, as the driver tells; -1: it does not show this GPU. */
static int tw_minor_from_driver(const char *root, const char *bus)
{
    char  path[TW_VISIBLE_PATH], line[256];
    int   minor = -1;
    FILE *file;

    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%.20s/information", root, bus);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "Device Minor:", 13) == 0) {
            minor = atoi(line + 13);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return minor;
}

/* AMD's stand last. */
static int tw_visible_cuda(const tw_node_t *node, int gpu)
{
    return node->parts[node->gpus[gpu].part].cuda;
}

static int tw_visible_known(const tw_node_t *node)
{
    int n = 0;

    while (n < node->count[TW_PART_GPU] && tw_visible_cuda(node, n)) {
        n++;
    }
    return n;
}

void tw_visible_bar(tw_node_t *node, const char *root)
{
    char path[TW_VISIBLE_PATH];
    int  barred = 0;

    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
    if (access(path, F_OK) != 0) { /* no driver, or one that does not tell */
        return;
    }
    for (int i = 0; i < node->count[TW_PART_GPU] && tw_visible_cuda(node, i); i++) {
        const int minor = tw_minor_from_driver(root, node->parts[node->gpus[i].part].bus);
        int       file  = -1;

        snprintf(path, sizeof(path), "%s/dev/nvidia%d", root, minor);
        errno = ENOENT;
        if (minor >= 0) { /* a cgroup shows only when the file is opened, as CUDA does it */
            file = open(path, O_RDWR | O_CLOEXEC);
        }
        node->gpus[i].barred = file < 0 && (errno == ENOENT || errno == EPERM || errno == EACCES);
        barred += node->gpus[i].barred;
        if (file >= 0) {
            close(file);
        }
    }
    if (barred > 0) {
        TW_INFO(&node->log, "%d of %d GPUs are not for this process, and CUDA does not count them",
                barred, tw_visible_known(node));
    }
}

/* How many GPUs CUDA counts before it reads its variable; the v-th of them, -1 if there are fewer.
 */
static int tw_gpus_open(const tw_node_t *node)
{
    int n = 0;

    for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
        n += !node->gpus[i].barred;
    }
    return n;
}

static int tw_gpu_by_number(const tw_node_t *node, long v)
{
    for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
        if (!node->gpus[i].barred && v-- == 0) {
            return i;
        }
    }
    return -1;
}

/* The GPU that a UUID, or the beginning of one, names. -1: none; -2: several. */
static int tw_gpu_by_uuid(const tw_node_t *node, const char *entry)
{
    int found = -1;

    for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
        if (!node->gpus[i].barred && strncasecmp(node->gpus[i].uuid, entry, strlen(entry)) == 0) {
            found = found == -1 ? i : -2;
        }
    }
    return found;
}

static int tw_uuids_known(const tw_node_t *node)
{
    for (int i = 0; i < tw_visible_known(node); i++) {
        if (node->gpus[i].uuid[0] != '\0') {
            return 1;
        }
    }
    return 0;
}

/* One entry to the index of a GPU, or -1 with a log line that says why not. */
static int tw_visible_entry(const tw_node_t *node, const char *entry)
{
    static const char what[] = "CUDA_VISIBLE_DEVICES";
    const int         n      = tw_gpus_open(node);
    char              uuid[TW_VISIBLE_ENTRY];
    int               gpu = -1;

    if (isdigit((unsigned char)entry[0])) {
        char      *end;
        const long v = strtol(entry, &end, 10);

        if (*end == '\0' && v >= 0 && v < n) {
            return tw_gpu_by_number(node, v);
        }
        TW_WARN(&node->log,
                "%s: no GPU '%s', and what follows is hidden too; accepted: 0 to %d or UUIDs", what,
                entry, n - 1);
        return -1;
    }
    if (strncmp(entry, "MIG-", 4) == 0) {
        /* "MIG-GPU-uuid/instance/instance" of older drivers says which GPU it is of. */
        snprintf(uuid, sizeof(uuid), "%.*s", (int)strcspn(entry + 4, "/"), entry + 4);
        gpu = strncmp(uuid, "GPU-", 4) == 0 && uuid[4] != '\0' ? tw_gpu_by_uuid(node, uuid) : -1;
        if (gpu < 0) {
            TW_WARN(
                &node->log,
                "%s: '%s' is a part of a GPU (MIG), whose place is known to CUDA only; the GPUs "
                "are taken as hidden",
                what, entry);
        }
        return gpu;
    }
    if (strncmp(entry, "GPU-", 4) == 0 && entry[4] != '\0') {
        gpu = tw_gpu_by_uuid(node, entry);
    }
    if (gpu < 0) {
        TW_WARN(
            &node->log, "%s: '%s' %s; it and what follows is hidden; accepted: 0 to %d or UUIDs",
            what, entry,
            gpu == -2                                  ? "fits several GPUs"
            : entry[0] == 'G' && !tw_uuids_known(node) ? "cannot be found: UUIDs are not known here"
                                                       : "names no GPU",
            n - 1);
        return -1;
    }
    return gpu;
}

/* The next entry, without the blanks around it; 0 at the end. A longer one is cut, and names no
 * GPU. */
static int tw_next_entry(const char **text, char *entry)
{
    const char *from = *text;
    size_t      length;

    if (from == NULL) {
        return 0;
    }
    *text  = strchr(from, ',');
    length = *text != NULL ? (size_t)(*text - from) : strlen(from);
    *text  = *text != NULL ? *text + 1 : NULL;
    while (length > 0 && isspace((unsigned char)*from)) {
        from++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)from[length - 1])) {
        length--;
    }
    length = length < TW_VISIBLE_ENTRY ? length : TW_VISIBLE_ENTRY - 1;
    for (size_t i = 0; i < length; i++) {
        entry[i] = from[i];
        entry[i] = isprint((unsigned char)entry[i]) ? entry[i] : '?';
    }
    entry[length] = '\0';
    return 1;
}

int tw_visible_list(const tw_node_t *node, const char *visible, int *list)
{
    const char *rest = visible;
    char        entry[TW_VISIBLE_ENTRY];
    int         n = 0;

    if (visible == NULL) {
        for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
            if (!node->gpus[i].barred) {
                list[n++] = i;
            }
        }
        return n;
    }
    while (visible[0] != '\0' && tw_gpus_open(node) > 0 && tw_next_entry(&rest, entry) &&
           strcmp(entry, "-1") != 0 && strcmp(entry, "NoDevFiles") != 0) {
        const int gpu = tw_visible_entry(node, entry);

        if (gpu < 0) {
            break;
        }
        for (int i = 0; i < n; i++) {
            if (list[i] == gpu) {
                TW_WARN(&node->log,
                        "CUDA_VISIBLE_DEVICES: GPU %d stands there twice, so CUDA sees no GPU",
                        gpu);
                return 0;
            }
        }
        list[n++] = gpu;
        if (strncmp(entry, "MIG-", 4) == 0) { /* CUDA shows no more than one of them */
            break;
        }
    }
    return n;
}

const char *tw_visible_part(const char *visible, int *length_p)
{
    const char *part = visible != NULL ? visible + strspn(visible, " \t") : "";

    *length_p = strncmp(part, "MIG-", 4) == 0 ? (int)strcspn(part, ", \t") : 0;
    return part;
}

tw_status_t tw_visible_devices(const tw_node_t *node, const char *visible, char *text, size_t size)
{
    const int n    = node->count[TW_PART_GPU];
    int      *list = calloc(n > 0 ? (size_t)n : 1, sizeof(*list));
    size_t    used = 0;

    if (list == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    text[0] = '\0';
    for (int i = 0, shown = tw_visible_list(node, visible, list); i < shown; i++) {
        const char *bus = node->parts[node->gpus[list[i]].part].bus;
        int         mig;
        const char *part = tw_visible_part(visible, &mig);

        if (used + strlen(bus) + (size_t)mig + 3 > size) {
            break;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%.*s", i > 0 ? "," : "", bus,
                                 mig > 0 ? "/" : "", mig, part);
    }
    free(list);
    return TW_OK;
}

tw_status_t tw_visible_apply(tw_node_t *node, const char *visible)
{
    const int n    = node->count[TW_PART_GPU];
    int      *list = calloc(n > 0 ? (size_t)n : 1, sizeof(*list));
    int       shown;

    if (list == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    for (int i = 0; i < n; i++) {
        if (node->live && node->gpus[i].uuid[0] == '\0') {
            tw_uuid_from_driver(&node->gpus[i], node->parts[node->gpus[i].part].bus);
        }
    }
    if (node->live) {
        tw_visible_bar(node, "");
    }
    shown = tw_visible_list(node, visible, list);
    for (int i = 0; i < shown; i++) {
        node->parts[node->gpus[list[i]].part].device = i;
    }
    free(list);
    return TW_OK;
}
