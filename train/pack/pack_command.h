/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack_command.h - thinwire-train pack SOURCE OUT.lmdb.
 */
#ifndef TW_TRAIN_PACK_COMMAND_H
#define TW_TRAIN_PACK_COMMAND_H

/** Run the command: argv[0] is "pack", and argv[-1] the program. Does not use MPI. @return the exit
 * status of the process. */
int tw_pack_command(int argc, char **argv);

#endif /* TW_TRAIN_PACK_COMMAND_H */
