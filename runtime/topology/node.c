/* SPDX-License-Identifier: BSD-3-Clause
 * topology/node.c - reading a machine: parts, distances, links.
 */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/topology/near.h"
#include "runtime/topology/node.h"

void tw_node_text(char *to, size_t size, const char *from)
{
    size_t i = 0;

    for (; i + 1 < size && from[i] != '\0'; i++) {
        to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
    }
    if (size > 0) {
        to[i] = '\0';
    }
}

int tw_node_parts(const tw_node_t *node)
{
    return node != NULL ? node->part_count : 0;
}

int tw_node_count(const tw_node_t *node, tw_part_kind_t kind)
{
    return node != NULL && (int)kind >= 0 && kind < TW_PART_KINDS ? node->count[kind] : 0;
}

const tw_part_t *tw_node_part(const tw_node_t *node, int i)
{
    return node != NULL && i >= 0 && i < node->part_count ? &node->parts[i] : NULL;
}

const tw_part_t *tw_node_find(const tw_node_t *node, tw_part_kind_t kind, int i)
{
    return i >= 0 && i < tw_node_count(node, kind) ? &node->parts[tw_node_at(node, kind, i)] : NULL;
}

int tw_node_above(const tw_node_t *node, int part, tw_part_kind_t kind)
{
    do {
        part = node->parts[part].parent;
    } while (part >= 0 && node->parts[part].kind != kind);
    return part;
}

/* Whether both stand below one part of a kind. */
static int tw_node_both_below(const tw_node_t *node, int a, int b, tw_part_kind_t kind)
{
    for (int x = tw_node_above(node, a, kind); x >= 0; x = tw_node_above(node, x, kind)) {
        for (int y = tw_node_above(node, b, kind); y >= 0; y = tw_node_above(node, y, kind)) {
            if (x == y) {
                return 1;
            }
        }
    }
    return 0;
}

tw_distance_t tw_node_distance(const tw_node_t *node, const tw_part_t *a, const tw_part_t *b)
{
    const ptrdiff_t x = node != NULL && a != NULL ? a - node->parts : -1;
    const ptrdiff_t y = node != NULL && b != NULL ? b - node->parts : -1;
    tw_where_t      at_x, at_y;

    if (x < 0 || y < 0 || x >= node->part_count || y >= node->part_count) {
        return TW_FAR;
    }
    if (tw_node_both_below(node, (int)x, (int)y, TW_PART_SWITCH)) {
        return TW_NEAR_SWITCH;
    }
    if (tw_node_both_below(node, (int)x, (int)y, TW_PART_ROOT)) {
        return TW_NEAR_ROOT;
    }
    at_x = node->where[x];
    at_y = node->where[y];
    if (at_x.numa >= 0 && at_x.numa == at_y.numa) {
        return TW_NEAR_NUMA;
    }
    return at_x.package >= 0 && at_x.package == at_y.package ? TW_NEAR_PACKAGE : TW_FAR;
}

void tw_node_log(tw_node_t *node, const tw_log_t *log)
{
    node->log = *log;
}

uint64_t tw_node_hash(const tw_node_t *node)
{
    uint64_t hash = TW_FNV_START;

    for (int i = 0; i < node->part_count; i++) {
        const tw_part_t *p       = &node->parts[i];
        const int        facts[] = {(int)p->kind, p->parent, p->os_index, p->active};

        hash = tw_fnv1a(hash, facts, sizeof(facts));
        hash = tw_fnv1a(hash, p->bus, strlen(p->bus) + 1);
        hash = tw_fnv1a(hash, p->name, strlen(p->name) + 1);
        hash = tw_fnv1a(hash, p->pus, strlen(p->pus) + 1);
    }
    return hash;
}

int tw_node_latency(const tw_node_t *node, int numa_a, int numa_b)
{
    const int n = tw_node_count(node, TW_PART_NUMA);

    if (numa_a < 0 || numa_b < 0 || numa_a >= n || numa_b >= n || node->latency == NULL) {
        return 0;
    }
    return node->latency[(size_t)numa_a * (size_t)n + (size_t)numa_b];
}

int64_t tw_node_nvlink(const tw_node_t *node, int gpu_a, int gpu_b)
{
    const int n = tw_node_count(node, TW_PART_GPU);

    if (gpu_a < 0 || gpu_b < 0 || gpu_a >= n || gpu_b >= n || node->nvlink == NULL) {
        return 0;
    }
    return node->nvlink[(size_t)gpu_a * (size_t)n + (size_t)gpu_b];
}
