/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/links.h - how long messages take: each link carries one after the other, in the order
 * in which they reach it.
 *
 * A message between nodes takes the sender node's link, that out of its group and that into the
 * other (where groups have fewer of them than nodes), and the receiver node's; inside a node, what
 * leaves one rank and what enters the other. Its head goes on as soon as a link is free; its tail
 * comes the time of its bytes after it on the slowest.
 */
#ifndef SIMULATION_LINKS_H
#define SIMULATION_LINKS_H

#include "scaling/script.h"

/* number, sender: of who sends it, for the two functions below. */
typedef struct transfer {
    double   tail;
    int      from, to, hop;
    uint32_t bytes, number, sender;
} transfer_t;

/* sent: the sender's link is free again; arrived: all is there. Called when it is known when that
 * will be, which is not later. */
typedef void link_call_t(const transfer_t *transfer, double when);

void links_open(const script_t *script, link_call_t *sent, link_call_t *arrived);

/** The sender is done with it at that time. */
void links_send(transfer_t *transfer, double time);

/** Seconds of a processor for such a message at both ends together. */
double links_overhead(int from, int to);

#endif /* SIMULATION_LINKS_H */
