/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/script.c - see script.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "scaling/script.h"

/* Differs where the structs do. */
#define MARK                                                                                       \
    (UINT64_C(0x7477736372697074) ^                                                                \
     (sizeof(script_t) | sizeof(item_t) << 16 | (uint64_t)sizeof(script_exchange_t) << 32))

uint64_t script_rounds(int depth)
{
    return depth == 0 ? 12 : depth == 1 ? 6 : 4;
}

int script_write(const script_t *script, FILE *file)
{
    script_t head = *script;

    head.mark     = MARK;
    head.item     = NULL;
    head.exchange = NULL;
    return fwrite(&head, sizeof(head), 1, file) == 1 &&
                   fwrite(script->item, sizeof(*script->item), script->items, file) ==
                       script->items &&
                   fwrite(script->exchange, sizeof(*script->exchange), script->exchanges, file) ==
                       script->exchanges &&
                   fwrite(&head.mark, sizeof(head.mark), 1, file) == 1 && fflush(file) == 0
               ? 0
               : -1;
}

int script_read(script_t *script, FILE *file)
{
    uint64_t end = 0;

    if (fread(script, sizeof(*script), 1, file) != 1 || script->mark != MARK) {
        return -1;
    }
    script->item     = calloc(script->items + 1, sizeof(*script->item));
    script->exchange = calloc(script->exchanges + 1, sizeof(*script->exchange));
    if (script->item != NULL && script->exchange != NULL &&
        fread(script->item, sizeof(*script->item), script->items, file) == script->items &&
        fread(script->exchange, sizeof(*script->exchange), script->exchanges, file) ==
            script->exchanges &&
        fread(&end, sizeof(end), 1, file) == 1 && end == MARK) {
        return 0;
    }
    free(script->item);
    free(script->exchange);
    return -1;
}
