/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_peers.c - see bench_peers.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_BLOSC
#include <blosc.h>
#endif
#ifdef HAVE_ZFP
#include <zfp.h>
#endif

#include "tools/bench_limits.h"
#include "tools/bench_peers.h"
#include "tools/bench_plain.h"

#define BUDGET 0.4 /* seconds for a peer at one size */

struct peer {
    const char *name;
    int         parameter;
    /* Bytes written, 0 on failure. */
    size_t (*encode)(int parameter, const float *x, size_t n, uint8_t *to, size_t size);
    int (*decode)(int parameter, const uint8_t *from, size_t bytes, size_t n, float *y);
    const char *(*missing)(void);
};

static float  levels[128];
static double middles[127];

tw_status_t peers_begin(tw_context_t *ctx)
{
    tw_codec_t *codec;
    uint8_t     codes[4 + 128] = {0, 0, 0x80, 0x3f}; /* the scale 1.0 */
    tw_status_t status         = tw_codec_create(ctx, "tree8", TW_F32, &codec, NULL, 0);

    if (status != TW_OK) {
        return status;
    }
    for (int i = 0; i < 128; i++) {
        codes[4 + i] = (uint8_t)i;
    }
    status = tw_codec_decode(codec, NULL, codes, 128, levels);
    tw_codec_destroy(codec);
    for (int i = 0; i < 127; i++) {
        middles[i] = ((double)levels[i] + (double)levels[i + 1]) / 2;
    }
    return status;
}

#ifdef HAVE_ZFP

static const char *zfp_missing(void)
{
    return NULL;
}

/* One-dimensional, `rate` bits a value. Bytes used, 0 on failure. */
static size_t zfp_work(int rate, const float *x, size_t n, uint8_t *codes, size_t size, int decode)
{
    bitstream  *bits   = stream_open(codes, size);
    zfp_stream *stream = zfp_stream_open(bits);
    zfp_field  *field  = zfp_field_1d((void *)(uintptr_t)x, zfp_type_float, n);
    size_t      bytes;

    zfp_stream_set_rate(stream, rate, zfp_type_float, 1, zfp_false);
    zfp_stream_rewind(stream);
    bytes = decode ? zfp_decompress(stream, field) : zfp_compress(stream, field);
    zfp_field_free(field);
    zfp_stream_close(stream);
    stream_close(bits);
    return bytes;
}

static size_t zfp_encode(int rate, const float *x, size_t n, uint8_t *to, size_t size)
{
    return zfp_work(rate, x, n, to, size, 0);
}

static int zfp_decode(int rate, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    return zfp_work(rate, y, n, (uint8_t *)(uintptr_t)from, bytes, 1) != 0;
}

#else

static const char *zfp_missing(void)
{
    return "not built in: zfp was not found when thinwire was configured (Debian, Ubuntu: "
           "libzfp-dev)";
}

#define zfp_encode NULL
#define zfp_decode NULL

#endif

#ifdef HAVE_BLOSC

static const char *blosc_missing(void)
{
    return NULL;
}

/* Lossless, so the size depends on the values. */
static size_t blosc_encode(int level, const float *x, size_t n, uint8_t *to, size_t size)
{
    const int bytes = blosc_compress_ctx(level, BLOSC_BITSHUFFLE, sizeof(float), n * sizeof(float),
                                         x, to, size, BLOSC_LZ4_COMPNAME, 0, 1);

    return bytes > 0 ? (size_t)bytes : 0;
}

static int blosc_decode(int level, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    (void)level;
    (void)bytes;
    return blosc_decompress_ctx(from, y, n * sizeof(float), 1) == (int)(n * sizeof(float));
}

#else

static const char *blosc_missing(void)
{
    return "not built in: blosc was not found when thinwire was configured (Debian, Ubuntu: "
           "libblosc-dev)";
}

#define blosc_encode NULL
#define blosc_decode NULL

#endif

static const char *bf16_missing(void)
{
    return plain_runs(0) ? NULL : "built for a newer processor";
}

static size_t bf16_encode(int unused, const float *x, size_t n, uint8_t *to, size_t size)
{
    (void)unused;
    (void)size;
    plain_bf16_encode(x, n, (uint16_t *)(void *)to);
    return 2 * n;
}

