/* SPDX-License-Identifier: BSD-3-Clause
 * tools/topology_text.c - a machine and its places as lines: a tree, a table, the exchange order.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/table.h"
#include "tools/topology.h"

#define ROUNDS_SHOWN 64

/* A line of the tree; ranks stand at one column where the line is short enough. */
static void print_line(int depth, const char *text, const char *ranks, int count)
{
    const int width = 72 - 2 * depth;

    if (count == 0) {
        printf("%*s%s\n", 2 * depth, "", text);
    } else {
        printf("%*s%-*s  rank%s %s\n", 2 * depth, "", width > 0 ? width : 0, text,
               count > 1 ? "s" : "", ranks);
    }
}

/* A run of cores, siblings from `first` on, that have the same ranks: "cores 0-5". Returns the
 * sibling after it. */
static int print_cores(const drawing_t *d, int first, int depth)
{
    const int n     = tw_node_count(d->node, TW_PART_CORE);
    int      *run   = malloc((size_t)n * sizeof(*run));
    int       count = 0, users, at = first;
    char      ranks[TOPOLOGY_LIST], others[TOPOLOGY_LIST], list[TOPOLOGY_LIST];
    char      text[TOPOLOGY_LIST + 16];

    users = topology_users(d, tw_node_part(d->node, first), ranks, sizeof(ranks));
    for (; at >= 0 && tw_node_part(d->node, at)->kind == TW_PART_CORE; at = d->next[at]) {
        topology_users(d, tw_node_part(d->node, at), others, sizeof(others));
        if (strcmp(ranks, others) != 0) {
            break;
        }
        if (run != NULL) {
            run[count++] = tw_node_part(d->node, at)->index;
        }
    }
    topology_list(run, count, list, sizeof(list));
    snprintf(text, sizeof(text), "%s %s", count == 1 ? "core" : "cores", list);
    print_line(depth, text, ranks, users);
    free(run);
    return at;
}

static void print_part(const drawing_t *d, int part, int depth)
{
    const tw_part_t *p = tw_node_part(d->node, part);
    char             text[256], ranks[TOPOLOGY_LIST];
    const int        users = topology_users(d, p, ranks, sizeof(ranks));

    topology_label(p, text, sizeof(text));
    print_line(depth, text, ranks, p->kind == TW_PART_CORE ? 0 : users);
    for (int c = d->child[part]; c >= 0;) {
        if (tw_node_part(d->node, c)->kind == TW_PART_CORE) {
            c = print_cores(d, c, depth + 1);
        } else {
            print_part(d, c, depth + 1);
            c = d->next[c];
        }
    }
}

static void print_head(const drawing_t *d)
{
    static const struct {
        tw_part_kind_t kind;
        const char    *one, *many;
    } kinds[] = {{TW_PART_PACKAGE, "package", "packages"},
                 {TW_PART_NUMA, "NUMA node", "NUMA nodes"},
                 {TW_PART_CORE, "core", "cores"},
                 {TW_PART_GPU, "GPU", "GPUs"},
                 {TW_PART_NIC, "network interface", "network interfaces"}};

    printf("topology    %s\nmachine    ", d->source);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const int n = tw_node_count(d->node, kinds[i].kind);

        printf("%s %d %s", i > 0 ? "," : "", n, n == 1 ? kinds[i].one : kinds[i].many);
    }
    printf("\n");
    if (d->binding[0] != '\0') {
        printf("bound       this process may use hardware threads %s only\n", d->binding);
    }
    printf("\n");
}

/* A list that is longer than a cell is cut with "...". */
static void cut_cell(char *cell, const char *text)
{
    table_text(cell, text);
    if (strlen(text) >= TABLE_CELL) {
        memcpy(cell + TABLE_CELL - 4, "...", 4);
    }
}

static void widen_column(table_column_t *column, size_t length)
{
    const int width = length < TABLE_CELL ? (int)length : TABLE_CELL - 1;

    column->width = -column->width < width ? -width : column->width;
}

static void print_places(const drawing_t *d)
{
    table_column_t columns[] = {
        {"rank", 0},     {"GPU", 0},  {"CUDA", 0},     {"cores", -7},
        {"threads", -7}, {"NUMA", 0}, {"network", -7}, {"GPU to network", -5}};
    const size_t n = sizeof(columns) / sizeof(columns[0]);
    char         cells[sizeof(columns) / sizeof(columns[0])][TABLE_CELL];

    for (int r = 0; r < d->ranks; r++) { /* as wide as the widest */
        const tw_part_t *nic = tw_node_find(d->node, TW_PART_NIC, d->places[r].nic);

        topology_list(d->places[r].cores, d->places[r].core_count, cells[3], TABLE_CELL - 1);
        widen_column(&columns[3], strlen(cells[3]) + 1);
        widen_column(&columns[4], strlen(d->places[r].pus));
        widen_column(&columns[6], nic != NULL ? strlen(nic->name) : 1);
    }
    printf("\n");
    table_header(columns, n);
    for (int r = 0; r < d->ranks; r++) {
        const tw_place_t *place = &d->places[r];
        const tw_part_t  *gpu   = tw_node_find(d->node, TW_PART_GPU, place->gpu);
        const tw_part_t  *nic   = tw_node_find(d->node, TW_PART_NIC, place->nic);

        snprintf(cells[0], TABLE_CELL, "%d", r);
        snprintf(cells[1], TABLE_CELL, gpu != NULL ? "%d%s" : "-", place->gpu,
                 place->shared & TW_SHARED_GPU ? "*" : "");
        snprintf(cells[2], TABLE_CELL, place->device >= 0 ? "%d" : "-", place->device);
        topology_list(place->cores, place->core_count, cells[3], TABLE_CELL - 1);
        strcat(cells[3], place->shared & TW_SHARED_CORES ? "*" : "");
        cut_cell(cells[4], place->pus);
        snprintf(cells[5], TABLE_CELL, place->numa >= 0 ? "%d" : "-", place->numa);
        cut_cell(cells[6], nic != NULL ? nic->name : "-");
        table_text(cells[7], gpu != NULL && nic != NULL
                                 ? topology_distance(tw_node_distance(d->node, gpu, nic))
                                 : "-");
        table_row(columns, n, cells);
    }
    for (int r = 0; r < d->ranks; r++) {
        if (d->places[r].shared != 0) {
            printf("* shared with another rank\n");
            break;
        }
    }
}

