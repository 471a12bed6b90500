/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/sites.c - names of the places in the program where calls stand.
 *
 * An address becomes (object, offset) where it was taken (objects.c), as ranks load their objects
 * at different addresses. Rank 0 turns that into a name: it knows the paths of its own objects, and
 * the others' are the same files in all but odd cases; of an object that it has not loaded there is
 * only the offset. A return address is one past the call, so the line is asked for the byte before
 * it.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/report/addr2line.h"
#include "interpose/report/names.h"
#include "interpose/report/objects.h"
#include "interpose/report/records.h"
#include "runtime/base/clock.h"

#define TW_RUN_NS      UINT64_C(2000000000)
#define TW_ALL_RUNS_NS UINT64_C(4000000000)

/* A site that has been asked for. */
typedef struct tw_site {
    char     object[sizeof(((tw_record_key_t *)0)->object)];
    uint64_t offset;
    bool     asked;
    char     text[192];
} tw_site_t;

static struct {
    tw_site_t *sites; /* sorted */
    size_t     site_count;
    uint64_t   spent_ns;
    bool       mute; /* there is no addr2line */
} tw_known;

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
