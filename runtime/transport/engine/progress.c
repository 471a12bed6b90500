/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/progress.c - the progress loop, which calls the next step when messages are
 * complete, and the posting of messages.
 */
#include "config.h"

#include "runtime/base/descriptor.h"
#include "runtime/transport/engine/progress.h"

/* Tests without success before the core is given away: short, as ranks may share cores. */
#define TW_SPINS 16

/* ---- messages ------------------------------------------------------------------------------ */

tw_status_t tw_lane_send(tw_request_t *op, tw_lane_t *lane, int stage, int tag_stage,
                         const void *bytes, size_t size, int peer, size_t values)
{
    tw_held_t   message = {stage, tag_stage, peer, bytes, size};
    tw_status_t status;

    tw_comm_count_sent(op->comm, size, op->comm->nodes->node_of[peer] == op->comm->nodes->mine);
    op->comm->stats.bytes_uncompressed += values * op->element;
    if (lane->device != NULL && size > 0) {
        message.bytes = tw_staging_send(op, lane, &message, &status);
        if (message.bytes == NULL) {
            return status;
        }
    }
    return tw_lane_post(op, lane, &message);
}

tw_status_t tw_lane_recv(tw_request_t *op, tw_lane_t *lane, int stage, void *bytes, size_t size,
                         int peer)
{
    tw_comm_t   *comm   = op->comm;
    const int    tag    = tw_lane_tag(op, lane, stage);
    const size_t limit  = comm->config.message_limit;
    tw_status_t  status = TW_OK;

    comm->stats.bytes_received += size;
    if (lane->device != NULL) {
        bytes = tw_staging_recv(lane, stage, bytes, size);
    }
    for (size_t at = 0; at < size && status == TW_OK; at += limit) {
        const size_t part = size - at < limit ? size - at : limit;

        status = comm->endpoint->recv(comm, (uint8_t *)bytes + at, part, peer, tag,
                                      &lane->messages[stage]);
    }
    return status;
}

/* ---- progress ------------------------------------------------------------------------------ */

/* A step, and the device's work behind it. */
static tw_status_t tw_lane_step(tw_request_t *op, tw_lane_t *lane)
{
    const tw_status_t status = op->algorithm->step(op, lane);

    return status == TW_OK && lane->device != NULL ? tw_staging_end(op, lane) : status;
}

static tw_status_t tw_lane_start(tw_request_t *op, tw_lane_t *lane)
{
    lane->round   = op->next_round++;
    lane->stage   = 0;
    lane->awaited = -1;
    lane->busy    = true;
    for (int s = 0; s < TW_STAGES_MAX; s++) {
        lane->messages[s].count = 0;
    }
    if (lane->device != NULL) {
        tw_staging_round(lane);
        tw_staging_begin(op, lane);
    }
    return tw_lane_step(op, lane);
}

static void tw_lane_end(tw_request_t *op, tw_lane_t *lane)
{
    lane->busy = false;
    op->done_rounds++;
}

/* Are the messages of its stage complete, and what they brought under way to where it belongs? */
static bool tw_lane_complete(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p)
{
    tw_messages_t *messages = &lane->messages[lane->stage];
    bool           complete = true;
    int            peer;

    if (messages->count > 0) {
        *status_p = op->comm->endpoint->test(op->comm, messages, &complete);
    }
    if (*status_p == TW_OK && complete && op->poll != NULL) {
        complete = op->poll(op, lane, status_p);
    }
    if (*status_p == TW_OK && complete && op->algorithm->ready != NULL) {
        complete = op->algorithm->ready(op, lane, &peer);
        if (!complete && peer != lane->awaited) { /* the one before has come */
            lane->awaited = peer;
            tw_comm_moved(op->comm);
        }
    }
    if (*status_p == TW_OK && complete && lane->device != NULL) {
        tw_staging_begin(op, lane);
        *status_p = tw_staging_arrived(op, lane);
    }
    return *status_p == TW_OK && complete;
}

/* One lane: the next step, if its device's work and the messages of its stage are complete. */
static bool tw_lane_advance(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p)
{
    const int stages = op->algorithm->stages;

    if (lane->device != NULL && !tw_staging_ready(op, lane, status_p)) {
        return false;
    }
    if (lane->stage < stages) {
        if (!tw_lane_complete(op, lane, status_p)) {
            return false;
        }
        lane->stage++;
        lane->awaited = -1;
        *status_p     = tw_lane_step(op, lane);
        if (lane->stage < stages || *status_p != TW_OK ||
            (lane->device != NULL && tw_staging_owes(lane))) {
            return true;
        }
    }
    tw_lane_end(op, lane);
    return true;
}

/* May the next round start? Its messages have the tags of the round TW_TAG_ROUNDS before it, and
 * must not be taken for that one's: it waits until no lane is that far behind. */
static bool tw_op_may_start(const tw_request_t *op)
{
    for (int l = 0; l < op->lanes; l++) {
        if (op->lane[l].busy && op->next_round - op->lane[l].round >= TW_TAG_ROUNDS) {
            return false;
        }
    }
    return op->next_round < op->rounds;
}

