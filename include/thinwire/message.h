/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/message.h - messages of bytes between two ranks, uncompressed.
 *
 * They match by rank and tag, in the order of sending, apart from all collectives of the
 * communicator. Ranks may start them in any order, also in cycles: none blocks.
 */
#ifndef THINWIRE_MESSAGE_H
#define THINWIRE_MESSAGE_H

#include <stddef.h>

#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

#define TW_ANY_RANK     (-1)
#define TW_MESSAGE_TAGS 16384 /* tags are 0 .. TW_MESSAGE_TAGS - 1 */

/** A message that was started. */
typedef struct tw_message tw_message_t;

/** Start sending. Not collective.
 * @param [in]  bytes      of host memory; must be left alone until the message is complete. May be
 *                         NULL if size is 0.
 * @param [in]  size       in bytes, equal on both ranks.
 * @param [in]  peer       rank of the receiver, also this one.
 * @param [out] message_p  set only on TW_OK; ends by tw_message_test().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (no such rank or tag; logged), TW_ERR_NO_MEMORY,
 *         TW_ERR_MPI, TW_ERR_DEAD. */
tw_status_t tw_message_send(tw_comm_t *comm, const void *bytes, size_t size, int peer, int tag,
                            tw_message_t **message_p);

/** Start receiving. Not collective.
 * @param [out] bytes  size bytes of host memory, written to until the message is complete.
 * @param [in]  peer   rank of the sender, or TW_ANY_RANK for a message of at most 1 GiB.
 * @return as tw_message_send(); TW_ERR_RANGE also for a larger message of any rank. */
tw_status_t tw_message_recv(tw_comm_t *comm, void *bytes, size_t size, int peer, int tag,
                            tw_message_t **message_p);

/** Advance a message without blocking.
 * @param [in,out] message_p  released and set to NULL when it is complete, and on an error that
 *                            killed the communicator: then its memory may still be written to.
 * @param [out]    done_p     1: complete, else 0.
 * @param [out]    peer_p     the other rank, once complete; may be NULL.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_MPI, TW_ERR_DEAD. */
tw_status_t tw_message_test(tw_message_t **message_p, int *done_p, int *peer_p);

TW_END_DECLS

#endif /* THINWIRE_MESSAGE_H */
