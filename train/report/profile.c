/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/profile.c - see profile.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "command/watch.h"
#include "train/report/profile.h"

struct tw_profile {
    const tw_comm_t   *comm;
    tw_profile_row_t   row;
    int                counts; /* inside a step, or an evaluation              */
    int                fixed;  /* inside an evaluation                         */
    uint64_t           begun;  /* steps                                        */
    double             since;  /* when the row was entered                     */
    tw_stats_t         before; /* what the communicator had counted then       */
    tw_profile_facts_t facts;
};

int tw_profile_create(tw_profile_t **profile_p, const tw_comm_t *comm, tw_problem_t *problem)
{
    tw_profile_t *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    p->comm    = comm;
    *profile_p = p;
    return 0;
}

void tw_profile_destroy(tw_profile_t *p)
{
    free(p);
}

static int travels(tw_profile_row_t row)
{
    return row == TW_PROFILE_WEIGHTS || row == TW_PROFILE_GRADIENTS;
}

/* Take at most *left of it. */
static void profile_take(tw_profile_t *p, tw_profile_row_t row, uint64_t ns, double *left)
{
    const double seconds = (double)ns * 1e-9;
    const double taken   = seconds < *left ? seconds : *left;

    p->facts.row[row] += taken;
    *left -= taken;
}

/* A progress thread may code more than this rank has waited for: that much is hidden. */
static void split_codecs(tw_profile_t *p, double *seconds)
{
    tw_stats_t now = p->before;

    tw_comm_stats(p->comm, &now);
    profile_take(p, TW_PROFILE_PACKING, now.encode_ns - p->before.encode_ns, seconds);
    profile_take(p, TW_PROFILE_UNPACKING, now.decode_ns - p->before.decode_ns, seconds);
}

static void leave(tw_profile_t *p, tw_profile_row_t row)
{
    const double now     = MPI_Wtime();
    double       seconds = now - p->since;

    p->since = now;
    if (p->counts) {
        if (travels(p->row)) {
            split_codecs(p, &seconds);
        }
        p->facts.row[row] += seconds;
    }
}

tw_profile_row_t tw_profile_enter(tw_profile_t *p, tw_profile_row_t row)
{
    tw_profile_row_t was;

    if (p == NULL || p->fixed) {
        return row;
    }
    was = p->row;
    leave(p, was);
    p->row = row;
    if (travels(row)) {
        tw_comm_stats(p->comm, &p->before);
    }
    return was;
}

void tw_profile_was(tw_profile_t *p, tw_profile_row_t row)
{
    if (p != NULL && !p->fixed) {
        leave(p, row);
    }
}

/* What came before counts in no row. */
static void start(tw_profile_t *p, tw_profile_row_t row)
{
    tw_profile_enter(p, row);
    p->counts = 1;
}

static void stop(tw_profile_t *p)
{
    tw_profile_enter(p, TW_PROFILE_REST);
    p->counts = 0;
}

static void forget_steps(tw_profile_t *p)
{
    const double evaluation = p->facts.row[TW_PROFILE_EVALUATION];

    memset(&p->facts, 0, sizeof(p->facts));
    p->facts.row[TW_PROFILE_EVALUATION] = evaluation;
}

int tw_profile_begin(tw_profile_t *p)
{
    int forgotten = 0;

    if (p != NULL) {
        if (p->begun++ == 2) {
            forget_steps(p);
            forgotten = 1;
        }
        p->facts.steps++;
        start(p, TW_PROFILE_REST);
    }
    return forgotten;
}

void tw_profile_end(tw_profile_t *p, double seconds)
{
    if (p != NULL) {
        stop(p);
        p->facts.seconds += seconds;
    }
}

void tw_profile_more(tw_profile_t *p, tw_profile_row_t row)
{
    if (p != NULL) {
        start(p, row);
    }
}

void tw_profile_evaluation(tw_profile_t *p, int begins)
{
    if (p != NULL && begins) {
        start(p, TW_PROFILE_EVALUATION);
        p->fixed = 1;
    } else if (p != NULL) {
        p->fixed = 0;
        stop(p);
    }
}

void tw_profile_device(tw_profile_t *p, const tw_device_marks_t *marks)
{
    p->facts.on_device = marks != NULL;
    for (int k = 0; k < TW_MARKEDS; k++) {
        p->facts.device[k] = tw_marks_seconds(marks, (tw_marked_t)k);
    }
}

void tw_profile_slowest(tw_profile_t *p, MPI_Comm comm)
{
    struct {
        double seconds;
        int    rank;
    } mine = {.seconds = p->facts.seconds}, slowest;

    MPI_Comm_rank(comm, &mine.rank);
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    MPI_Bcast(p->facts.row, TW_PROFILE_ROWS, MPI_DOUBLE, slowest.rank, comm);
    MPI_Bcast(p->facts.device, TW_MARKEDS, MPI_DOUBLE, slowest.rank, comm);
    watch_end();
    p->facts.seconds = slowest.seconds;
    p->facts.rank    = slowest.rank;
}

const tw_profile_facts_t *tw_profile_facts(const tw_profile_t *p)
{
    return &p->facts;
}
