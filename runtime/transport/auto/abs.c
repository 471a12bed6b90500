/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/abs.c - see abs.h.
 */
#include "config.h"

#include "runtime/codec/abs.h"
#include "runtime/transport/auto/auto.h"

bool tw_abs_asked(const tw_how_t *how)
{
    double error;

    return how != NULL && how->codec != NULL && tw_codec_abs(how->codec, &error);
}

/* A codec of the communicator, as all ranks have it. */
static tw_status_t tw_abs_codec(tw_comm_t *comm, const char *spec, tw_dtype_t dtype,
                                const tw_codec_t **codec_p)
{
    *codec_p = tw_auto_codec(comm, spec, dtype);
    if (*codec_p == NULL) {
        TW_ERROR(&comm->log, "no memory for codec %s; the communicator is dead", spec);
        comm->status = TW_ERR_NO_MEMORY;
    }
    return comm->status;
}

static tw_status_t tw_abs_check(const tw_collective_call_t *call)
{
    tw_comm_t *comm = call->comm;

    if (call->how->feedback != NULL) {
        TW_ERROR(&comm->log, "%s: codec %s keeps its bound without error feedback; accepted: none",
                 call->name, tw_codec_spec(call->how->codec));
        return TW_ERR_INVALID_ARG;
    }
    if (tw_how_on_device(call->how) || tw_comm_device_owns(comm, call->values)) {
        TW_ERROR(&comm->log, "%s: codec %s has no kernels for device memory", call->name,
                 tw_codec_spec(call->how->codec));
        return TW_ERR_UNSUPPORTED;
    }
    return TW_OK;
}

tw_status_t tw_abs_take(const tw_collective_call_t *call, tw_form_t form, tw_how_t *how_p,
                        bool *done_p)
{
    const tw_codec_t *abs = call->how->codec, *lossless = NULL;
    tw_status_t       status = tw_abs_check(call);

    (void)form;
    *done_p = false;
    if (status == TW_OK) {
        status = tw_abs_codec(call->comm, abs->type->lossless, abs->dtype, &lossless);
    }
    if (status == TW_OK) {
        *how_p       = *call->how;
        how_p->codec = lossless;
    }
    return status;
}
