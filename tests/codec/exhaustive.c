/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/exhaustive.c - every float32 bit pattern through the kernels of tree8 and bitpack of
 * each instruction set: the bytes and the decoded bits of the scalar kernels. `make
 * check-exhaustive` runs it; it is no part of `make check`. Arguments name specs or instruction
 * sets to restrict it to.
 *
 * Patterns come in order, a block of 4096 at a time. tree8 scales a block by its maximum, so it is
 * tried with blocks as they come, and with a given maximum in front: then every number up to it is
 * scaled by the same factor, and what is larger, Inf and NaN among it, is left to the blocks as
 * they come.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <thinwire/codec.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/cpu.h"

#define BLOCK  4096
#define PART   ((size_t)256 * BLOCK) /* values that are encoded at once           */
#define PARTS  4096                  /* so that all of them are 2^32              */
#define SHARES 64                    /* of the parts, after which progress is told */

typedef struct trial {
    const char *spec;
    float       maximum; /* in front of each block; 0: none */
} trial_t;

static const trial_t trials[] = {
    {"bitpack:1", 0},
    {"bitpack:2", 0},
    {"bitpack:3", 0},
    {"bitpack:1,round", 0},
    {"bitpack:2,round", 0},
    {"bitpack:3,round", 0},
    {"bf16", 0},
    {"fp16", 0},
    {"static8", 0},
    {"mantissa8", 0},
    {"tree8", 0},
    {"tree8", 1.0f},
    {"tree8", 0x1.921fb6p+1f},
    {"tree8", 0x1.fffffep+127f},
    {"tree8:split=0.55", 0},
    {"tree8:split=0.55", 1.0f},
    {"tree8:split=0.55", 0x1.921fb6p+1f},
    {"tree8:split=0.55", 0x1.fffffep+127f},
};
#define TRIALS (sizeof(trials) / sizeof(trials[0]))

typedef struct room {
    float   *x;
    uint8_t *want, *got;
    float   *back_want, *back_got;
} room_t;

typedef struct pair {
    tw_codec_t *scalar, *twin;
    const char *cpu;
} pair_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The patterns from `first` on, `count` of them. With a maximum each block begins with it instead
 * of with a pattern, and what is larger becomes 0. Returns how many patterns were put in. */
static size_t fill(float *x, uint32_t first, size_t count, float maximum)
{
    size_t used = 0;

    for (size_t i = 0; i < PART; i++) {
        uint32_t bits = 0;

        if (maximum > 0.0f && i % BLOCK == 0) {
            bits = tw_float_bits(maximum);
        } else if (used < count) {
            bits = first + (uint32_t)used++;
            if (maximum > 0.0f && (bits & 0x7fffffffu) > tw_float_bits(maximum)) {
                bits = 0;
            }
        }
        memcpy(&x[i], &bits, 4);
    }
    return used;
}

/* The first place where two arrays differ, or n. */
static size_t differs(const void *a, const void *b, size_t n)
{
    const uint8_t *p = a, *q = b;
    size_t         i = 0;

    if (memcmp(a, b, n) == 0) {
        return n;
    }
    while (p[i] == q[i]) {
        i++;
    }
    return i;
}

static int complain(const pair_t *pair, const room_t *room, const char *what, size_t value)
{
    uint32_t bits;

    memcpy(&bits, &room->x[value < PART ? value : PART - 1], 4);
#pragma omp critical
    printf("\rFAIL: %s by %s: %s differ, near the pattern 0x%08x\n", tw_codec_spec(pair->twin),
           pair->cpu, what, (unsigned)bits);
    return 0;
}

/* What is in room->x by both. */
static int compare(const pair_t *pair, const room_t *room)
{
    size_t bytes, at;
    double per_value;

    if (tw_codec_size(pair->scalar, PART, &bytes) != TW_OK) {
        return 0;
    }
    per_value = (double)bytes / PART;
    memset(room->got, 0x5a, bytes);
    if (tw_codec_encode(pair->twin, NULL, room->x, PART, room->got) != TW_OK) {
        return 0;
    }
    at = differs(room->got, room->want, bytes);
    if (at < bytes) {
        return complain(pair, room, "bytes", (size_t)((double)at / per_value));
    }
    memset(room->back_got, 0x5a, PART * sizeof(float));
    if (tw_codec_decode(pair->twin, NULL, room->want, PART, room->back_got) != TW_OK) {
        return 0;
    }
    at = differs(room->back_got, room->back_want, PART * sizeof(float));
    return at == PART * sizeof(float) ? 1
                                      : complain(pair, room, "decoded values", at / sizeof(float));
}

static int room_create(room_t *room)
{
    room->x         = malloc(PART * sizeof(float));
    room->want      = malloc(PART * 5);
    room->got       = malloc(PART * 5);
    room->back_want = malloc(PART * sizeof(float));
    room->back_got  = malloc(PART * sizeof(float));
    return room->x != NULL && room->want != NULL && room->got != NULL && room->back_want != NULL &&
           room->back_got != NULL;
}

static void room_destroy(room_t *room)
{
    free(room->x);
    free(room->want);
    free(room->got);
    free(room->back_want);
    free(room->back_got);
}

/* The part-th 2^20 patterns, which take a little more than PART values where maxima stand in front.
 */
