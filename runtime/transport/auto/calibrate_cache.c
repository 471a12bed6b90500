/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate_cache.c - the file that stores facts, and the key that identifies the
 * measured system.
 *
 * Only rank 0 accesses the file. In the cache folder its name contains a checksum of the key, so
 * that the folder can hold measurements of several machines and layouts.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/bytes.h"
#include "runtime/base/file.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/auto/calibrate.h"
#include "runtime/transport/comm/sync.h"

#define TW_HOST_NAME 64

/* ---- the key --------------------------------------------------------------------------------- */

/* "node0*4 node1*4", or a checksum of it where it is too long. */
static void tw_key_hosts(const char *names, int ranks, char *text, size_t size)
{
    uint64_t hash = TW_FNV_START;
    size_t   used = 0;
    bool     full = false;

    for (int r = 0; r < ranks;) {
        const char *name = names + (size_t)r * TW_HOST_NAME;
        char        part[TW_HOST_NAME + 16];
        int         n, same = 1;

        while (r + same < ranks &&
               memcmp(name, name + (size_t)same * TW_HOST_NAME, TW_HOST_NAME) == 0) {
            same++;
        }
        r += same;
        n    = snprintf(part, sizeof(part), "%s%s*%d", used > 0 ? " " : "", name, same);
        hash = tw_fnv1a(hash, part, (size_t)n);
        full = full || used + (size_t)n + 1 >= size;
        if (!full) {
            memcpy(text + used, part, (size_t)n + 1);
            used += (size_t)n;
        }
    }
    if (full) {
        snprintf(text, size, "%d ranks, checksum %016" PRIx64, ranks, hash);
    }
}

static const char *tw_environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? value : "-";
}

/* One line without line breaks. */
static void tw_key_clean(char *text)
{
    for (char *c = text; *c != '\0'; c++) {
        *c = *c < ' ' ? ' ' : *c;
    }
}

/* The MPI library, and what it was told to send by; mpirun hands its --mca on in the environment.
 */
static void tw_key_fabric(const tw_comm_t *comm, char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int  length                                  = 0;

    comm->mpi->Get_library_version(version, &length);
    snprintf(text, size, "%.*s; pml %s, btl %s, tcp %s, UCX_TLS %s, UCX_NET_DEVICES %s; %s",
             (int)strcspn(version, ",\n"), version, tw_environment("OMPI_MCA_pml"),
             tw_environment("OMPI_MCA_btl"), tw_environment("OMPI_MCA_btl_tcp_if_include"),
             tw_environment("UCX_TLS"), tw_environment("UCX_NET_DEVICES"), comm->endpoint->name);
    tw_key_clean(text);
}

