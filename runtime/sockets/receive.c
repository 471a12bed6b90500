/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/receive.c - connections are accepted, read, and found to have ended. See world.h.
 *
 * Whoever listens is found by port scanners, too: a stranger that does not say HELLO with the
 * cookie, which only ranks have from the store, is turned away with a line in the log.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "runtime/base/clock.h"
#include "runtime/sockets/world.h"

#define TW_EVENTS      16 /* of a poll */
#define TW_HELD_POLLS  2  /* in the second, what the first has ended is begun again */
#define TW_STRANGERS   64 /* at a time */
#define TW_STRANGER_NS UINT64_C(10000000000) /* for a HELLO */

static void tw_stream_read(tw_world_t *world, tw_stream_t *s, bool all);
static void tw_strangers_hear(tw_world_t *world);

/* ---- the end of a stream --------------------------------------------------------------------- */

/* What was to be sent over a connection that could not be made goes over the other one's. */
static void tw_stream_move(tw_world_t *world, tw_stream_t *s, tw_stream_t *other)
{
    tw_tcp_message_t *m;

    tw_tcp_free(tw_list_pop(&s->queue)); /* HELLO */
    while ((m = tw_list_pop(&s->queue)) != NULL) {
        tw_list_append(&other->queue, m);
    }
    world->peers[s->rank].out = other;
    tw_stream_flush(world, other);
}

/* A stream has ended, or failed. Is its peer gone? The other stream, which may not have been heard
 * yet, may have a BYE; and what a peer that has left has sent last may yet come over it. */
static void tw_stream_end(tw_world_t *world, tw_stream_t *s, int error)
{
    const int    rank  = s->rank;
    tw_peer_t   *peer  = &world->peers[rank];
    const bool   tried = !s->connected;
    tw_stream_t *other;

    if (s->fd < 0 || s->ending) {
        return;
    }
    s->ending = true;
    tw_strangers_hear(world);
    other = peer->stream[peer->stream[0] == s ? 1 : 0];
    if (other != NULL) {
        tw_stream_read(world, other, true);
        other = peer->stream[peer->stream[0] == s ? 1 : 0];
    }
    if (tried && other != NULL && !peer->left) {
        tw_stream_move(world, s, other);
    } else if (tried && !peer->left) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_UNREACHABLE, error, rank));
    } else if (!peer->left) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_LOST, error & 255, rank));
    } else if ((other == NULL && (peer->posted.first != NULL || peer->expected.first != NULL ||
                                  peer->offered.first != NULL)) ||
               (!tried && s->queue.first != NULL)) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_LEFT, 0, rank));
    }
    tw_stream_close(world, s);
}

static void tw_stream_connected(tw_world_t *world, tw_stream_t *s)
{
    int       error = 0;
    socklen_t size  = sizeof(error);

    getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    s->connected = error == 0;
    if (error != 0) {
        tw_stream_end(world, s, error);
    }
}

/* ---- strangers ------------------------------------------------------------------------------- */

static void tw_stranger_remove(tw_world_t *world, const tw_stream_t *s)
{
    tw_stream_t **at = &world->strangers;

    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    world->stranger_count--;
}

static void tw_stranger_refuse(tw_world_t *world, tw_stream_t *s, const char *why)
{
    if (!world->warned) {
        TW_WARN(&world->log, "a connection from outside the job was closed: %s", why);
    }
    world->warned = true;
    tw_stranger_remove(world, s);
    tw_stream_close(world, s);
}

static void tw_stranger_hello(tw_world_t *world, tw_stream_t *s, const tw_frame_t *frame)
{
    const int rank = frame->tag;

    if (frame->kind != TW_HELLO || frame->size != (uint64_t)world->rank ||
        memcmp(frame->cookie, world->cookie, TW_COOKIE_BYTES) != 0 || rank < 0 ||
        rank >= world->size || rank == world->rank || world->peers[rank].stream[1] != NULL) {
        tw_stranger_refuse(world, s, "it did not say what ranks say");
        return;
    }
    tw_stranger_remove(world, s);
    s->rank                      = rank;
    world->peers[rank].stream[1] = s;
}