static int bf16_decode(int unused, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    (void)unused;
    (void)bytes;
    plain_bf16_decode((const uint16_t *)(const void *)from, n, y);
    return 1;
}

static const char *fp16_missing(void)
{
    return plain_runs(1)   ? NULL
           : plain_runs(0) ? "not built in: the compiler has no conversion for this processor"
                           : "built for a newer processor";
}

static size_t fp16_encode(int unused, const float *x, size_t n, uint8_t *to, size_t size)
{
    (void)unused;
    (void)size;
    plain_fp16_encode(x, n, (uint16_t *)(void *)to);
    return 2 * n;
}

static int fp16_decode(int unused, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    (void)unused;
    (void)bytes;
    plain_fp16_decode((const uint16_t *)(const void *)from, n, y);
    return 1;
}

static size_t search_encode(int unused, const float *x, size_t n, uint8_t *to, size_t size)
{
    (void)unused;
    (void)size;
    plain_search_encode(x, n, middles, to);
    return n + 4 * ((n - 1) / PLAIN_BLOCK + 1);
}

static int search_decode(int unused, const uint8_t *from, size_t bytes, size_t n, float *y)
{
    (void)unused;
    (void)bytes;
    plain_search_decode(from, n, levels, y);
    return 1;
}

static const peer_t peers[] = {
    {"zfp, 8 bits", 8, zfp_encode, zfp_decode, zfp_missing},
    {"zfp, 16 bits", 16, zfp_encode, zfp_decode, zfp_missing},
    {"blosc, bitshuffle+lz4", 5, blosc_encode, blosc_decode, blosc_missing},
    {"loop to bf16", 0, bf16_encode, bf16_decode, bf16_missing},
    {"loop to fp16", 0, fp16_encode, fp16_decode, fp16_missing},
    {"search, tree8's levels", 0, search_encode, search_decode, bf16_missing},
};

size_t peers_count(void)
{
    return sizeof(peers) / sizeof(peers[0]);
}
const peer_t *peers_at(size_t index)
{
    return &peers[index];
}
const char *peer_name(const peer_t *peer)
{
    return peer->name;
}
const char *peer_missing(const peer_t *peer)
{
    return peer->missing();
}

int peer_fits(const peer_t *peer, size_t n)
{
    return strncmp(peer->name, "blosc", 5) != 0 ||
           n < (size_t)0x1ff00000; /* it counts bytes by int */
}

typedef struct work {
    const arena_t *arena;
    const peer_t  *peer;
    size_t         n;
    size_t        *bytes;
} work_t;

static tw_status_t run_copy(const void *what)
{
    const work_t *w = what;

    limits_copy(w->arena->y, w->arena->x, w->n, 1);
    return TW_OK;
}

static tw_status_t run_encode(const void *what)
{
    const work_t *w = what;

    *w->bytes =
        w->peer->encode(w->peer->parameter, w->arena->x, w->n, w->arena->codes, PEERS_CODES(w->n));
    return *w->bytes > 0 ? TW_OK : TW_ERR_INVALID_ARG;
}

static tw_status_t run_decode(const void *what)
{
    const work_t *w = what;

    return w->peer->decode(w->peer->parameter, w->arena->codes, *w->bytes, w->n, w->arena->y)
               ? TW_OK
               : TW_ERR_INVALID_ARG;
}

tw_status_t bench_peer(const arena_t *arena, const peer_t *peer, size_t n, codec_result_t *result)
{
    static alternation_t a;
    size_t               bytes  = 0;
    const work_t         work   = {arena, peer, n, &bytes};
    const contender_t    list[] = {{run_copy, &work}, {run_encode, &work}, {run_decode, &work}};
    const tw_status_t    status = alternate(list, 3, BUDGET, &a);

    if (status != TW_OK) {
        return status;
    }
    *result                 = (codec_result_t){.turns = a.turns};
    result->bytes_per_value = (double)bytes / (double)n;
    for (size_t i = 0; i < 2; i++) {
        kernel_result_t *kernel = &result->kernel[i == 0 ? BENCH_ENCODE : BENCH_DECODE];

        kernel->seconds      = alternate_seconds(&a, 1 + i);
        kernel->copy_seconds = alternate_seconds(&a, 0);
        kernel->to_copy      = alternate_ratio(&a, 1 + i, 0);
    }
    bench_errors(arena, n, &result->max_error, &result->rms_error);
    return TW_OK;
}
