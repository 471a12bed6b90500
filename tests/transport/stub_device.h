/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/stub_device.h - a device that is none: its memory is the host's, but not at the
 * address that the device hands out, where nobody may touch it; its work is done later, in the
 * order of its streams, a little whenever somebody asks whether an event is done.
 *
 * So host code that reads or writes "device" memory dies, and code that does not wait for the
 * device, or not for the right thing, works on bytes that are not there yet. How streams take turns
 * is drawn by lot. Arithmetic is the host's codecs: whether a GPU's are the same is tests/gpu's
 * subject.
 */
#ifndef TW_TESTS_TRANSPORT_STUB_DEVICE_H
#define TW_TESTS_TRANSPORT_STUB_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/codec/device.h"

#ifdef TW_ON_GPU
#define stub_device tw_device_cuda /* a real one: tests/gpu/no_stub.c */
#else
extern const tw_device_ops_t stub_device;
#endif

/* Of the lot. */
extern uint64_t stub_seed;

/* 0: there is no device. Else the number of the current one. At first 1. */
extern int stub_current;

/* Of 1024 questions whether an event is done, how many let the device do something. At first 512.
 */
extern int stub_diligence;

/* > 0: the call that is so many calls away from now fails with TW_ERR_IO. */
extern int stub_calls_left;

/* Allocations, streams and events that exist. */
extern int stub_objects;

/* May other processes use its memory? At first 1 where it can be done at all. */
extern int stub_shares;

/* Where the bytes at p really are: in device memory elsewhere, in host memory there. */
void *stub_real(const void *p);

#endif /* TW_TESTS_TRANSPORT_STUB_DEVICE_H */
