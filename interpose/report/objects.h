/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/objects.h - the program and the shared libraries that are or were loaded, and in
 * which of them an address lies (tw_site_locate() in records.h).
 */
#ifndef TW_INTERPOSE_OBJECTS_H
#define TW_INTERPOSE_OBJECTS_H

#include "interpose/report/records.h"

typedef struct tw_object {
    char     name[sizeof(((tw_record_key_t *)0)->object)];
    char    *path;
    uint64_t base;   /* offset = address - base                        */
    bool     loaded; /* it still was when the objects were gone through */
} tw_object_t;

/* NULL where there is none of this name. */
tw_object_t *tw_object_find(const char *name);

/* Go through the objects that are loaded now. */
void tw_objects_note(void);

/* Has the file a symbol table beside the dynamic one? addr2line names functions from the dynamic
 * one too, but there it takes the symbol before the address, however far. */
bool tw_object_has_symbols(const char *path);

#endif /* TW_INTERPOSE_OBJECTS_H */
