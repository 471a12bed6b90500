/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/machine.c - see machine.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaling/machine.h"
#include "scaling/parser.h"

static int read_network(parser_t *p, const config_setting_t *at, network_t *network)
{
    const char  *text    = config_setting_get_string(at);
    tw_problem_t problem = {.set = 0};

    if (text == NULL) {
        return job_wrong(p, at, "network: accepted is a text, as for thinwire scale --network");
    }
    return network_parse(network, text, strlen(text), &problem) == 0
               ? 0
               : job_wrong(p, at, "%s", problem.text + strspn(problem.text, "-")); /* no option */
}

/* A number of that name, if there is one. */
static int read_rate(parser_t *p, const config_setting_t *root, const char *key, double *value)
{
    const config_setting_t *at = config_setting_get_member(root, key);

    return at == NULL ? 0 : job_number(p, at, RATE_LEAST, RATE_MOST, value);
}

static int read_count(parser_t *p, const config_setting_t *root, const char *key, int *value)
{
    const config_setting_t *at     = config_setting_get_member(root, key);
    double                  number = *value;

    if (at != NULL && job_whole(p, at, WORKLOAD_RANKS, &number) != 0) {
        return -1;
    }
    *value = (int)number;
    return 0;
}

static int read_machine(parser_t *p, const config_setting_t *root, void *into)
{
    speeds_t               *m       = into;
    const config_setting_t *name    = config_setting_get_member(root, "name"),
                           *network = config_setting_get_member(root, "network");

    if (job_only(p, root,
                 "name, ranks, ranks_per_node, network, flops, convolution_flops, memory_rate, "
                 "memory, codec_rate") != 0) {
        return -1;
    }
    if (name == NULL || network == NULL || config_setting_get_member(root, "flops") == NULL) {
        return job_wrong(p, NULL, "it needs name, network and flops");
    }
    m->ranks = m->ranks_per_node = 1;
    if (job_word(p, name, m->name) != 0 || read_network(p, network, &m->network) != 0 ||
        read_count(p, root, "ranks", &m->ranks) != 0 ||
        read_count(p, root, "ranks_per_node", &m->ranks_per_node) != 0 ||
        read_rate(p, root, "flops", &m->flops) != 0) {
        return -1;
    }
    m->convolution_flops = m->flops;
    return read_rate(p, root, "convolution_flops", &m->convolution_flops) != 0 ||
                   read_rate(p, root, "memory_rate", &m->memory_rate) != 0 ||
                   read_rate(p, root, "memory", &m->memory) != 0
               ? -1
               : read_rate(p, root, "codec_rate", &m->codec_rate);
}

int machine_read(speeds_t *machine, const char *path, tw_problem_t *problem)
{
    *machine = (speeds_t){.ranks = 1};
    return parse_file(path, read_machine, machine, problem);
}
