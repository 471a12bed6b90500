/* SPDX-License-Identifier: BSD-3-Clause
 * codec/owner.h - whose memory a pointer is, in every build: asked of what the process has loaded.
 *
 * CUDA's driver (libcuda.so.1) and AMD's (libhsa-runtime64.so.1) are only looked for among the
 * libraries of the process, and only when something new was loaded since the last look. They are
 * asked and not their runtimes, which would start a device in a process that has never used it.
 */
#ifndef TW_CODEC_OWNER_H
#define TW_CODEC_OWNER_H

#include <stdbool.h>

typedef enum tw_owner {
    TW_OWNER_HOST,    /* the host may read it; pinned memory, and managed memory that it shares */
    TW_OWNER_CUDA,    /* memory of a CUDA device that the host may not read                     */
    TW_OWNER_UNKNOWN, /* of another kind of device, or the driver does not say                  */
} tw_owner_t;

/** Whose memory p is; TW_OWNER_HOST for NULL and for addresses that no driver knows. Safe from any
 * thread; costs next to nothing in a process that has loaded no driver. */
tw_owner_t tw_owner_of(const void *p);

/** Is one of two TW_OWNER_CUDA? With one look for new libraries, and without asking AMD's. */
bool tw_owner_any_cuda(const void *p, const void *q);

/** A number of the CUDA allocation that p is in, which no other one of the process has or will
 * have; 0: of none, or the driver does not say. */
unsigned long long tw_owner_cuda_id(const void *p);

/** A function of CUDA's driver; NULL: it is not loaded, or has none of that name. */
void *tw_owner_cuda_driver(const char *name);

#endif /* TW_CODEC_OWNER_H */
