/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/links.h - how long messages take: each link carries one after the other, in the order in
 * which they reach it.
 *
 * A message between nodes takes the sender node's link, that out of its group and that into the other
 * (where groups have fewer of them than nodes), and the receiver node's; inside a node, what leaves one
 * rank and what enters the other. Its head goes on as soon as a link is free; its tail comes the time of
 * its bytes after it on the slowest.
 */
#ifndef SIMULATION_LINKS_H
#define SIMULATION_LINKS_H

#include "scaling/script.h"

/* sent: the sender's link is free again; arrived: all is there. */
typedef struct parcel {
    int    from, to, hop;
    double bytes, tail;
    void (*sent)(struct parcel *parcel, double when);
    void (*arrived)(struct parcel *parcel, double when);
    uint64_t owner, sender; /* for these two */
} parcel_t;

void links_open(const script_t *script);

/** The sender is done with it at that time. sent() and arrived() are called when it is known when that
 * will be, which is not later. */
void links_send(parcel_t *parcel, double time);

/** Seconds of a processor for such a message at both ends together. */
double links_overhead(int from, int to);

#endif /* SIMULATION_LINKS_H */
