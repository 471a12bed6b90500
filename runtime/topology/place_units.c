/* SPDX-License-Identifier: BSD-3-Clause
 * topology/place_units.c - what each rank may take: by what CUDA counts for it, else by the map and
 * CUDA_VISIBLE_DEVICES; and how far that is from the rank's binding.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topology/place.h"

/* 0: on the GPU's NUMA node, or the rank is free; 1: on its package, or nobody knows; 2: elsewhere.
 */
static int tw_gpu_far(const tw_node_t *node, const tw_seat_t *seat, int gpu)
{
    const tw_where_t where =
        gpu >= 0 ? tw_node_where(node, TW_PART_GPU, gpu) : (tw_where_t){-1, -1};
    int far = 2;

    if (seat->set == NULL) {
        return 0;
    }
    if (where.package < 0) {
        return 1;
    }
    for (int c = 0; c < node->count[TW_PART_CORE] && far > 0; c++) {
        const tw_where_t core = tw_node_where(node, TW_PART_CORE, c);

        if (core.package == where.package &&
            hwloc_bitmap_intersects(seat->set, node->core_pus[c])) {
            far = core.numa >= 0 && core.numa == where.numa ? 0 : 1;
        }
    }
    return far;
}

/* The GPU at a PCI bus id as text, whatever its letters; -1: not on the map. */
static int tw_gpu_at_bus(const tw_node_t *node, const char *text)
{
    unsigned domain, bus, device, function;

    if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) {
        return -1;
    }
    for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
        if (node->gpus[i].bus == ((uint64_t)domain << 24 | (uint64_t)bus << 16 |
                                  (uint64_t)device << 8 | (uint64_t)function)) {
            return i;
        }
    }
    return -1;
}

/* The unit of a name, perhaps a new one; -1: no memory. */
static int tw_unit_of(tw_allotment_t *c, const char *name, size_t length)
{
    const int gpus = c->node->count[TW_PART_GPU], gpu = tw_gpu_at_bus(c->node, name);

    if (gpu >= 0 && memchr(name, '/', length) == NULL) {
        return gpu;
    }
    for (int u = gpus; u < c->count; u++) {
        if (c->units[u].length == length && memcmp(c->units[u].name, name, length) == 0) {
            return u;
        }
    }
    if (c->count == c->room) {
        const int  room = 2 * c->room + 8;
        tw_unit_t *more = realloc(c->units, (size_t)room * sizeof(*more));

        if (more == NULL) {
            return -1;
        }
        c->units = more;
        c->room  = room;
    }
    c->units[c->count] = (tw_unit_t){.gpu = gpu, .name = name, .length = length};
    return c->count++;
}

/* An option of unit u, unless the rank has it; 0: no memory. */
static int tw_option_add(tw_allotment_t *c, int r, int u, int device)
{
    tw_options_t *o    = &c->options[r];
    tw_option_t  *list = o->list;

    for (int i = 0; i < o->count; i++) {
        if (o->list[i].unit == u) {
            return 1;
        }
    }
    if ((o->count & (o->count - 1)) == 0) { /* grows at powers of two */
        list = realloc(o->list, (o->count > 0 ? 2 * (size_t)o->count : 1) * sizeof(*list));
    }
    if (list == NULL || u < 0) {
        return 0;
    }
    o->list = list;
    o->list[o->count++] =
        (tw_option_t){u, device, (char)tw_gpu_far(c->node, &c->seats[r], c->units[u].gpu)};
    return 1;
}

/* From the text of what CUDA counts: "0000:03:00.0,0000:04:00.0/MIG-...". */
static int tw_options_counted(tw_allotment_t *c, int r, const char *text)
{
    for (int device = 0; *text != '\0'; device++) {
        const size_t length = strcspn(text, ",");

        if (!tw_option_add(c, r, tw_unit_of(c, text, length), device)) {
            return 0;
        }
        text += length + (text[length] == ',');
    }
    return 1;
}

/* From the map, in CUDA's order; c->scratch has room for all GPUs. */
static int tw_options_shown(tw_allotment_t *c, int r)
{
    const tw_node_t *node = c->node;
    int              n    = 0;

    if (c->seats[r].visible != NULL) {
        n = tw_visible_list(node, c->seats[r].visible, c->scratch);
    } else {
        for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
            const int device = node->parts[tw_node_at(node, TW_PART_GPU, i)].device;

            if (device >= 0) {
                c->scratch[device] = i;
                n++;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        if (!tw_option_add(c, r, c->scratch[i], i)) {
            return 0;
        }
    }
    return 1;
}

/* AMD's, which are given to ranks where there are no others. */
static int tw_options_amd(tw_allotment_t *c, int r)
{
    const int all = c->node->count[TW_PART_GPU];

    for (int i = 0; i < all && !c->node->parts[c->node->gpus[0].part].cuda; i++) {
        if (!tw_option_add(c, r, i, -1)) {
            return 0;
        }
    }
    return 1;
}

tw_status_t tw_allotment_fill(tw_allotment_t *c)
{
    for (int i = 0; i < c->count; i++) {
        c->units[i] = (tw_unit_t){.gpu = i};
    }
    for (int r = 0; r < c->ranks; r++) {
        const char *devices = c->seats[r].devices;

        c->options[r].taken = -1;
        if (!(devices != NULL ? tw_options_counted(c, r, devices) : tw_options_shown(c, r)) ||
            (c->options[r].count == 0 && c->count > 0 && !tw_options_amd(c, r))) {
            return TW_ERR_NO_MEMORY;
        }
    }
    free(c->scratch);
    c->scratch = calloc((size_t)c->count + 1, sizeof(int));
    return c->scratch != NULL ? TW_OK : TW_ERR_NO_MEMORY;
}
