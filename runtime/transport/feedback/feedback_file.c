/* SPDX-License-Identifier: BSD-3-Clause
 * transport/feedback/feedback_file.c - saving residuals of all ranks to a stream, and restoring
 * them on any number of ranks.
 *
 * Layout: docs/wire-format.md, "Feedback stream". Only rank 0 accesses the stream. Vectors pass
 * through rank 0 in pieces, so it needs no memory for whole vectors. The checksum at the end covers
 * every byte before it.
 */
#include "config.h"

#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/feedback/feedback_file.h"

void tw_feedback_file_write(tw_feedback_file_t *file, const void *bytes, size_t size)
{
    if (file->status == TW_OK && fwrite(bytes, 1, size, file->stream) != size) {
        file->status = TW_ERR_IO;
    }
    file->hash = tw_fnv1a(file->hash, bytes, size);
}

/* Fills bytes with zeros where the stream fails. */
void tw_feedback_file_read(tw_feedback_file_t *file, void *bytes, size_t size)
{
    if (file->status == TW_OK && fread(bytes, 1, size, file->stream) != size) {
        file->status = ferror(file->stream) ? TW_ERR_IO : TW_ERR_FORMAT;
    }
    if (file->status != TW_OK) {
        memset(bytes, 0, size);
    }
    file->hash = tw_fnv1a(file->hash, bytes, size);
}

/* Elements between memory and the little-endian stream: swaps on big-endian machines only. */
void tw_feedback_file_order(uint8_t *bytes, size_t size, size_t element)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < size; i += element) {
        for (size_t b = 0; b < element / 2; b++) {
            const uint8_t t            = bytes[i + b];
            bytes[i + b]               = bytes[i + element - 1 - b];
            bytes[i + element - 1 - b] = t;
        }
    }
#else
    (void)bytes;
    (void)size;
    (void)element;
#endif
}

tw_status_t tw_feedback_file_message(tw_comm_t *comm, bool sending, void *bytes, size_t size,
                                     int peer)
{
    return tw_sync_message(comm, sending, bytes, (int)size, peer, "feedback of another rank");
}

/* What all ranks know: rank 0's word, broadcast. */
tw_status_t tw_feedback_file_announce(tw_comm_t *comm, uint64_t *words, int count)
{
    return tw_sync_bcast(comm, words, count * (int)sizeof(*words), "feedback of rank 0");
}

/* Common start of save and restore: arguments, and a piece of memory on every rank. */
tw_status_t tw_feedback_file_begin(tw_feedback_t *fb, const char *operation, FILE *stream,
                                   void **piece_p)
{
    const bool  lacking = fb != NULL && fb->comm->rank == 0 && stream == NULL;
    tw_status_t status;

    if (fb == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_comm_check(fb->comm);
    return status == TW_OK ? tw_feedback_begin(fb, operation, lacking ? TW_ERR_INVALID_ARG : TW_OK,
                                               TW_FILE_PIECE, piece_p)
                           : status;
}

/* ---- saving -------------------------------------------------------------------------------- */

/* One rank's `size` bytes to the stream, through rank 0 in pieces. data is that rank's. */
static tw_status_t tw_save_array(tw_feedback_t *fb, tw_feedback_file_t *file, int owner,
                                 const uint8_t *data, size_t size, uint8_t *piece)
{
    tw_comm_t  *comm   = fb->comm;
    tw_status_t status = TW_OK;

    for (size_t at = 0; at < size && status == TW_OK; at += TW_FILE_PIECE) {
        const size_t part = size - at < TW_FILE_PIECE ? size - at : TW_FILE_PIECE;

        if (comm->rank == owner) {
            memcpy(piece, data + at, part);
            tw_feedback_file_order(piece, part, fb->element);
        }
        if (owner != 0 && (comm->rank == owner || comm->rank == 0)) {
            status = tw_feedback_file_message(comm, comm->rank == owner, piece, part,
                                              comm->rank == owner ? 0 : owner);
        }
        if (comm->rank == 0 && status == TW_OK) {
            tw_feedback_file_write(file, piece, part);
        }
    }
    return status;
}

static tw_status_t tw_save_rank(tw_feedback_t *fb, tw_feedback_file_t *file, int owner,
                                uint8_t *piece)
{
    tw_comm_t  *comm = fb->comm;
    uint8_t     range[TW_FILE_RANK];
    tw_status_t status = TW_OK;

    tw_store_le64(range, fb->second_first);
    tw_store_le64(range + 8, fb->second_count);
    if (owner != 0 && (comm->rank == owner || comm->rank == 0)) {
        status = tw_feedback_file_message(comm, comm->rank == owner, range, sizeof(range),
                                          comm->rank == owner ? 0 : owner);
    }
    if (comm->rank == 0 && status == TW_OK) {
        tw_feedback_file_write(file, range, sizeof(range));
    }
    if (status == TW_OK) {
        status = tw_save_array(fb, file, owner, fb->first, fb->count * fb->element, piece);
    }
    if (status == TW_OK && (comm->rank == 0 || comm->rank == owner)) {
        const size_t first = (size_t)tw_load_le64(range), count = (size_t)tw_load_le64(range + 8);

        status = tw_save_array(fb, file, owner, fb->second + first * fb->element,
                               count * fb->element, piece);
    }
    return status;
}

static void tw_save_header(const tw_feedback_t *fb, tw_feedback_file_t *file)
{
    uint8_t header[TW_FILE_HEADER] = {0};

    memcpy(header, TW_FILE_MAGIC, 8);
    tw_store_le32(header + 8, (uint32_t)fb->dtype);
    tw_store_le32(header + 12, (uint32_t)fb->comm->size);
    tw_store_le64(header + 16, fb->count);
    memcpy(header + 24, fb->name, sizeof(fb->name));
    tw_feedback_file_write(file, header, sizeof(header));
}

tw_status_t tw_feedback_save(tw_feedback_t *fb, FILE *stream)
{
    tw_feedback_file_t file = {.stream = stream, .hash = TW_FNV_START, .status = TW_OK};
    void              *piece;
    tw_status_t        status = tw_feedback_file_begin(fb, "feedback_save", stream, &piece);

    if (status != TW_OK) {
        return status;
    }
    if (fb->comm->rank == 0) {
        tw_save_header(fb, &file);
    }
    for (int owner = 0; owner < fb->comm->size && status == TW_OK; owner++) {
        status = tw_save_rank(fb, &file, owner, piece);
    }
    if (fb->comm->rank == 0 && status == TW_OK) {
        uint8_t hash[8];

        tw_store_le64(hash, file.hash);
        tw_feedback_file_write(&file, hash, sizeof(hash));
        if (file.status == TW_OK && fflush(stream) != 0) {
            file.status = TW_ERR_IO;
        }
    }
    tw_pool_put(&fb->comm->pool, piece);
    if (status == TW_OK) {
        status = tw_comm_agree(fb->comm, file.status);
    }
    return status;
}