static int try_part(const trial_t *trial, const pair_t *pairs, int count, const room_t *room,
                    size_t part)
{
    size_t done = 0;
    int    well = 1;

    while (done < PART && well) {
        done += fill(room->x, (uint32_t)(part * PART + done), PART - done, trial->maximum);
        well = tw_codec_encode(pairs[0].scalar, NULL, room->x, PART, room->want) == TW_OK &&
               tw_codec_decode(pairs[0].scalar, NULL, room->want, PART, room->back_want) == TW_OK;
        for (int p = 0; p < count && well; p++) {
            well = compare(&pairs[p], room);
        }
    }
    return well;
}

static int try_all(const trial_t *trial, const pair_t *pairs, int count)
{
    const double begin = now();
    int          well = 1, parts_done = 0;

#ifdef _OPENMP
#pragma omp parallel
#endif
    {
        room_t    room;
        const int ready = room_create(&room);

#ifdef _OPENMP
#pragma omp for schedule(dynamic, 8)
#endif
        for (int part = 0; part < PARTS; part++) {
            int go, done;

#pragma omp atomic read
            go = well;
            if (go && (!ready || !try_part(trial, pairs, count, &room, (size_t)part))) {
#pragma omp atomic write
                well = 0;
            }
#pragma omp atomic capture
            done = ++parts_done;
            if (go && done % SHARES == 0) {
                printf("\r  %3d %%", 100 * done / PARTS);
                fflush(stdout);
            }
        }
        room_destroy(&room);
    }
    printf("\r%s, %.0f s\n", well ? "  ok" : "  FAILED", now() - begin);
    return well;
}

/* Whether the name is among the words, or none of them is of its kind: a spec or an instruction
 * set. */
static int is_trial(const char *word)
{
    for (size_t t = 0; t < TRIALS; t++) {
        if (strcmp(trials[t].spec, word) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_cpu(const char *word)
{
    for (int level = 0; level < TW_CPU_LEVELS; level++) {
        if (strcmp(tw_cpu_name((tw_cpu_level_id_t)level), word) == 0) {
            return 1;
        }
    }
    return 0;
}

static int wanted(const char *name, const char *const *words, int count, int is_spec)
{
    int listed = 0, found = 0;

    for (int i = 0; i < count; i++) {
        if (is_trial(words[i]) == is_spec) {
            listed = 1;
            found |= strcmp(words[i], name) == 0;
        }
    }
    return !listed || found;
}

static tw_codec_t *codec_of(tw_context_t *ctx, const char *cpu, const char *spec)
{
    tw_codec_t *codec = NULL;

    setenv("THINWIRE_CPU", cpu, 1);
    if (tw_codec_create(ctx, spec, TW_F32, &codec, NULL, 0) != TW_OK) {
        printf("FAIL: %s cannot be made\n", spec);
        exit(EXIT_FAILURE);
    }
    return codec;
}

/* Twins of a trial, but for those whose kernels are another set's. */
static int twins_of(tw_context_t *ctx, const trial_t *trial, char **words, int count, pair_t *pairs)
{
    int used = 0;

    for (tw_cpu_level_id_t level = tw_cpu_detect(); level != TW_CPU_SCALAR;
         level                   = tw_cpu_below(level)) {
        pair_t pair = {NULL, codec_of(ctx, tw_cpu_name(level), trial->spec), tw_cpu_name(level)};
        tw_codec_traits_t traits;

        tw_codec_traits(pair.twin, &traits);
        if (!wanted(pair.cpu, (const char *const *)words, count, 0) ||
            strcmp(traits.isa, pair.cpu) != 0) {
            tw_codec_destroy(pair.twin);
            continue;
        }
        pair.scalar   = codec_of(ctx, "scalar", trial->spec);
        pairs[used++] = pair;
    }
    return used;
}

int main(int argc, char **argv)
{
    const double  begin = now();
    tw_context_t *ctx;
    int           well = 1, compared = 0;

    for (int i = 1; i < argc; i++) {
        if (!is_trial(argv[i]) && !is_cpu(argv[i])) {
            printf("'%s' is neither a codec that is tried nor an instruction set\n", argv[i]);
            return EXIT_FAILURE;
        }
    }
    if (tw_context_create(&ctx) != TW_OK) {
        return EXIT_FAILURE;
    }
    for (size_t t = 0; t < TRIALS; t++) {
        pair_t pairs[TW_CPU_LEVELS];
        int    count;

        if (!wanted(trials[t].spec, (const char *const *)argv + 1, argc - 1, 1)) {
            continue;
        }
        count = twins_of(ctx, &trials[t], argv + 1, argc - 1, pairs);
        printf("%s", trials[t].spec);
        if (trials[t].maximum > 0.0f) {
            printf(", maximum %a", (double)trials[t].maximum);
        }
        for (int p = 0; p < count; p++) {
            printf("%s %s", p == 0 ? ":" : ",", pairs[p].cpu);
        }
        printf("%s\n", count == 0 ? ": SKIP, this processor has no kernels but scalar" : "");
        compared += count;
        well = (count == 0 || try_all(&trials[t], pairs, count)) && well;
        for (int p = 0; p < count; p++) {
            tw_codec_destroy(pairs[p].scalar);
            tw_codec_destroy(pairs[p].twin);
        }
    }
    tw_context_destroy(ctx);
    well = well && compared > 0;
    printf("%s, %.0f s in all\n",
           well           ? "all the same"
           : compared > 0 ? "FAILED"
                          : "nothing compared",
           now() - begin);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
