/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/device_driver.c - in the place of CUDA's driver, or with TW_HSA of AMD's: it
 * knows one stretch of memory, which the test sets, and says that a device has it, or with TW_MUTE
 * does not say.
 */
#include <stddef.h>
#include <stdint.h>

void *device_memory[2]; /* from, to */

#ifdef TW_HSA
struct pointer_info {
    uint32_t size, type; /* 0: unknown, 1: HSA's */
    void    *bases[2];
    size_t   bytes;
    void    *user;
    uint64_t owner;
};

int hsa_amd_pointer_info(const void *p, struct pointer_info *info, void *(*allocate)(size_t),
                         uint32_t *agents, void *accessible);
int hsa_agent_get_info(uint64_t agent, int attribute, void *value);

int hsa_amd_pointer_info(const void *p, struct pointer_info *info, void *(*allocate)(size_t),
                         uint32_t *agents, void *accessible)
{
    (void)allocate;
    (void)agents;
    (void)accessible;
    info->type  = p >= device_memory[0] && p < device_memory[1];
    info->owner = 7;
    return 0;
}

int hsa_agent_get_info(uint64_t agent, int attribute, void *value)
{
    *(int *)value = agent == 7 && attribute == 17 ? 1 : 0; /* the agent's kind: GPU */
    return 0;
}
#else
int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer);

int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer)
{
    if (pointer < (unsigned long long)(uintptr_t)device_memory[0] ||
        pointer >= (unsigned long long)(uintptr_t)device_memory[1]) {
        return 1;
    }
#ifdef TW_MUTE
    return 700;           /* the device has failed: it does not say */
#endif
    if (attribute == 1) { /* a context: none */
        *(void **)data = NULL;
    } else {
        *(unsigned *)data = attribute == 2 ? 2 : 0; /* the memory's type: a device's; managed: no */
    }
    return 0;
}
#endif
