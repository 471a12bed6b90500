/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/network.c - see network.h.
 *
 * Rates are those of the standards. Latencies are what MPI takes over TCP through the kernel for
 * Ethernet, and by verbs for InfiniBand, as vendors and users commonly measure them on current
 * machines; pcie2 and pcie3 are GPUs of one machine, 16 lanes each (S4 has 6 GB/s with pcie2).
 * All are rounded, and printed with every result.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaling/network.h"

#define INSIDE .inside_rate = 80, .inside_latency = 0.5

static const network_t presets[] = {
    {"ethernet-1g", .rate = 1, .usable = 0.94, .latency = 40, .message = 4, .taper = 1, INSIDE},
    {"ethernet-10g", .rate = 10, .usable = 0.94, .latency = 20, .message = 2, .taper = 1, INSIDE},
    {"ethernet-25g", .rate = 25, .usable = 0.94, .latency = 15, .message = 2, .taper = 1, INSIDE},
    {"ethernet-100g", .rate = 100, .usable = 0.9, .latency = 12, .message = 1, .taper = 1, INSIDE},
    {"infiniband-100g", .rate = 100, .usable = 0.96, .latency = 1.3, .message = 0.3, .taper = 1,
     INSIDE},
    {"infiniband-200g", .rate = 200, .usable = 0.96, .latency = 1.1, .message = 0.3, .taper = 1,
     INSIDE},
    {"pcie2", .rate = 64, .usable = 0.75, .latency = 10, .message = 2, .taper = 1, INSIDE},
    {"pcie3", .rate = 126, .usable = 0.8, .latency = 8, .message = 2, .taper = 1, INSIDE},
};

enum { PRESETS = sizeof(presets) / sizeof(presets[0]) };

static const struct {
    const char *name;
    size_t      at;
    double      least, most;
} keys[] = {
#define KEY(name, least, most)                                                                     \
    {                                                                                              \
#name, offsetof(network_t, name), least, most                                              \
    }
    KEY(rate, 1e-3, 1e5),       KEY(usable, 0.01, 1),           KEY(latency, 1e-3, 1e6),
    KEY(message, 0, 1e5),       KEY(group, 1, 65536),           KEY(taper, 1, 1000),
    KEY(inside_rate, 0.1, 1e5), KEY(inside_latency, 1e-3, 1e6),
#undef KEY
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

const network_t *network_preset(size_t index)
{
    return index < PRESETS ? &presets[index] : NULL;
}

static int unknown_network(const char *text, size_t length, tw_problem_t *problem)
{
    char   names[200];
    size_t used = 0;

    for (size_t k = 0; k < PRESETS && used < sizeof(names); k++) {
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s %s", k > 0 ? "," : "",
                                 presets[k].name);
    }
    return tw_problem_set(problem, "--network '%.*s': accepted are%s", (int)length, text, names);
}

/* KEY=VALUE of n characters. */
static int set_key(network_t *network, const char *text, size_t n, tw_problem_t *problem)
{
    const size_t length = strcspn(text, "=");
    char        *end, names[200];
    size_t       used = 0;

    for (size_t k = 0; k < KEYS && length < n; k++) {
        if (strlen(keys[k].name) == length && strncmp(keys[k].name, text, length) == 0) {
            const double value = strtod(text + length + 1, &end);

            if (end != text + n || length + 1 == n ||
                !(value >= keys[k].least && value <= keys[k].most)) {
                return tw_problem_set(problem,
                                      "--network: '%.*s': accepted are numbers from %g to %g",
                                      (int)n, text, keys[k].least, keys[k].most);
            }
            memcpy((char *)network + keys[k].at, &value, sizeof(value));
            return 0;
        }
    }
    for (size_t k = 0; k < KEYS && used < sizeof(names); k++) {
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s %s=N", k > 0 ? "," : "",
                                 keys[k].name);
    }
    return tw_problem_set(problem, "--network: '%.*s': accepted are%s", (int)n, text, names);
}

