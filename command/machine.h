/* SPDX-License-Identifier: BSD-3-Clause
 * command/machine.h - what was run, and where, for the JSON report.
 */
#ifndef TW_COMMAND_MACHINE_H
#define TW_COMMAND_MACHINE_H

#include <jansson.h>
#include <stddef.h>

/** The processor's name, "unknown" where the system does not say. */
void tw_machine_cpu(char *name, size_t size);

/** Host, system, processor, cores, memory: the keys that `thinwire --json` writes. */
json_t *tw_machine_json(void);

/** The command line as one string; arguments that are not UTF-8 end it. */
json_t *tw_machine_command(const char *program, int argc, char **argv);

#endif /* TW_COMMAND_MACHINE_H */
