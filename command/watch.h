/* SPDX-License-Identifier: BSD-3-Clause
 * command/watch.h - an end to MPI's own calls that never come back.
 *
 * THINWIRE_TIMEOUT ends thinwire's collectives, which see whether anything moves. The commands
 * (thinwire and thinwire-train) also call MPI itself (what they compare with, barriers, sums of
 * times), which does not say, and waits for ever for a host that is cut off. So these calls get ten
 * times THINWIRE_TIMEOUT, whether anything moves or not; time in which the process was stopped does
 * not count.
 */
#ifndef COMMAND_WATCH_H
#define COMMAND_WATCH_H

/* Unless watch_end() or another watch_begin() comes in time: a line that names `what`, and this
 * process ends, upon which mpirun ends the job. Does nothing without THINWIRE_TIMEOUT. */
void watch_begin(const char *what);
void watch_end(void);

#endif /* COMMAND_WATCH_H */
