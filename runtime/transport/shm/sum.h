/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/sum.h - sums of elements as they are, as the codecs of float32 would add them.
 */
#ifndef TW_TRANSPORT_SHM_SUM_H
#define TW_TRANSPORT_SHM_SUM_H

#include <stddef.h>

/* out[i] = fl(a[i] + b[i]) for n floats (element 4) or doubles (element 8) of any alignment; out
 * may be a or b. The caller has set the floating-point mode. */
void tw_sum_pair(size_t element, const void *a, const void *b, size_t n, void *out);

/* values[i] = fl(values[i] / ranks). */
void tw_sum_divide(size_t element, void *values, size_t n, int ranks);

#endif /* TW_TRANSPORT_SHM_SUM_H */
