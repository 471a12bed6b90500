/* SPDX-License-Identifier: BSD-3-Clause
 * transport/feedback/feedback.c - residuals: creation, folding, norm. Files: feedback_file.c.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/fpmode.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/feedback/feedback.h"

#define TW_NORM_PIECE ((size_t)65536) /* values summed over the ranks at a time */

tw_status_t tw_feedback_check(const tw_feedback_t *fb, const tw_comm_t *comm,
                              const tw_codec_t *codec, size_t count)
{
    tw_codec_traits_t traits;

    if (fb == NULL) {
        return TW_OK;
    }
    if (codec == NULL) {
        codec = comm->fp32;
    }
    tw_codec_traits(codec, &traits);
    if (fb->comm != comm || fb->dtype != tw_dtype_row(traits.dtype)->sum || fb->count != count) {
        TW_ERROR(
            &comm->log,
            "feedback '%s' is for %zu values of another shape, type or communicator; this call "
            "has %zu values of codec %s",
            fb->name, fb->count, count, tw_codec_spec(codec));
        return TW_ERR_INVALID_ARG;
    }
    return TW_OK;
}

static bool tw_feedback_name_ok(const char *name)
{
    size_t length = 0;

    for (; name[length] != '\0'; length++) {
        if (name[length] <= ' ' || name[length] > '~' || length >= TW_FEEDBACK_NAME_MAX - 1) {
            return false;
        }
    }
    return length > 0;
}

static void tw_feedback_free(tw_feedback_t *fb)
{
    if (fb != NULL) {
        tw_feedback_release_device(fb);
        free(fb->host[0]);
        free(fb->host[1]);
        free(fb);
    }
}

static tw_feedback_t *tw_feedback_make(tw_comm_t *comm, const char *name, tw_dtype_t dtype,
                                       size_t count)
{
    tw_feedback_t *fb = calloc(1, sizeof(*fb));

    if (fb == NULL) {
        return NULL;
    }
    fb->comm    = comm;
    fb->dtype   = tw_dtype_row(dtype)->sum;
    fb->type    = tw_dtype_row(fb->dtype);
    fb->element = fb->type->bytes;
    fb->count   = count;
    strcpy(fb->name, name);
    fb->first = fb->host[0] = calloc(count > 0 ? count : 1, fb->element);
    fb->second = fb->host[1] = calloc(count > 0 ? count : 1, fb->element);
    if (fb->first == NULL || fb->second == NULL) {
        tw_feedback_free(fb);
        return NULL;
    }
    return fb;
}

tw_status_t tw_feedback_create(tw_comm_t *comm, const char *name, tw_dtype_t dtype, size_t count,
                               tw_feedback_t **fb_p)
{
    tw_status_t    status = tw_comm_check(comm);
    tw_feedback_t *fb;

    if (status != TW_OK) {
        return status;
    }
    if (name == NULL || fb_p == NULL || tw_dtype_row(dtype) == NULL || !tw_feedback_name_ok(name)) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_comm_compare_call(comm, &(tw_call_facts_t){.what      = "call",
                                                           .operation = "feedback_create",
                                                           .algorithm = name,
                                                           .codec     = "none",
                                                           .element   = tw_dtype_size(dtype),
                                                           .count     = count,
                                                           .root      = -1});
    if (status != TW_OK) {
        return status;
    }
    fb     = tw_feedback_make(comm, name, dtype, count);
    status = tw_comm_agree(comm, fb != NULL ? TW_OK : TW_ERR_NO_MEMORY);
    if (status != TW_OK) {
        if (status == TW_ERR_NO_MEMORY) {
            TW_ERROR(&comm->log, "a rank has no memory for feedback '%s' of %zu values", name,
                     count);
        }
        tw_feedback_free(fb);
        return status;
    }
    comm->feedbacks++;
    *fb_p = fb;
    return TW_OK;
}

void tw_feedback_destroy(tw_feedback_t *fb)
{
    if (fb != NULL) {
        fb->comm->feedbacks--;
        tw_feedback_free(fb);
    }
}

