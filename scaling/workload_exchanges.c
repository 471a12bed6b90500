/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/workload_exchanges.c - the lists of a job's items and exchanges, and reading an exchange.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/model.h>

#include "runtime/base/bytes.h"
#include "runtime/base/dtype.h"
#include "scaling/builder.h"
#include "scaling/parser.h"

/* ---- lists that grow ----------------------------------------------------------------------- */

int job_grow(parser_t *p, list_t which, void **list, size_t n, size_t size)
{
    return builder_grow(list, n, &p->room[which], size) == 0 ? 0
                                                             : job_wrong(p, NULL, "out of memory");
}

int job_add_item(parser_t *p, const config_setting_t *at, item_t item)
{
    workload_t *work = p->work;

    if (work->items == WORKLOAD_ITEMS) {
        return job_wrong(p, at, "more than %d items; repeat folds those that are alike",
                         WORKLOAD_ITEMS);
    }
    if (job_grow(p, LIST_ITEMS, (void **)&work->item, work->items, sizeof(item)) != 0) {
        return -1;
    }
    work->item[work->items++] = item;
    return 0;
}

/* ---- collectives --------------------------------------------------------------------------- */

static int read_operation(parser_t *p, const config_setting_t *at, tw_operation_t *operation_p)
{
    const char *value    = config_setting_get_string(at);
    char        all[128] = "";
    size_t      used     = 0;

    for (int o = 0; o < TW_OPERATIONS; o++) {
        const char *name = tw_operation_name((tw_operation_t)o);

        used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", o > 0 ? ", " : "", name);
        if (value != NULL && strcmp(value, name) == 0) {
            *operation_p = (tw_operation_t)o;
            return 0;
        }
    }
    return job_wrong(p, at, "%s: accepted are %s", config_setting_name(at), all);
}

static int read_type(parser_t *p, const config_setting_t *at, exchange_t *x)
{
    const char *value    = config_setting_get_string(at);
    char        all[100] = "";
    size_t      used     = 0;

    x->plain = value != NULL && strcmp(value, "other") == 0;
    if (x->plain || (value != NULL && tw_dtype_named(value, &x->dtype))) {
        return 0;
    }
    for (int t = 0; t < TW_DTYPE_ROWS; t++) {
        used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", t > 0 ? ", " : "",
                                 tw_dtype_name(tw_dtypes[t]));
    }
    return job_wrong(p, at, "type: accepted are %s and other", all);
}

/* The slot of a name, or that where it would be. */
static size_t slot_of(const parser_t *p, const char *name)
{
    size_t at = (size_t)(tw_fnv1a(TW_FNV_START, name, strlen(name)) % p->slots);

    while (p->slot[at] != 0 && strcmp(p->work->exchange[p->slot[at] - 1].name, name) != 0) {
        at = (at + 1) % p->slots;
    }
    return at;
}

int job_has(const parser_t *p, const char *name, size_t *index)
{
    const size_t at = p->slots > 0 ? p->slot[slot_of(p, name)] : 0;

    *index = at - 1;
    return at != 0;
}

static int add_slots(parser_t *p)
{
    const workload_t *work = p->work;

    if (2 * (work->exchanges + 1) <= p->slots) {
        return 0;
    }
    free(p->slot);
    p->slots = p->slots > 0 ? 2 * p->slots : 64;
    p->slot  = calloc(p->slots, sizeof(*p->slot));
    if (p->slot == NULL) {
        p->slots = 0;
        return job_wrong(p, NULL, "out of memory");
    }
    for (size_t i = 0; i < work->exchanges; i++) {
        p->slot[slot_of(p, work->exchange[i].name)] = i + 1;
    }
    return 0;
}

