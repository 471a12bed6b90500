/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_type.h - element types in the benches.
 */
#ifndef TOOLS_BENCH_TYPE_H
#define TOOLS_BENCH_TYPE_H

#include "command/problem.h"
#include "runtime/base/dtype.h"

/* The element type of this name (NULL: float), whose elements `min` bytes are to be.
 * @return 0, or -1 with the problem set. */
int bench_type(const char *name, size_t min, tw_dtype_t *dtype_p, tw_problem_t *problem);

/* The n float32 at x become elements of dtype, rounded to nearest; x has room for both. */
void bench_convert(void *x, size_t n, tw_dtype_t dtype);

#endif /* TOOLS_BENCH_TYPE_H */
