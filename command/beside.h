/* SPDX-License-Identifier: BSD-3-Clause
 * command/beside.h - devices and pipes that results are written to.
 */
#ifndef COMMAND_BESIDE_H
#define COMMAND_BESIDE_H

/** See whether a device or a pipe can be written to: write white space, which changes nothing in front
 * of a JSON object. A pipe stays open until the process ends, or its reader would take that for all.
 * @return 0, or errno. */
int beside_try_special(const char *path);

#endif /* COMMAND_BESIDE_H */
