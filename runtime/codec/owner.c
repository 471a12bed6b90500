/* SPDX-License-Identifier: BSD-3-Clause
 * codec/owner.c - see owner.h. Needs no header of CUDA's or AMD's.
 */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/codec/owner.h"

#define TW_CUDA_DRIVER "libcuda.so.1"
#define TW_HSA_RUNTIME "libhsa-runtime64.so.1" /* HIP stands on it */

/* The two, and functions of theirs; 0 where there is none. */
typedef struct tw_owners {
    _Atomic(uintptr_t) cuda, cuda_attribute, cuda_device;
    _Atomic(uintptr_t) hsa, hsa_pointer, hsa_agent;
} tw_owners_t;

static tw_owners_t tw_owners;

/* How often the process has loaded a library: of the first object, since all tell the same. */
static int tw_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

static void tw_owner_find(void *library, const char *name, _Atomic(uintptr_t) *function)
{
    atomic_store(function, (uintptr_t)dlsym(library, name));
}

/* The handles are kept, as are their functions. */
static void tw_owner_look(void)
{
    static _Atomic(unsigned long long) looked_at;
    unsigned long long                 loads = 0;
    void                              *library;

    dl_iterate_phdr(tw_loads, &loads);
    if (loads == atomic_load(&looked_at)) {
        return;
    }
    library =
        atomic_load(&tw_owners.cuda) != 0 ? NULL : dlopen(TW_CUDA_DRIVER, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        tw_owner_find(library, "cuPointerGetAttribute", &tw_owners.cuda_attribute);
        tw_owner_find(library, "cuDeviceGetAttribute", &tw_owners.cuda_device);
        atomic_store(&tw_owners.cuda, (uintptr_t)library);
    }
    library =
        atomic_load(&tw_owners.hsa) != 0 ? NULL : dlopen(TW_HSA_RUNTIME, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        tw_owner_find(library, "hsa_amd_pointer_info", &tw_owners.hsa_pointer);
        tw_owner_find(library, "hsa_agent_get_info", &tw_owners.hsa_agent);
        atomic_store(&tw_owners.hsa, (uintptr_t)library);
    }
    atomic_store(&looked_at, loads);
}

void *tw_owner_cuda_driver(const char *name)
{
    uintptr_t address = atomic_load(&tw_owners.cuda);
    void     *driver;

    if (address == 0) {
        tw_owner_look();
        address = atomic_load(&tw_owners.cuda);
    }
    memcpy(&driver, &address, sizeof(driver));
    return driver != NULL ? dlsym(driver, name) : NULL;
}

/* ---- CUDA ------------------------------------------------------------------------------------ */

/* From cuda.h of the driver. */
enum {
    TW_CU_INVALID_VALUE   = 1, /* it does not know the address */
    TW_CU_NOT_INITIALIZED = 3,
    TW_CU_DEINITIALIZED   = 4,
    TW_CU_STUB_LIBRARY    = 34,
    TW_CU_NO_DEVICE       = 100,
    /* The thread has no context, or one that has been destroyed. */
    TW_CU_INVALID_CONTEXT   = 201,
    TW_CU_CONTEXT_DESTROYED = 709,
    /* Why it could not be started: a process with none of its memory. */
    TW_CU_OPERATING_SYSTEM = 304,
    TW_CU_NOT_READY        = 802,
    TW_CU_DRIVER_MISMATCH  = 803,
    TW_CU_NOT_COMPATIBLE   = 804,
    TW_CU_NO_MPS           = 805
};
enum {
    TW_CU_POINTER_MEMORY_TYPE    = 2,
    TW_CU_POINTER_BUFFER_ID      = 7,
    TW_CU_POINTER_IS_MANAGED     = 8,
    TW_CU_POINTER_DEVICE_ORDINAL = 9
};
#define TW_CU_MEMORYTYPE_DEVICE                2
#define TW_CU_DEVICE_CONCURRENT_MANAGED_ACCESS 89

typedef int tw_cu_attribute_fn(void *data, int attribute, unsigned long long pointer);
typedef int tw_cu_device_fn(int *data, int attribute, int device);
typedef int tw_cu_count_fn(int *count);
typedef int tw_cu_state_fn(int device, unsigned *flags, int *active);
typedef int tw_cu_retain_fn(void **context, int device);
typedef int tw_cu_release_fn(int device);
typedef int tw_cu_push_fn(void *context);
typedef int tw_cu_pop_fn(void **context);

/* What it takes to ask in the context of a device. */
typedef struct tw_cu_contexts {
    tw_cu_count_fn   *count;
    tw_cu_state_fn   *state;
    tw_cu_retain_fn  *retain;
    tw_cu_release_fn *release;
    tw_cu_push_fn    *push;
    tw_cu_pop_fn     *pop;
} tw_cu_contexts_t;

