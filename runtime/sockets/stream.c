/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/stream.c - connections are made, written and closed. See world.h.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/sockets/world.h"

#define TW_BATCH       16   /* messages in a write */
#define TW_FAREWELL_MS 1000 /* to write a BYE behind what is queued */

/* ---- making and releasing -------------------------------------------------------------------- */

tw_stream_t *tw_stream_new(tw_world_t *world, int fd, int rank, bool connected)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
    tw_stream_t       *s     = calloc(1, sizeof(*s));
    const int          one   = 1;

    if (s == NULL) {
        close(fd);
        return NULL;
    }
    *s = (tw_stream_t){.fd = fd, .rank = rank, .connected = connected};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    event.data.ptr = s;
    epoll_ctl(world->epoll, EPOLL_CTL_ADD, fd, &event);
    return s;
}

/* Its memory may be that of an event at hand, and is released later. */
void tw_stream_close(tw_world_t *world, tw_stream_t *s)
{
    tw_peer_t        *peer = s->rank >= 0 ? &world->peers[s->rank] : NULL;
    tw_tcp_message_t *m;

    for (int i = 0; i < 2 && peer != NULL; i++) {
        peer->stream[i] = peer->stream[i] == s ? NULL : peer->stream[i];
    }
    if (peer != NULL && peer->out == s) {
        peer->out = NULL;
    }
    while ((m = tw_list_pop(&s->queue)) != NULL) {
        if (!m->asked) {
            tw_tcp_free(m);
        }
    }
    close(s->fd);
    s->fd        = -1;
    s->next      = world->ended;
    world->ended = s;
}

