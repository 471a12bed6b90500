/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/check.c - what a call left in its buffers, compared with what it must be.
 */
#include "config.h"

#include <string.h>

#include "tests/interpose/job.h"

static const char *const reductions[] = {"",         ", max",        ", band",
                                         ", minloc", ", user's sum", ", user's left"};

_Thread_local int t_changed[T_OPS][5], t_changeable[T_OPS][5];

static void note_call(const t_job_t *job)
{
    const t_call_t *call = &job->call;

    t_note("%s, %s%s%s on %s, root %d, %d units, send %s, recv %s", t_form_names[call->form],
           t_op_names[call->op], reductions[call->reduction], call->in_place ? " in place" : "",
           job->place.name, call->root, call->units, call->send->name, call->recv->name);
}

/* Names the first byte that differs: an element of a piece, or something beside the data. */
static void complain(const t_buffer_t *buffer, const char *which, size_t byte)
{
    const t_layout_t *layout = buffer->layout;
    const long        offset = (long)byte - T_GUARD;

    for (int p = 0; p < buffer->count; p++) {
        for (long i = 0; i < buffer->pieces[p].items; i++) {
            for (int k = 0; k < layout->basics; k++) {
                const t_base_t base = (t_base_t)layout->base[k];
                const long     at   = (buffer->pieces[p].at + i) * layout->extent + layout->at[k];

                if (offset >= at && offset < at + (long)t_base_size(base)) {
                    t_fail(__FILE__, __LINE__,
                           "%s, piece %d of %d, element %ld: %.9g (%a), not %.9g (%a)", which, p,
                           buffer->count, i * layout->basics + k,
                           t_read(base, buffer->memory + T_GUARD + at),
                           t_read(base, buffer->memory + T_GUARD + at),
                           t_read(base, buffer->want + T_GUARD + at),
                           t_read(base, buffer->want + T_GUARD + at));
                    return;
                }
            }
        }
    }
    t_fail(__FILE__, __LINE__, "%s: byte %ld of %zu, beside the data, was changed", which, offset,
           buffer->bytes - 2 * T_GUARD);
}

static void compare(const t_job_t *job, const t_buffer_t *buffer, const char *which)
{
    const bool recv = buffer == &job->recv;

    for (size_t i = 0; i < buffer->bytes; i++) {
        if (buffer->memory[i] != buffer->want[i] &&
            !(recv && i >= job->loose_from && i < job->loose_to)) {
            complain(buffer, which, i);
            return;
        }
    }
}

/* Compare the values of compressed data with a tolerance, then take them for right. */
static bool compare_lossy(t_job_t *job)
{
    t_buffer_t       *recv   = &job->recv;
    const t_layout_t *layout = recv->layout;
    const t_base_t    base   = (t_base_t)layout->base[0];
    const double      rel    = base == T_FLOAT ? t_expectation.rel_float : t_expectation.rel_double;
    double            error = 0, all = 0, magnitude = 0;
    bool              changed = false;

    for (int p = 0; p < recv->count; p++) {
        uint64_t position = recv->pieces[p].first;

        for (long i = 0; i < recv->pieces[p].items; i++) {
            for (int k = 0; k < layout->basics; k++, position++) {
                const long at = T_GUARD + (recv->pieces[p].at + i) * layout->extent + layout->at[k];
                const double got  = t_read(base, recv->memory + at);
                const double want = t_read(base, recv->want + at);

                magnitude = want;
                if (recv->pieces[p].who < 0) {
                    t_reduced(job, base, position, &magnitude);
                }
                changed |= memcmp(recv->memory + at, recv->want + at, t_base_size(base)) != 0;
                error += (got - want) * (got - want);
                all += magnitude * magnitude;
                memcpy(recv->memory + at, recv->want + at, t_base_size(base));
            }
        }
    }
    T_CHECK(error <= rel * rel * all, "error^2 / magnitude^2 is %g / %g, above (%g)^2", error, all,
            rel);
    return changed;
}

void t_job_check(t_job_t *job, bool *changed_p)
{
    bool changed = false;

    note_call(job);
    if (t_expectation.kind == T_LOSSY && t_eligible(&job->call, &job->place)) {
        changed = compare_lossy(job);
    }
    compare(job, &job->send, "send buffer");
    compare(job, &job->recv, "receive buffer");
    if (changed_p != NULL) {
        *changed_p = changed;
    }
}

void t_job_once(const t_place_t *place, const t_call_t *call)
{
    MPI_Request request = MPI_REQUEST_NULL;
    t_job_t     job;
    bool        changed;

    t_job_open(&job, place, call);
    note_call(&job);
    T_OK(t_job_issue(&job, &request));
    if (call->form == T_PERSISTENT) {
        T_OK(MPI_Start(&request));
    }
    T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (request != MPI_REQUEST_NULL) {
        T_OK(MPI_Request_free(&request));
    }
    t_job_check(&job, &changed);
    if (t_eligible(call, place) && (size_t)(call->units * call->unit) * 4 >= T_ENOUGH) {
        t_changeable[call->op][call->form]++;
        t_changed[call->op][call->form] += changed;
    }
    t_job_close(&job);
}
