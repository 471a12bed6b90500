/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/messages.c - tags, and messages in parts of at most THINWIRE_MESSAGE_LIMIT.
 */
#include "config.h"

#include "runtime/transport/engine/progress.h"

_Static_assert(TW_STAGES_MAX <= TW_TAG_STAGES, "a tag names the stage");

int tw_lane_tag(const tw_request_t *op, const tw_lane_t *lane, int stage)
{
    const uint64_t cycle = op->sequence % op->comm->tag_cycle;

    return (int)((cycle + 1) * (TW_TAG_ROUNDS * TW_TAG_STAGES) +
                 lane->round % TW_TAG_ROUNDS * TW_TAG_STAGES + (uint64_t)stage);
}

tw_status_t tw_lane_post(tw_request_t *op, tw_lane_t *lane, const tw_held_t *message)
{
    tw_comm_t     *comm   = op->comm;
    const int      tag    = tw_lane_tag(op, lane, message->tag_stage);
    const size_t   limit  = comm->config.message_limit;
    const uint8_t *bytes  = message->bytes;
    tw_status_t    status = TW_OK;

    for (size_t at = 0; at < message->size && status == TW_OK; at += limit) {
        const size_t part = message->size - at < limit ? message->size - at : limit;

        comm->stats.messages_sent++;
        status = comm->endpoint->send(comm, bytes + at, part, message->peer, tag,
                                      &lane->messages[message->stage]);
    }
    return status;
}
