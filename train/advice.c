/* SPDX-License-Identifier: BSD-3-Clause
 * train/advice.c - see advice.h.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "train/advice.h"
#include "train/agree.h"

/* A text of the advice, with its NUL into as much room. */
static int read_text(const json_t *advice, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(advice, key));

    return value != NULL && (size_t)snprintf(text, size, "%s", value) < size;
}

static int read_advice(tw_train_options_t *o, int ranks, const json_t *advice,
                       tw_problem_t *problem)
{
    const json_t *batch = json_object_get(advice, "batch");
    char          grad[128], act[128];
    const int     planned = (int)json_integer_value(json_object_get(advice, "ranks"));

    if (!read_text(advice, "model", o->planned.model, sizeof(o->planned.model)) ||
        !read_text(advice, "scheme", o->planned.scheme, sizeof(o->planned.scheme)) ||
        !read_text(advice, "grad", grad, sizeof(grad)) ||
        !read_text(advice, "act", act, sizeof(act)) ||
        !(json_number_value(batch) >= 1.0 && json_number_value(batch) <= 1e9)) {
        return tw_problem_set(problem,
                              "--plan %s: there is no advice in it; thinwire plan --json "
                              "writes it",
                              o->plan);
    }
    if (planned != ranks) {
        return tw_problem_set(problem, "--plan %s: it is for %d ranks; this run has %d", o->plan,
                              planned, ranks);
    }
    o->planned.batch = (uint64_t)json_number_value(batch);
    snprintf(o->planned.codec, sizeof(o->planned.codec),
             strcmp(o->planned.scheme, "data") == 0 ? "grad=%s" : "grad=%s,act=%s", grad, act);
    return 0;
}

static int read_file(tw_train_options_t *o, int ranks, tw_problem_t *problem)
{
    json_error_t error;
    json_t      *root = json_load_file(o->plan, 0, &error);
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
        tw_problem_set(problem, "--plan decides the model, batch, scheme and codec: not with %s",
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
    o->codec  = o->planned.codec;
    o->batch  = o->planned.batch;
    return tw_train_options_check(o, problem);
}