static void tw_stream_accept(tw_world_t *world)
{
    int fd;

    while ((fd = accept4(world->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        tw_stream_t *s = tw_stream_new(world, fd, -1, true);

        if (s == NULL) {
            continue;
        }
        s->since_ns      = tw_clock_ns();
        s->next          = world->strangers;
        world->strangers = s;
        if (++world->stranger_count > TW_STRANGERS) {
            for (s = world->strangers; s->next != NULL;) {
                s = s->next;
            }
            tw_stranger_refuse(world, s, "there are too many that say nothing");
        }
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_SYSTEM, errno, world->rank));
    }
}

/* What all say that have connected. What one says may end others. */
static void tw_strangers_hear(tw_world_t *world)
{
    tw_stream_accept(world);
    for (tw_stream_t *s = world->strangers, *next; s != NULL; s = next) {
        next = s->next;
        tw_stream_read(world, s, true);
    }
}

static void tw_strangers_expire(tw_world_t *world)
{
    for (tw_stream_t *s = world->strangers, *next; s != NULL; s = next) {
        next = s->next;
        if (tw_clock_ns() - s->since_ns > TW_STRANGER_NS) {
            tw_stranger_refuse(world, s, "it said nothing for 10 s");
        }
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static void tw_stream_message(tw_world_t *world, tw_stream_t *s, const tw_frame_t *frame)
{
    tw_peer_t        *peer = &world->peers[s->rank];
    tw_tcp_message_t *m    = tw_match_arrival(world, peer, frame);

    if (m == NULL) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_MEMORY, 0, world->rank));
    } else if (frame->kind == TW_FRAME_EAGER) {
        s->incoming = m;
    } else if (m->frame.kind != TW_FRAME_OFFER) { /* a receive that was posted */
        tw_stream_take(world, s->rank, m, frame);
    }
}

/* A frame of a rank; false: no rank sends that. */
static bool tw_stream_frame(tw_world_t *world, tw_stream_t *s, const tw_frame_t *frame)
{
    tw_peer_t        *peer = &world->peers[s->rank];
    tw_tcp_message_t *m;

    switch (frame->kind) {
    case TW_FRAME_EAGER:
    case TW_FRAME_OFFER:
        if (frame->kind == TW_FRAME_EAGER && frame->size > TW_EAGER) {
            return false;
        }
        tw_stream_message(world, s, frame);
        return true;
    case TW_FRAME_READY:
        m = tw_list_numbered(&peer->offered, frame->sender);
        if (m == NULL) {
            return false;
        }
        m->frame.kind   = TW_FRAME_DATA;
        m->frame.sender = frame->receiver;
        tw_stream_send(world, s->rank, m);
        return true;
    case TW_FRAME_DATA:
        s->incoming = tw_list_numbered(&peer->expected, frame->sender);
        return s->incoming != NULL && s->incoming->frame.size == frame->size;
    case TW_FRAME_LOST: /* the sender itself has given up, for a reason that it knows */
        tw_world_fail(world, TW_FAILED(frame->tag == s->rank ? TW_FAILED_GAVE_UP : TW_FAILED_LOST,
                                       0, frame->tag & 0x7ffff));
        return true;
    case TW_FRAME_BYE:
        peer->left = true;
        return true;
    }
    return false;
}

/* Data of the message that is coming which is staged from `at` on; false: it waits for more, or for
 * its receive. What comes behind a message that a receive waited for may be for the next receive,
 * which the caller has yet to post: it is left in the system until then, not copied twice. */
static bool tw_stream_fill(tw_world_t *world, tw_stream_t *s, size_t *at, bool all)
{
    tw_tcp_message_t *m    = s->incoming;
    const size_t      left = s->staged - *at, want = m->frame.size - m->moved;
    const size_t      part = left < want ? left : want;

    if (!all && s->held == 0 && m->data == NULL && m->frame.size > TW_STAGE &&
        s->matched == world->polls) {
        s->held     = world->polls;
        world->held = true;
        return false;
    }
    s->held = 0;
    if (!tw_match_place(m)) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_MEMORY, 0, world->rank));
        return false;
    }
    if (part > 0) {
        memcpy(m->data + m->moved, s->stage + *at, part);
    }
    m->moved += part;
    *at += part;
    if (m->moved < m->frame.size) {
        return false;
    }
    s->matched = m->asked || m->taker != NULL ? world->polls : s->matched;
    tw_match_complete(m);
    s->incoming = NULL;
    return true;
}

