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
static int run(const char *platform, int ranks, const char *hosts, const char *script,
               void (*line)(void *context, const char *text), void *context, char *why,
               size_t why_size)
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
        snprintf(why, why_size, "there is no " PLAYER);
        return -1;
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
    return child_run(argv, line, context, why, why_size);
}

/* What it says of itself. */
static void look(void *context, const char *text)
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

int platform_open(network_t *network, const char *text, size_t length, char *why, size_t why_size)
{
    char what[400];

    if (length >= NETWORK_NAME) {
        snprintf(why, why_size, "--network '%.80s...': longer than %d characters", text,
                 NETWORK_NAME - 1);
        return -1;
    }
    *network = *network_preset(1);
    memcpy(network->name, text, length);
    network->name[length] = '\0';
    network->usable       = 1.0;
#ifndef HAVE_SIMGRID
    snprintf(why, why_size,
             "--network %s: this thinwire is built without SimGrid; install libsimgrid-dev "
             "(Debian, Ubuntu) and build again",
             network->name);
    return -1;
#endif
    if (access(network->name, R_OK) != 0) {
        snprintf(why, why_size, "--network: cannot read '%s': %s", network->name, strerror(errno));
        return -1;
    }
    if (run(network->name, 2, NULL, NULL, look, network, what, sizeof(what)) != 0 ||
        network->hosts == 0) {
        platform_free(network);
        snprintf(why, why_size, "--network %s: no platform that SimGrid understands",
                 network->name);
        return -1;
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
                  void (*line)(void *context, const char *text), void *context, char *why,
                  size_t why_size)
{
    const size_t nodes = (size_t)((ranks - 1) / per_node + 1);
    FILE        *file;
    char         hosts[64];
    int          status;

    if (nodes > network->hosts) {
        snprintf(why, why_size, "%s has %zu hosts; %d ranks with %d on each need %zu",
                 network->name, network->hosts, ranks, per_node, nodes);
        return -1;
    }
    file = tmpfile();
    if (file == NULL) {
        snprintf(why, why_size, "a temporary file: %s", strerror(errno));
        return -1;
    }
    for (int r = 0; r < ranks; r++) {
        fprintf(file, "%s\n", network->host[r / per_node]);
    }
    fflush(file);
    snprintf(hosts, sizeof(hosts), "/proc/%ld/fd/%d", (long)getpid(), fileno(file));
    status = run(network->name, ranks, hosts, script, line, context, why, why_size);
    fclose(file);
    return status;
}
