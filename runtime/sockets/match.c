/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/match.c - lists of messages, and which receive takes which message.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/sockets/world.h"

tw_tcp_message_t *tw_tcp_new(tw_world_t *world, tw_frame_kind_t kind)
{
    tw_tcp_message_t *message = calloc(1, sizeof(*message));

    if (message != NULL) {
        message->world      = world;
        message->frame.kind = kind;
    }
    return message;
}

void tw_tcp_free(tw_tcp_message_t *message)
{
    if (message != NULL) {
        if (message->owned) {
            free(message->data);
        }
        free(message->schedule);
        free(message);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

void tw_list_append(tw_tcp_list_t *list, tw_tcp_message_t *message)
{
    message->next = NULL;
    if (list->first == NULL) {
        list->first = message;
    } else {
        list->last->next = message;
    }
    list->last = message;
}

/* What stands behind `before` (NULL: the first). */
static tw_tcp_message_t *tw_list_take(tw_tcp_list_t *list, tw_tcp_message_t *before)
{
    tw_tcp_message_t **at    = before != NULL ? &before->next : &list->first;
    tw_tcp_message_t  *found = *at;

    *at = found->next;
    if (list->last == found) {
        list->last = before;
    }
    found->next = NULL;
    return found;
}

tw_tcp_message_t *tw_list_pop(tw_tcp_list_t *list)
{
    return list->first != NULL ? tw_list_take(list, NULL) : NULL;
}

/* The first that matches, left where it is, and what stands before it. */
static tw_tcp_message_t *tw_list_seek(const tw_tcp_list_t *list, const tw_frame_t *frame,
                                      tw_tcp_message_t **before_p)
{
    tw_tcp_message_t *m = list->first;

    *before_p = NULL;
    while (m != NULL && (m->frame.context != frame->context || m->frame.tag != frame->tag)) {
        *before_p = m;
        m         = m->next;
    }
    return m;
}

tw_tcp_message_t *tw_list_match(tw_tcp_list_t *list, const tw_frame_t *frame)
{
    tw_tcp_message_t *before;

    return tw_list_seek(list, frame, &before) != NULL ? tw_list_take(list, before) : NULL;
}

tw_tcp_message_t *tw_list_numbered(tw_tcp_list_t *list, uint64_t number)
{
    tw_tcp_message_t *before = NULL;

    for (tw_tcp_message_t *m = list->first; m != NULL; before = m, m = m->next) {
        if (m->frame.sender == number) {
            return tw_list_take(list, before);
        }
    }
    return NULL;
}

/* ---- matching -------------------------------------------------------------------------------- */

bool tw_match_fits(tw_tcp_message_t *receive, size_t size)
{
    if (size > receive->room) { /* comes, and is dropped */
        receive->error = MPI_ERR_TRUNCATE;
        receive->data  = malloc(size);
        receive->owned = true;
    }
    receive->frame.size = size;
    receive->moved      = 0;
    return size == 0 || receive->data != NULL;
}

/* The receive that was posted first, from this peer or from any. */
static tw_tcp_message_t *tw_match_posted(tw_world_t *world, tw_peer_t *peer,
                                         const tw_frame_t *frame)
{
    tw_tcp_message_t *before[2];
    tw_tcp_message_t *wild  = tw_list_seek(&world->wild, frame, &before[0]);
    tw_tcp_message_t *named = tw_list_seek(&peer->posted, frame, &before[1]);

    if (named != NULL && (wild == NULL || named->frame.sender < wild->frame.sender)) {
        return tw_list_take(&peer->posted, before[1]);
    }
    if (wild != NULL) {
        tw_list_take(&world->wild, before[0]);
        wild->source = 0;
        while (&world->peers[wild->group->ranks[wild->source]] != peer) {
            wild->source++;
        }
    }
    return wild;
}

tw_tcp_message_t *tw_match_arrival(tw_world_t *world, tw_peer_t *peer, const tw_frame_t *frame)
{
    tw_tcp_message_t *message = tw_match_posted(world, peer, frame);

    if (message != NULL) {
        return tw_match_fits(message, frame->size) ? message : NULL;
    }
    message = tw_tcp_new(world, (tw_frame_kind_t)frame->kind);
    if (message == NULL) {
        return NULL;
    }
    message->frame = *frame;
    tw_list_append(&peer->unexpected, message);
    return message;
}

bool tw_match_place(tw_tcp_message_t *message)
{
    if (message->data == NULL && message->frame.size > 0) {
        message->owned = message->taker == NULL;
        message->data  = message->owned ? malloc(message->frame.size) : message->taker->data;
    }
    return message->frame.size == 0 || message->data != NULL;
}

void tw_match_complete(tw_tcp_message_t *message)
{
    tw_tcp_message_t *taker = message->taker;

    message->done = true;
    message->world->moved++;
    if (taker != NULL) { /* it had come before its receive, but not all of it */
        if (message->owned && taker->error == MPI_SUCCESS) {
            memcpy(taker->data, message->data, message->frame.size);
        }
        taker->done = true;
        tw_tcp_free(message);
    }
}