/* An exchange of a name that is not there. */
int job_add_exchange(parser_t *p, const exchange_t *x, size_t *index)
{
    workload_t *work = p->work;

    if (job_grow(p, LIST_EXCHANGES, (void **)&work->exchange, work->exchanges, sizeof(*x)) != 0 ||
        add_slots(p) != 0) {
        return -1;
    }
    *index                       = work->exchanges++;
    work->exchange[*index]       = *x;
    p->slot[slot_of(p, x->name)] = work->exchanges;
    return 0;
}

/* Known by a wait alone so far. */
int job_is_early(const exchange_t *x)
{
    return x->operation == TW_OPERATIONS;
}

static int same_exchange(const exchange_t *a, const exchange_t *b)
{
    return a->operation == b->operation && a->count == b->count && a->dtype == b->dtype &&
           a->plain == b->plain && a->scales == b->scales && a->ranks == b->ranks &&
           a->stride == b->stride && a->messages == b->messages && a->neighbours == b->neighbours &&
           (a->neighbours == 0 ||
            memcmp(a->to, b->to, (size_t)a->neighbours * sizeof(*a->to)) == 0) &&
           strcmp(a->class, b->class) == 0;
}

/* The ranks that take part, if not all do. */
static int read_part(parser_t *p, const config_setting_t *group, exchange_t *x)
{
    const config_setting_t *ranks  = config_setting_get_member(group, "ranks"),
                           *stride = config_setting_get_member(group, "stride");
    double n = 0.0, step = 1.0;

    if ((ranks != NULL && job_whole(p, ranks, WORKLOAD_RANKS, &n) != 0) ||
        (stride != NULL && job_whole(p, stride, WORKLOAD_RANKS, &step) != 0)) {
        return -1;
    }
    if (stride != NULL && ranks == NULL) {
        return job_wrong(p, stride, "stride: accepted is it beside ranks");
    }
    x->ranks  = (int)n;
    x->stride = (int)step;
    return 0;
}

