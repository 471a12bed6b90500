/* SPDX-License-Identifier: BSD-3-Clause
 * compute/portable.h - how a function in a header begins that C and CUDA compile alike, for a
 * device, too.
 */
#ifndef TW_COMPUTE_PORTABLE_H
#define TW_COMPUTE_PORTABLE_H

#ifdef __CUDACC__
#define TW_PORTABLE static __host__ __device__ __forceinline__
#else
#define TW_PORTABLE static inline
#endif

#endif /* TW_COMPUTE_PORTABLE_H */
