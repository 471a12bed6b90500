/* SPDX-License-Identifier: BSD-3-Clause
 * transport/feedback/feedback_restore.c - restoring residuals of all ranks from a stream, on any
 * number of ranks. A reader fills spare arrays and uses them only if the checksum is correct.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/fpmode.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/feedback/feedback_file.h"

/* Where a rank collects what it will own; taken over at the end. */
typedef struct tw_restored {
    uint8_t *first, *second;
    size_t   second_first, second_count;
    bool     same_ranks; /* keep the second residual apart */
} tw_restored_t;

/* into[position + i] += piece[i] for n elements. */
static void tw_restore_add(const tw_feedback_t *fb, uint8_t *into, size_t position,
                           const uint8_t *piece, size_t n)
{
    uint8_t *sum = into + position * fb->element;

    fb->type->combine[TW_COMBINE_ADD](sum, piece, n, sum);
}

/* One array of the stream to rank `target`, into `into` from `position`: copied, or added. */
static tw_status_t tw_restore_array(tw_feedback_t *fb, tw_feedback_file_t *file, int target,
                                    uint8_t *into, size_t position, size_t count, bool add,
                                    uint8_t *piece)
{
    tw_comm_t   *comm   = fb->comm;
    const size_t step   = TW_FILE_PIECE / fb->element;
    tw_status_t  status = TW_OK;

    for (size_t at = 0; at < count && status == TW_OK; at += step) {
        const size_t n = count - at < step ? count - at : step;

        if (comm->rank == 0) {
            tw_feedback_file_read(file, piece, n * fb->element);
        }
        if (target != 0 && (comm->rank == 0 || comm->rank == target)) {
            status = tw_feedback_file_message(comm, comm->rank == 0, piece, n * fb->element,
                                              comm->rank == 0 ? target : 0);
        }
        if (comm->rank == target && status == TW_OK) {
            tw_feedback_file_order(piece, n * fb->element, fb->element);
            if (add) {
                tw_restore_add(fb, into, position + at, piece, n);
            } else {
                memcpy(into + (position + at) * fb->element, piece, n * fb->element);
            }
        }
    }
    return status;
}

/* The vectors of one saved rank. Rank 0 announces their interval, or that the stream has failed. */
static tw_status_t tw_restore_rank(tw_feedback_t *fb, tw_feedback_file_t *file, int target,
                                   tw_restored_t *out, uint8_t *piece)
{
    uint64_t    words[3] = {1, 0, 0}; /* go on, second_first, second_count */
    tw_status_t status;

    if (fb->comm->rank == 0) {
        uint8_t range[TW_FILE_RANK];

        tw_feedback_file_read(file, range, sizeof(range));
        words[1] = tw_load_le64(range);
        words[2] = tw_load_le64(range + 8);
        if (words[1] > fb->count || words[2] > fb->count - words[1]) {
            file->status = file->status == TW_OK ? TW_ERR_FORMAT : file->status;
        }
        words[0] = file->status == TW_OK;
    }
    status = tw_feedback_file_announce(fb->comm, words, 3);
    if (status != TW_OK || words[0] == 0) {
        return status != TW_OK ? status : TW_ERR_FORMAT;
    }
    if (out->same_ranks && fb->comm->rank == target) {
        out->second_first = (size_t)words[1];
        out->second_count = (size_t)words[2];
    }
    status = tw_restore_array(fb, file, target, out->first, 0, fb->count, !out->same_ranks, piece);
    if (status == TW_OK) {
        status = tw_restore_array(fb, file, target, out->same_ranks ? out->second : out->first,
                                  (size_t)words[1], (size_t)words[2], !out->same_ranks, piece);
    }
    return status;
}

/* Rank 0 reads the header; all get (status, saved ranks). */
static tw_status_t tw_restore_header(tw_feedback_t *fb, tw_feedback_file_t *file, uint32_t *ranks_p)
{
    uint64_t    words[2] = {0, 0}; /* status, ranks */
    tw_status_t status;

    if (fb->comm->rank == 0) {
        uint8_t  header[TW_FILE_HEADER];
        uint32_t ranks;

        tw_feedback_file_read(file, header, sizeof(header));
        ranks = tw_load_le32(header + 12);
        if (file->status != TW_OK) {
            TW_ERROR(&fb->comm->log,
                     "feedback '%s': the stream ends or fails before its header does", fb->name);
        } else if (memcmp(header, TW_FILE_MAGIC, 8) != 0 || ranks == 0 ||
                   ranks > TW_FILE_MOST_RANKS) {
            TW_ERROR(&fb->comm->log, "feedback '%s': the stream holds no feedback here", fb->name);
            file->status = TW_ERR_FORMAT;
        } else if (tw_load_le32(header + 8) != (uint32_t)fb->dtype ||
                   tw_load_le64(header + 16) != fb->count ||
                   memcmp(header + 24, fb->name, sizeof(fb->name)) != 0) {
            TW_ERROR(
                &fb->comm->log,
                "feedback '%s' of %zu values expected, but the stream holds '%.63s' of %" PRIu64,
                fb->name, fb->count, (const char *)header + 24, tw_load_le64(header + 16));
            file->status = TW_ERR_FORMAT;
        }
        words[0] = (uint64_t) - (int)file->status;
        words[1] = ranks;
    }
    status = tw_feedback_file_announce(fb->comm, words, 2);
    if (status != TW_OK) {
        return status;
    }
    *ranks_p = (uint32_t)words[1];
    return (tw_status_t) - (int)words[0];
}

