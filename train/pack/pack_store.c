/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack_store.c - the output file: OUT/data.mdb.part, locked, and renamed to OUT/data.mdb
 * when it is complete.
 *
 * The stamp (pack_stamp.c) is updated in the transactions that add images, so a killed packer
 * leaves a valid prefix with its length. Pages are on disk before the meta page that refers to them
 * (MDB_NOMETASYNC preserves this order), so this is also true after a power failure.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/input/lmdb_file.h"
#include "train/pack/pack_inside.h"

enum { MAP_FIRST = 1 << 22 };

int tw_pack_store_failed(const tw_pack_store_t *store, int error, tw_problem_t *problem)
{
    return tw_problem_set(problem, "cannot write '%s': %s%s; '%s' is as it was", store->part,
                          mdb_strerror(error), error == EIO ? " (is the disk full?)" : "",
                          store->path);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int make_folder(tw_pack_store_t *store, const char *out, tw_problem_t *problem)
{
    struct stat info;

    if (*out == '\0' || snprintf(store->folder, sizeof(store->folder), "%s", out) >= 4000) {
        return tw_problem_set(problem, "'%.200s' cannot be the folder of a database", out);
    }
    snprintf(store->path, sizeof(store->path), "%.4000s/data.mdb", out);
    snprintf(store->part, sizeof(store->part), "%.4000s/data.mdb.part", out);
    if (mkdir(out, 0777) == 0) {
        return 0;
    }
    if (errno != EEXIST || stat(out, &info) != 0) {
        return tw_problem_set(problem, "cannot make the folder '%s': %s", out, strerror(errno));
    }
    return S_ISDIR(info.st_mode)
               ? 0
               : tw_problem_set(problem, "cannot make the folder '%s': it is a file", out);
}

/* Whether the file that is locked is still the one of that name: another packer may have renamed it
 * in between. */
static int is_there(const tw_pack_store_t *store)
{
    struct stat mine, named;

    return fstat(store->fd, &mine) == 0 && stat(store->part, &named) == 0 &&
           mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

static int lock(tw_pack_store_t *store, tw_problem_t *problem)
{
    for (;;) {
        store->fd = open(store->part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (store->fd < 0) {
            return tw_problem_set(problem, "cannot write '%s': %s", store->part, strerror(errno));
        }
        if (flock(store->fd, LOCK_EX | LOCK_NB) != 0) {
            return tw_problem_set(problem, "cannot write '%s': %s", store->part,
                                  errno == EWOULDBLOCK ? "another thinwire-train pack writes it"
                                                       : strerror(errno));
        }
        if (is_there(store)) {
            return 0;
        }
        close(store->fd);
    }
}

/* @return a result of LMDB. */
static int open_env(tw_pack_store_t *store, size_t map)
{
    const unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOMETASYNC | MDB_NORDAHEAD;
    int            error = mdb_env_create(&store->env);

    if (error != 0) {
        store->env = NULL;
        return error;
    }
    if (map > 0) {
        error = mdb_env_set_mapsize(store->env, map);
    }
    if (error == 0) {
        error = mdb_env_open(store->env, store->part, flags, 0666);
    }
    if (error == 0) {
        error = tw_pack_store_begin(store);
    }
    if (error == 0) {
        error = mdb_dbi_open(store->txn, NULL, 0, &store->dbi);
    }
    return error;
}

static void close_env(tw_pack_store_t *store)
{
    tw_pack_store_abort(store);
    if (store->env != NULL) {
        mdb_env_close(store->env);
        store->env = NULL;
    }
}

static MDB_val key_of(const uint8_t *key, size_t n)
{
    return (MDB_val){.mv_size = n, .mv_data = (void *)(uintptr_t)key};
}

/* Whether an earlier run left what this one can go on with; it is open then. */
static int can_continue(tw_pack_store_t *store, tw_pack_stamp_t *stamp)
{
    MDB_val key = key_of(&tw_stored_stamp_key, 1), value;

    if (tw_lmdb_unfit(store->fd) == NULL && open_env(store, 0) == 0 &&
        mdb_get(store->txn, store->dbi, &key, &value) == 0 &&
        tw_pack_stamp_take(value.mv_data, value.mv_size, stamp) == 0) {
        tw_pack_store_abort(store);
        return 1;
    }
    close_env(store);
    return 0;
}

int tw_pack_store_open(tw_pack_store_t *store, const char *out, tw_pack_stamp_t *stamp,
                       tw_problem_t *problem)
{
    int error;

    *store = (tw_pack_store_t){.fd = -1};
    if (make_folder(store, out, problem) != 0 || lock(store, problem) != 0) {
        return -1;
    }
    if (can_continue(store, stamp)) {
        return 0;
    }
    error = ftruncate(store->fd, 0) != 0 ? errno : open_env(store, MAP_FIRST);
    if (error != 0) {
        return tw_pack_store_failed(store, error, problem);
    }
    tw_pack_store_abort(store);
    return 0;
}

void tw_pack_store_close(tw_pack_store_t *store)
{
    close_env(store);
    if (store->fd >= 0) {
        close(store->fd);
        store->fd = -1;
    }
}

/* ---- batches -------------------------------------------------------------------------------- */

int tw_pack_store_begin(tw_pack_store_t *store)
{
    const int error = mdb_txn_begin(store->env, NULL, 0, &store->txn);

    if (error != 0) {
        store->txn = NULL;
    }
    return error;
}

void tw_pack_store_abort(tw_pack_store_t *store)
{
    if (store->txn != NULL) {
        mdb_txn_abort(store->txn);
        store->txn = NULL;
    }
}

int tw_pack_store_put(tw_pack_store_t *store, tw_subset_t part, uint32_t index,
                      const tw_image_record_t *record, uint16_t label)
{
    uint8_t bytes[TW_STORED_KEY];
    MDB_val key = key_of(bytes, sizeof(bytes)), value = {.mv_size = TW_STORED_RECORD + record->n};
    int     error;

    tw_stored_key(part, index, bytes);
    error = mdb_put(store->txn, store->dbi, &key, &value, MDB_APPEND | MDB_RESERVE);
    if (error == 0) {
        tw_stored_put(record, label, value.mv_data);
        memcpy((uint8_t *)value.mv_data + TW_STORED_RECORD, record->bytes, record->n);
    }
    return error;
}

int tw_pack_store_commit(tw_pack_store_t *store, const tw_pack_stamp_t *stamp)
{
    MDB_val  key = key_of(&tw_stored_stamp_key, 1), value;
    MDB_txn *txn = store->txn;

    if (stamp != NULL) {
        int error;

        value.mv_size = tw_pack_stamp_size(stamp);
        error         = mdb_put(txn, store->dbi, &key, &value, MDB_RESERVE);
        if (error != 0) {
            return error;
        }
        tw_pack_stamp_put(stamp, value.mv_data);
    }
    store->txn = NULL; /* it is over, whatever comes of it */
    return mdb_txn_commit(txn);
}

int tw_pack_store_grow(tw_pack_store_t *store)
{
    MDB_envinfo info;
    int         error = mdb_env_info(store->env, &info);

    if (error == 0 && info.me_mapsize > SIZE_MAX / 2) {
        error = ENOMEM;
    }
    return error == 0 ? mdb_env_set_mapsize(store->env, 2 * info.me_mapsize) : error;
}

/* ---- the end -------------------------------------------------------------------------------- */

int tw_pack_store_header(tw_pack_store_t *store, uint64_t size, uint8_t **bytes_p)
{
    MDB_val key = key_of(&tw_stored_stamp_key, 1), value = {.mv_size = (size_t)size};
    int     error = mdb_del(store->txn, store->dbi, &key, NULL);

    if (error == 0) {
        key   = key_of(&tw_stored_header_key, 1);
        error = mdb_put(store->txn, store->dbi, &key, &value, MDB_RESERVE);
    }
    if (error == 0) {
        *bytes_p = value.mv_data;
    }
    return error;
}

/* A reader wants every page that is counted to be there; LMDB leaves a last one out that it has
 * freed again. */
static int lengthen(tw_pack_store_t *store)
{
    MDB_envinfo info;
    MDB_stat    stat;
    struct stat file;
    off_t       want;
    int         error = mdb_env_info(store->env, &info);

    if (error == 0) {
        error = mdb_env_stat(store->env, &stat);
    }
    if (error == 0 && fstat(store->fd, &file) != 0) {
        error = errno;
    }
    if (error != 0) {
        return error;
    }
    want = (off_t)((info.me_last_pgno + 1) * stat.ms_psize);
    return file.st_size < want && ftruncate(store->fd, want) != 0 ? errno : 0;
}

/* So that the new name is on the disk too. */
static void sync_folder(const tw_pack_store_t *store)
{
    const int fd = open(store->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

int tw_pack_store_finish(tw_pack_store_t *store, tw_problem_t *problem)
{
    int error = mdb_env_sync(store->env, 1);

    if (error == 0) {
        error = lengthen(store);
    }
    close_env(store);
    if (error == 0 && (fsync(store->fd) != 0 || rename(store->part, store->path) != 0)) {
        error = errno;
    }
    if (error == 0) {
        sync_folder(store);
    }
    tw_pack_store_close(store);
    return error == 0 ? 0 : tw_pack_store_failed(store, error, problem);
}
