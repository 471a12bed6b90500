/* SPDX-License-Identifier: BSD-3-Clause
 * tools/no_device.c - built without CUDA: there are no devices.
 */
#include "config.h"

#include "tools/device.h"

void device_facts_get(device_facts_t *facts)
{
    *facts = (device_facts_t){.linked = 0};
}
