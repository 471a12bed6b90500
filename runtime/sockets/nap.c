/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/nap.c - how a rank waits: see world.h. What comes through a node's memory wakes nobody,
 * so naps are short beside the time waited before.
 */
#include "config.h"

#include <poll.h>
#include <sched.h>

#include "runtime/base/clock.h"
#include "runtime/sockets/world.h"

#define TW_AWAKE_NS UINT64_C(100000)  /* a wait without naps */
#define TW_NAP_PART 8                 /* a nap is this part of the time waited */
#define TW_NAP_NS   UINT64_C(1000000) /* and at most so long */

static _Thread_local struct {
    uint64_t since_ns; /* 0: this wait has not begun */
    int      epoll;    /* + 1; 0: none */
} tw_nap_state;

void tw_nap_at(int epoll)
{
    tw_nap_state.epoll = epoll + 1;
}

void tw_nap_moved(void)
{
    tw_nap_state.since_ns = 0;
}

void tw_nap(void)
{
    const uint64_t  now    = tw_clock_ns();
    struct pollfd   looked = {.fd = tw_nap_state.epoll - 1, .events = POLLIN};
    struct timespec most   = {0, 0};
    uint64_t        ns;

    tw_nap_state.since_ns = tw_nap_state.since_ns == 0 ? now : tw_nap_state.since_ns;
    if (now - tw_nap_state.since_ns < TW_AWAKE_NS) {
        sched_yield();
        return;
    }
    ns           = (now - tw_nap_state.since_ns) / TW_NAP_PART;
    most.tv_nsec = (long)(ns < TW_NAP_NS ? ns : TW_NAP_NS);
    ppoll(&looked, 1, &most, NULL);
}
