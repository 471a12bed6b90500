/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/simulation.c - see simulation.h. The script goes to the player in a file without a name,
 * the result comes back as a line; the player ends with this process, however that ends.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scaling/script.h"
#include "tools/scale/simulation.h"

#define PLAYER "thinwire-player"

/* Of one simulation: some minutes. */
#define MESSAGES_MOST 3e8

enum { PLAYED_STEPS = 3, CHUNK_VALUES = 65536 };

/* ---- the script ---------------------------------------------------------------------------- */

static int script_make(script_t *script, const workload_t *work, const step_case_t *how,
                       const network_t *network, char *why, size_t why_size)
{
    const tw_facts_t *facts = how->facts;

    *script = (script_t){.ranks     = facts->ranks,
                         .per_node  = facts->local_ranks,
                         .inside    = facts->inside,
                         .between   = facts->between,
                         .group     = network->group,
                         .taper     = network->taper,
                         .engine    = facts->engine,
                         .share     = how->share,
                         .items     = work->items,
                         .item      = work->item,
                         .exchanges = work->exchanges,
                         .exchange  = calloc(work->exchanges + 1, sizeof(*script->exchange))};
    if (!network->measured) { /* groups share their links when they do */
        script->between.shared = script->between.bandwidth;
    }
    if (script->exchange == NULL) {
        snprintf(why, why_size, "out of memory");
        return 0;
    }
    for (size_t i = 0; i < work->exchanges; i++) {
        script_exchange_t *x = &script->exchange[i];
        step_exchange_t    found;

        if (!step_exchange(&work->exchange[i], how, &found, why, why_size)) {
            free(script->exchange);
            return 0;
        }
        if (found.ranks < facts->ranks) {
            snprintf(why, why_size,
                     "--simulate: '%.60s' is of %d of %d ranks; what is played is of all",
                     work->exchange[i].name, found.ranks, facts->ranks);
            free(script->exchange);
            return 0;
        }
        x->operation = work->exchange[i].operation;
        x->count     = found.count;
        x->wide      = found.codec->wide;
        x->codec     = *found.codec;
        snprintf(x->algorithm, sizeof(x->algorithm), "%s", found.prediction.algorithm);
    }
    return 1;
}

/* About as many messages as all ranks together send for one. */
static double messages_of(const script_exchange_t *x, int ranks, int per_node)
{
    const double p = ranks, nodes = ceil(p / per_node);
    const double whole = ceil(x->count / CHUNK_VALUES), part = ceil(x->count / p / CHUNK_VALUES);
    const int    moves =
        x->operation == TW_OPERATION_ALLGATHER || x->operation == TW_OPERATION_ALLTOALL;

    if (strcmp(x->algorithm, "grid") == 0) {
        return 4.0 * p * sqrt(p) * (moves ? whole : part);
    }
    if (strcmp(x->algorithm, "hierarchical") == 0) {
        return x->operation == TW_OPERATION_BCAST ? p * whole : 2.0 * p * nodes * part;
    }
    if (strcmp(x->algorithm, "node") == 0) {
        return p;
    }
    if (x->operation == TW_OPERATION_BCAST) {
        return p * whole;
    }
    return moves || strcmp(x->algorithm, "direct") == 0 ? p * (p - 1.0) * whole
                                                        : 2.0 * p * (p - 1.0) * part;
}

static double messages_in(const script_t *script)
{
    double sum = 0.0, times[WORKLOAD_NESTED + 1] = {PLAYED_STEPS};
    int    depth = 0;

    for (size_t i = 0; i < script->items; i++) {
        const item_t *item = &script->item[i];

        if (item->kind == ITEM_START) {
            sum += times[depth] *
                   messages_of(&script->exchange[item->exchange], script->ranks, script->per_node);
        } else if (item->kind == ITEM_REPEAT) {
            times[depth + 1] =
                times[depth] * fmin((double)item->times, (double)script_rounds(depth));
            depth++;
        } else if (item->kind == ITEM_END) {
            depth--;
        }
    }
    return sum;
}

/* ---- the player ---------------------------------------------------------------------------- */

/* Beside this program in the build and once installed, or where that was configured to be. */
static int find_player(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);

    if (length > 0) {
        char *slash;

        path[length] = '\0';
        slash        = strrchr(path, '/');
        if (slash != NULL) {
            snprintf(slash, size - (size_t)(slash - path), "/../libexec/thinwire/" PLAYER);
            if (access(path, X_OK) == 0) {
                return 1;
            }
        }
    }
    snprintf(path, size, "%s/" PLAYER, TW_PLAYERS);
    return access(path, X_OK) == 0;
}

/* In the child. */
_Noreturn static void become(const char *player, int script, int out, pid_t parent)
{
    char path[64];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", script);
        execl(player, player, path, (char *)NULL);
    }
    _exit(127);
}

/* The result among what the player says; else its last line. */
static int listen(int from, step_time_t *time, char *line, size_t size)
{
    FILE  *file = fdopen(from, "r");
    int    well = 0;
    char   text[400];
    double messages;

    line[0] = '\0';
    while (file != NULL && fgets(text, sizeof(text), file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        if (sscanf(text, SCRIPT_RESULT, &time->seconds, &time->compute, &time->exposed,
                   &time->codec, &time->bytes, &messages) == 6) {
            well = 1;
        } else {
            snprintf(line, size, "%s", text);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return well;
}

static int play(const char *player, FILE *script, step_time_t *time, char *why, size_t why_size)
{
    const pid_t parent = getpid();
    int         ends[2], status = 0, well;
    char        line[400];
    pid_t       child;

    if (pipe(ends) != 0) {
        snprintf(why, why_size, "--simulate: no pipe: %s", strerror(errno));
        return 0;
    }
    fflush(stdout);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        become(player, fileno(script), ends[1], parent);
    }
    close(ends[1]);
    well = listen(ends[0], time, line, sizeof(line));
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || !well) {
        snprintf(why, why_size, "--simulate: %s%s", line,
                 child < 0                                ? "no process could be started"
                 : WIFSIGNALED(status) && line[0] == '\0' ? "the player was killed"
                 : line[0] == '\0'                        ? "the player ended without a result"
                                                          : "");
        return 0;
    }
    return 1;
}

int simulation_step(const workload_t *work, const step_case_t *how, const network_t *network,
                    step_time_t *time, char *why, size_t why_size)
{
    char     player[PATH_MAX];
    script_t script;
    double   messages;
    FILE    *file;
    int      well = 0;

    if (!find_player(player, sizeof(player))) {
        snprintf(why, why_size, "--simulate: there is no program " PLAYER);
        return 0;
    }
    if (!script_make(&script, work, how, network, why, why_size)) {
        return 0;
    }
    messages = messages_in(&script);
    file     = tmpfile();
    if (messages > MESSAGES_MOST) {
        snprintf(why, why_size,
                 "--simulate: about %.2g messages on %d ranks, of at most %.0g; without --simulate "
                 "the model takes them all",
                 messages, script.ranks, MESSAGES_MOST);
    } else if (file == NULL || !script_write(&script, file)) {
        snprintf(why, why_size, "--simulate: a temporary file: %s", strerror(errno));
    } else {
        *time = (step_time_t){.seconds = 0.0};
        well  = play(player, file, time, why, why_size);
    }
    if (file != NULL) {
        fclose(file);
    }
    free(script.exchange);
    return well;
}
