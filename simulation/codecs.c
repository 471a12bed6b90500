/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/codecs.c - see codecs.h.
 *
 * A real codec gets kernels that only let time pass. What the transport does with values itself
 * (tw_system_ops_t): copies that begin or end among the values, or in the memory that a node
 * shares, and sums take the time of their bytes at the rate inside a node; copies of anything else
 * are made. The nodes' memory is mapped among the values, and its pages
 * stay unused but for the flags in it. The buffers are a few pages, mapped again and again.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/base/reduction.h"
#include "runtime/codec/ops.h"
#include "simulation/codecs.h"
#include "simulation/world.h"

/* PIECES: mappings of one buffer. SHARED: more than a rank maps of its node's memory: that depends
 * on the ranks of a node. SMALL: bytes of a copy that is made wherever it is. */
#define FOLD   ((size_t)2 << 20)
#define SHARED ((size_t)64 << 20)
enum { PIECES = 4096, MADE = 2 * TW_FACTS_CODECS, SMALL = 64 };

static struct {
    const tw_codec_t *codec;
    tw_codec_facts_t  facts;
} made[MADE];

static const script_t *script;
static int             codecs;
static double         *spent;
static uint8_t        *area, *area_end, *area_free; /* addresses of values */
static uint8_t        *buffers[2];

/* ---- time ---------------------------------------------------------------------------------- */

static void spend_time(double seconds)
{
    spent[world_rank()] += seconds;
    world_code(seconds);
}

double codec_seconds(int rank)
{
    return spent[rank];
}

static const tw_codec_facts_t *facts_of(const tw_codec_t *codec)
{
    for (int i = 0; i < codecs; i++) {
        if (made[i].codec == codec || made[i].codec->wide == codec ||
            made[i].codec->plain == codec) {
            return &made[i].facts;
        }
    }
    world_fail("a codec that was not made here");
}

static void pass_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                        bool stream)
{
    const tw_codec_facts_t *facts = facts_of(codec);

    (void)src, (void)dst, (void)stream;
    spend_time(facts->call + (double)n * facts->encode);
}

static void pass_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                        bool stream)
{
    const tw_codec_facts_t *facts = facts_of(codec);

    (void)src, (void)dst, (void)stream;
    spend_time(facts->call + (double)n * facts->decode);
}

static void pass_decode_add(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *sum)
{
    const tw_codec_facts_t *facts = facts_of(codec);

    (void)src, (void)sum;
    spend_time(facts->call + (double)n * facts->decode_add);
}

static void pass_encode_feedback(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                 uint8_t *residual, uint8_t *dst)
{
    (void)residual;
    pass_encode(codec, src, n, dst, false);
}

static const tw_kernels_t timed = {.encode          = pass_encode,
                                   .decode          = pass_decode,
                                   .decode_add      = pass_decode_add,
                                   .encode_feedback = pass_encode_feedback};

static void let_pass(tw_codec_t *codec)
{
    codec->kernels = &timed;
    codec->threads = 1;
}

const tw_codec_t *codec_make(tw_context_t *ctx, const tw_codec_facts_t *facts)
{
    tw_codec_t *codec;

    for (int i = 0; i < codecs; i++) {
        if (strcmp(made[i].facts.spec, facts->spec) == 0 && made[i].facts.dtype == facts->dtype) {
            return made[i].codec;
        }
    }
    if (codecs == MADE ||
        tw_codec_create(ctx, facts->spec, facts->dtype, &codec, NULL, 0) != TW_OK) {
        return NULL;
    }
    let_pass(codec);
    if (codec->wide != codec) { /* sums are float32's, and take that codec's time */
        let_pass((tw_codec_t *)(uintptr_t)codec->wide);
        let_pass((tw_codec_t *)(uintptr_t)codec->plain);
    }
    made[codecs].codec   = codec;
    made[codecs++].facts = *facts;
    return codec;
}

/* ---- values -------------------------------------------------------------------------------- */

static void *reserve_addresses(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) {
        world_fail("no addresses for %.3g GB", 1e-9 * (double)bytes);
    }
    return at;
}

static uint8_t *map_folded(size_t bytes)
{
    const size_t part = (bytes / PIECES / FOLD + 1) * FOLD;
    const int    file = memfd_create("values", 0);
    uint8_t     *at   = area_free;

    if (file < 0 || ftruncate(file, (off_t)part) != 0) {
        world_fail("no memory for values");
    }
    for (size_t done = 0; done < bytes; done += part) {
        if (mmap(at + done, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED) {
            world_fail("no memory for values");
        }
        area_free = at + done + part;
    }
    close(file);
    return at;
}

void values_open(const script_t *given, size_t bytes)
{
    const size_t most = bytes + (bytes / PIECES / FOLD + 2) * FOLD;
    const size_t all  = 2 * most + (size_t)given->ranks * SHARED;

    script    = given;
    spent     = calloc((size_t)given->ranks, sizeof(*spent));
    area      = reserve_addresses(all);
    area_end  = area + all;
    area_free = area;
    if (spent == NULL) {
        world_fail("out of memory");
    }
    for (int i = 0; i < 2; i++) {
        buffers[i] = map_folded(bytes + 1);
    }
}

void *values_send(void)
{
    return buffers[0];
}

void *values_receive(void)
{
    return buffers[1];
}

static int is_value(const void *at)
{
    return (const uint8_t *)at >= area && (const uint8_t *)at < area_end;
}

static void spend_copy(size_t bytes)
{
    if (script->inside.shared > 0.0) {
        spend_time((double)bytes / script->inside.shared);
    }
}

/* ---- tw_system_ops_t, that of the transport -------------------------------------------------- */

void values_copy(void *to, const void *from, size_t bytes)
{
    if (bytes < SMALL || (!is_value(to) && !is_value(from))) {
        memcpy(to, from, bytes);
    } else {
        spend_copy(bytes);
    }
}

void values_combine(const tw_dtype_row_t *type, const tw_reduction_row_t *reduction, const void *a,
                    const void *b, size_t n, void *out)
{
    (void)reduction, (void)a, (void)b, (void)out;
    spend_copy(n * type->bytes);
}

int values_reserve(int file, size_t bytes)
{
    return ftruncate(file, (off_t)bytes) == 0 ? 0 : errno;
}

void *values_map(int file, size_t bytes)
{
    uint8_t *at = area_free;

    if (bytes > (size_t)(area_end - area_free)) {
        errno = ENOMEM;
        return NULL;
    }
    area_free += (bytes + FOLD - 1) / FOLD * FOLD;
    at = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    return at != MAP_FAILED ? at : NULL;
}
