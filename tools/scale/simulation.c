/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/simulation.c - see simulation.h. The script goes to the player in a file without a
 * name, the result comes back as a line.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scaling/script.h"
#include "tools/scale/child.h"
#include "tools/scale/platform.h"
#include "tools/scale/simulation.h"

#define PLAYER "thinwire-player"

/* Of one simulation: some minutes. Those of a platform take SimGrid much longer. */
#define MESSAGES_MOST 1e8
#define FLOWS_MOST    1e6

/* RANKS_MOST: each has a stack, and what it knows of the others. */
enum { RANKS_MOST = 16384, PLAYED_STEPS = 3 };

/* ---- the script ---------------------------------------------------------------------------- */

/* exchange is to be freed, after a failure too. */
static int script_make(script_t *script, const workload_t *work, const step_case_t *how,
                       const network_t *network, tw_problem_t *problem)
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
                         .slower    = step_slower(work, facts),
                         .items     = work->items,
                         .item      = work->item,
                         .exchanges = work->exchanges,
                         .exchange  = calloc(work->exchanges + 1, sizeof(*script->exchange))};
    if (!network->measured) { /* groups share their links when they do */
        script->between.shared = script->between.bandwidth;
    }
    if (script->exchange == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    for (size_t i = 0; i < work->exchanges; i++) {
        script_exchange_t *x = &script->exchange[i];
        step_exchange_t    found;

        if (work->exchange[i].messages > 0) {
            return tw_problem_set(
                problem, "--simulate: '%.60s' is of messages; what is played is collectives",
                work->exchange[i].name);
        }
        if (step_exchange(&work->exchange[i], how, &found, problem) != 0) {
            return -1;
        }
        if (found.ranks < facts->ranks) {
            return tw_problem_set(
                problem, "--simulate: '%.60s' is of %d of %d ranks; what is played is of all",
                work->exchange[i].name, found.ranks, facts->ranks);
        }
        x->operation = work->exchange[i].operation;
        x->count     = found.count;
        x->codec     = *found.codec;
        x->messages  = found.prediction.messages;
        snprintf(x->algorithm, sizeof(x->algorithm), "%s", found.prediction.algorithm);
    }
    return 0;
}

static double messages_in(const script_t *script)
{
    double sum = 0.0, times[WORKLOAD_NESTED + 1] = {PLAYED_STEPS};
    int    depth = 0;

    for (size_t i = 0; i < script->items; i++) {
        const item_t *item = &script->item[i];

        if (item->kind == ITEM_START) {
            sum += times[depth] * script->exchange[item->exchange].messages;
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

typedef struct outcome {
    step_time_t *time;
    int          has_result;
} outcome_t;

static void take_result(void *context, const char *text)
{
    outcome_t   *outcome = context;
    step_time_t *time    = outcome->time;
    double       messages;

    outcome->has_result |= sscanf(text, SCRIPT_RESULT, &time->seconds, &time->compute,
                                  &time->exposed, &time->codec, &time->bytes, &messages) == 6;
}

static int play_script(const script_t *script, const network_t *network, FILE *file,
                       step_time_t *time, tw_problem_t *problem)
{
    outcome_t    outcome = {.time = time};
    tw_problem_t found   = {.set = 0};
    char         player[PATH_MAX], path[64];
    char        *argv[] = {player, path, NULL};
    int          status = -1;

    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), fileno(file));
    if (network->hosts > 0) {
        status = platform_play(network, script->ranks, script->per_node, path, take_result,
                               &outcome, &found);
    } else if (child_find(PLAYER, player, sizeof(player)) != 0) {
        tw_problem_set(&found, "there is no program " PLAYER);
    } else {
        status = child_run(argv, take_result, &outcome, &found);
    }
    if (status != 0 || !outcome.has_result) {
        return tw_problem_set(problem, "--simulate: %s",
                              status == 0 ? "the player said no result" : found.text);
    }
    return 0;
}

int simulation_step(const workload_t *work, const step_case_t *how, const network_t *network,
                    step_time_t *time, tw_problem_t *problem)
{
    const double most = network->hosts > 0 ? FLOWS_MOST : MESSAGES_MOST;
    script_t     script;
    double       messages;
    FILE        *file;
    int          status = -1;

    if (how->facts->ranks > RANKS_MOST) {
        return tw_problem_set(
            problem,
            "--simulate: %d ranks, of at most %d; without --simulate the model takes them all",
            how->facts->ranks, RANKS_MOST);
    }
    if (script_make(&script, work, how, network, problem) != 0) {
        free(script.exchange);
        return -1;
    }
    messages = messages_in(&script);
    file     = tmpfile();
    if (messages > most) {
        tw_problem_set(
            problem,
            "--simulate: about %.2g messages on %d ranks, of at most %.0g; without --simulate "
            "the model takes them all",
            messages, script.ranks, most);
    } else if (file == NULL || script_write(&script, file) != 0) {
        tw_problem_set(problem, "--simulate: a temporary file: %s", strerror(errno));
    } else {
        *time  = (step_time_t){.seconds = 0.0};
        status = play_script(&script, network, file, time, problem);
    }
    if (file != NULL) {
        fclose(file);
    }
    free(script.exchange);
    return status;
}
