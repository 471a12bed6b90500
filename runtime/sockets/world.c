/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/world.c - worlds of this process: begun, ended, and left by the children of a fork.
 *
 * A child of fork() is no rank. It closes its copies of the connections, so that the others notice
 * when its parent dies, and everything that it calls on them fails.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "runtime/sockets/world.h"

static tw_world_t     *tw_worlds;
static pthread_mutex_t tw_worlds_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t  tw_worlds_once = PTHREAD_ONCE_INIT;

/* ---- fork ------------------------------------------------------------------------------------ */

static void tw_worlds_hold(void)
{
    pthread_mutex_lock(&tw_worlds_lock);
}

static void tw_worlds_release(void)
{
    pthread_mutex_unlock(&tw_worlds_lock);
}

static void tw_worlds_leave(void)
{
    for (tw_world_t *world = tw_worlds; world != NULL; world = world->next) {
        for (int r = 0; r < world->size; r++) {
            for (int i = 0; i < 2; i++) {
                if (world->peers[r].stream[i] != NULL) {
                    close(world->peers[r].stream[i]->fd);
                    world->peers[r].stream[i]->fd = -1;
                }
            }
        }
        for (tw_stream_t *s = world->strangers; s != NULL; s = s->next) {
            close(s->fd);
        }
        close(world->listener);
        close(world->epoll);
        world->strangers = NULL;
        world->listener = world->epoll = -1;
        world->error                   = TW_FAILED(TW_FAILED_FORKED, 0, world->rank);
        pthread_mutex_init(&world->lock, NULL); /* a thread that is not here may have it */
    }
    tw_nap_at(-1);
    pthread_mutex_unlock(&tw_worlds_lock);
}

static void tw_worlds_watch(void)
{
    pthread_atfork(tw_worlds_hold, tw_worlds_release, tw_worlds_leave);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int tw_listen_at(const struct sockaddr *any, socklen_t size)
{
    const int none = 0, six = any->sa_family == AF_INET6;
    const int fd = socket(any->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0 && ((six && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof(none)) != 0) ||
                    bind(fd, any, size) != 0 || listen(fd, SOMAXCONN) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A socket that listens on all addresses of both families, or where there is no IPv6, of one. */
static int tw_listen(int *port_p)
{
    struct sockaddr_in6 six  = {.sin6_family = AF_INET6};
    struct sockaddr_in  four = {.sin_family = AF_INET};
    socklen_t           size = sizeof(six);
    int                 fd   = tw_listen_at((struct sockaddr *)&six, sizeof(six));

    fd = fd >= 0 ? fd : tw_listen_at((struct sockaddr *)&four, sizeof(four));
    if (fd >= 0 && getsockname(fd, (struct sockaddr *)&six, &size) != 0) {
        close(fd);
        fd = -1;
    }
    *port_p = ntohs(six.sin6_port); /* at the same place in both */
    return fd;
}

static void tw_world_free(tw_world_t *world)
{
    if (world->epoll >= 0) {
        close(world->epoll);
    }
    if (world->listener >= 0) {
        close(world->listener);
    }
    for (tw_stream_t *s = world->ended, *next; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    for (int r = 0; r < world->size && world->peers != NULL; r++) {
        tw_tcp_message_t *m;

        while ((m = tw_list_pop(&world->peers[r].unexpected)) != NULL) {
            tw_tcp_free(m);
        }
    }
    free(world->peers);
    pthread_mutex_destroy(&world->lock);
    free(world);
}

tw_world_t *tw_world_new(const tw_log_t *log, int rank, int size, int *port_p)
{
    tw_world_t        *world = calloc(1, sizeof(*world));
    struct epoll_event event = {.events = EPOLLIN};

    pthread_once(&tw_worlds_once, tw_worlds_watch);
    if (world == NULL) {
        return NULL;
    }
    pthread_mutex_init(&world->lock, NULL);
    world->log      = *log;
    world->rank     = rank;
    world->size     = size;
    world->log.rank = rank;
    world->peers    = calloc((size_t)size, sizeof(*world->peers));
    world->epoll    = epoll_create1(EPOLL_CLOEXEC);
    world->listener = tw_listen(port_p);
    if (world->peers == NULL || world->epoll < 0 || world->listener < 0 ||
        epoll_ctl(world->epoll, EPOLL_CTL_ADD, world->listener, &event) != 0) {
        TW_ERROR(&world->log, "no socket to listen on: %s", strerror(errno));
        tw_world_free(world);
        return NULL;
    }
    tw_worlds_hold();
    world->next = tw_worlds;
    tw_worlds   = world;
    tw_worlds_release();
    return world;
}

void tw_world_end(tw_world_t *world, bool bye)
{
    tw_world_t **at = &tw_worlds;

    tw_worlds_hold();
    while (*at != world) {
        at = &(*at)->next;
    }
    *at = world->next;
    tw_worlds_release();
    tw_nap_at(-1);
    tw_stream_close_all(world, bye && world->error == MPI_SUCCESS);
    tw_world_free(world);
}
