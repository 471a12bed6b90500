/* SPDX-License-Identifier: BSD-3-Clause
 * tools/topology.c - thinwire info --topology: find the machine, place the ranks, hand both to what
 * draws them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "tools/topology.h"

/* First children and next siblings, so that a tree is walked in the order of the parts. */
static int link_parts(drawing_t *d)
{
    const int n    = tw_node_parts(d->node);
    int      *last = malloc((size_t)n * sizeof(*last));
    int       status;

    d->child = malloc((size_t)n * sizeof(*d->child));
    d->next  = malloc((size_t)n * sizeof(*d->next));
    for (int i = 0; last != NULL && d->child != NULL && d->next != NULL && i < n; i++) {
        const int parent = tw_node_part(d->node, i)->parent;

        d->child[i] = d->next[i] = last[i] = -1;
        if (parent >= 0) {
            if (last[parent] < 0) {
                d->child[parent] = i;
            } else {
                d->next[last[parent]] = i;
            }
            last[parent] = i;
        }
    }
    status = last != NULL && d->child != NULL && d->next != NULL ? 0 : -1;
    free(last);
    return status;
}

/* As many ranks as were asked for, or as mpirun started here, or as the machine suggests. */
static int number_of_ranks(const job_t *job, const topology_options_t *options,
                           const tw_node_t *node)
{
    int gpus = 0, amd = 0, numas = 0;

    if (options->ranks > 0) {
        return options->ranks;
    }
    if (options->xml == NULL && job->mpi) {
        return job->local_ranks;
    }
    for (int i = 0; i < tw_node_count(node, TW_PART_GPU); i++) {
        gpus += tw_node_find(node, TW_PART_GPU, i)->device >= 0;
        amd += !tw_node_find(node, TW_PART_GPU, i)->cuda;
    }
    gpus = amd == tw_node_count(node, TW_PART_GPU) ? amd : gpus;
    for (int i = 0; i < tw_node_count(node, TW_PART_NUMA); i++) {
        for (int c = 0; c < tw_node_count(node, TW_PART_CORE); c++) {
            if (tw_node_distance(node, tw_node_find(node, TW_PART_NUMA, i),
                                 tw_node_find(node, TW_PART_CORE, c)) == TW_NEAR_NUMA) {
                numas++;
                break;
            }
        }
    }
    gpus = gpus > 0 ? gpus : numas;
    return gpus > 0 ? gpus : 1;
}

/* The order in which the GPUs that ranks have exchange. */
static tw_status_t order_exchange(drawing_t *d, tw_round_t **rounds_p)
{
    const int   all    = tw_node_count(d->node, TW_PART_GPU);
    int        *gpus   = malloc((size_t)(all > 0 ? all : 1) * sizeof(*gpus));
    int         n      = 0;
    tw_status_t status = TW_OK;

    if (gpus == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    for (int i = 0; i < all; i++) {
        if (topology_first_user(d, tw_node_find(d->node, TW_PART_GPU, i)) >= 0) {
            gpus[n++] = i;
        }
    }
    if (n > 1) {
        status = tw_exchange_order(d->node, gpus, n, rounds_p, &d->round_count);
    }
    free(gpus);
    return status;
}

/* The GPUs that this process sees, by bus, as every rank may call its own GPU 0; with the name of
 * the part that CUDA_VISIBLE_DEVICES names. */
static void own_devices(const tw_node_t *node, const char *visible, char *text, size_t size)
{
    const char *part = visible != NULL ? visible + strspn(visible, " \t") : "";
    const int   mig  = strncmp(part, "MIG-", 4) == 0 ? (int)strcspn(part, ", \t") : 0;
    const int   all  = tw_node_count(node, TW_PART_GPU);
    size_t      used = 0;

    text[0] = '\0';
    for (int device = 0; device < all; device++) {
        for (int i = 0; i < all; i++) {
            const tw_part_t *gpu = tw_node_find(node, TW_PART_GPU, i);

            if (gpu->device == device && used + strlen(gpu->bus) + (size_t)mig + 3 < size) {
                used +=
                    (size_t)snprintf(text + used, size - used, "%s%s%s%.*s", device > 0 ? "," : "",
                                     gpu->bus, mig > 0 ? "/" : "", mig, part);
            }
        }
    }
}

/* This rank's. */
static int own_rank(tw_context_t *ctx, topology_rank_t *facts)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    tw_node_t  *node    = NULL;
    tw_status_t status  = tw_node_create(ctx, NULL, visible, &node);

    memset(facts, 0, sizeof(*facts));
    if (status == TW_OK) {
        own_devices(node, visible, facts->devices, sizeof(facts->devices));
    }
    if (status == TW_OK && tw_node_binding(node, facts->binding, sizeof(facts->binding)) != TW_OK) {
        facts->binding[0] = '\0'; /* too long a list */
    }
    tw_node_destroy(node);
    return status == TW_OK ? 0 : -1;
}

