/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/links.c - see links.h. A link is reserved when a message's head reaches it, which is an
 * event; so links are reserved in the order of simulated time.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "simulation/events.h"
#include "simulation/links.h"
#include "simulation/world.h"

/* Of a message, between different groups: out of a node, out of its group, into the other, into a node. */
enum { HOPS = 4 };

typedef struct wire {
    double free, rate;
} wire_t;

static const script_t *world;
static wire_t         *node_wire, *group_wire, *rank_wire; /* [2 i]: out of i, [2 i + 1]: into i */

static wire_t *wires(int count, double rate)
{
    wire_t *wire = calloc(2 * (size_t)count, sizeof(*wire));

    if (wire == NULL) {
        world_fail("out of memory");
    }
    for (int i = 0; i < 2 * count; i++) {
        wire[i].rate = rate;
    }
    return wire;
}

static int node_of(int rank)
{
    return rank / world->per_node;
}

static int group_of(int rank)
{
    return world->group > 0.0 ? (int)(node_of(rank) / world->group) : 0;
}

void links_open(const script_t *script)
{
    world      = script;
    node_wire  = wires(node_of(script->ranks - 1) + 1, script->between.shared);
    group_wire = wires(group_of(script->ranks - 1) + 1,
                       script->between.shared * script->group / script->taper);
    rank_wire  = wires(script->ranks, script->inside.shared);
}

double links_overhead(int from, int to)
{
    return node_of(from) == node_of(to) ? world->inside.message : world->between.message;
}

/* The wire of a hop, and what its head takes to the next. */
static wire_t *hop(const parcel_t *p, int *last, double *latency)
{
    const int one = node_of(p->from), other = node_of(p->to);
    const int tapered = world->taper > 1.0 && group_of(p->from) != group_of(p->to);

    *last    = p->hop == (one != other && tapered ? HOPS : 2) - 1;
    *latency = one == other ? world->inside.latency : world->between.latency;
    if (one == other) {
        return &rank_wire[2 * (p->hop == 0 ? p->from : p->to) + p->hop];
    }
    if (!tapered) {
        return &node_wire[2 * (p->hop == 0 ? one : other) + p->hop];
    }
    *latency /= HOPS - 1;
    switch (p->hop) {
    case 0:
        return &node_wire[2 * one];
    case 1:
        return &group_wire[2 * group_of(p->from)];
    case 2:
        return &group_wire[2 * group_of(p->to) + 1];
    default:
        return &node_wire[2 * other + 1];
    }
}

static void reach(void *context, uint64_t number)
{
    parcel_t    *p = context;
    int          last;
    double       latency;
    wire_t      *wire  = hop(p, &last, &latency);
    const double start = fmax(event_now(), wire->free), takes = p->bytes / wire->rate;

    (void)number;
    wire->free = start + takes;
    p->tail    = fmax(p->tail, wire->free);
    if (p->hop == 0) {
        p->sent(p, wire->free);
    }
    if (last) {
        p->arrived(p, p->tail);
        return;
    }
    p->tail += latency;
    p->hop++;
    event_at(start + latency, reach, p, 0);
}

void links_send(parcel_t *parcel, double time)
{
    parcel->hop  = 0;
    parcel->tail = 0.0;
    event_at(time, reach, parcel, 0);
}
