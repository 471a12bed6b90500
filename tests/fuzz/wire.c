/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/wire.c - a communicator whose peers send any bytes: every message that the transport
 * receives, set-up records and codes, comes from the input. The MPI library is one of ours, whose
 * operations are complete at once.
 *
 * Input: rank and ranks, flags, codec, collective, algorithm, count (2 bytes), then the messages.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include <thinwire/collective.h>

#include "runtime/transport/api/open.h"
#include "runtime/transport/comm/comm.h"
#include "tests/fuzz/target.h"

#define MOST 3000 /* values */
#define HEAD 7    /* bytes */

static struct {
    fuzz_bytes_t from;
    int          rank, ranks;
    bool         differ; /* the settings of the others */
} peers;

/* ---- the MPI library ------------------------------------------------------------------------- */

static size_t bytes_of(int n, MPI_Datatype type)
{
    int size = 0;

    MPI_Type_size(type, &size);
    return (size_t)n * (size_t)size;
}

/* The next bytes of the input; zeros behind it. */
static void arrive(void *to, size_t size)
{
    uint8_t *at = to;

    for (size_t i = 0; i < size; i++) {
        at[i] = fuzz_byte(&peers.from);
    }
}

/* Every byte of a message must be readable. */
static void leave(const void *from, size_t size)
{
    const volatile uint8_t *at  = from;
    unsigned                sum = 0;

    for (size_t i = 0; i < size; i++) {
        sum += at[i];
    }
    (void)sum;
}

static int comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    *copy = comm;
    return MPI_SUCCESS;
}

static int comm_free(MPI_Comm *comm)
{
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

static int comm_rank(MPI_Comm comm, int *rank)
{
    *rank = comm == MPI_COMM_SELF ? 0 : peers.rank;
    return MPI_SUCCESS;
}

static int comm_size(MPI_Comm comm, int *size)
{
    *size = comm == MPI_COMM_SELF ? 1 : peers.ranks;
    return MPI_SUCCESS;
}

static int comm_test_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

static int comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    (void)comm;
    (void)type;
    (void)key;
    (void)info;
    *part = MPI_COMM_SELF; /* every rank has a machine of its own */
    return MPI_SUCCESS;
}

static int comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm;
    (void)handler;
    return MPI_SUCCESS;
}

