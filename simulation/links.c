/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/links.c - see links.h. A link is reserved when a message's head reaches it, which is
 * an event; so links are reserved in the order of simulated time.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "simulation/events.h"
#include "simulation/links.h"
#include "simulation/world.h"

/* Of a message, between different groups: out of a node, out of its group, into the other, into a
 * node. */
enum { HOPS = 4 };

typedef struct wire {
    double free, rate;
} wire_t;

static const script_t *world;
static link_call_t    *when_sent, *when_arrived;
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

void links_open(const script_t *script, link_call_t *sent, link_call_t *arrived)
{
    world        = script;
    when_sent    = sent;
    when_arrived = arrived;
    node_wire    = wires(node_of(script->ranks - 1) + 1, script->between.shared);
    group_wire   = wires(group_of(script->ranks - 1) + 1,
                         script->between.shared * script->group / script->taper);
    rank_wire    = wires(script->ranks, script->inside.shared);
}

double links_overhead(int from, int to)
{
    return node_of(from) == node_of(to) ? world->inside.message : world->between.message;
}

/* The wire of a hop, and what its head takes to the next. */
static wire_t *next_wire(const transfer_t *p, int *last, double *latency)
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

/* Its head comes to the wire of this hop. */
static void reach_wire(transfer_t *p, double time);

static void reach_wire_now(void *context, uint64_t number)
{
    (void)number;
    reach_wire(context, event_now());
}

static void reach_wire(transfer_t *p, double time)
{
    int          last;
    double       latency;
    wire_t      *wire  = next_wire(p, &last, &latency);
    const double start = time > wire->free ? time : wire->free;

    wire->free = start + p->bytes / wire->rate;
    p->tail    = p->tail > wire->free ? p->tail : wire->free;
    if (p->hop == 0) {
        when_sent(p, wire->free);
    }
    if (last) {
        when_arrived(p, p->tail);
        return;
    }
    p->tail += latency;
    p->hop++;
    event_at(start + latency, reach_wire_now, p, 0);
}

/* A link that only one rank uses gets its messages in their order anyway. */
void links_send(transfer_t *transfer, double time)
{
    transfer->hop  = 0;
    transfer->tail = 0.0;
    if (world->per_node == 1) {
        reach_wire(transfer, time);
    } else {
        event_at(time, reach_wire_now, transfer, 0);
    }
}
