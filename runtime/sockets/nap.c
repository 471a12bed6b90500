/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/nap.c - how a rank waits: see world.h. What comes through a node's memory wakes nobody,
 * so naps are short beside the time waited before; sleep for a message is, too, so that a time
 * limit is seen when it is over.
 */
#include "config.h"

#include <poll.h>
#include <sched.h>

#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/sockets/world.h"

#define TW_AWAKE_NS UINT64_C(100000)    /* a wait without naps */
#define TW_NAP_PART 8                   /* a nap is this part of the time waited */
#define TW_NAP_NS   UINT64_C(1000000)   /* and at most so long */
#define TW_SLEEP_NS UINT64_C(100000000) /* likewise of a sleep that a connection ends */

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

void tw_nap(int descriptor)
{
    const uint64_t  now     = tw_clock_ns();
    const uint64_t  longest = descriptor >= 0 ? TW_SLEEP_NS : TW_NAP_NS;
    struct pollfd   looked  = {.fd = tw_nap_state.epoll - 1, .events = POLLIN};
    struct timespec most    = {0, 0};
    uint64_t        ns;

    tw_nap_state.since_ns = tw_nap_state.since_ns == 0 ? now : tw_nap_state.since_ns;
    if (now - tw_nap_state.since_ns < TW_AWAKE_NS || descriptor == TW_DESCRIPTOR_AGAIN) {
        sched_yield();
        return;
    }
    ns           = (now - tw_nap_state.since_ns) / TW_NAP_PART;
    most.tv_nsec = (long)(ns < longest ? ns : longest);
    ppoll(&looked, 1, &most, NULL);
}
