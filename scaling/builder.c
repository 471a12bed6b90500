/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/builder.c - see builder.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "scaling/builder.h"

int builder_grow(void **list, size_t n, size_t *room, size_t size)
{
    const size_t more = *room < 16 ? 16 : 2 * *room;
    void        *larger;

    if (n < *room) {
        return 0;
    }
    larger = realloc(*list, more * size);
    if (larger == NULL) {
        return -1;
    }
    *list = larger;
    *room = more;
    return 0;
}

static void put_item(builder_t *b, item_t item)
{
    workload_t *work = b->work;

    b->failed = b->failed ||
                builder_grow((void **)&work->item, work->items, &b->item_room, sizeof(item)) != 0;
    if (!b->failed) {
        work->item[work->items++] = item;
    }
}

void builder_time(builder_t *b, double seconds)
{
    put_item(b, (item_t){.kind = ITEM_FIXED, .seconds = seconds});
}

void builder_start(builder_t *b, size_t exchange)
{
    put_item(b, (item_t){.kind = ITEM_START, .exchange = exchange});
}

void builder_wait(builder_t *b, size_t exchange)
{
    put_item(b, (item_t){.kind = ITEM_WAIT, .exchange = exchange});
}

size_t builder_open(builder_t *b, double times)
{
    put_item(b, (item_t){.kind = ITEM_REPEAT, .times = (uint64_t)times});
    return b->work->items - 1;
}

void builder_close(builder_t *b, size_t begin)
{
    if (!b->failed) {
        b->work->item[begin].end = b->work->items;
    }
    put_item(b, (item_t){.kind = ITEM_END});
}

size_t builder_exchange(builder_t *b, tw_operation_t operation, double count, const char *class,
                        const char *name)
{
    workload_t *work = b->work;
    exchange_t *x;

    b->failed = b->failed || builder_grow((void **)&work->exchange, work->exchanges,
                                          &b->exchange_room, sizeof(*x)) != 0;
    if (b->failed) {
        return 0;
    }
    x  = &work->exchange[work->exchanges];
    *x = (exchange_t){
        .operation = operation, .count = count, .plain = class[0] == '\0', .part = 1.0, .usual = 1};
    snprintf(x->class, sizeof(x->class), "%s", class);
    snprintf(x->name, sizeof(x->name), "%.40s %zu", name, work->exchanges);
    return work->exchanges++;
}

void builder_call(builder_t *b, size_t number)
{
    builder_start(b, number);
    builder_wait(b, number);
}
