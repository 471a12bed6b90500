/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/decided.c - THINWIRE_DECISIONS: a file that is read when a communicator is
 * created, if it exists, or else written when one is destroyed.
 *
 * Rank 0 reads the file and broadcasts it. The first communicator of a context decides whether the
 * run records or replays, so that a run never reads decisions that it wrote itself. On destruction
 * a communicator merges its decisions into the current file under a lock on the folder, and
 * replaces the whole file.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/context.h"
#include "runtime/base/file.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/comm/sync.h"

#define TW_DECISIONS_MAX    ((size_t)16 << 20) /* bytes of a file that is taken        */
#define TW_DECISION_LEAST   32                 /* bytes of a line of it                */
#define TW_DECISIONS_WAIT_S 10.0               /* for others that write into its folder */

/* Which communicator of rank 0's process this is. */
static tw_decisions_of_t tw_decisions_of(tw_comm_t *comm)
{
    tw_decisions_of_t of = {.ranks       = comm->size,
                            .nodes       = comm->nodes->count,
                            .local_ranks = comm->nodes->most,
                            .leader      = comm->ctx->log.rank,
                            .number      = 1};

    for (size_t i = 0; i < comm->ctx->created_count; i++) {
        const tw_created_t *made = &comm->ctx->created[i];

        of.number += made->ranks == of.ranks && made->local_ranks == of.local_ranks;
    }
    return of;
}

/* Rank 0: find this communicator's part of the file. TW_OK, or what is wrong has been logged. */
static tw_status_t tw_decisions_load(tw_comm_t *comm, const char *path, const tw_decisions_of_t *of)
{
    tw_decisions_file_t file = {NULL, 0};
    char                why[160], *text = NULL;
    size_t              length = 0;
    bool                found  = false;
    tw_status_t         status = TW_OK;

    if (!tw_file_read(path, TW_DECISIONS_MAX, &text, &length)) {
        TW_ERROR(&comm->log, "THINWIRE_DECISIONS=%s cannot be read: %s", path, strerror(errno));
        return TW_ERR_IO;
    }
    if (!tw_decisions_read(text, length, PACKAGE_VERSION, &file, why, sizeof(why))) {
        TW_ERROR(&comm->log, "THINWIRE_DECISIONS=%s cannot be replayed: %s", path, why);
        free(text);
        return TW_ERR_SETTING;
    }
    for (size_t p = 0; p < file.count && !found; p++) {
        if (tw_decisions_same(&file.parts[p].of, of)) {
            comm->autos->decided = file.parts[p];
            file.parts[p].list   = NULL;
            found                = true;
        }
    }
    for (size_t i = 0; found && i < comm->autos->decided.count; i++) {
        if (!tw_auto_trust_decision(comm, &comm->autos->decided.list[i], why, sizeof(why))) {
            TW_ERROR(&comm->log, "THINWIRE_DECISIONS=%s cannot be replayed: %s", path, why);
            status = TW_ERR_SETTING;
            break;
        }
    }
    if (!found) {
        TW_ERROR(&comm->log,
                 "THINWIRE_DECISIONS=%s holds no decisions for communicator %d of %d ranks, %d on "
                 "a node: it is "
                 "of another run; remove it to record anew",
                 path, of->number, of->ranks, of->local_ranks);
    }
    tw_decisions_free(&file);
    free(text);
    return found ? status : TW_ERR_MISMATCH;
}

/* What rank 0 tells the others. */
typedef struct tw_decisions_news {
    int      status, replay;
    uint64_t count;
} tw_decisions_news_t;

