/* SPDX-License-Identifier: BSD-3-Clause
 * broadcast_weights.c - weights go out from rank 0 with only their upper bytes.
 *
 *     mpicc -o broadcast_weights broadcast_weights.c $(pkg-config --cflags --libs thinwire)
 *     mpirun -n 4 ./broadcast_weights bitpack:2
 *
 * As in adaptive weight precision training: rank 0 keeps float32 master weights and sends what the
 * workers need now, here 2 of 4 bytes; biases are few and go as they are. The master stays exact.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/thinwire.h>

enum { WEIGHTS = 100000, BIASES = 300 };

static float   master[WEIGHTS], weights[WEIGHTS], decoded[WEIGHTS], biases[BIASES];
static uint8_t codes[4 * WEIGHTS + 4096];

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "%s: %s\n", what, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    const char   *spec = argc > 1 ? argv[1] : "bitpack:2";
    char          why[256];
    tw_context_t *ctx;
    tw_comm_t    *comm;
    tw_codec_t   *codec;
    tw_stats_t    stats;
    int           right;

    MPI_Init(&argc, &argv);
    must(tw_context_create(&ctx), "context");
    must(tw_comm_create(ctx, MPI_COMM_WORLD, &comm), "communicator");
    must(tw_codec_create(ctx, spec, TW_F32, &codec, why, sizeof(why)), why);
    for (int i = 0; i < WEIGHTS; i++) { /* made on all ranks, to check what they receive */
        master[i] = 0.05f * (2.0f * (float)rand() / (float)RAND_MAX - 1.0f);
    }
    if (tw_comm_rank(comm) == 0) {
        memcpy(weights, master, sizeof(weights));
        biases[BIASES - 1] = 0.1f;
    }
    const tw_how_t how = {.codec = codec};
    must(tw_bcast(comm, weights, WEIGHTS, 0, &how), "weights");
    must(tw_bcast(comm, biases, BIASES, 0, NULL), "biases");

    must(tw_codec_encode(codec, NULL, master, WEIGHTS, codes), "encode");
    must(tw_codec_decode(codec, NULL, codes, WEIGHTS, decoded), "decode");
    right = biases[BIASES - 1] == 0.1f &&
            memcmp(weights, tw_comm_rank(comm) == 0 ? master : decoded, sizeof(weights)) == 0;
    must(tw_comm_stats(comm, &stats), "counters");
    if (tw_comm_rank(comm) == 0) {
        printf(
            "%s: weight 0 is %.8f at the root and %.8f at the workers; the root sent %llu bytes, "
            "%llu as float32\n",
            spec, master[0], decoded[0], (unsigned long long)stats.bytes_sent,
            (unsigned long long)stats.bytes_uncompressed);
    }
    tw_codec_destroy(codec);
    must(tw_comm_destroy(comm), "communicator");
    tw_context_destroy(ctx);
    MPI_Finalize();
    return right ? 0 : 1;
}