int network_parse(network_t *network, const char *text, size_t length, tw_problem_t *problem)
{
    const char  *colon = memchr(text, ':', length);
    const size_t name  = colon != NULL ? (size_t)(colon - text) : length;
    size_t       k     = 0;

    while (k < PRESETS &&
           (strlen(presets[k].name) != name || strncmp(presets[k].name, text, name) != 0)) {
        k++;
    }
    if (length >= NETWORK_NAME) {
        return tw_problem_set(problem, "--network '%.80s...': longer than %d characters", text,
                              NETWORK_NAME - 1);
    }
    if (k == PRESETS) {
        return unknown_network(text, name < 80 ? name : 80, problem);
    }
    *network = presets[k];
    memcpy(network->name, text, length);
    network->name[length] = '\0';
    for (size_t at = name; at < length;) {
        const char  *word = text + at + 1;
        const size_t left = length - at - 1;
        const char  *next = memchr(word, ':', left);
        const size_t n    = next != NULL ? (size_t)(next - word) : left;

        if (set_key(network, word, n, problem) != 0) {
            return -1;
        }
        at += 1 + n;
    }
    return 0;
}

/* While all exchange with all, a node's traffic to the other groups goes through links of which
 * there are `taper` times too few. */
static double contention(const network_t *network, double nodes)
{
    const double beyond = network->group > 0.0 && nodes > network->group
                              ? (nodes - network->group) / (nodes - 1.0) * network->taper
                              : 0.0;

    return beyond > 1.0 ? beyond : 1.0;
}

void network_facts(const network_t *network, int ranks, int per_node, tw_facts_t *facts)
{
    const int    local  = per_node < ranks ? per_node : ranks;
    const int    nodes  = (ranks - 1) / local + 1;
    const double rate   = network->rate * 1e9 / 8.0 * network->usable,
                 inside = network->inside_rate * 1e9 / 8.0;

    if (ranks != facts->ranks || nodes != facts->nodes || local != facts->local_ranks) {
        memset(facts->native, 0, sizeof(facts->native)); /* they are of those */
    }
    facts->ranks       = ranks;
    facts->nodes       = nodes;
    facts->local_ranks = local;
    if (network->measured) {
        return;
    }
    facts->inside  = local > 1 ? (tw_link_facts_t){.latency   = 1e-6 * network->inside_latency,
                                                   .bandwidth = inside,
                                                   .shared    = inside,
                                                   .message   = 0.2e-6}
                               : (tw_link_facts_t){.latency = 0.0};
    facts->between = nodes > 1 ? (tw_link_facts_t){.latency   = 1e-6 * network->latency,
                                                   .bandwidth = rate,
                                                   .shared    = rate / contention(network, nodes),
                                                   .message   = 1e-6 * network->message}
                               : (tw_link_facts_t){.latency = 0.0};
}

void network_describe(const network_t *network, char *text, size_t size)
{
    size_t used;

    if (network->measured) {
        snprintf(text, size, "%s: links as they were measured", network->name);
        return;
    }
    if (network->hosts > 0) {
        snprintf(text, size,
                 "%s: %zu hosts; between the first two rate=%.3g Gbit/s, latency=%.3g us; "
                 "message=%g us",
                 network->name, network->hosts, network->rate, network->latency, network->message);
        return;
    }
    used = (size_t)snprintf(
        text, size, "%s: rate=%g Gbit/s, usable=%g, latency=%g us, message=%g us, ", network->name,
        network->rate, network->usable, network->latency, network->message);
    if (used < size && network->group > 0.0) {
        used += (size_t)snprintf(text + used, size - used, "group=%g nodes, taper=%g, ",
                                 network->group, network->taper);
    } else if (used < size) {
        used += (size_t)snprintf(text + used, size - used, "one switch, ");
    }
    if (used < size) {
        snprintf(text + used, size - used,
                 "inside a node inside_rate=%g Gbit/s, inside_latency=%g us", network->inside_rate,
                 network->inside_latency);
    }
}
