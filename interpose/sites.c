/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/sites.c - where in the program a call stands.
 *
 * An address becomes (object, offset) where it was taken, as ranks load their objects at different
 * addresses. Rank 0 turns that into a name: it knows the paths of its own objects, and the others'
 * are the same files in all but odd cases; of an object that it has not loaded there is only the
 * offset. A return address is one past the call, so the line is asked for the byte before it.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/addr2line.h"
#include "interpose/names.h"
#include "interpose/records.h"
#include "runtime/base/clock.h"

#define TW_OBJECTS     512
#define TW_PATH        1024
#define TW_RUN_NS      UINT64_C(2000000000)
#define TW_ALL_RUNS_NS UINT64_C(4000000000)

/* An object that has been loaded at some time. */
typedef struct tw_object {
    char     name[sizeof(((tw_record_key_t *)0)->object)];
    char    *path;
    uint64_t base;   /* offset = address - base                        */
    bool     loaded; /* it still was when the objects were gone through */
} tw_object_t;

/* A site that has been asked for. */
typedef struct tw_site {
    char     object[sizeof(((tw_record_key_t *)0)->object)];
    uint64_t offset;
    bool     asked;
    char     text[192];
} tw_site_t;

static struct {
    tw_object_t objects[TW_OBJECTS];
    size_t      object_count;
    tw_site_t  *sites; /* sorted */
    size_t      site_count;
    uint64_t    spent_ns;
    bool        mute; /* there is no addr2line */
} tw_known;

/* ---- objects ------------------------------------------------------------------------------- */

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

