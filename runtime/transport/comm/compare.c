/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/compare.c - comparison of the ranks: versions and wire settings when a
 * communicator is created, and, with THINWIRE_CHECK=1, every call.
 *
 * Both fill a fixed-size record of text fields and compare its checksums in one small allreduce.
 * Only if the checksums differ are the records gathered, to log each rank's values. Text does not
 * depend on the byte order.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <thinwire/collective.h>

#include "runtime/base/bytes.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/sync.h"

#define TW_RECORD_BYTES 768 /* "name=value;" ... NUL-padded */

/* A rank whose record differs from the one most ranks have (ties: the lower rank's), or -1. */
static int tw_record_odd_one(const char *records, int size, int *usual_p)
{
    int most = 0, usual = 0;

    for (int r = 0; r < size; r++) {
        int same = 0;

        for (int q = 0; q < size; q++) {
            same += memcmp(records + (size_t)r * TW_RECORD_BYTES,
                           records + (size_t)q * TW_RECORD_BYTES, TW_RECORD_BYTES) == 0;
        }
        if (same > most) {
            most  = same;
            usual = r;
        }
        if (2 * most > size) {
            break;
        }
    }
    *usual_p = usual;
    for (int r = 0; r < size; r++) {
        if (memcmp(records + (size_t)r * TW_RECORD_BYTES, records + (size_t)usual * TW_RECORD_BYTES,
                   TW_RECORD_BYTES) != 0) {
            return r;
        }
    }
    return -1;
}

/* The first "name=value" in which two records differ, each cut at its ';'. */
static void tw_record_difference(const char *a, const char *b, char *text_a, char *text_b,
                                 size_t size)
{
    while (*a != '\0' && *b != '\0') {
        const size_t la = strcspn(a, ";"), lb = strcspn(b, ";");

        if (la != lb || memcmp(a, b, la) != 0) {
            break;
        }
        a += la + (a[la] == ';');
        b += lb + (b[lb] == ';');
    }
    snprintf(text_a, size, "%.*s", (int)strcspn(a, ";"), a);
    snprintf(text_b, size, "%.*s", (int)strcspn(b, ";"), b);
}

/* Rank 0 says who differs in what; the ranks' records are known to differ. */
static tw_status_t tw_record_explain(tw_comm_t *comm, const char *record, const char *what)
{
    char        first[128], second[128];
    void       *all = NULL;
    tw_status_t status;
    int         odd, usual;

    status =
        tw_comm_agree(comm, tw_pool_get(&comm->pool, (size_t)comm->size * TW_RECORD_BYTES, &all));
    if (status == TW_OK) {
        status = tw_sync_allgather(comm, record, all, TW_RECORD_BYTES, what);
    }
    if (status == TW_OK && comm->rank == 0) {
        odd = tw_record_odd_one(all, comm->size, &usual);
        tw_record_difference((const char *)all + (size_t)odd * TW_RECORD_BYTES,
                             (const char *)all + (size_t)usual * TW_RECORD_BYTES, first, second,
                             sizeof(first));
        TW_ERROR(&comm->log, "ranks disagree on %s: rank %d has %s, rank %d has %s", what, odd,
                 first, usual, second);
    }
    tw_pool_put(&comm->pool, all);
    return comm->status != TW_OK ? status : TW_ERR_MISMATCH;
}

static tw_status_t tw_record_compare(tw_comm_t *comm, const char *record, const char *what)
{
    const uint64_t hash    = tw_fnv1a(TW_FNV_START, record, TW_RECORD_BYTES);
    const uint64_t mine[2] = {hash, ~hash}; /* the least of both are each other's complement */
    uint64_t       least[2];
    tw_status_t    status;

    status = tw_sync_allreduce(comm, mine, least, 2, sizeof(hash), MPI_UINT64_T, MPI_MIN, what);
    if (status != TW_OK || least[0] == ~least[1]) {
        return status;
    }
    return tw_record_explain(comm, record, what);
}

tw_status_t tw_comm_compare_wire(tw_comm_t *comm)
{
    const uint32_t order                   = 0x01020304u;
    char           record[TW_RECORD_BYTES] = {0};
    uint8_t        first;

    memcpy(&first, &order, 1);
    snprintf(
        record, sizeof(record),
        "version=" PACKAGE_VERSION ";byte order=%s;THINWIRE_TRANSPORT=%s;THINWIRE_CHUNK=%zu;"
        "THINWIRE_MESSAGE_LIMIT=%zu;THINWIRE_WINDOW=%d;THINWIRE_CHECK=%d;THINWIRE_ALLREDUCE=%d;"
        "THINWIRE_DIRECT_MAX=%zu;THINWIRE_BCAST=%d;"
        "THINWIRE_REDUCE_SCATTER=%d;THINWIRE_ALLGATHER=%d;THINWIRE_ALLTOALL=%d;"
        "THINWIRE_MESSAGE_COST=%zu;THINWIRE_NODE_RANKS=%d;"
        "THINWIRE_NODE_READ=%d;tags=%" PRIu64 ";",
        first == 4 ? "little-endian" : "big-endian", tw_transports[comm->config.transport],
        comm->config.chunk, comm->config.message_limit, comm->config.window, comm->config.check,
        comm->policy.named[TW_OPERATION_ALLREDUCE], comm->policy.direct_max,
        comm->policy.named[TW_OPERATION_BCAST], comm->policy.named[TW_OPERATION_REDUCE_SCATTER],
        comm->policy.named[TW_OPERATION_ALLGATHER], comm->policy.named[TW_OPERATION_ALLTOALL],
        comm->policy.message_cost, comm->config.node_ranks, comm->config.node_read,
        comm->tag_cycle);
    return tw_record_compare(comm, record, "settings");
}

tw_status_t tw_comm_compare_call(tw_comm_t *comm, const tw_call_facts_t *facts)
{
    char record[TW_RECORD_BYTES] = {0};

    if (!comm->config.check) {
        return TW_OK;
    }
    snprintf(record, sizeof(record),
             "number=%" PRIu64 ";form=%s;operation=%s;count=%" PRIu64 ";root=%d;codec=%s;"
             "element bytes=%zu;reduction=%s;algorithm=%s;memory=%s;flags=%x;",
             comm->sequence, facts->what, facts->operation, facts->count, facts->root, facts->codec,
             facts->element, facts->reduction != NULL ? facts->reduction : "sum", facts->algorithm,
             facts->memory == TW_MEMORY_CUDA ? "device" : "host", facts->flags);
    return tw_record_compare(comm, record, "a call");
}
