/* SPDX-License-Identifier: BSD-3-Clause
 * train/advice.c - see advice.h.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "train/advice.h"
#include "train/base/agree.h"

#define BATCH_MOST 1e6 /* as --batch */

/* Texts go into messages: no line of theirs may end. */
static int printable(const char *text)
{
    while (*text != '\0' && (unsigned char)*text >= ' ' && *text != 127) {
        text++;
    }
    return *text == '\0';
}

/* A text of the advice, with its NUL into as much room. */
static int read_text(const tw_train_options_t *o, const json_t *advice, const char *key, char *text,
                     size_t size, tw_problem_t *problem)
{
    const char *value = json_string_value(json_object_get(advice, key));

    if (value == NULL || *value == '\0' || strlen(value) >= size || !printable(value)) {
        return tw_problem_set(problem,
                              "--plan %s: advice.%s: accepted is a text of 1 to %zu characters, "
                              "none of control",
                              o->plan, key, size - 1);
    }
    strcpy(text, value);
    return 0;
}

static int read_whole(const tw_train_options_t *o, const json_t *advice, const char *key,
                      double most, double *value, tw_problem_t *problem)
{
    const json_t *number = json_object_get(advice, key);

    *value = json_number_value(number); /* 0 where it is none */
    if (!(*value >= 1.0 && *value <= most && *value == floor(*value))) {
        return tw_problem_set(problem,
                              "--plan %s: advice.%s: accepted is a whole number from 1 to %.0f",
                              o->plan, key, most);
    }
    return 0;
}

static int read_advice(tw_train_options_t *o, int ranks, const json_t *advice,
                       tw_problem_t *problem)
{
    char   grad[128], act[128], weight[128] = "fp32";
    double planned, batch;

    if (!json_is_object(advice)) {
        return tw_problem_set(problem,
                              "--plan %s: there is no advice in it; thinwire plan --json writes it",
                              o->plan);
    }
    if (read_whole(o, advice, "ranks", INT_MAX, &planned, problem) != 0 ||
        read_whole(o, advice, "batch", BATCH_MOST, &batch, problem) != 0 ||
        read_text(o, advice, "model", o->planned.model, sizeof(o->planned.model), problem) != 0 ||
        read_text(o, advice, "scheme", o->planned.scheme, sizeof(o->planned.scheme), problem) !=
            0 ||
        read_text(o, advice, "grad", grad, sizeof(grad), problem) != 0 ||
        read_text(o, advice, "act", act, sizeof(act), problem) != 0 ||
        read_text(o, advice, "update", o->planned.update, sizeof(o->planned.update), problem) !=
            0 ||
        (json_object_get(advice, "weight") != NULL &&
         read_text(o, advice, "weight", weight, sizeof(weight), problem) != 0)) {
        return -1;
    }
    if ((int)planned != ranks) {
        return tw_problem_set(problem, "--plan %s: it is for %.0f rank%s; this run has %d", o->plan,
                              planned, planned == 1.0 ? "" : "s", ranks);
    }
    o->planned.batch = (uint64_t)batch;
    snprintf(o->planned.codec, sizeof(o->planned.codec),
             strcmp(o->planned.scheme, "data") == 0 ? "grad=%s" : "grad=%s,act=%s", grad, act);
    if (strcmp(o->planned.update, "replicated") != 0) {
        strcat(strcat(o->planned.codec, ",weight="), weight);
    }
    return 0;
}

static int read_file(tw_train_options_t *o, int ranks, tw_problem_t *problem)
{
    json_error_t error;
    json_t      *root = json_load_file(o->plan, JSON_REJECT_DUPLICATES, &error);
    int          status;

    if (root == NULL) {
        return tw_problem_set(problem, "--plan %s: %.200s", o->plan, error.text);
    }
    status = read_advice(o, ranks, json_object_get(root, "advice"), problem);
    json_decref(root);
    return status;
}

int tw_advice_take(tw_train_options_t *o, MPI_Comm comm, tw_problem_t *problem)
{
    int rank, ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (o->chosen != NULL) {
        tw_problem_set(problem,
                       "--plan decides the model, batch, scheme, update and codec: not with %s",
                       o->chosen);
    } else if (rank == 0) {
        read_file(o, ranks, problem);
    }
    if (tw_agree(comm, problem) != 0) {
        return -1;
    }
    MPI_Bcast(&o->planned, sizeof(o->planned), MPI_BYTE, 0, comm);
    o->model  = o->planned.model;
    o->scheme = o->planned.scheme;
    o->update = o->planned.update;
    o->codec  = o->planned.codec;
    o->batch  = o->planned.batch;
    tw_train_options_check(o, problem);
    return tw_agree(comm, problem); /* as all do alike, it says what is wrong */
}