/* How links of a GPU are called. */
static const char *link_name(const drawing_t *d, int gpu)
{
    return tw_node_find(d->node, TW_PART_GPU, gpu)->cuda ? "NVLink" : "XGMI";
}

static void print_rounds(const drawing_t *d)
{
    if (d->round_count == 0) {
        return;
    }
    printf("\nExchange order of the GPUs, pairs of one line at the same time:\n");
    for (int i = 0; i < d->round_count && i < ROUNDS_SHOWN; i++) {
        const tw_round_t *round = &d->rounds[i];

        printf("  %3d  %-14s ", i + 1,
               round->nvlink ? link_name(d, round->pairs[0].a)
                             : topology_distance(round->distance));
        for (int k = 0; k < round->count; k++) {
            printf(" %d-%d", round->pairs[k].a, round->pairs[k].b);
        }
        printf("\n");
    }
    if (d->round_count > ROUNDS_SHOWN) {
        printf("  and %d more\n", d->round_count - ROUNDS_SHOWN);
    }
}

/* NVLink, or XGMI: one sentence if it joins all GPUs first..end-1, else its pairs. */
static void print_links(const drawing_t *d, int first, int end)
{
    int64_t least = INT64_MAX, most = 0;

    for (int a = first; a < end; a++) {
        for (int b = a + 1; b < end; b++) {
            const int64_t speed = tw_node_nvlink(d->node, a, b);

            least = speed < least ? speed : least;
            most  = speed > most ? speed : most;
        }
    }
    if (most == 0) {
        return;
    }
    printf("\n%s joins ", link_name(d, first));
    for (int a = first; a < end && least == 0; a++) {
        for (int b = a + 1; b < end; b++) {
            if (tw_node_nvlink(d->node, a, b) > 0) {
                printf("%d-%d ", a, b);
            }
        }
    }
    printf("%swith up to %.0f GB/s in each direction.\n", least > 0 ? "every two GPUs " : "",
           (double)most / 1e3);
}

static void print_warnings(const drawing_t *d)
{
    char text[256];

    for (int r = 0; r < d->ranks; r++) {
        if (topology_warning(d, r, text, sizeof(text))) {
            printf("warning: %s\n", text);
        }
    }
}

/* Are near networks known to be of different subnets? Then they may not reach each other. */
static int subnets_differ(const drawing_t *d)
{
    const char *one = "";

    for (int r = 0; r < d->ranks; r++) {
        const tw_part_t *nic = tw_node_find(d->node, TW_PART_NIC, d->places[r].nic);

        if (nic == NULL || nic->subnet[0] == '\0') {
            continue;
        }
        if (one[0] != '\0' && strcmp(one, nic->subnet) != 0) {
            return 1;
        }
        one = nic->subnet;
    }
    return 0;
}

/* What each rank's UCX_NET_DEVICES should be, if there is a choice. */
static void print_networks(const drawing_t *d)
{
    char text[64];
    int  some = 0;

    if (subnets_differ(d)) {
        printf(
            "\nThe networks near the GPUs are of different InfiniBand subnets: UCX chooses among "
            "all.\n");
        return;
    }
    for (int r = 0; r < d->ranks; r++) {
        if (tw_place_network(d->node, &d->places[r], text, sizeof(text)) == TW_OK &&
            text[0] != '\0') {
            printf("%s %s", some ? "" : "\nUCX_NET_DEVICES by local rank:", text);
            some = 1;
        }
    }
    printf("%s", some ? "\n" : "");
}

/* Links of NVIDIA's GPUs, which stand first, and of AMD's. */
static void print_vendors(const drawing_t *d)
{
    const int n   = tw_node_count(d->node, TW_PART_GPU);
    int       amd = 0;

    while (amd < n && tw_node_find(d->node, TW_PART_GPU, amd)->cuda) {
        amd++;
    }
    print_links(d, 0, amd);
    print_links(d, amd, n);
    if (amd < n) {
        printf("\nGPUs of AMD are placed, but computing on them is unsupported.\n");
    }
}

/* CUDA counts the fastest GPU first unless told otherwise; equal ones it counts as we do. */
static void print_order_note(const drawing_t *d)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");

    if (order != NULL && strcmp(order, "PCI_BUS_ID") == 0) {
        return;
    }
    for (int i = 1;
         i < tw_node_count(d->node, TW_PART_GPU) && tw_node_find(d->node, TW_PART_GPU, i)->cuda;
         i++) {
        if (strcmp(tw_node_find(d->node, TW_PART_GPU, i)->model,
                   tw_node_find(d->node, TW_PART_GPU, 0)->model) != 0) {
            printf("\nThe GPUs differ: set CUDA_DEVICE_ORDER=PCI_BUS_ID, or CUDA counts them in "
                   "another order than here.\n");
            return;
        }
    }
}

void topology_print(const drawing_t *d)
{
    print_head(d);
    print_part(d, 0, 0);
    print_places(d);
    print_warnings(d);
    print_networks(d);
    print_vendors(d);
    print_order_note(d);
    print_rounds(d);
}