static tw_status_t tw_calibration_key(tw_comm_t *comm, tw_facts_key_t *key)
{
    char        mine[TW_HOST_NAME] = "";
    void       *names              = NULL;
    tw_status_t status = tw_comm_agreed_get(comm, (size_t)comm->size * TW_HOST_NAME, &names);

    if (status != TW_OK) {
        return status;
    }
    memset(mine, 0, sizeof(mine));
    gethostname(mine, sizeof(mine) - 1);
    mine[strcspn(mine, " \n*")] = '\0';
    status = tw_sync_allgather(comm, mine, names, TW_HOST_NAME, "gathering the names of hosts");
    if (status == TW_OK) {
        *key = (tw_facts_key_t){.version = PACKAGE_VERSION};
        tw_key_hosts(names, comm->size, key->hosts, sizeof(key->hosts));
        tw_key_fabric(comm, key->fabric, sizeof(key->fabric));
        snprintf(key->codecs, sizeof(key->codecs), "%s, threads %d", tw_cpu_level(comm->ctx),
                 comm->exec.threads);
    }
    if (comm->status == TW_OK) {
        tw_pool_put(&comm->pool, names);
    }
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* false where neither the setting nor the environment names a folder. */
static bool tw_cache_path(const tw_comm_t *comm, const tw_facts_key_t *key, char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    uint64_t    hash = tw_fnv1a(TW_FNV_START, key->hosts, strlen(key->hosts));
    int         n;

    if (comm->autos->calibration[0] != '\0') {
        n = snprintf(path, size, "%s", comm->autos->calibration);
        return n > 0 && (size_t)n < size;
    }
    hash = tw_fnv1a(hash, key->fabric, strlen(key->fabric));
    hash = tw_fnv1a(hash, key->codecs, strlen(key->codecs));
    if (cache != NULL && cache[0] == '/') {
        n = snprintf(path, size, "%s/thinwire/%016" PRIx64 ".calibration", cache, hash);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(path, size, "%s/.cache/thinwire/%016" PRIx64 ".calibration", home, hash);
    } else {
        return false;
    }
    return n > 0 && (size_t)n < size;
}

/* Rank 0: TW_OK, or TW_ERR_RANGE, with a warning unless there is just none in the cache folder. */
static tw_status_t tw_cache_read(tw_comm_t *comm, const tw_facts_key_t *here, tw_facts_t *facts)
{
    const bool      named = comm->autos->calibration[0] != '\0';
    tw_facts_key_t *key   = malloc(sizeof(*key));
    char            path[4096], why[400] = "", *text = NULL;
    size_t          length = 0;
    bool            well   = false;

    if (key == NULL || !tw_cache_path(comm, here, path, sizeof(path))) {
        free(key);
        return TW_ERR_RANGE;
    }
    if (!tw_file_read(path, TW_FACTS_MAX, &text, &length)) {
        if (named || errno != ENOENT) {
            TW_WARN(&comm->log, "calibration %s cannot be read: %s; measuring anew", path,
                    strerror(errno));
        }
        free(key);
        return TW_ERR_RANGE;
    }
    well = tw_facts_read(text, length, facts, key, why, sizeof(why)) &&
           tw_facts_fit(key, here, why, sizeof(why));
    if (well && (facts->ranks != comm->size || facts->nodes != comm->nodes->count)) {
        well = false;
        snprintf(why, sizeof(why), "it is of %d ranks on %d nodes", facts->ranks, facts->nodes);
    }
    if (!well) {
        TW_WARN(&comm->log, "calibration %s is ignored: %s; measuring anew", path, why);
    }
    free(text);
    free(key);
    return well ? TW_OK : TW_ERR_RANGE;
}

/* A status of rank 0's alone, and its facts, as far as they are true, to all; these lie in the pool
 * meanwhile. */
static tw_status_t tw_cache_share(tw_comm_t *comm, tw_status_t found, tw_facts_t *facts)
{
    int         word   = (int)found;
    void       *buffer = NULL;
    tw_status_t status = tw_sync_bcast(comm, &word, (int)sizeof(word), "a calibration");

    if (status != TW_OK || word != TW_OK) {
        return status != TW_OK ? status : (tw_status_t)word;
    }
    status = tw_comm_agreed_get(comm, sizeof(*facts), &buffer);
    if (status == TW_OK && comm->rank == 0) {
        memcpy(buffer, facts, sizeof(*facts));
        if (tw_facts_valid(buffer)) {
            tw_auto_trust_facts(comm, buffer);
        }
    }
    if (status == TW_OK) {
        status = tw_sync_bcast(comm, buffer, (int)sizeof(*facts), "a calibration");
    }
    if (status == TW_OK) {
        memcpy(facts, buffer, sizeof(*facts));
    }
    if (comm->status == TW_OK) {
        tw_pool_put(&comm->pool, buffer);
    }
    return status;
}

tw_status_t tw_calibration_share(tw_comm_t *comm, tw_facts_t *facts)
{
    return tw_cache_share(comm, TW_OK, facts);
}

/* The key, and what it needs of memory. */
static tw_status_t tw_cache_key(tw_comm_t *comm, tw_facts_key_t **key_p)
{
    tw_facts_key_t *key    = malloc(sizeof(*key));
    tw_status_t     status = tw_comm_agree(comm, key != NULL ? TW_OK : TW_ERR_NO_MEMORY);

    if (status == TW_OK) {
        status = tw_calibration_key(comm, key);
    }
    if (status != TW_OK) {
        free(key);
        return status;
    }
    *key_p = key;
    return TW_OK;
}

tw_status_t tw_calibration_load(tw_comm_t *comm, tw_facts_t *facts)
{
    tw_facts_key_t *key    = NULL;
    tw_status_t     status = tw_cache_key(comm, &key);

    if (status == TW_OK) {
        memset(facts, 0, sizeof(*facts));
        status =
            tw_cache_share(comm, comm->rank == 0 ? tw_cache_read(comm, key, facts) : TW_OK, facts);
    }
    free(key);
    return status;
}

/* Rank 0. */
static tw_status_t tw_cache_write(tw_comm_t *comm, const tw_facts_key_t *key,
                                  const tw_facts_t *facts, const char *wanted, char *path,
                                  size_t size)
{
    char  *text   = malloc(TW_FACTS_MAX);
    size_t length = text != NULL ? tw_facts_write(facts, key, text, TW_FACTS_MAX) : 0;
    bool   well   = length > 0;

    if (!well) {
        free(text);
        return TW_ERR_NO_MEMORY;
    }
    if (wanted != NULL) {
        well = (size_t)snprintf(path, size, "%s", wanted) < size;
    } else {
        well = tw_cache_path(comm, key, path, size);
    }
    if (!well) {
        TW_ERROR(&comm->log,
                 "there is no place for the calibration: neither XDG_CACHE_HOME nor HOME is an "
                 "absolute path, or it is too long; name a file");
        free(text);
        return TW_ERR_IO;
    }
    if (wanted == NULL && comm->autos->calibration[0] == '\0') {
        well = tw_file_folders(path);
    }
    well = well && tw_file_replace(path, text, length);
    if (!well) {
        TW_ERROR(&comm->log, "calibration %s cannot be written: %s", path, strerror(errno));
    }
    free(text);
    return well ? TW_OK : TW_ERR_IO;
}

tw_status_t tw_calibration_save(tw_comm_t *comm, const tw_facts_t *facts, const char *path,
                                char *path_p, size_t path_size)
{
    tw_facts_key_t *key = NULL;
    char            name[4096];
    tw_status_t     status = tw_cache_key(comm, &key);
    int             word   = TW_OK;

    if (status != TW_OK) {
        return status;
    }
    if (comm->rank == 0) {
        word = (int)tw_cache_write(comm, key, facts, path, name, sizeof(name));
        if (word == TW_OK && path_p != NULL && path_size > 0) {
            snprintf(path_p, path_size, "%s", name);
        }
    }
    free(key);
    status = tw_sync_bcast(comm, &word, (int)sizeof(word), "writing a calibration");
    return status != TW_OK ? status : (tw_status_t)word;
}