/* to = [1, -1]; and part = [0.5, 0.5], without which they have as much each. */
static int read_neighbours(parser_t *p, const config_setting_t *to, const config_setting_t *part,
                           exchange_t *x)
{
    const int n = to != NULL && config_setting_is_array(to) ? config_setting_length(to) : 0;

    if (n < 1 || n > NEIGHBOURS ||
        config_setting_type(config_setting_get_elem(to, 0)) != CONFIG_TYPE_INT) {
        return job_wrong(p, to, "to: accepted are 1 to %d offsets of ranks, such as [1, -1]",
                         NEIGHBOURS);
    }
    if (part != NULL && (!config_setting_is_array(part) || config_setting_length(part) != n)) {
        return job_wrong(p, part, "part: accepted are as many numbers as to has");
    }
    x->to = calloc((size_t)n, sizeof(*x->to));
    if (x->to == NULL) {
        return job_wrong(p, NULL, "out of memory");
    }
    x->neighbours = n;
    for (int i = 0; i < n; i++) {
        const int offset = config_setting_get_int_elem(to, i);

        x->to[i] = (neighbour_t){offset, 1.0 / n};
        if (offset <= -WORKLOAD_RANKS || offset >= WORKLOAD_RANKS || offset == 0) {
            return job_wrong(p, to, "to: %d is no offset of another rank", offset);
        }
        if (part != NULL && job_number(p, config_setting_get_elem(part, (unsigned)i), 0.0, 1.0,
                                       &x->to[i].part) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What a rank sends to its neighbours. */
static int read_messages(parser_t *p, const config_setting_t *group, exchange_t *x)
{
    const config_setting_t *type  = config_setting_get_member(group, "type"),
                           *sent  = config_setting_get_member(group, "messages"),
                           *count = config_setting_get_member(group, "count");
    double messages               = 1.0;

    if (job_only(p, group, "call, start, name, count, type, messages, to, part") != 0 ||
        (type != NULL && read_type(p, type, x) != 0) ||
        (sent != NULL && job_whole(p, sent, 1e9, &messages) != 0) ||
        read_neighbours(p, config_setting_get_member(group, "to"),
                        config_setting_get_member(group, "part"), x) != 0) {
        return -1;
    }
    x->messages = (int)messages;
    return count != NULL ? job_number(p, count, 0.0, COUNT_MOST, &x->count)
                         : job_wrong(p, group, "messages: they need a count");
}

/* Which goes into the workload, with what belongs to it. */
static int read_named(parser_t *p, const config_setting_t *group, const config_setting_t *what,
                      exchange_t *made)
{
    const config_setting_t *name  = config_setting_get_member(group, "name");
    const int               calls = strcmp(config_setting_name(what), "call") == 0;
    workload_t             *work  = p->work;
    exchange_t              x     = *made;
    size_t                  index;

    if (name == NULL && !calls) {
        return job_wrong(p, group, "start: it needs a name, which a wait tells");
    }
    if (name != NULL && job_word(p, name, x.name) != 0) {
        return -1;
    }
    made->to = NULL; /* it is the workload's, or freed below */
    if (name == NULL) {
        snprintf(x.name, sizeof(x.name), "%s %d", config_setting_get_string(what),
                 (int)config_setting_source_line(what));
        for (size_t k = work->exchanges;
             job_has(p, x.name, &index) && !same_exchange(&work->exchange[index], &x); k++) {
            snprintf(x.name, sizeof(x.name), "%s %d (%zu)", config_setting_get_string(what),
                     (int)config_setting_source_line(what), k);
        }
    }
    if (!job_has(p, x.name, &index)) {
        if (job_add_exchange(p, &x, &index) != 0) {
            free(x.to);
            return -1;
        }
    } else if (job_is_early(&work->exchange[index])) {
        work->exchange[index] = x;
    } else {
        const int alike = same_exchange(&work->exchange[index], &x);

        free(x.to);
        if (!alike) {
            return job_wrong(p, group, "'%s' was something else before", x.name);
        }
    }
    if (job_add_item(p, group, (item_t){.kind = ITEM_START, .exchange = index}) != 0) {
        return -1;
    }
    return calls ? job_add_item(p, group, (item_t){.kind = ITEM_WAIT, .exchange = index}) : 0;
}

/* { start = OPERATION; ... } or { call = OPERATION; ... }, which has a name of its own if none. */
int job_exchange(parser_t *p, const config_setting_t *group, const config_setting_t *what)
{
    const config_setting_t *name   = config_setting_get_member(group, "name"),
                           *count  = config_setting_get_member(group, "count"),
                           *type   = config_setting_get_member(group, "type"),
                           *class  = config_setting_get_member(group, "class"),
                           *scales = config_setting_get_member(group, "scales");
    const int   calls              = strcmp(config_setting_name(what), "call") == 0;
    const char *value              = config_setting_get_string(what);
    exchange_t  x                  = {.part = 1.0};

    if (value != NULL && strcmp(value, "messages") == 0) {
        if (read_messages(p, group, &x) == 0 && read_named(p, group, what, &x) == 0) {
            return 0;
        }
        free(x.to);
        return -1;
    }
    if (job_only(p, group,
                 calls ? "call, name, count, type, class, scales, ranks, stride"
                       : "start, name, count, type, class, scales, ranks, stride") != 0 ||
        read_part(p, group, &x) != 0 || read_operation(p, what, &x.operation) != 0 ||
        (type != NULL && read_type(p, type, &x) != 0) ||
        (class != NULL && job_word(p, class, x.class) != 0) ||
        (scales != NULL && job_flag(p, scales, &x.scales) != 0)) {
        return -1;
    }
    if (count == NULL || (name == NULL && !calls)) {
        return job_wrong(p, group, "%s: it needs a count%s", config_setting_name(what),
                         calls ? "" : " and a name, which a wait tells");
    }
    return job_number(p, count, 0.0, COUNT_MOST, &x.count) != 0 ? -1
                                                                : read_named(p, group, what, &x);
}
