/* SPDX-License-Identifier: BSD-3-Clause
 * tools/topology_names.c - parts of a machine, and the ranks that have them, as text.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/topology.h"

/* Exit of topology_list(): what does not fit ends with "...". */
static void end_list(char *text, size_t size)
{
    if (size > 4) {
        memcpy(text + size - 4, "...", 4);
    }
}

void topology_list(const int *numbers, int count, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < count;) {
        int last = i, n;

        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1) {
            last++;
        }
        n = last > i ? snprintf(text + used, size - used, "%s%d-%d", i > 0 ? "," : "", numbers[i],
                                numbers[last])
                     : snprintf(text + used, size - used, "%s%d", i > 0 ? "," : "", numbers[i]);
        used += n > 0 ? (size_t)n : 0;
        if (used >= size) {
            end_list(text, size);
            return;
        }
        i = last + 1;
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int has_part(const tw_place_t *place, const tw_part_t *part)
{
    switch (part->kind) {
    case TW_PART_GPU:
        return place->gpu == part->index;
    case TW_PART_NIC:
        return place->nic == part->index;
    case TW_PART_CORE:
        return bsearch(&part->index, place->cores, (size_t)place->core_count, sizeof(int),
                       by_number) != NULL;
    default:
        return 0;
    }
}

int topology_first_user(const drawing_t *d, const tw_part_t *part)
{
    for (int r = 0; r < d->ranks; r++) {
        if (has_part(&d->places[r], part)) {
            return r;
        }
    }
    return -1;
}

int topology_users(const drawing_t *d, const tw_part_t *part, char *text, size_t size)
{
    int *users = malloc((size_t)d->ranks * sizeof(*users));
    int  n     = 0;

    text[0] = '\0';
    for (int r = 0; users != NULL && r < d->ranks; r++) {
        if (has_part(&d->places[r], part)) {
            users[n++] = r;
        }
    }
    topology_list(users, n, text, size);
    free(users);
    return n;
}

/* "755 GiB", "96 MiB". */
static void memory_text(char *text, size_t size, uint64_t bytes)
{
    if (bytes >= UINT64_C(1) << 30) {
        snprintf(text, size, "%.0f GiB", (double)bytes / 1073741824.0);
    } else {
        snprintf(text, size, "%.0f MiB", (double)bytes / 1048576.0);
    }
}

const char *topology_distance(tw_distance_t distance)
{
    switch (distance) {
    case TW_NEAR_SWITCH:
        return "same switch";
    case TW_NEAR_ROOT:
        return "same root";
    case TW_NEAR_NUMA:
        return "same NUMA node";
    case TW_NEAR_PACKAGE:
        return "same package";
    case TW_FAR:
        break;
    }
    return "far";
}

void topology_label(const tw_part_t *part, char *text, size_t size)
{
    char memory[32] = "";

    switch (part->kind) {
    case TW_PART_NUMA:
        memory_text(memory, sizeof(memory), part->bytes);
        snprintf(text, size, "%s, %s", part->name, memory);
        return;
    case TW_PART_PACKAGE:
        snprintf(text, size, "%s%s%s", part->name, part->model[0] != '\0' ? ": " : "", part->model);
        return;
    case TW_PART_GPU:
        snprintf(text, size, "%s  %s%s%s%s", part->name, part->bus,
                 part->bus[0] != '\0' ? "  " : "", part->model,
                 part->cuda && part->device < 0 ? "  (hidden)" : "");
        return;
    case TW_PART_NIC:
        snprintf(text, size, "%s%s%s%s%s%s%s", part->name, part->model[0] != '\0' ? " (" : "",
                 part->model, part->model[0] != '\0' ? ")" : "", part->bus[0] != '\0' ? "  " : "",
                 part->bus, part->active ? "" : "  (down)");
        return;
    default:
        snprintf(text, size, "%s", part->name);
    }
}

/* The package that a part stands in; -1: it is not known. */
static int package_of(const tw_node_t *node, const tw_part_t *part)
{
    while (part != NULL && part->kind != TW_PART_PACKAGE) {
        part = tw_node_part(node, part->parent);
    }
    return part != NULL ? part->index : -1;
}

int topology_warning(const drawing_t *d, int rank, char *text, size_t size)
{
    const tw_place_t *place = &d->places[rank];
    const tw_part_t  *gpu   = tw_node_find(d->node, TW_PART_GPU, place->gpu);
    const tw_part_t  *nic   = tw_node_find(d->node, TW_PART_NIC, place->nic);
    const tw_part_t  *core  = tw_node_find(d->node, TW_PART_CORE, place->cores[0]);
    const int         home  = gpu != NULL ? package_of(d->node, gpu) : -1;
    const int         cores = package_of(d->node, core);
    const int         net   = nic != NULL ? package_of(d->node, nic) : -1;
    const int         far   = home >= 0 && cores >= 0 && cores != home;
    const int         away  = home >= 0 && net >= 0 && net != home;

    if (!far && !away) {
        return 0;
    }
    snprintf(text, size, "rank %d: %s is far from %s%s%s: package %d, not %d", rank, gpu->name,
             far ? "its cores" : "", far && away ? " and from " : "", away ? nic->name : "", home,
             far ? cores : net);
    return 1;
}