tw_status_t tw_feedback_clear(tw_feedback_t *fb)
{
    tw_status_t status;

    if (fb == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (fb->user != NULL) {
        return TW_ERR_BUSY;
    }
    status = tw_feedback_to_host(fb);
    if (status != TW_OK) {
        return status;
    }
    memset(fb->first, 0, fb->count * fb->element);
    memset(fb->second + fb->second_first * fb->element, 0, fb->second_count * fb->element);
    fb->second_first = fb->second_count = 0;
    return TW_OK;
}

/* sum[n] = the sum of both residuals from position `first`. */
static void tw_feedback_sum(const tw_feedback_t *fb, size_t first, size_t n, void *sum)
{
    fb->type->combine[TW_COMBINE_ADD](fb->first + first * fb->element,
                                      fb->second + first * fb->element, n, sum);
}

/* Add the second residual, in host memory, to the first and zero it. */
static void tw_feedback_fold(tw_feedback_t *fb)
{
    const tw_fpmode_t mode = tw_fpmode_enter();

    tw_feedback_sum(fb, fb->second_first, fb->second_count,
                    fb->first + fb->second_first * fb->element);
    tw_fpmode_leave(mode);
    memset(fb->second + fb->second_first * fb->element, 0, fb->second_count * fb->element);
    fb->second_first = fb->second_count = 0;
}

tw_status_t tw_feedback_own(tw_feedback_t *fb, const tw_exec_t *device, size_t first, size_t count)
{
    tw_status_t status = device != NULL ? tw_feedback_to_device(fb) : tw_feedback_to_host(fb);

    if (status == TW_OK && (fb->second_first != first || fb->second_count != count)) {
        if (device != NULL) {
            status = tw_feedback_fold_device(fb, device);
        } else {
            tw_feedback_fold(fb);
        }
        fb->second_first = first;
        fb->second_count = count;
    }
    return status;
}

/* Where residuals are stored is no part of what the object is: it is never a constant itself. */
static tw_status_t tw_feedback_fetch(const tw_feedback_t *fb)
{
    return tw_feedback_to_host((tw_feedback_t *)(uintptr_t)fb);
}

tw_status_t tw_feedback_read(const tw_feedback_t *fb, void *out)
{
    tw_fpmode_t mode;
    tw_status_t status;

    if (fb == NULL || (out == NULL && fb->count > 0)) {
        return TW_ERR_INVALID_ARG;
    }
    if (fb->user != NULL) {
        return TW_ERR_BUSY;
    }
    status = tw_feedback_fetch(fb);
    if (status != TW_OK) {
        return status;
    }
    mode = tw_fpmode_enter();
    tw_feedback_sum(fb, 0, fb->count, out);
    tw_fpmode_leave(mode);
    return TW_OK;
}

/* Sum over the ranks of n residuals from position `first`, in double, added as squares to *sum. */
static tw_status_t tw_feedback_squares(tw_feedback_t *fb, size_t first, size_t n, double *mine,
                                       double *all, double *sum)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    tw_comm_t        *comm = fb->comm;
    double            tile[256]; /* elements, of no more bytes than double has */
    tw_status_t       status;

    for (size_t i = 0; i < n; i += 256) {
        const size_t m = n - i < 256 ? n - i : 256;

        tw_feedback_sum(fb, first + i, m, tile);
        fb->type->to_f64(tile, m, mine + i);
    }
    tw_fpmode_leave(mode);
    status =
        tw_sync_allreduce(comm, mine, all, (int)n, sizeof(double), MPI_DOUBLE, MPI_SUM, fb->name);
    for (size_t i = 0; status == TW_OK && i < n; i++) {
        *sum += all[i] * all[i];
    }
    return status;
}

tw_status_t tw_feedback_begin(tw_feedback_t *fb, const char *operation, tw_status_t mine,
                              size_t bytes, void **buffer_p)
{
    const tw_call_facts_t facts  = {.what      = "call",
                                    .operation = operation,
                                    .algorithm = fb->name,
                                    .codec     = "none",
                                    .element   = fb->element,
                                    .count     = fb->count,
                                    .root      = -1};
    tw_status_t           status = tw_comm_compare_call(fb->comm, &facts);

    if (status == TW_OK && mine == TW_OK && fb->user == NULL) {
        status = tw_feedback_to_host(fb);
    }
    if (status == TW_OK) {
        status = tw_comm_agree(fb->comm, fb->user != NULL ? TW_ERR_BUSY : mine);
    }
    return status == TW_OK ? tw_comm_agreed_get(fb->comm, bytes, buffer_p) : status;
}

tw_status_t tw_feedback_norm(tw_feedback_t *fb, double *norm_p)
{
    tw_comm_t  *comm;
    tw_status_t status;
    double      sum = 0.0;
    void       *buffer;

    if (fb == NULL || norm_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    comm   = fb->comm;
    status = tw_comm_check(comm);
    if (status != TW_OK) {
        return status;
    }
    status =
        tw_feedback_begin(fb, "feedback_norm", TW_OK, 2 * TW_NORM_PIECE * sizeof(double), &buffer);
    if (status != TW_OK) {
        return status;
    }
    for (size_t i = 0; status == TW_OK && i < fb->count; i += TW_NORM_PIECE) {
        const size_t n = fb->count - i < TW_NORM_PIECE ? fb->count - i : TW_NORM_PIECE;

        status = tw_feedback_squares(fb, i, n, buffer, (double *)buffer + TW_NORM_PIECE, &sum);
    }
    tw_pool_put(&comm->pool, buffer);
    if (status == TW_OK) { /* MPI need not give all ranks the same bits */
        status = tw_sync_bcast(comm, &sum, sizeof(sum), fb->name);
    }
    if (status == TW_OK) {
        *norm_p = sqrt(sum);
    }
    return status;
}