/* The context's lock is held. */
static tw_status_t tw_decisions_begin(tw_comm_t *comm, const char *path, tw_decisions_news_t *news)
{
    const tw_decisions_of_t of = tw_decisions_of(comm);
    int                     error;

    comm->autos->decided.of = of;
    if (path[0] == '\0') {
        return TW_OK;
    }
    comm->autos->path = strdup(path);
    if (comm->autos->path == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    if (comm->ctx->decisions == TW_DECISIONS_UNSETTLED) {
        comm->ctx->decisions =
            access(path, F_OK) == 0 ? TW_DECISIONS_REPLAYED : TW_DECISIONS_RECORDED;
    }
    news->replay = comm->ctx->decisions == TW_DECISIONS_REPLAYED;
    error        = news->replay ? 0 : tw_file_replaceable(path);
    if (error != 0) { /* at the end it would be too late */
        TW_ERROR(&comm->log, "THINWIRE_DECISIONS=%s cannot be written: %s", path, strerror(error));
        return TW_ERR_IO;
    }
    return news->replay ? tw_decisions_load(comm, path, &of) : TW_OK;
}

/* Rank 0's decisions to all, which lie in the pool meanwhile. */
static tw_status_t tw_decisions_share(tw_comm_t *comm, size_t count)
{
    tw_decisions_t *decided = &comm->autos->decided;
    const size_t    bytes   = count * sizeof(tw_decision_t);
    void           *buffer  = NULL;
    tw_status_t     status  = tw_comm_agreed_get(comm, bytes, &buffer);

    if (status != TW_OK) {
        return status;
    }
    if (comm->rank == 0) {
        memcpy(buffer, decided->list, bytes);
    }
    status = tw_sync_bcast(comm, buffer, (int)bytes, "the recorded decisions");
    for (size_t i = 0; status == TW_OK && comm->rank != 0 && i < count; i++) {
        tw_decision_t one;

        memcpy(&one, (const uint8_t *)buffer + i * sizeof(one), sizeof(one));
        status = tw_decisions_add(decided, &one) ? TW_OK : TW_ERR_NO_MEMORY;
    }
    tw_pool_put(&comm->pool, buffer);
    return comm->status == TW_OK ? tw_comm_agree(comm, status) : comm->status;
}

static bool tw_context_created(tw_context_t *ctx, const tw_comm_t *comm)
{
    tw_created_t *list = realloc(ctx->created, (ctx->created_count + 1) * sizeof(*list));

    if (list == NULL) {
        return false;
    }
    ctx->created               = list;
    list[ctx->created_count++] = (tw_created_t){comm->size, comm->nodes->most};
    return true;
}

/* Rank 0: what is recorded, and one communicator more. Its number is taken and counted under one
 * lock, so that two that are created at once have different ones. */
static void tw_decisions_open(tw_comm_t *comm, tw_decisions_news_t *news)
{
    pthread_mutex_lock(&comm->ctx->lock);
    news->status = tw_decisions_begin(comm, comm->config.decisions, news);
    if (news->status == TW_OK && !tw_context_created(comm->ctx, comm)) {
        news->status = TW_ERR_NO_MEMORY;
    }
    pthread_mutex_unlock(&comm->ctx->lock);
    news->count = comm->autos->decided.count;
}

static void tw_decisions_settle(tw_context_t *ctx, tw_decisions_mode_t mode)
{
    pthread_mutex_lock(&ctx->lock);
    ctx->decisions = mode;
    pthread_mutex_unlock(&ctx->lock);
}

tw_status_t tw_auto_open(tw_comm_t *comm)
{
    tw_decisions_news_t news  = {.status = TW_OK};
    int                 in[2] = {TW_OK, comm->config.timeout <= 0.0}, out[2] = {TW_OK, 0};
    tw_status_t         status;

    comm->autos         = calloc(1, sizeof(*comm->autos));
    comm->blocking_only = true;
    if (comm->autos != NULL) {
        comm->autos->calibration = strdup(comm->config.calibration);
    }
    in[0]  = comm->autos != NULL && comm->autos->calibration != NULL ? TW_OK : TW_ERR_NO_MEMORY;
    status = tw_sync_allreduce(comm, in, out, 2, sizeof(in[0]), MPI_INT, MPI_MIN,
                               "setting up a communicator");
    if (status != TW_OK || out[0] != TW_OK) {
        return status != TW_OK ? status : (tw_status_t)out[0];
    }
    comm->patient        = out[1] == 1;
    comm->autos->explain = comm->config.explain != 0;
    if (comm->rank == 0) {
        tw_decisions_open(comm, &news);
    }
    status = tw_sync_bcast(comm, &news, (int)sizeof(news), "what is recorded of decisions");
    if (status != TW_OK || news.status != TW_OK) {
        return status != TW_OK ? status : (tw_status_t)news.status;
    }
    comm->autos->replay = news.replay != 0;
    if (news.count > TW_DECISIONS_MAX / TW_DECISION_LEAST) {
        return TW_ERR_FORMAT; /* on all ranks, and from no rank 0 that has read a file */
    }
    if (comm->rank != 0 && news.replay) {
        tw_decisions_settle(comm->ctx, TW_DECISIONS_REPLAYED);
    }
    return news.count > 0 ? tw_decisions_share(comm, (size_t)news.count) : TW_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Hold a lock on the folder of the file, so that other communicators' parts are not lost; -1: none.
 * Who holds it for long, and may be anyone, does not keep the job from its end. */
static int tw_decisions_lock(const tw_comm_t *comm, const char *path)
{
    long      holder;
    const int fd = tw_file_lock_folder(path, TW_DECISIONS_WAIT_S, &holder);

    if (fd < 0 && errno == EWOULDBLOCK) {
        TW_WARN(&comm->log,
                "THINWIRE_DECISIONS=%s: process %ld holds a lock on the folder for %g s; written "
                "without it",
                path, holder, TW_DECISIONS_WAIT_S);
    }
    return fd;
}

static void tw_decisions_save(tw_comm_t *comm, const char *path)
{
    tw_decisions_file_t file = {NULL, 0};
    char                why[160], *text = NULL;
    size_t              length = 0;
    const int           lock   = tw_decisions_lock(comm, path);

    if (tw_file_read(path, TW_DECISIONS_MAX, &text, &length)) {
        tw_decisions_read(text, length, PACKAGE_VERSION, &file, why, sizeof(why));
        free(text);
    }
    text = tw_decisions_put(&file, &comm->autos->decided)
               ? tw_decisions_write(&file, PACKAGE_VERSION, &length)
               : NULL;
    if (text == NULL || !tw_file_replace(path, text, length)) {
        TW_ERROR(&comm->log, "THINWIRE_DECISIONS=%s cannot be written: %s", path,
                 text == NULL ? "no memory" : strerror(errno));
    }
    free(text);
    tw_decisions_free(&file);
    if (lock >= 0) {
        close(lock);
    }
}

void tw_auto_close(tw_comm_t *comm, bool save)
{
    struct tw_auto *autos = comm->autos;

    if (autos == NULL) {
        return;
    }
    if (save && autos->path != NULL && !autos->replay) {
        tw_decisions_settle(comm->ctx, TW_DECISIONS_RECORDED);
        tw_decisions_save(comm, autos->path);
    }
    while (autos->tables != NULL) {
        tw_auto_table_t *next = autos->tables->next;

        free(autos->tables);
        autos->tables = next;
    }
    while (autos->codecs != NULL) {
        tw_auto_codec_t *next = autos->codecs->next;

        tw_codec_destroy(autos->codecs->codec);
        free(autos->codecs);
        autos->codecs = next;
    }
    tw_abs_close(&autos->abs);
    free(autos->decided.list);
    free(autos->answers);
    free(autos->calibration);
    free(autos->path);
    free(autos);
    comm->autos = NULL;
}
