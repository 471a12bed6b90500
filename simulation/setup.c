/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/setup.c - see setup.h. A rank starts one at a time on each communicator, and waits for
 * it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "simulation/setup.h"

/* A group of ranks, which have all come to its next collective or not. */
typedef struct comm_group {
    int           first, size, came;
    setup_part_t *part; /* of each */
    uint32_t     *post;
} comm_group_t;

static const script_t *script;
static comm_group_t    all, *node;

static void group_open(comm_group_t *group, int first, int size)
{
    *group = (comm_group_t){.first = first,
                            .size  = size,
                            .part  = calloc((size_t)size, sizeof(*group->part)),
                            .post  = calloc((size_t)size, sizeof(*group->post))};
    if (group->part == NULL || group->post == NULL) {
        world_fail("out of memory");
    }
}

void setup_open(const script_t *given)
{
    const int nodes = (given->ranks + given->per_node - 1) / given->per_node;

    script = given;
    node   = calloc((size_t)nodes, sizeof(*node));
    if (node == NULL) {
        world_fail("out of memory");
    }
    group_open(&all, 0, given->ranks);
    for (int i = 0; i < nodes; i++) {
        const int first = i * given->per_node;

        group_open(&node[i], first,
                   given->ranks - first < given->per_node ? given->ranks - first : given->per_node);
    }
}

MPI_Comm setup_comm(int is_node)
{
    return (MPI_Comm)(intptr_t)(is_node ? 2 : 1);
}

int setup_is_node(MPI_Comm comm)
{
    return (intptr_t)comm == 2;
}

static comm_group_t *group_of(int is_node, int rank)
{
    return is_node ? &node[rank / script->per_node] : &all;
}

int setup_size(int is_node, int rank)
{
    return group_of(is_node, rank)->size;
}

/* ---- sums ---------------------------------------------------------------------------------- */

#define COMBINE(name, type)                                                                        \
    static void name(const comm_group_t *c, type *out)                                             \
    {                                                                                              \
        const size_t count = c->part[0].bytes / sizeof(type);                                      \
                                                                                                   \
        for (size_t i = 0; i < count; i++) {                                                       \
            type value = ((const type *)c->part[0].in)[i];                                         \
                                                                                                   \
            for (int r = 1; r < c->size; r++) {                                                    \
                const type other = ((const type *)c->part[r].in)[i];                               \
                const int  sign  = c->part[0].sign;                                                \
                                                                                                   \
                value = sign == 0 ? value + other : (sign < 0) == (other < value) ? other : value; \
            }                                                                                      \
            out[i] = value;                                                                        \
        }                                                                                          \
    }
COMBINE(combine_int, int)
COMBINE(combine_uint64, uint64_t)
COMBINE(combine_double, double)

/* What each rank gets, in a new buffer. */
static void *result_of(const comm_group_t *c, size_t *bytes_p)
{
    const size_t part = c->part[0].bytes;
    uint8_t     *result;

    *bytes_p = c->part[0].kind == SETUP_GATHER ? part * (size_t)c->size : part;
    result   = malloc(*bytes_p + 1);
    if (result == NULL) {
        world_fail("out of memory");
    }
    switch (c->part[0].kind) {
    case SETUP_GATHER:
        for (int r = 0; r < c->size; r++) {
            memcpy(result + (size_t)r * part, c->part[r].in, part);
        }
        break;
    case SETUP_BCAST:
        memcpy(result, c->part[0].in, part);
        break;
    case SETUP_INT:
        combine_int(c, (int *)(void *)result);
        break;
    case SETUP_UINT64:
        combine_uint64(c, (uint64_t *)(void *)result);
        break;
    case SETUP_DOUBLE:
        combine_double(c, (double *)(void *)result);
        break;
    }
    return result;
}

void setup_join(const setup_part_t *part, int is_node, int rank, uint32_t post,
                void (*done)(const uint32_t *posts, int count))
{
    comm_group_t *c = group_of(is_node, rank);
    size_t        bytes;
    void         *result;

    c->part[rank - c->first] = *part;
    c->post[rank - c->first] = post;
    if (++c->came < c->size) {
        return;
    }
    c->came = 0;
    result  = result_of(c, &bytes);
    for (int r = 0; r < c->size; r++) {
        memcpy(c->part[r].out, result, bytes);
    }
    free(result);
    done(c->post, c->size);
}
