/* SPDX-License-Identifier: BSD-3-Clause
 * topology/place.c - a place for every local rank: GPU, cores, NUMA node, network interface.
 *
 * A pure function of the machine, the number of ranks and their bindings. First GPUs (place_gpu.c),
 * then cores near them (place_cores.c), then memory near the cores, then the network interface
 * nearest to the GPU. docs/topology.md has the rules in words.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topology/place.h"

/* The NUMA node: the GPU's where the rank has cores there, else that of most of its cores. */
static int tw_place_numa(const tw_node_t *node, const tw_seat_t *seat, int *tally)
{
    const int n    = node->count[TW_PART_NUMA];
    int       best = -1;

    memset(tally, 0, (size_t)n * sizeof(*tally));
    for (int i = 0; i < seat->count; i++) {
        const int numa = tw_node_where(node, TW_PART_CORE, seat->cores[i]).numa;

        if (numa >= 0) {
            tally[numa]++;
        }
    }
    if (seat->home.numa >= 0 && tally[seat->home.numa] > 0) {
        return seat->home.numa;
    }
    for (int i = 0; i < n; i++) {
        if (tally[i] > 0 && (best < 0 || tally[i] > tally[best])) {
            best = i;
        }
    }
    return best;
}

/* OpenFabrics before other networks, and what is down only where nothing is up. */
static int tw_nic_class(const tw_part_t *nic)
{
    return 2 * nic->active + nic->fabric;
}

/* The nearest network interface to the GPU, then to the cores, then the one that fewest ranks have.
 */
static int tw_place_nic(const tw_node_t *node, const tw_seat_t *seat, int class, const int *users)
{
    const tw_part_t *core = tw_node_find(node, TW_PART_CORE, seat->cores[0]);
    const tw_part_t *gpu  = tw_node_find(node, TW_PART_GPU, seat->gpu);
    int              best = -1, best_far = 0;

    for (int i = 0; i < node->count[TW_PART_NIC]; i++) {
        const tw_part_t *nic = tw_node_find(node, TW_PART_NIC, i);
        int              far;

        if (tw_nic_class(nic) != class) {
            continue;
        }
        far = (int)tw_node_distance(node, core, nic);
        far += gpu != NULL ? 8 * (int)tw_node_distance(node, gpu, nic) : 0;
        if (best < 0 || far < best_far || (far == best_far && users[i] < users[best])) {
            best     = i;
            best_far = far;
        }
    }
    return best;
}

tw_status_t tw_place_network(const tw_node_t *node, const tw_place_t *place, char *text,
                             size_t size)
{
    const tw_part_t *nic;
    int              up = 0, length = 0;

    if (node == NULL || place == NULL || text == NULL || size == 0) {
        return TW_ERR_INVALID_ARG;
    }
    nic = tw_node_find(node, TW_PART_NIC, place->nic);
    for (int i = 0; i < node->count[TW_PART_NIC]; i++) {
        const tw_part_t *other = tw_node_find(node, TW_PART_NIC, i);

        up += other->fabric && other->active;
    }
    if (nic != NULL && nic->fabric && nic->active && up > 1) {
        length = snprintf(text, size, "%s:%d", nic->name, nic->port);
    } else {
        text[0] = '\0';
    }
    return length < 0 || (size_t)length >= size ? TW_ERR_RANGE : TW_OK;
}

static int tw_best_nic_class(const tw_node_t *node)
{
    int best = -1;

    for (int i = 0; i < node->count[TW_PART_NIC]; i++) {
        const int class = tw_nic_class(tw_node_find(node, TW_PART_NIC, i));

        best = class > best ? class : best;
    }
    return best;
}

/* Bindings as sets; a rank that may use all has none. */
static tw_status_t tw_place_facts(const tw_node_t *node, const tw_rank_t *facts, tw_seat_t *seats,
                                  int ranks)
{
    for (int r = 0; r < ranks && facts != NULL; r++) {
        hwloc_bitmap_t set;

        seats[r].visible = facts[r].visible;
        seats[r].devices = facts[r].devices;
        if (facts[r].binding == NULL || facts[r].binding[0] == '\0') {
            continue;
        }
        set = seats[r].set = hwloc_bitmap_alloc();
        if (set == NULL) {
            return TW_ERR_NO_MEMORY;
        }
        if (hwloc_bitmap_list_sscanf(set, facts[r].binding) != 0 ||
            !hwloc_bitmap_intersects(set, node->all)) {
            TW_ERROR(&node->log,
                     "local rank %d: binding '%.80s' names no hardware thread of this machine; "
                     "accepted: "
                     "a list such as 0-3,8",
                     r, facts[r].binding);
            return TW_ERR_FORMAT;
        }
        hwloc_bitmap_and(set, set, node->all);
        if (hwloc_bitmap_isequal(set, node->all)) {
            hwloc_bitmap_free(set);
            seats[r].set = NULL;
        }
    }
    return TW_OK;
}

/* The hardware threads of a seat's cores inside its binding, as text for the caller to free. */
static char *tw_seat_pus(const tw_node_t *node, const tw_seat_t *seat)
{
    hwloc_bitmap_t set  = hwloc_bitmap_alloc();
    char          *text = NULL;

    for (int i = 0; set != NULL && i < seat->count; i++) {
        hwloc_bitmap_or(set, set, node->core_pus[seat->cores[i]]);
    }
    if (set != NULL && seat->set != NULL) {
        hwloc_bitmap_and(set, set, seat->set);
    }
    if (set == NULL || hwloc_bitmap_list_asprintf(&text, set) < 0) {
        text = NULL;
    }
    hwloc_bitmap_free(set);
    return text;
}

