/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/objects.c - handles and descriptors. Those that are gone are kept, so that
 * their addresses never come again and a use of one is seen.
 */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>

#include "tests/gpu/standin/core.h"

typedef struct standin_object {
    struct standin_object *next;
    const char            *kind;
    bool                   live;
    max_align_t            content[];
} standin_object_t;

static standin_object_t *objects;

void *standin_object_create(const char *kind, size_t bytes)
{
    standin_object_t *o = calloc(1, sizeof(*o) + bytes);

    o->kind = kind;
    o->live = true;
    o->next = objects;
    objects = o;
    standin_count(kind, 1);
    return o->content;
}

static standin_object_t *find(const char *kind, const void *p)
{
    for (standin_object_t *o = objects; o != NULL && p != NULL; o = o->next) {
        if (o->content == p && o->live && o->kind == kind) {
            return o;
        }
    }
    standin_found("%p is none of the %s", (void *)(uintptr_t)p, kind);
    return NULL;
}

bool standin_object_is(const char *kind, const void *p)
{
    return find(kind, p) != NULL;
}

bool standin_object_destroy(const char *kind, void *p)
{
    standin_object_t *o = find(kind, p);

    if (o == NULL) {
        return false;
    }
    o->live = false;
    standin_count(kind, -1);
    return true;
}
