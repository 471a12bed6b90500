/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/platform.c - see platform.h. By smpirun, which is told nothing that the platform
 * says.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scaling/script.h"
#include "tools/scale/child.h"
#include "tools/scale/platform.h"

#define SUFFIX ".xml"
#define PLAYER "thinwire-player-simgrid.so"

#ifndef HAVE_SIMGRID
#define TW_SMPIRUN ""
#endif

enum { ARGUMENTS = 24, NUMBER = 24 };

int platform_named(const char *text, size_t length)
{
    return length >= strlen(SUFFIX) &&
           strncmp(text + length - strlen(SUFFIX), SUFFIX, strlen(SUFFIX)) == 0;
}

/* hosts, script: NULL for none. */
static int run_smpirun(const char *platform, int ranks, const char *hosts, const char *script,
                       void (*line)(void *context, const char *text), void *context,
                       tw_problem_t *problem)
{
    char              player[PATH_MAX], number[NUMBER];
    char             *argv[ARGUMENTS] = {(char *)(uintptr_t)TW_SMPIRUN};
    int               n               = 1;
    const char *const fixed[]         = {"-quiet",
                                         "-no-privatize",
                                         "--cfg=smpi/simulate-computation:no",
                                         "--cfg=smpi/test:0",
                                         "--cfg=smpi/iprobe:0",
                                         "--cfg=network/model:CM02",
                                         "--cfg=contexts/stack-size:512",
                                         "--log=root.thres:critical",
                                         "-platform",
                                         platform,
                                         "-np",
                                         number};

    if (child_find(PLAYER, player, sizeof(player)) != 0) {
        return tw_problem_set(problem, "there is no " PLAYER);
    }
    snprintf(number, sizeof(number), "%d", ranks);
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        argv[n++] = (char *)(uintptr_t)fixed[i];
    }
    if (hosts != NULL) {
        argv[n++] = (char *)(uintptr_t) "-hostfile";
        argv[n++] = (char *)(uintptr_t)hosts;
    }
    argv[n++] = player;
    argv[n++] = (char *)(uintptr_t)script;
    argv[n]   = NULL;
    return child_run(argv, line, context, problem);
}

/* What it says of itself. */
static void read_line(void *context, const char *text)
{
    network_t *network = context;
    double     latency, rate;

    if (sscanf(text, SCRIPT_LINK, &latency, &rate) == 2) {
        network->latency = 1e6 * latency;
        network->rate    = 8e-9 * rate;
    } else if (strncmp(text, SCRIPT_HOST, strlen(SCRIPT_HOST)) == 0) {
        char **host = realloc(network->host, (network->hosts + 1) * sizeof(*host));
        char  *name = strdup(text + strlen(SCRIPT_HOST));

        if (host != NULL) {
            network->host = host;
        }
        if (host == NULL || name == NULL) {
            free(name);
        } else {
            network->host[network->hosts++] = name;
        }
    }
}

int platform_open(network_t *network, const char *text, size_t length, tw_problem_t *problem)
{
    tw_problem_t ignored = {.set = 0};

    if (length >= NETWORK_NAME) {
        return tw_problem_set(problem, "--network '%.80s...': longer than %d characters", text,
                              NETWORK_NAME - 1);
    }
    *network = *network_preset(1);
    memcpy(network->name, text, length);
    network->name[length] = '\0';
    network->usable       = 1.0;
#ifndef HAVE_SIMGRID
    return tw_problem_set(
        problem,
        "--network %s: this thinwire is built without SimGrid; install libsimgrid-dev "
        "(Debian, Ubuntu) and build again",
        network->name);
#endif
    if (access(network->name, R_OK) != 0) {
        return tw_problem_set(problem, "--network: cannot read '%s': %s", network->name,
                              strerror(errno));
    }
    if (run_smpirun(network->name, 2, NULL, NULL, read_line, network, &ignored) != 0 ||
        network->hosts == 0) {
        platform_free(network);
        return tw_problem_set(problem, "--network %s: no platform that SimGrid understands",
                              network->name);
    }
    return 0;
}

void platform_free(network_t *network)
{
    for (size_t i = 0; i < network->hosts; i++) {
        free(network->host[i]);
    }
    free(network->host);
    network->host  = NULL;
    network->hosts = 0;
}

int platform_play(const network_t *network, int ranks, int per_node, const char *script,
                  void (*line)(void *context, const char *text), void *context,
                  tw_problem_t *problem)
{
    const size_t nodes = (size_t)((ranks - 1) / per_node + 1);
    FILE        *file;
    char         hosts[64];
    int          status;

    if (nodes > network->hosts) {
        return tw_problem_set(problem, "%s has %zu hosts; %d ranks with %d on each need %zu",
                              network->name, network->hosts, ranks, per_node, nodes);
    }
    file = tmpfile();
    if (file == NULL) {
        return tw_problem_set(problem, "a temporary file: %s", strerror(errno));
    }
    for (int r = 0; r < ranks; r++) {
        fprintf(file, "%s\n", network->host[r / per_node]);
    }
    fflush(file);
    snprintf(hosts, sizeof(hosts), "/proc/%ld/fd/%d", (long)getpid(), fileno(file));
    status = run_smpirun(network->name, ranks, hosts, script, line, context, problem);
    fclose(file);
    return status;
}
