/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/device_driver.c - in the place of CUDA's driver: it knows one stretch of memory,
 * which the test sets, and says that a device has it.
 */
void *device_memory[2]; /* from, to */
int   cuPointerGetAttribute(unsigned *data, int attribute, unsigned long long pointer);

int cuPointerGetAttribute(unsigned *data, int attribute, unsigned long long pointer)
{
    if (pointer < (unsigned long long)device_memory[0] ||
        pointer >= (unsigned long long)device_memory[1]) {
        return 1;
    }
    *data = attribute == 2 ? 2 : 0; /* the memory's type: a device's; managed: no */
    return 0;
}
