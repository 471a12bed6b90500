/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/finish.h - the report at the end: collecting what all ranks counted.
 */
#ifndef TW_INTERPOSE_FINISH_H
#define TW_INTERPOSE_FINISH_H

#include <stdbool.h>

/* In MPI_Finalize: rank 0 collects the records of all ranks, for at most 5 s, and writes the
 * report. */
void tw_finish_report(void);

/* In MPI_Abort, or where MPI ends the job by itself for this error (0: none is known): this rank's
 * own counters, no communication. */
void tw_finish_aborted(bool by_program, int error);

#endif /* TW_INTERPOSE_FINISH_H */
