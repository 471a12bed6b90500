/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/stub_memory.h - the stub device's memory; the functions are those of
 * codec/device.h.
 */
#ifndef TW_TESTS_TRANSPORT_STUB_MEMORY_H
#define TW_TESTS_TRANSPORT_STUB_MEMORY_H

#include "tests/transport/stub_device.h"

bool        stub_owns(const void *p, const void *q);
tw_status_t stub_check(const void *p);
tw_status_t stub_allocate(tw_device_memory_t kind, size_t bytes, void **p);
void        stub_release(tw_device_memory_t kind, void *p);

/* stub_real() of `bytes` bytes, which must all be there; of device memory, if so. */
uint8_t *stub_region(const void *p, size_t bytes, bool device);

/* The device is used wrongly: say so and abort. */
void stub_die(const char *what);

#endif /* TW_TESTS_TRANSPORT_STUB_MEMORY_H */
