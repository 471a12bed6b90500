/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/play.h - a rank goes through the steps of a script, by the library's own calls.
 */
#ifndef SIMULATION_PLAY_H
#define SIMULATION_PLAY_H

#include "scaling/script.h"

/** Before the ranks begin. Ends the process, with one line, if a vector of the script is too
 * large. */
void play_open(const script_t *script);

/** One rank, from begin to end. */
void play_rank(int rank);

/** What the third step took, after all ranks have played; as SCRIPT_RESULT_LINE. */
void play_print(void);

#endif /* SIMULATION_PLAY_H */
