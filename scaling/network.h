/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/network.h - networks as numbers: what people have, or what was measured. Every number
 * of a preset is an assumption, which can be set: "ethernet-10g:latency=30:group=16:taper=2".
 */
#ifndef SCALING_NETWORK_H
#define SCALING_NETWORK_H

#include <stddef.h>

#include <thinwire/facts.h>

#include "command/problem.h"

enum { NETWORK_NAME = 128 };

typedef struct network {
    char   name[NETWORK_NAME];
    double rate; /* Gbit/s of a node's link, in one direction, of which programs get `usable` */
    double usable;
    double latency; /* microseconds of a short message between nodes                             */
    double message; /* microseconds that each further message keeps a rank busy                  */
    double group;   /* nodes under one switch or in one group; 0: all                            */
    double taper;   /* of a group's links, how many there are for each one that leaves it        */
    double inside_rate, inside_latency; /* between two ranks of a node: Gbit/s, microseconds     */
    char **host; /* names of a SimGrid platform's hosts; rate, latency: of the first two        */
    size_t hosts;
    int    measured; /* by a file of calibrate: links is what counts                             */
} network_t;

/** The presets, one by one; NULL beyond the last. */
const network_t *network_preset(size_t index);

/** Read NAME[:KEY=VALUE...].
 * @return 0, or -1 with the problem set. */
int network_parse(network_t *network, const char *text, size_t length, tw_problem_t *problem);

/** Facts of so many ranks on it, `per_node` of them on a node. Codecs, engine and factors stay
 * those of *facts. */
void network_facts(const network_t *network, int ranks, int per_node, tw_facts_t *facts);

/** What is assumed, as a line. */
void network_describe(const network_t *network, char *text, size_t size);

#endif /* SCALING_NETWORK_H */