int topology_gather(const job_t *job, tw_context_t *ctx, const topology_options_t *options,
                    topology_rank_t **facts_p)
{
    topology_rank_t *rank_facts = NULL, *own;
    MPI_Comm         node;
    int              rank, ranks, status;

    *facts_p = NULL;
    if (options->xml != NULL || options->ranks > 0 || job->size == 1) {
        return 0;
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &ranks);
    own        = malloc(sizeof(*own));
    rank_facts = rank == 0 ? calloc((size_t)ranks, sizeof(*rank_facts)) : NULL;
    status = job_agree(job, own != NULL && (rank > 0 || rank_facts != NULL), "info: out of memory");
    if (status == 0) { /* else the library has said why */
        status = job_agree(job, own_rank(ctx, own) == 0, NULL);
    }
    if (status == 0) {
        MPI_Gather(own, (int)sizeof(*own), MPI_BYTE, rank_facts, (int)sizeof(*own), MPI_BYTE, 0,
                   node);
    }
    MPI_Comm_free(&node);
    free(own);
    if (status != 0 || job->rank > 0) {
        free(rank_facts);
        rank_facts = NULL;
    }
    *facts_p = rank_facts;
    return status;
}

/* Alone, this process's binding is that of all ranks, who then divide it. Under mpirun each has
 * said its own. */
static tw_status_t place_ranks(const topology_rank_t *rank_facts, drawing_t *d,
                               tw_place_t **places_p)
{
    tw_rank_t  *facts = calloc((size_t)d->ranks, sizeof(*facts));
    tw_status_t status;

    if (facts == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    for (int r = 0; r < d->ranks; r++) {
        facts[r].binding = rank_facts != NULL ? rank_facts[r].binding : d->binding;
        facts[r].devices = rank_facts != NULL ? rank_facts[r].devices : NULL;
    }
    status = tw_place(d->node, d->ranks, facts, places_p);
    free(facts);
    return status;
}

int topology_show(const job_t *job, tw_context_t *ctx, const topology_options_t *options,
                  const topology_rank_t *rank_facts, report_t *report)
{
    tw_node_t  *node   = NULL;
    tw_place_t *places = NULL;
    tw_round_t *rounds = NULL;
    drawing_t   d      = {.source = options->xml != NULL ? options->xml : "this machine"};
    tw_status_t status = tw_node_create(ctx, options->xml, getenv("CUDA_VISIBLE_DEVICES"), &node);

    if (status != TW_OK) {
        if (status == TW_ERR_NO_MEMORY) {
            job_complain(job, "info: out of memory");
        }
        return -1; /* the library has said why */
    }
    d.node   = node;
    d.ranks  = number_of_ranks(job, options, node);
    status   = tw_node_binding(node, d.binding, sizeof(d.binding));
    status   = status == TW_OK ? place_ranks(rank_facts, &d, &places) : status;
    d.places = places;
    status   = status == TW_OK ? order_exchange(&d, &rounds) : status;
    d.rounds = rounds;
    if (status == TW_OK && link_parts(&d) == 0) {
        topology_print(&d);
        json_object_set_new(report->root, "topology", topology_json(&d));
    } else {
        status = status == TW_OK ? TW_ERR_NO_MEMORY : status;
        job_complain(job, "info: %s", tw_status_text(status));
    }
    free(d.child);
    free(d.next);
    free(rounds);
    free(places);
    tw_node_destroy(node);
    return status == TW_OK ? 0 : -1;
}