static int tw_by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* All places in one allocation: places, their cores, their texts. */
static tw_place_t *tw_place_pack(const tw_node_t *node, const tw_seat_t *seats, int ranks)
{
    char      **pus   = calloc((size_t)ranks, sizeof(*pus));
    size_t      cores = 0, text = 0;
    int         well   = pus != NULL;
    tw_place_t *places = NULL;

    for (int r = 0; well && r < ranks; r++) {
        pus[r] = tw_seat_pus(node, &seats[r]);
        well   = pus[r] != NULL;
        cores += (size_t)seats[r].count;
        text += well ? strlen(pus[r]) + 1 : 0;
    }
    if (well) {
        places = malloc((size_t)ranks * sizeof(*places) + cores * sizeof(int) + text);
    }
    if (places != NULL) {
        int  *to_cores = (int *)(places + ranks);
        char *to_text  = (char *)(to_cores + cores);

        for (int r = 0; r < ranks; r++) {
            places[r] = (tw_place_t){.gpu        = seats[r].gpu,
                                     .device     = seats[r].device,
                                     .numa       = -1,
                                     .nic        = -1,
                                     .bound      = seats[r].set != NULL,
                                     .core_count = seats[r].count,
                                     .cores      = to_cores,
                                     .pus        = to_text};
            memcpy(to_cores, seats[r].cores, (size_t)seats[r].count * sizeof(int));
            qsort(to_cores, (size_t)seats[r].count, sizeof(int), tw_by_number);
            memcpy(to_text, pus[r], strlen(pus[r]) + 1);
            to_cores += seats[r].count;
            to_text += strlen(pus[r]) + 1;
        }
    }
    for (int r = 0; pus != NULL && r < ranks; r++) {
        free(pus[r]);
    }
    free(pus);
    return places;
}

/* Memory, network interface and what is shared; users[c] is how many ranks have core c. */
static tw_status_t tw_place_finish(const tw_node_t *node, const tw_seat_t *seats, int ranks,
                                   const int *users, tw_place_t *places)
{
    const int n[]   = {node->count[TW_PART_NUMA], node->count[TW_PART_NIC]};
    int      *tally = calloc((size_t)n[0] + (size_t)n[1] + 1, sizeof(int));
    int      *nics  = tally + n[0];
    const int class = tw_best_nic_class(node);

    if (tally == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    for (int r = 0; r < ranks; r++) {
        places[r].numa = tw_place_numa(node, &seats[r], tally);
        places[r].nic  = tw_place_nic(node, &seats[r], class, nics);
        if (places[r].nic >= 0) {
            nics[places[r].nic]++;
        }
        if (seats[r].shares_gpu) {
            places[r].shared |= TW_SHARED_GPU;
        }
        for (int i = 0; i < places[r].core_count; i++) {
            if (users[places[r].cores[i]] > 1) {
                places[r].shared |= TW_SHARED_CORES;
            }
        }
    }
    free(tally);
    return TW_OK;
}

static void tw_place_say(const tw_node_t *node, const tw_place_t *places, int ranks, int units)
{
    int gpus = 0, cores = 0;

    for (int r = 0; r < ranks; r++) {
        gpus += (places[r].shared & TW_SHARED_GPU) != 0;
        cores += (places[r].shared & TW_SHARED_CORES) != 0;
    }
    if (node->log.rank <= 0 && gpus > 0) { /* one says it for all */
        TW_WARN(&node->log, "%d local ranks on %d GPU%s: %d of them share one in turn", ranks,
                units, units == 1 ? "" : "s", gpus);
    }
    if (node->log.rank <= 0 && cores > 0) {
        TW_WARN(&node->log, "%d local ranks on %d core%s: %d of them share cores in turn", ranks,
                node->count[TW_PART_CORE], node->count[TW_PART_CORE] == 1 ? "" : "s", cores);
    }
}

tw_status_t tw_place(const tw_node_t *node, int ranks, const tw_rank_t *facts,
                     tw_place_t **places_p)
{
    tw_place_t *places = NULL;
    tw_seat_t  *seats;
    int        *users, units = 0;
    tw_status_t status;

    if (node == NULL || places_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (ranks < 1 || ranks > TW_PLACE_RANKS) {
        return TW_ERR_RANGE;
    }
    seats  = calloc((size_t)ranks, sizeof(*seats));
    users  = calloc((size_t)node->count[TW_PART_CORE], sizeof(*users));
    status = seats != NULL && users != NULL ? TW_OK : TW_ERR_NO_MEMORY;
    if (status == TW_OK) {
        status = tw_place_facts(node, facts, seats, ranks);
    }
    if (status == TW_OK) {
        status = tw_place_gpus(node, seats, ranks, &units);
    }
    if (status == TW_OK) {
        status = tw_place_cores(node, seats, ranks, users);
    }
    if (status == TW_OK) {
        places = tw_place_pack(node, seats, ranks);
        status =
            places != NULL ? tw_place_finish(node, seats, ranks, users, places) : TW_ERR_NO_MEMORY;
    }
    for (int r = 0; seats != NULL && r < ranks; r++) {
        hwloc_bitmap_free(seats[r].set);
        free(seats[r].cores);
    }
    free(seats);
    free(users);
    if (status != TW_OK) {
        free(places);
        return status;
    }
    tw_place_say(node, places, ranks, units);
    *places_p = places;
    return TW_OK;
}
