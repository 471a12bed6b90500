/* SPDX-License-Identifier: BSD-3-Clause
 * topology/place_gpu.c - a GPU for every rank.
 *
 * In the order of ranks, each takes a GPU that fewest have taken, of these the nearest to its
 * binding, of these the first in CUDA's order. Ranks without a binding (the usual case) get GPU r
 * mod n, so that neighbours in rank are neighbours on PCIe; their cores follow the GPU. Two ranks
 * swap their GPUs where that brings them nearer, taken together.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topology/place.h"

#define TW_SWAP_RANKS                                                                              \
    1024 /* more on one node share cores many times over: nearness is lost anyway */

#define TW_GPU_HIDDEN 100 /* farther than any: never swapped to */

/* 0: on the GPU's NUMA node, or the rank is free; 1: on its package, or nobody knows; 2: elsewhere.
 */
static int tw_gpu_far(const tw_node_t *node, const tw_seat_t *seat, int gpu)
{
    const tw_where_t where = tw_node_where(node, TW_PART_GPU, gpu);
    int              far   = 2;

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

/* The GPUs that a rank sees, in the order in which CUDA counts them. Returns how many. */
static int tw_seat_gpus(const tw_node_t *node, const tw_seat_t *seat, int *list)
{
    int n = 0;

    if (seat->visible != NULL) {
        return tw_visible_list(node, seat->visible, list);
    }
    for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
        const int device = node->parts[tw_node_at(node, TW_PART_GPU, i)].device;

        if (device >= 0) {
            list[device] = i;
            n++;
        }
    }
    return n;
}

/* far is by rank and GPU. Two ranks swap where both together come nearer. */
static void tw_swap_gpus(const char *far, int gpus, tw_seat_t *seats, int ranks)
{
    for (int pass = 0, changed = 1; changed && pass < ranks; pass++) {
        changed = 0;
        for (int a = 0; a < ranks; a++) {
            for (int b = a + 1; b < ranks; b++) {
                const char *of_a = far + (size_t)a * (size_t)gpus;
                const char *of_b = far + (size_t)b * (size_t)gpus;
                const int   p = seats[a].gpu, q = seats[b].gpu;

                if (p >= 0 && q >= 0 && of_a[q] + of_b[p] < of_a[p] + of_b[q]) {
                    seats[a].gpu = q;
                    seats[b].gpu = p;
                    changed      = 1;
                }
            }
        }
    }
}

/* users is by GPU; list is room for GPUs. */
static void tw_choose_gpu(const tw_node_t *node, tw_seat_t *seat, char *far, int *users, int *list)
{
    const int n = tw_seat_gpus(node, seat, list);

    seat->gpu = -1;
    for (int i = 0; i < n; i++) {
        const int gpu = list[i], best = seat->gpu;

        far[gpu] = (char)tw_gpu_far(node, seat, gpu);
        if (best < 0 || users[gpu] < users[best] ||
            (users[gpu] == users[best] && far[gpu] < far[best])) {
            seat->gpu = gpu;
        }
    }
    if (seat->gpu >= 0) {
        users[seat->gpu]++;
    }
}

tw_status_t tw_place_gpus(const tw_node_t *node, tw_seat_t *seats, int ranks)
{
    const int    gpus = node->count[TW_PART_GPU];
    const size_t room = gpus > 0 ? (size_t)gpus : 1;
    char        *far  = malloc((size_t)ranks * room);
    int         *list = calloc(2 * room, sizeof(*list));

    if (far == NULL || list == NULL) {
        free(far);
        free(list);
        return TW_ERR_NO_MEMORY;
    }
    memset(far, TW_GPU_HIDDEN, (size_t)ranks * room);
    for (int r = 0; r < ranks; r++) {
        tw_choose_gpu(node, &seats[r], far + (size_t)r * room, list + room, list);
    }
    if (gpus > 1 && ranks <= TW_SWAP_RANKS) {
        tw_swap_gpus(far, gpus, seats, ranks);
    }
    for (int r = 0; r < ranks; r++) {
        const int n = tw_seat_gpus(node, &seats[r], list);

        seats[r].device = -1;
        seats[r].home   = (tw_where_t){-1, -1};
        for (int i = 0; i < n; i++) {
            if (list[i] == seats[r].gpu) {
                seats[r].device = i;
                seats[r].home   = tw_node_where(node, TW_PART_GPU, seats[r].gpu);
            }
        }
    }
    free(far);
    free(list);
    return TW_OK;
}