/* Rank 0 compares the checksum; all get the verdict. */
static tw_status_t tw_restore_verdict(tw_feedback_t *fb, tw_feedback_file_t *file,
                                      tw_status_t so_far)
{
    uint64_t    word = 0;
    tw_status_t status;

    if (fb->comm->rank == 0) {
        const uint64_t expected = file->hash;
        uint8_t        hash[8];

        tw_feedback_file_read(file, hash, sizeof(hash));
        if (file->status == TW_OK && tw_load_le64(hash) != expected) {
            file->status = TW_ERR_FORMAT;
        }
        word = (uint64_t) - (int)(file->status != TW_OK ? file->status : so_far);
    }
    status = tw_feedback_file_announce(fb->comm, &word, 1);
    if (status != TW_OK) {
        return status;
    }
    if (word != 0 && fb->comm->rank == 0) {
        TW_ERROR(&fb->comm->log, "feedback '%s': the stream is damaged or cut short", fb->name);
    }
    return (tw_status_t) - (int)word;
}

static void tw_restore_scale(tw_feedback_t *fb, uint8_t *values, double factor)
{
    for (size_t i = 0; i < fb->count; i++) {
        double value;

        fb->type->to_f64(values + i * fb->element, 1, &value);
        value *= factor;
        fb->type->from_f64(&value, 1, values + i * fb->element);
    }
}

static void tw_restore_take(tw_feedback_t *fb, tw_restored_t *out, uint32_t saved_ranks,
                            tw_feedback_use_t use)
{
    uint8_t *first = fb->first, *second = fb->second;

    if (use == TW_FEEDBACK_AVERAGE && saved_ranks != (uint32_t)fb->comm->size) {
        tw_restore_scale(fb, out->first, (double)fb->comm->size / (double)saved_ranks);
    }
    fb->first = fb->host[0] = out->first;
    fb->second = fb->host[1] = out->second;
    fb->second_first         = out->second_first;
    fb->second_count         = out->second_count;
    out->first               = first;
    out->second              = second;
}

static tw_status_t tw_restore_all(tw_feedback_t *fb, tw_feedback_file_t *file, tw_restored_t *out,
                                  uint32_t ranks, uint8_t *piece)
{
    tw_status_t status = TW_OK;

    for (uint32_t saved = 0; saved < ranks && status == TW_OK; saved++) {
        status = tw_restore_rank(fb, file, (int)(saved % (uint32_t)fb->comm->size), out, piece);
    }
    return fb->comm->status == TW_OK ? tw_restore_verdict(fb, file, status) : status;
}

tw_status_t tw_feedback_restore(tw_feedback_t *fb, FILE *stream, tw_feedback_use_t use)
{
    tw_feedback_file_t file  = {.stream = stream, .hash = TW_FNV_START, .status = TW_OK};
    tw_restored_t      out   = {0};
    uint32_t           ranks = 0;
    tw_fpmode_t        mode;
    void              *piece;
    tw_status_t        status;

    if (use != TW_FEEDBACK_SUM && use != TW_FEEDBACK_AVERAGE) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_feedback_file_begin(fb, "feedback_restore", stream, &piece);
    if (status != TW_OK) {
        return status;
    }
    mode   = tw_fpmode_enter();
    status = tw_restore_header(fb, &file, &ranks);
    if (status == TW_OK) {
        out.same_ranks = ranks == (uint32_t)fb->comm->size;
        out.first      = calloc(fb->count > 0 ? fb->count : 1, fb->element);
        out.second     = calloc(fb->count > 0 ? fb->count : 1, fb->element);
        status         = tw_comm_agree(fb->comm,
                               out.first != NULL && out.second != NULL ? TW_OK : TW_ERR_NO_MEMORY);
    }
    if (status == TW_OK) {
        status = tw_restore_all(fb, &file, &out, ranks, piece);
    }
    if (status == TW_OK) {
        tw_restore_take(fb, &out, ranks, use);
    }
    tw_fpmode_leave(mode);
    free(out.first);
    free(out.second);
    tw_pool_put(&fb->comm->pool, piece);
    return status;
}
