/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/events.h - simulated time: events in the order of their times, and ranks that run one
 * at a time, each on a stack of its own.
 */
#ifndef SIMULATION_EVENTS_H
#define SIMULATION_EVENTS_H

#include <stdint.h>

typedef void event_call_t(void *context, uint64_t number);

/** Simulated seconds since the begin. */
double event_now(void);

/** call(context, number) at that time, which is not past; of those of one time, in this order. It
 * must not wait. */
void event_at(double time, event_call_t *call, void *context, uint64_t number);

/** Run main(rank) for all ranks, from time 0 on. @return 0, or -1: some wait, and nothing will
 * come. */
int event_run(int ranks, void (*main)(int rank));

/* ---- of the rank that runs ------------------------------------------------------------------- */

int event_rank(void);

/** Go on later. */
void event_sleep(double seconds);

/** Go on when this rank is woken, or at that time. */
void event_wait(double until);

/* ---- of anybody; the second only of an event's call ------------------------------------------ */

/** Wake a rank at that time, or now, if it is in event_wait() then. */
void event_wake(int rank, double time);
void event_wake_now(int rank);

#endif /* SIMULATION_EVENTS_H */
