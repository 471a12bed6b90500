/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/no_stub.c - in the place of tests/transport/stub_device.c where tests/gpu/run has a
 * program of the stub's on a real device: what the program sets changes nothing there.
 */
#include "config.h"

#include "tests/transport/stub_device.h"

uint64_t stub_seed;
int      stub_current = 1, stub_diligence, stub_calls_left, stub_objects, stub_shares = 1;

void *stub_real(const void *p)
{
    return (void *)(uintptr_t)p;
}
