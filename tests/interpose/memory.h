/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/memory.h - buffers in memory of some kind: TW_MEMORY is host (nothing else),
 * device, or mixed (host, pinned, managed, or of any device, drawn for each buffer on each rank).
 *
 * All but host memory is that of the stand-in for CUDA (tests/gpu/standin), which is loaded when
 * the first buffer is asked for: TW_STANDIN names its runtime. The program looks at the bytes where
 * they really are, so it sees what the device has done so far and no more.
 */
#ifndef TW_TESTS_INTERPOSE_MEMORY_H
#define TW_TESTS_INTERPOSE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

typedef struct t_memory {
    unsigned char *here; /* for the program */
    unsigned char *mpi;  /* for MPI         */
    void (*release)(void *);
} t_memory_t;

t_memory_t t_memory_get(size_t bytes, uint64_t seed);
void       t_memory_put(t_memory_t *memory);

/* A function of the stand-in's. */
void *t_memory_symbol(const char *name);

#endif /* TW_TESTS_INTERPOSE_MEMORY_H */