/* Managed memory is the host's where it may read it while the device works. */
static tw_owner_t tw_owner_of_managed(tw_cu_attribute_fn *attribute, unsigned long long p)
{
    const uintptr_t  address = atomic_load(&tw_owners.cuda_device);
    tw_cu_device_fn *device;
    int              number = 0, concurrent = 0;

    memcpy(&device, &address, sizeof(device));
    return device != NULL && attribute(&number, TW_CU_POINTER_DEVICE_ORDINAL, p) == 0 &&
                   device(&concurrent, TW_CU_DEVICE_CONCURRENT_MANAGED_ACCESS, number) == 0 &&
                   concurrent != 0
               ? TW_OWNER_HOST
               : TW_OWNER_CUDA;
}

static bool tw_owner_driver_has(const char *name, void *function_p)
{
    void *const address = tw_owner_cuda_driver(name);

    memcpy(function_p, &address, sizeof(address));
    return address != NULL;
}

static bool tw_owner_contexts(tw_cu_contexts_t *cu)
{
    return tw_owner_driver_has("cuDeviceGetCount", &cu->count) &&
           tw_owner_driver_has("cuDevicePrimaryCtxGetState", &cu->state) &&
           tw_owner_driver_has("cuDevicePrimaryCtxRetain", &cu->retain) &&
           tw_owner_driver_has("cuDevicePrimaryCtxRelease_v2", &cu->release) &&
           tw_owner_driver_has("cuCtxPushCurrent_v2", &cu->push) &&
           tw_owner_driver_has("cuCtxPopCurrent_v2", &cu->pop);
}

/* *lost_p: the driver has no answer for a thread without a context. */
static tw_owner_t tw_owner_asked(tw_cu_attribute_fn *attribute, unsigned long long p, bool *lost_p)
{
    unsigned type = 0, managed = 0;

    *lost_p = false;
    switch (attribute(&type, TW_CU_POINTER_MEMORY_TYPE, p)) {
    case 0:
        break;
    case TW_CU_INVALID_VALUE:
    case TW_CU_NOT_INITIALIZED:
    case TW_CU_DEINITIALIZED:
    case TW_CU_STUB_LIBRARY:
    case TW_CU_NO_DEVICE:
    case TW_CU_OPERATING_SYSTEM:
    case TW_CU_NOT_READY:
    case TW_CU_DRIVER_MISMATCH:
    case TW_CU_NOT_COMPATIBLE:
    case TW_CU_NO_MPS:
        return TW_OWNER_HOST;
    case TW_CU_INVALID_CONTEXT:
    case TW_CU_CONTEXT_DESTROYED:
        *lost_p = true;
        return TW_OWNER_UNKNOWN;
    default:
        return TW_OWNER_UNKNOWN;
    }
    if (type != TW_CU_MEMORYTYPE_DEVICE) {
        return TW_OWNER_HOST;
    }
    if (attribute(&managed, TW_CU_POINTER_IS_MANAGED, p) != 0 || managed == 0) {
        return TW_OWNER_CUDA;
    }
    return tw_owner_of_managed(attribute, p);
}

static tw_owner_t tw_owner_asked_in(const tw_cu_contexts_t *cu, int device,
                                    tw_cu_attribute_fn *attribute, unsigned long long p)
{
    tw_owner_t owner = TW_OWNER_UNKNOWN;
    void      *context;
    bool       lost;

    if (cu->retain(&context, device) != 0) {
        return TW_OWNER_UNKNOWN;
    }
    if (cu->push(context) == 0) {
        owner = tw_owner_asked(attribute, p, &lost);
        (void)cu->pop(&context);
    }
    (void)cu->release(device);
    return owner;
}

/* For a thread without a context, of which the driver may say nothing, not even that an address is
 * none of its own: asked in the first context of a device that the process uses, for all have the
 * same addresses. Where it uses none, as a rank that computes on the processor, no memory is a
 * device's; nor is one started for this. */
static tw_owner_t tw_owner_elsewhere(tw_cu_attribute_fn *attribute, unsigned long long p)
{
    tw_cu_contexts_t cu;
    unsigned         flags;
    int              devices = 0, active = 0;

    if (!tw_owner_contexts(&cu) || cu.count(&devices) != 0) {
        return TW_OWNER_UNKNOWN;
    }
    for (int d = 0; d < devices; d++) {
        if (cu.state(d, &flags, &active) == 0 && active != 0) {
            return tw_owner_asked_in(&cu, d, attribute, p);
        }
    }
    return TW_OWNER_HOST;
}

