/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/machine.c - see machine.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topology/near.h"
#include "runtime/transport/bind/machine.h"

#define TW_MACHINE_RANKS 4096 /* that tw_place() takes */

/* In silence: what CUDA_VISIBLE_DEVICES names, CUDA may know better than the map, and where it is
 * not asked the map is once more. */
static tw_node_t *tw_machine_describe(const tw_context_t *ctx)
{
    tw_context_t quiet = {.log = ctx->log};
    tw_node_t   *node  = NULL;

    quiet.log.level = TW_LOG_ERROR;
    (void)tw_node_create(&quiet, NULL, getenv("CUDA_VISIBLE_DEVICES"), &node);
    return node;
}

tw_node_t *tw_machine_map(tw_context_t *ctx)
{
    tw_node_t *node, *mine = NULL;

    pthread_mutex_lock(&ctx->lock);
    node = ctx->node;
    pthread_mutex_unlock(&ctx->lock);
    if (node == NULL) { /* not under the lock: that takes long, and logs */
        mine = tw_machine_describe(ctx);
    }
    pthread_mutex_lock(&ctx->lock);
    if (ctx->node == NULL && mine != NULL) {
        ctx->node         = mine;
        ctx->node_release = tw_node_destroy;
        mine              = NULL;
    }
    node = ctx->node;
    if (node != NULL) {
        tw_node_log(node, &ctx->log); /* it may have been set anew */
    }
    pthread_mutex_unlock(&ctx->lock);
    tw_node_destroy(mine); /* another thread was faster */
    return node;
}

static int tw_number_of(const char *text)
{
    return text != NULL && text[0] >= '0' && text[0] <= '9' ? atoi(text) : -1;
}

/* Of "4(x2),3", tasks on each node of a step, those on the n-th; -1: there is none. */
static int tw_tasks_of(const char *text, int n)
{
    while (text != NULL && *text >= '0' && *text <= '9') {
        char *end;
        long  tasks = strtol(text, &end, 10), nodes = 1;

        if (strncmp(end, "(x", 2) == 0) {
            nodes = strtol(end + 2, &end, 10);
            end += *end == ')';
        }
        if (n < nodes) {
            return (int)tasks;
        }
        n -= (int)nodes;
        text = *end == ',' ? end + 1 : NULL;
    }
    return -1;
}

bool tw_machine_local(int *rank_p, int *ranks_p)
{
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};
    const int node  = tw_number_of(getenv("SLURM_NODEID"));
    int       rank  = tw_number_of(getenv("SLURM_LOCALID"));
    int       ranks = node >= 0 ? tw_tasks_of(getenv("SLURM_STEP_TASKS_PER_NODE"), node) : -1;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (getenv(names[i][0]) != NULL) { /* a job of mpirun's inside of Slurm's */
            rank  = tw_number_of(getenv(names[i][0]));
            ranks = tw_number_of(getenv(names[i][1]));
            break;
        }
    }
    if (rank < 0 || rank >= ranks || ranks > TW_MACHINE_RANKS) {
        return false;
    }
    *rank_p  = rank;
    *ranks_p = ranks;
    return true;
}
