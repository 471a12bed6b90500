/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/ucx/load.c - loading UCX when a communicator uses it.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>

#include "runtime/transport/link/ucx/ucx.h"

#define TW_UCX_LIBRARY "libucp.so.0" /* brings libucs along */

tw_status_t tw_ucx_load(tw_ucx_calls_t *calls, char *why, size_t size)
{
    void *library =
        dlopen(TW_UCX_LIBRARY, RTLD_NOW | RTLD_GLOBAL); /* never closed: it has threads */

    if (library == NULL) {
        snprintf(why, size, "UCX cannot be loaded: %s", dlerror());
        return TW_ERR_UNSUPPORTED;
    }
#define X(name)                                                                                    \
    *(void **)&calls->name = dlsym(library, #name);                                                \
    if (calls->name == NULL) {                                                                     \
        snprintf(why, size, TW_UCX_LIBRARY " has no %s", #name);                                   \
        return TW_ERR_UNSUPPORTED;                                                                 \
    }
    TW_UCX_LIST(X)
#undef X
    return TW_OK;
}