static tw_owner_t tw_owner_by_cuda(unsigned long long p)
{
    const uintptr_t     address = atomic_load(&tw_owners.cuda_attribute);
    tw_cu_attribute_fn *attribute;
    tw_owner_t          owner;
    bool                lost;

    memcpy(&attribute, &address, sizeof(attribute));
    if (attribute == NULL) {
        return TW_OWNER_UNKNOWN;
    }
    owner = tw_owner_asked(attribute, p, &lost);
    return lost ? tw_owner_elsewhere(attribute, p) : owner;
}

unsigned long long tw_owner_cuda_id(const void *p)
{
    const uintptr_t     address = atomic_load(&tw_owners.cuda_attribute);
    tw_cu_attribute_fn *attribute;
    unsigned long long  id = 0;

    memcpy(&attribute, &address, sizeof(attribute));
    return attribute != NULL &&
                   attribute(&id, TW_CU_POINTER_BUFFER_ID, (unsigned long long)(uintptr_t)p) == 0
               ? id
               : 0;
}

/* ---- AMD
 * -------------------------------------------------------------------------------------- */

/* hsa_amd_pointer_info_t of ROCm's hsa_ext_amd.h, which says by `size` how much of it there is. */
typedef struct tw_hsa_pointer {
    uint32_t size;
    int      type; /* TW_HSA_POINTER_... */
    void    *agent_base, *host_base;
    size_t   bytes;
    void    *user;
    uint64_t owner; /* an agent */
    uint32_t flags;
    bool     registered;
} tw_hsa_pointer_t;

enum { TW_HSA_POINTER_UNKNOWN = 0, TW_HSA_POINTER_LOCKED = 2 }; /* locked: the host's own memory */
#define TW_HSA_NOT_INITIALIZED   0x100b
#define TW_HSA_AGENT_INFO_DEVICE 17
#define TW_HSA_DEVICE_CPU        0

typedef int tw_hsa_pointer_fn(const void *p, tw_hsa_pointer_t *info, void *(*allocate)(size_t),
                              uint32_t *agents, void *accessible);
typedef int tw_hsa_agent_fn(uint64_t agent, int attribute, void *value);

static tw_owner_t tw_owner_by_hsa(const void *p)
{
    const uintptr_t    addresses[2] = {atomic_load(&tw_owners.hsa_pointer),
                                       atomic_load(&tw_owners.hsa_agent)};
    tw_hsa_pointer_t   info         = {.size = sizeof(info)};
    tw_hsa_pointer_fn *pointer;
    tw_hsa_agent_fn   *agent;
    int                status, device = 1;

    memcpy(&pointer, &addresses[0], sizeof(pointer));
    memcpy(&agent, &addresses[1], sizeof(agent));
    if (pointer == NULL || agent == NULL) {
        return TW_OWNER_UNKNOWN;
    }
    status = pointer(p, &info, NULL, NULL, NULL);
    if (status == TW_HSA_NOT_INITIALIZED || (status == 0 && (info.type == TW_HSA_POINTER_UNKNOWN ||
                                                             info.type == TW_HSA_POINTER_LOCKED))) {
        return TW_OWNER_HOST;
    }
    return status == 0 && agent(info.owner, TW_HSA_AGENT_INFO_DEVICE, &device) == 0 &&
                   device == TW_HSA_DEVICE_CPU
               ? TW_OWNER_HOST
               : TW_OWNER_UNKNOWN;
}

tw_owner_t tw_owner_of(const void *p)
{
    tw_owner_t owner = TW_OWNER_HOST;

    if (p == NULL) {
        return TW_OWNER_HOST;
    }
    if (atomic_load(&tw_owners.cuda) == 0 || atomic_load(&tw_owners.hsa) == 0) {
        tw_owner_look();
    }
    if (atomic_load(&tw_owners.cuda) != 0) {
        owner = tw_owner_by_cuda((unsigned long long)(uintptr_t)p);
    }
    return owner == TW_OWNER_HOST && atomic_load(&tw_owners.hsa) != 0 ? tw_owner_by_hsa(p) : owner;
}

bool tw_owner_any_cuda(const void *p, const void *q)
{
    if ((p != NULL || q != NULL) && atomic_load(&tw_owners.cuda) == 0) {
        tw_owner_look();
    }
    return atomic_load(&tw_owners.cuda) != 0 &&
           ((p != NULL && tw_owner_by_cuda((unsigned long long)(uintptr_t)p) == TW_OWNER_CUDA) ||
            (q != NULL && tw_owner_by_cuda((unsigned long long)(uintptr_t)q) == TW_OWNER_CUDA));
}