static tw_object_t *tw_object_find(const char *name)
{
    for (size_t i = 0; i < tw_known.object_count; i++) {
        if (strcmp(tw_known.objects[i].name, name) == 0) {
            return &tw_known.objects[i];
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
    tw_object_t *object = &tw_known.objects[tw_known.object_count];

    if (tw_known.object_count == TW_OBJECTS ||
        !tw_object_name(path, object->name, sizeof(object->name))) {
        return NULL;
    }
    object->path = strdup(path);
    if (object->path == NULL) {
        return NULL;
    }
    tw_known.object_count++;
    return object;
}

/* Note an object, and where it is now. NULL where it cannot be told from others. */
static tw_object_t *tw_object_note(const struct dl_phdr_info *info)
{
    char         path[TW_PATH];
    tw_object_t *object = NULL;

    tw_object_path(info, path, sizeof(path));
    for (size_t i = 0; i < tw_known.object_count && object == NULL; i++) {
        object = strcmp(tw_known.objects[i].path, path) == 0 ? &tw_known.objects[i] : NULL;
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
static void tw_objects_note(void)
{
    for (size_t i = 0; i < tw_known.object_count; i++) {
        tw_known.objects[i].loaded = false;
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

    if (tw_known.object_count == 0) {
        tw_objects_note();
    }
    object[0] = '\0';
    dl_iterate_phdr(tw_object_holds, &where);
    *offset_p = where.offset;
}

/* ---- names --------------------------------------------------------------------------------- */

/* From what the dynamic linker knows. */
static void tw_site_symbol(const tw_object_t *object, tw_site_t *site)
{
    const uint64_t address = object != NULL ? object->base + site->offset : 0;
    Dl_info        info;
    char           name[96];

    if (strstr(site->object, " at ") != NULL) { /* of Python */
        snprintf(site->text, sizeof(site->text), "%s:%llu", site->object,
                 (unsigned long long)site->offset);
    } else if (object != NULL && object->loaded &&
               dladdr((void *)(uintptr_t)(address - 1), &info) != 0 && info.dli_sname != NULL &&
               info.dli_saddr != NULL) {
        tw_function_name(info.dli_sname, name, sizeof(name));
        snprintf(site->text, sizeof(site->text), "%s+0x%llx in %s", name,
                 (unsigned long long)(address - (uint64_t)(uintptr_t)info.dli_saddr), object->name);
    } else if (site->object[0] == '\0') {
        snprintf(site->text, sizeof(site->text), "(generated code)");
    } else if (site->offset == 0) { /* counted together */
        snprintf(site->text, sizeof(site->text), "%s", site->object);
    } else {
        snprintf(site->text, sizeof(site->text), "%s+0x%llx", site->object,
                 (unsigned long long)site->offset);
    }
}

/* Has the file a symbol table beside the dynamic one? addr2line names functions from the dynamic
 * one too, but there it takes the symbol before the address, however far. */
static bool tw_object_has_symbols(const char *path)
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

/* From what addr2line has answered; an address without a line is given by the dynamic symbol, which
 * has the offset in the function, if it has one. */
static void tw_site_answer(const tw_object_t *object, const tw_answer_t *answer, bool symbols,
                           tw_site_t *site)
{
    char name[96];

    tw_function_name(answer->function, name, sizeof(name));
    if (answer->function[0] != '\0' && answer->place[0] != '\0') {
        snprintf(site->text, sizeof(site->text), "%s at %.90s", name, answer->place);
        return;
    }
    tw_site_symbol(object, site);
    if (symbols && answer->function[0] != '\0' && strstr(site->text, " in ") == NULL) {
        snprintf(site->text, sizeof(site->text), "%s in %s", name, site->object);
    }
}

/* The sites of one object, which follow each other. */
static void tw_sites_ask(tw_site_t *sites, size_t count)
{
    tw_object_t   *object    = tw_object_find(sites[0].object);
    tw_answer_t   *answers   = calloc(count, sizeof(*answers));
    uint64_t      *addresses = malloc(count * sizeof(*addresses));
    const uint64_t start     = tw_clock_ns();
    const uint64_t left =
        tw_known.spent_ns < TW_ALL_RUNS_NS ? TW_ALL_RUNS_NS - tw_known.spent_ns : 0;
    int  answered = 0;
    bool symbols  = false;

    if (object != NULL && !tw_known.mute && left > 0 && answers != NULL && addresses != NULL) {
        for (size_t i = 0; i < count; i++) {
            addresses[i] = sites[i].offset - 1;
        }
        answered      = tw_addr2line(object->path, addresses, count, answers,
                                left < TW_RUN_NS ? left : TW_RUN_NS);
        tw_known.mute = answered < 0;
        symbols       = tw_object_has_symbols(object->path);
        tw_known.spent_ns += tw_clock_ns() - start;
    }
    for (size_t i = 0; i < count; i++) {
        if ((int)i < answered) {
            tw_site_answer(object, &answers[i], symbols, &sites[i]);
        } else {
            tw_site_symbol(object, &sites[i]);
        }
        sites[i].asked = true;
    }
    free(answers);
    free(addresses);
}

static int tw_site_compare(const void *a, const void *b)
{
    const tw_site_t *x = a, *y = b;
    const int        order = strcmp(x->object, y->object);

    return order != 0 ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static void tw_site_set(tw_site_t *site, const char *object, uint64_t offset)
{
    memset(site, 0, sizeof(*site));
    snprintf(site->object, sizeof(site->object), "%.*s", (int)sizeof(site->object) - 1, object);
    site->offset = offset;
}

static tw_site_t *tw_site_find(const char *object, uint64_t offset)
{
    tw_site_t key;

    tw_site_set(&key, object, offset);
    return tw_known.site_count == 0
               ? NULL
               : bsearch(&key, tw_known.sites, tw_known.site_count, sizeof(key), tw_site_compare);
}

/* Sort the sites, each once, and ask for those that are new, object by object. */
static void tw_sites_settle(size_t count)
{
    tw_site_t *sites = tw_known.sites;
    size_t     n     = 0;

    qsort(sites, count, sizeof(*sites), tw_site_compare);
    for (size_t i = 0; i < count; i++) {
        if (n == 0 || tw_site_compare(&sites[n - 1], &sites[i]) != 0) {
            sites[n++] = sites[i];
        }
    }
    tw_known.site_count = n;
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if (sites[i].asked) {
            continue;
        }
        while (end < n && !sites[end].asked && strcmp(sites[end].object, sites[i].object) == 0) {
            end++;
        }
        tw_sites_ask(&sites[i], end - i);
    }
}

void tw_site_prepare(const tw_record_t *records, size_t count)
{
    size_t     n = tw_known.site_count;
    tw_site_t *larger;

    tw_objects_note();
    larger = realloc(tw_known.sites, (n + count + 1) * sizeof(*larger));
    if (larger == NULL) {
        return;
    }
    tw_known.sites = larger;
    for (size_t i = 0; i < count; i++) {
        if (tw_site_find(records[i].key.object, records[i].key.offset) == NULL) {
            tw_site_set(&larger[n++], records[i].key.object, records[i].key.offset);
        }
    }
    tw_sites_settle(n);
}

void tw_site_name(const char *object, uint64_t offset, char *text, size_t size)
{
    const tw_site_t *site = tw_site_find(object, offset);
    tw_record_t      record;

    if (site == NULL) {
        memset(&record, 0, sizeof(record));
        snprintf(record.key.object, sizeof(record.key.object), "%s", object);
        record.key.offset = offset;
        tw_site_prepare(&record, 1);
        site = tw_site_find(object, offset);
    }
    if (site != NULL) {
        snprintf(text, size, "%s", site->text);
    } else {
        snprintf(text, size, "%s+0x%llx", object, (unsigned long long)offset);
    }
}
