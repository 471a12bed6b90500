/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/objects.c - see objects.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/report/objects.h"

#define TW_OBJECTS 512
#define TW_PATH    1024

static struct {
    tw_object_t object[TW_OBJECTS];
    size_t      count;
} tw_objects;

/* The file of an object; that of the program itself has no name in the list of objects. */
static void tw_object_path(const struct dl_phdr_info *info, char *path, size_t size)
{
    ssize_t n;

    if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0') {
        snprintf(path, size, "%s", info->dlpi_name);
        return;
    }
    n = readlink("/proc/self/exe", path, size - 1);
    if (n > 0) {
        path[n] = '\0';
    } else {
        snprintf(path, size, "%s", program_invocation_name);
    }
}

tw_object_t *tw_object_find(const char *name)
{
    for (size_t i = 0; i < tw_objects.count; i++) {
        if (strcmp(tw_objects.object[i].name, name) == 0) {
            return &tw_objects.object[i];
        }
    }
    return NULL;
}

/* The name of a new object: that of its file; where another file has that already (modules of
 * Python packages do), with the folder's. */
static bool tw_object_name(const char *path, char *name, size_t size)
{
    const char *start = path + strlen(path);

    for (int parts = 0; parts < 2; parts++) {
        while (start > path && start[-1] == '/') {
            start--;
        }
        while (start > path && start[-1] != '/') {
            start--;
        }
        snprintf(name, size, "%.*s", (int)size - 1, start);
        if (tw_object_find(name) == NULL) {
            return true;
        }
    }
    return false;
}

static tw_object_t *tw_object_add(const char *path)
{
    tw_object_t *object = &tw_objects.object[tw_objects.count];

    if (tw_objects.count == TW_OBJECTS ||
        !tw_object_name(path, object->name, sizeof(object->name))) {
        return NULL;
    }
    object->path = strdup(path);
    if (object->path == NULL) {
        return NULL;
    }
    tw_objects.count++;
    return object;
}

/* Note an object, and where it is now. NULL where it cannot be told from others. */
static tw_object_t *tw_object_note(const struct dl_phdr_info *info)
{
    char         path[TW_PATH];
    tw_object_t *object = NULL;

    tw_object_path(info, path, sizeof(path));
    for (size_t i = 0; i < tw_objects.count && object == NULL; i++) {
        object = strcmp(tw_objects.object[i].path, path) == 0 ? &tw_objects.object[i] : NULL;
    }
    if (object == NULL) {
        object = tw_object_add(path);
    }
    if (object != NULL) {
        object->base   = info->dlpi_addr;
        object->loaded = true;
    }
    return object;
}

static int tw_object_note_any(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    tw_object_note(info);
    return 0;
}

/* In the order in which they were loaded, so that names come out alike on all ranks. */
void tw_objects_note(void)
{
    for (size_t i = 0; i < tw_objects.count; i++) {
        tw_objects.object[i].loaded = false;
    }
    dl_iterate_phdr(tw_object_note_any, NULL);
}

typedef struct tw_site_where {
    uint64_t address;
    char    *object;
    size_t   size;
    uint64_t offset;
} tw_site_where_t;

/* Is the address in a segment of this object? Then the search is over. */
static int tw_object_holds(struct dl_phdr_info *info, size_t size, void *arg)
{
    tw_site_where_t *where = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type == PT_LOAD && where->address >= start &&
            where->address - start < info->dlpi_phdr[i].p_memsz) {
            const tw_object_t *object = tw_object_note(info);

            snprintf(where->object, where->size, "%s", object != NULL ? object->name : "(unknown)");
            where->offset = where->address + 1 - info->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

void tw_site_locate(uint64_t address, char *object, size_t object_size, uint64_t *offset_p)
{
    tw_site_where_t where = {.address = address - 1, .object = object, .size = object_size};

    if (tw_objects.count == 0) {
        tw_objects_note();
    }
    object[0] = '\0';
    dl_iterate_phdr(tw_object_holds, &where);
    *offset_p = where.offset;
}

bool tw_object_has_symbols(const char *path)
{
    ElfW(Ehdr) head;
    ElfW(Shdr) section;
    const int file  = open(path, O_RDONLY | O_CLOEXEC);
    bool      found = false;

    if (file < 0) {
        return false;
    }
    if (pread(file, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_shentsize == sizeof(section)) {
        for (unsigned i = 0; i < head.e_shnum && !found; i++) {
            found =
                pread(file, &section, sizeof(section),
                      (off_t)(head.e_shoff + i * sizeof(section))) == (ssize_t)sizeof(section) &&
                section.sh_type == SHT_SYMTAB;
        }
    }
    close(file);
    return found;
}