/* Is what it reads there, and copied to where the algorithm has it? */
static bool tw_op_begun(tw_request_t *op, tw_status_t *status_p)
{
    bool done = true;

    if (op->held) {
        *status_p = tw_comm_device_failed(
            op->comm, op->comm->device->ops->query(op->after->event, &done), "the caller's work");
        if (*status_p != TW_OK || !done) {
            return false;
        }
        op->held = false;
        if (op->bounce != NULL) {
            *status_p = tw_bounce_begin(op);
        }
    }
    return *status_p == TW_OK && (op->bounce == NULL || tw_bounce_in(op, status_p));
}

/* Has it yet to call MPI's own collective? */
static bool tw_op_owes_mpi(const tw_request_t *op)
{
    return op->poll != NULL && op->next_round < op->rounds;
}

static bool tw_engine_owes_mpi(const tw_comm_t *comm)
{
    for (const tw_request_t *op = comm->running; op != NULL; op = op->next) {
        if (tw_op_owes_mpi(op)) {
            return true;
        }
    }
    return false;
}

/* MPI's own collectives are called in the order of the operations, as on all ranks: not in that in
 * which a device is done with what they send. */
static bool tw_op_in_turn(const tw_request_t *op)
{
    for (const tw_request_t *before = op->comm->running; op->poll != NULL && before != op;
         before                     = before->next) {
        if (tw_op_owes_mpi(before)) {
            return false;
        }
    }
    return true;
}

/* Everything that can move in one operation; idle lanes take the next rounds, in order: all lanes,
 * or one. */
static tw_status_t tw_op_advance(tw_request_t *op, int lanes, bool *moved_p)
{
    tw_status_t status = TW_OK;

    if (!tw_op_begun(op, &status) || !tw_op_in_turn(op)) {
        return status;
    }
    for (int l = 0; l < op->lanes && status == TW_OK; l++) {
        tw_lane_t *lane = &op->lane[l];

        if (!lane->busy && l < lanes && tw_op_may_start(op)) {
            status   = tw_lane_start(op, lane);
            *moved_p = true;
        }
        while (status == TW_OK && lane->busy && tw_lane_advance(op, lane, &status)) {
            *moved_p = true;
        }
    }
    return status;
}

/* The first of a pass that works on the device: whatever thread this is. */
static tw_status_t tw_op_enter(const tw_request_t *op, bool *entered_p, int *before_p)
{
    if (*entered_p || (op->device == NULL && op->bounce == NULL && !op->held)) {
        return TW_OK;
    }
    *entered_p = true;
    return tw_comm_device_failed(op->comm, tw_comm_device_enter(op->comm, before_p),
                                 "becoming current");
}

/* The oldest operation has the link: while it has rounds to begin, each behind it has one under
 * way, since other ranks may be further with that. So operations end in the order of their starts,
 * not all at the end of the last, and fewer messages wait in queues. */
void tw_engine_progress(tw_comm_t *comm, bool *moved_p)
{
    tw_request_t **at    = &comm->running;
    bool           moved = false, entered = false, behind = false;
    int            before = -1;

    if (comm->status == TW_OK) {
        comm->endpoint->progress(comm);
    }
    while (*at != NULL && comm->status == TW_OK) {
        tw_request_t *op     = *at;
        tw_status_t   status = tw_op_enter(op, &entered, &before);

        if (status == TW_OK) {
            status = tw_op_advance(op, behind ? 1 : op->lanes, &moved);
            behind = behind || (!op->held && op->next_round < op->rounds);
        }
        if (status == TW_OK && op->done_rounds == op->rounds && !op->held &&
            (op->bounce == NULL || tw_bounce_out(op, &status))) {
            op->running = false;
            *at         = op->next;
            moved       = true;
            comm->ended++;
        } else {
            at = &op->next;
        }
    }
    tw_comm_device_leave(comm, before);
    if (moved) {
        tw_comm_moved(comm);
    }
    if (moved_p != NULL) {
        *moved_p = moved;
    }
}

/* Look; then rest, until something comes, or, in naps, a moment. */
static void tw_engine_wait_by(tw_comm_t *comm, bool naps)
{
    for (int spin = 0; spin < TW_SPINS; spin++) {
        bool moved = false;

        tw_engine_progress(comm, &moved);
        if (moved) {
            return;
        }
    }
    comm->system->yield(naps ? TW_DESCRIPTOR_NONE : tw_engine_descriptor(comm));
    tw_engine_check_timeout(comm);
}

void tw_engine_wait_some(tw_comm_t *comm)
{
    tw_engine_wait_by(comm, false);
}

void tw_engine_wait_briefly(tw_comm_t *comm)
{
    tw_engine_wait_by(comm, true);
}

const tw_engine_ops_t tw_engine = {.progress     = tw_engine_progress,
                                   .wait_some    = tw_engine_wait_some,
                                   .owes_mpi     = tw_engine_owes_mpi,
                                   .values_bytes = tw_request_values_bytes,
                                   .pending      = tw_engine_pending,
                                   .descriptor   = tw_engine_descriptor,
                                   .computes     = tw_engine_computes};