/* LOST, at once, where it does not come into the middle of another frame: why all ends. */
static void tw_stream_lost(tw_stream_t *s, int rank)
{
    const tw_frame_t frame = {.kind = TW_FRAME_LOST, .tag = rank};

    if (s->connected && s->queue.first == NULL) {
        (void)!send(s->fd, &frame, sizeof(frame), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

void tw_world_fail(tw_world_t *world, int error)
{
    if (world->error != MPI_SUCCESS) {
        return;
    }
    world->error = error;
    for (int r = 0; r < world->size; r++) {
        for (int i = 0; i < 2; i++) {
            tw_stream_t *s = world->peers[r].stream[i];

            if (s != NULL) {
                tw_stream_lost(s, TW_FAILED_CLASS(error) == TW_FAILED_LOST ? TW_FAILED_RANK(error)
                                                                           : world->rank);
                shutdown(s->fd, SHUT_WR);
            }
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t tw_tcp_bytes(const tw_tcp_message_t *m)
{
    const bool data = m->frame.kind == TW_FRAME_EAGER || m->frame.kind == TW_FRAME_DATA;

    return sizeof(m->frame) + (data ? m->frame.size : 0);
}

/* All of the first message of the queue is written. */
static void tw_stream_written(tw_world_t *world, tw_stream_t *s)
{
    tw_tcp_message_t *m = tw_list_pop(&s->queue);

    m->moved = 0;
    world->moved++;
    if (m->frame.kind == TW_FRAME_OFFER) {
        tw_list_append(&world->peers[s->rank].offered, m);
    } else if (m->asked) {
        m->done = true;
    } else {
        tw_tcp_free(m);
    }
}

static int tw_stream_gather(const tw_stream_t *s, struct iovec *parts)
{
    int n = 0;

    for (tw_tcp_message_t *m = s->queue.first; m != NULL && n + 1 < 2 * TW_BATCH; m = m->next) {
        const size_t head = sizeof(m->frame), all = tw_tcp_bytes(m);

        if (m->moved < head) {
            parts[n++] = (struct iovec){(uint8_t *)&m->frame + m->moved, head - m->moved};
        }
        if (all > head && m->moved < all) {
            const size_t at = m->moved > head ? m->moved - head : 0;

            parts[n++] = (struct iovec){m->data + at, all - head - at};
        }
    }
    return n;
}

void tw_stream_flush(tw_world_t *world, tw_stream_t *s)
{
    struct iovec parts[2 * TW_BATCH];

    while (s->connected && s->fd >= 0 && s->queue.first != NULL) {
        struct msghdr header = {.msg_iov = parts, .msg_iovlen = (size_t)tw_stream_gather(s, parts)};
        ssize_t       sent   = sendmsg(s->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno != EINTR) {
            return; /* what is wrong is found by reading */
        }
        while (sent > 0) {
            tw_tcp_message_t *m    = s->queue.first;
            const size_t      left = tw_tcp_bytes(m) - m->moved;
            const size_t      part = (size_t)sent < left ? (size_t)sent : left;

            m->moved += part;
            sent -= (ssize_t)part;
            if (part == left) {
                tw_stream_written(world, s);
            }
        }
    }
}

/* ---- connecting ------------------------------------------------------------------------------ */

void tw_stream_reach(tw_world_t *world, int rank)
{
    tw_peer_t        *peer = &world->peers[rank];
    tw_tcp_message_t *hello;
    int               fd;

    if (peer->stream[0] != NULL || peer->stream[1] != NULL || world->error != MPI_SUCCESS) {
        return;
    }
    if (peer->left) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_LEFT, 0, rank));
        return;
    }
    hello = tw_tcp_new(world, TW_HELLO);
    fd    = socket(peer->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (hello == NULL || fd < 0 ||
        (connect(fd, (const struct sockaddr *)&peer->address, sizeof(peer->address)) != 0 &&
         errno != EINPROGRESS)) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_UNREACHABLE, errno & 255, rank));
        tw_tcp_free(hello);
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    peer->stream[0] = peer->out = tw_stream_new(world, fd, rank, false);
    if (peer->out == NULL) {
        tw_tcp_free(hello);
        tw_world_fail(world, TW_FAILED(TW_FAILED_MEMORY, 0, world->rank));
        return;
    }
    hello->frame.tag  = world->rank;
    hello->frame.size = (uint64_t)rank;
    memcpy(hello->frame.cookie, world->cookie, TW_COOKIE_BYTES);
    tw_list_append(&peer->out->queue, hello);
}

void tw_stream_send(tw_world_t *world, int rank, tw_tcp_message_t *message)
{
    tw_peer_t *peer = &world->peers[rank];

    tw_stream_reach(world, rank);
    if (world->error != MPI_SUCCESS) {
        return;
    }
    if (peer->out == NULL) {
        peer->out = peer->stream[1];
    }
    tw_list_append(&peer->out->queue, message);
    if (peer->out->queue.first == message) {
        tw_stream_flush(world, peer->out);
    }
}

void tw_stream_take(tw_world_t *world, int rank, tw_tcp_message_t *receive, const tw_frame_t *offer)
{
    tw_tcp_message_t *ready = tw_tcp_new(world, TW_FRAME_READY);

    if (ready == NULL) {
        tw_world_fail(world, TW_FAILED(TW_FAILED_MEMORY, 0, world->rank));
        return;
    }
    receive->frame.sender = ++world->number;
    ready->frame.sender   = offer->sender;
    ready->frame.receiver = receive->frame.sender;
    tw_list_append(&world->peers[rank].expected, receive);
    tw_stream_send(world, rank, ready);
}

/* ---- the end --------------------------------------------------------------------------------- */

void tw_stream_close_all(tw_world_t *world, bool bye)
{
    for (int r = 0; r < world->size; r++) {
        for (int i = 0; i < 2; i++) {
            tw_stream_t      *s       = world->peers[r].stream[i];
            tw_tcp_message_t *goodbye = s != NULL && bye ? tw_tcp_new(world, TW_FRAME_BYE) : NULL;
            struct pollfd     waits   = {.fd = s != NULL ? s->fd : -1, .events = POLLOUT};

            if (goodbye != NULL) {
                tw_list_append(&s->queue, goodbye);
                tw_stream_flush(world, s);
            } else if (s != NULL && world->error == MPI_SUCCESS) {
                tw_stream_lost(s, world->rank);
            }
            while (goodbye != NULL && s->fd >= 0 && s->connected && s->queue.first != NULL &&
                   poll(&waits, 1, TW_FAREWELL_MS) > 0) {
                tw_stream_flush(world, s);
            }
            if (s != NULL && s->fd >= 0) {
                tw_stream_close(world, s);
            }
        }
    }
    for (tw_stream_t *s = world->strangers, *next; s != NULL; s = next) {
        next = s->next;
        tw_stream_close(world, s);
    }
    world->strangers = NULL;
}
