/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/same.c - compares the minimum over the ranks of each checksum and of its complement.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/scheduler/same.h"
#include "runtime/transport/comm/sync.h"

uint64_t tw_same_text(uint64_t hash, const char *text)
{
    return tw_fnv1a(hash, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 0);
}

uint64_t tw_same_codec(const tw_codec_t *codec)
{
    return tw_same_text(TW_FNV_START, codec != NULL ? tw_codec_spec(codec) : "fp32");
}

tw_status_t tw_same_everywhere(tw_comm_t *comm, const char *what, const tw_same_t *fields, size_t n)
{
    uint64_t    mine[2 * TW_SAME_MAX] = {0}, least[2 * TW_SAME_MAX];
    tw_status_t status;

    for (size_t i = 0; i < n; i++) {
        mine[2 * i]     = fields[i].hash;
        mine[2 * i + 1] = ~fields[i].hash;
    }
    status = tw_sync_allreduce(comm, mine, least, (int)(2 * n), sizeof(mine[0]), MPI_UINT64_T,
                               MPI_MIN, what);
    for (size_t i = 0; i < n && status == TW_OK; i++) {
        if (least[2 * i] != ~least[2 * i + 1]) {
            if (comm->rank == 0) {
                TW_ERROR(&comm->log, "%s: %s differ between the ranks; they must be equal on all",
                         what, fields[i].name);
            }
            status = TW_ERR_MISMATCH;
        }
    }
    return status;
}