static int isend(const void *p, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    (void)tag;
    (void)comm;
    fuzz_check(peer >= 0 && peer < peers.ranks, "a message goes to a rank");
    leave(p, bytes_of(n, type));
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int irecv(void *p, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    (void)tag;
    (void)comm;
    fuzz_check(peer >= 0 && peer < peers.ranks, "a message comes from a rank");
    arrive(p, bytes_of(n, type));
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    (void)statuses;
    for (int i = 0; i < n; i++) {
        requests[i] = MPI_REQUEST_NULL;
    }
    *flag = 1;
    return MPI_SUCCESS;
}

static int ibcast(void *p, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    if (comm != MPI_COMM_SELF && root != peers.rank) {
        arrive(p, bytes_of(n, type));
    }
    return MPI_SUCCESS;
}

/* The others say the same, or, of checksums, something else. */
static int iallreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                      MPI_Request *request)
{
    (void)op;
    (void)comm;
    memcpy(out, in, bytes_of(n, type));
    if (peers.differ && type == MPI_UINT64_T) {
        arrive(out, bytes_of(n, type));
    }
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static int iallgather(const void *in, int n, MPI_Datatype type, void *out, int m,
                      MPI_Datatype out_type, MPI_Comm comm, MPI_Request *request)
{
    const size_t size = bytes_of(n, type);

    (void)comm;
    fuzz_check(bytes_of(m, out_type) == size, "sizes agree");
    for (int r = 0; r < peers.ranks; r++) {
        uint8_t *at = (uint8_t *)out + (size_t)r * size;

        if (r == peers.rank) {
            memcpy(at, in, size);
        } else if (size == sizeof(r)) {
            memcpy(at, &r, size); /* the lowest rank of a machine */
        } else {
            arrive(at, size);
        }
    }
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

static tw_mpi_ops_t ops;

static void begin(void)
{
    setenv("THINWIRE_NODE_RANKS", "1", 1);
    setenv("THINWIRE_CHUNK", "4k", 1);
    setenv("THINWIRE_CHECK", "1", 1);
    ops                     = tw_mpi_default;
    ops.Comm_dup            = comm_dup;
    ops.Comm_free           = comm_free;
    ops.Comm_rank           = comm_rank;
    ops.Comm_size           = comm_size;
    ops.Comm_test_inter     = comm_test_inter;
    ops.Comm_split_type     = comm_split_type;
    ops.Comm_set_errhandler = comm_set_errhandler;
    ops.Isend               = isend;
    ops.Irecv               = irecv;
    ops.Testall             = testall;
    ops.Testsome            = NULL;
    ops.Ibcast              = ibcast;
    ops.Iallreduce          = iallreduce;
    ops.Iallgather          = iallgather;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static tw_status_t call(tw_comm_t *comm, int which, const float *send, float *recv, size_t n,
                        size_t *counts, size_t *at, const tw_how_t *how)
{
    const int root = (int)n % peers.ranks;

    for (int r = 0; r < peers.ranks; r++) {
        counts[r] = n / (size_t)(1 + r);
        at[r]     = (size_t)r * n;
    }
    switch (which) {
    case 0:
        return tw_bcast(comm, recv, n, root, how);
    case 1:
        return tw_allgather(comm, send, recv, n, how);
    case 2:
        return tw_allgatherv(comm, send, recv, counts, at, how);
    case 3:
        return tw_alltoall(comm, send, recv, n, how);
    case 4:
        return tw_alltoallv(comm, send, counts, at, recv, counts, at, how);
    case 5:
        return tw_allreduce(comm, send, recv, n, TW_AVERAGE, how);
    case 6:
        return tw_reduce(comm, send, recv, n, TW_SUM, root, how);
    case 7:
        return tw_reduce_scatter(comm, send, recv, counts, TW_SUM, how);
    default:
        return tw_reduce_scatter_block(comm, send, recv, n, TW_SUM, how);
    }
}

static void calls(tw_comm_t *comm, fuzz_bytes_t *head)
{
    static const char *const specs[] = {
        "fp32",    "bf16", "bitpack:3",     "tree8:block=64", "int8", "onebit", "onebit:block=64",
        "static8", "int4", "int:6,block=64"};
    const int    codec = fuzz_byte(head) % 10, which = fuzz_byte(head) % 9;
    const int    algorithm = fuzz_byte(head) % 4;
    const size_t n = fuzz_word(head) % MOST, room = (size_t)peers.ranks * n;
    size_t       counts[8], at[8];
    float       *send = calloc(room + 1, sizeof(*send)), *recv = calloc(room + 1, sizeof(*recv));
    tw_how_t     how  = {.algorithm = (tw_algorithm_t)algorithm};
    tw_codec_t  *made = NULL;

    fuzz_check(send != NULL && recv != NULL, "there is memory");
    fuzz_check(tw_codec_create(fuzz_context(), specs[codec], TW_F32, &made, NULL, 0) == TW_OK,
               "there is a codec");
    how.codec = made;
    for (int i = 0; i < 2; i++) { /* the second time everything has been allocated */
        call(comm, which, send, recv, n, counts, at, &how);
    }
    tw_codec_destroy(made);
    free(send);
    free(recv);
}

static bool run(const uint8_t *data, size_t size)
{
    fuzz_bytes_t head = {data, size};
    const int    who = fuzz_byte(&head), flags = fuzz_byte(&head);
    tw_comm_t   *comm = NULL;

    peers.ranks  = 2 + who % 5;
    peers.rank   = who / 8 % peers.ranks;
    peers.differ = flags % 16 == 1;
    peers.from = (fuzz_bytes_t){data + (size < HEAD ? size : HEAD), size < HEAD ? 0 : size - HEAD};
    if (tw_comm_create_with(fuzz_context(), &ops, MPI_COMM_WORLD, &comm) != TW_OK) {
        return peers.differ;
    }
    calls(comm, &head);
    fuzz_check(tw_comm_destroy(comm) == TW_OK, "a communicator can be released");
    return true;
}

static size_t seed(int index, uint8_t *data)
{
    if (index >= 18) {
        return 0;
    }
    data[0] = (uint8_t)(index * 5);
    data[1] = index == 17;
    data[2] = (uint8_t)index;
    data[3] = (uint8_t)(index % 9);
    data[4] = (uint8_t)(index % 4);
    data[5] = (uint8_t)(200 + index);
    data[6] = (uint8_t)index;
    for (int i = HEAD; i < 900; i++) {
        data[i] = (uint8_t)(i * index);
    }
    if (data[1] == 1) {
        memcpy(data + HEAD, "version=0;byte order=;", 22);
    } else {
        memset(data + HEAD, 0, 64); /* rank 0 has no decisions to share */
    }
    return 900;
}

const fuzz_target_t fuzz_wire = {"wire", true, begin, run, seed};
