/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/errors.h - how far predicted steps are from measured ones: of steps of three networks by
 * three codecs on emulated hosts, bench/validate.sh (docs/performance.md, "Scaling studies").
 */
#ifndef SCALING_ERRORS_H
#define SCALING_ERRORS_H

/* |predicted / measured - 1| of half of the steps, and of nine in ten, is at most */
#define STEP_ERROR_HALF 0.12
#define STEP_ERROR_NINE 0.25

/* The same of the two programs of others that were recorded and measured: of half of the cases. */
#define PROGRAM_ERROR_HALF 0.10

#endif /* SCALING_ERRORS_H */