/* What is staged: frames, and the beginnings of what follows them. */
static void tw_stream_parse(tw_world_t *world, tw_stream_t *s, bool all)
{
    size_t     at = 0;
    tw_frame_t frame;

    while (s->fd >= 0 && world->error == MPI_SUCCESS &&
           (s->incoming == NULL || tw_stream_fill(world, s, &at, all)) &&
           s->staged - at >= sizeof(frame)) {
        memcpy(&frame, s->stage + at, sizeof(frame));
        at += sizeof(frame);
        if (s->rank < 0) {
            tw_stranger_hello(world, s, &frame);
        } else if (!tw_stream_frame(world, s, &frame)) {
            tw_world_fail(world, TW_FAILED(TW_FAILED_LOST, EPROTO, s->rank));
        }
    }
    memmove(s->stage, s->stage + at, s->staged - at);
    s->staged -= at;
}

/* How many bytes there were, of those there could have been; 0: none, or it has ended. */
static size_t tw_stream_fetch(tw_world_t *world, tw_stream_t *s, size_t *room_p)
{
    tw_tcp_message_t *m     = s->incoming;
    const size_t      want  = m != NULL ? m->frame.size - m->moved : 0;
    struct iovec      two[] = {{want > 0 ? m->data + m->moved : NULL, want},
                               {s->stage + s->staged, TW_STAGE - s->staged}};
    const ssize_t     got   = readv(s->fd, two, 2);
    const size_t      part  = got > 0 && (size_t)got > want ? want : got > 0 ? (size_t)got : 0;

    *room_p = want + TW_STAGE - s->staged;
    if (got > 0) {
        world->moved++;
        if (m != NULL) {
            m->moved += part;
        }
        s->staged += (size_t)got - part;
        return (size_t)got;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (s->rank < 0) {
        tw_stranger_refuse(world, s, "it said nothing");
    } else {
        tw_stream_end(world, s, got < 0 ? errno : 0);
    }
    return 0;
}

/* All that there is. Without `all`, until a read leaves room, behind which there may be an end; or
 * until a message has completed its receive: what the caller does with it, and sends on, is not to
 * wait for those behind it. */
static void tw_stream_read(tw_world_t *world, tw_stream_t *s, bool all)
{
    size_t got = 1, room = 1;

    s->more = false;
    if (s->held != 0 && (all || world->polls - s->held >= TW_HELD_POLLS)) {
        tw_stream_parse(world, s, all);
    }
    while (got > 0 && (all || got == room) && s->fd >= 0 && s->connected && s->held == 0 &&
           world->error == MPI_SUCCESS && !s->more) {
        got = tw_stream_fetch(world, s, &room);
        if (got > 0) {
            tw_stream_parse(world, s, all);
        }
        s->more     = !all && got == room && s->matched == world->polls;
        world->held = world->held || s->more;
    }
}

/* What the last poll left. */
static void tw_streams_resume(tw_world_t *world)
{
    world->held = false;
    for (int r = 0; r < world->size; r++) {
        for (int i = 0; i < 2; i++) {
            tw_stream_t *s = world->peers[r].stream[i];

            if (s != NULL && (s->held != 0 || s->more)) {
                tw_stream_read(world, s, false);
                world->held = world->held || s->held != 0;
            }
        }
    }
}

void tw_stream_poll(tw_world_t *world)
{
    struct epoll_event events[TW_EVENTS];
    const int          n = epoll_wait(world->epoll, events, TW_EVENTS, 0);

    world->polls++;
    if (world->held) {
        tw_streams_resume(world);
    }
    for (int i = 0; i < n && world->error == MPI_SUCCESS; i++) {
        tw_stream_t *s = events[i].data.ptr;

        if (events[i].data.ptr == world) { /* tw_mpi_comm_watch() */
            continue;
        }
        if (s == NULL) {
            tw_stream_accept(world);
            continue;
        }
        if (s->fd >= 0 && !s->connected) {
            tw_stream_connected(world, s);
        }
        if (s->fd >= 0 && (events[i].events & EPOLLOUT) != 0) {
            tw_stream_flush(world, s);
        }
        if (s->fd >= 0) {
            tw_stream_read(world, s, (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
        }
    }
    if (world->strangers != NULL) {
        tw_strangers_expire(world);
    }
    while (world->ended != NULL) {
        tw_stream_t *s = world->ended;

        world->ended = s->next;
        free(s);
    }
}
