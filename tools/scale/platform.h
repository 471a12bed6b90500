/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/platform.h - a platform of SimGrid as a network: its hosts are the nodes, and its
 * links are SimGrid's to simulate.
 */
#ifndef TOOLS_SCALE_PLATFORM_H
#define TOOLS_SCALE_PLATFORM_H

#include <stdio.h>

#include "scaling/network.h"

/** Does the text name a file, and no preset? */
int platform_named(const char *text, size_t length);

/** Look at it: the network gets its hosts, and, for what the library decides by, the link between
 * the first two.
 * @return 0, or -1 with the problem set. platform_free() releases it. */
int platform_open(network_t *network, const char *text, size_t length, tw_problem_t *problem);

void platform_free(network_t *network);

/** Let the player play a script file on it, so many ranks on each host.
 * @return as child_run(). */
int platform_play(const network_t *network, int ranks, int per_node, const char *script,
                  void (*line)(void *context, const char *text), void *context,
                  tw_problem_t *problem);

#endif /* TOOLS_SCALE_PLATFORM_H */
