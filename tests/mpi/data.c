/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/data.c - random data, guarded buffers, and the objects that most tests need.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/half.h"
#include "tests/mpi/harness.h"

#define T_GUARD  64u /* bytes on either side of a buffer */
#define T_CODECS 128u

const char *const t_specs_f32[] = {"",
                                   "fp32",
                                   "bitpack:1",
                                   "bitpack:2",
                                   "bitpack:3",
                                   "bitpack:4",
                                   "bitpack:2,round",
                                   "bf16",
                                   "fp16",
                                   "tree8",
                                   "tree8:block=64,split=0.55",
                                   "int8",
                                   "int8:block=192",
                                   "static8",
                                   "static8:offset=10",
                                   "mantissa8",
                                   "onebit",
                                   "onebit:block=64",
                                   NULL};

const char *const t_specs_f64[] = {"bitpack:1",       "bitpack:2", "bitpack:5",
                                   "bitpack:5,round", "bitpack:8", NULL};

/* Of 16-bit elements: what makes them shorter, and last what leaves them as they are. */
static const char *const specs_bf16[] = {
    "tree8:block=64,split=0.55", "int8:block=192", "static8:offset=10", "onebit", "bf16", NULL};
static const char *const specs_f16[] = {"tree8", "bitpack:1", "onebit:block=64", "fp16", NULL};

/* No codec that has a spec: tw_codec_bytes(). */
static const char *const specs_byte[] = {"bytes", NULL};

const char *const *t_specs(tw_dtype_t dtype)
{
    return dtype == TW_F64    ? t_specs_f64
           : dtype == TW_BF16 ? specs_bf16
           : dtype == TW_F16  ? specs_f16
           : dtype == TW_BYTE ? specs_byte
                              : t_specs_f32;
}

const char *t_spec_as_is(tw_dtype_t dtype)
{
    static const char *const specs[] = {"fp32", "bitpack:8", "bf16", "fp16"};

    return dtype == TW_BYTE ? specs_byte[0] : specs[dtype];
}

int t_is_half(tw_dtype_t dtype)
{
    return dtype == TW_BF16 || dtype == TW_F16;
}

double t_value(tw_dtype_t dtype, const void *data, size_t i)
{
    const char *at = (const char *)data + i * tw_dtype_size(dtype);
    double      d;
    float       f;
    uint16_t    h;

    if (dtype == TW_F64) {
        memcpy(&d, at, sizeof(d));
        return d;
    }
    if (dtype == TW_BYTE) {
        return (double)*(const unsigned char *)at;
    }
    if (t_is_half(dtype)) {
        memcpy(&h, at, sizeof(h));
        return t_half_value(dtype, h);
    }
    memcpy(&f, at, sizeof(f));
    return (double)f;
}

/* ---- random numbers ------------------------------------------------------------------------- */

static double value_at(uint64_t seed, size_t i)
{
    const uint64_t bits  = t_mix(t_mix(seed) + i);
    const double   value = (double)((int64_t)(bits >> 11) - (INT64_C(1) << 52)) * 0x1p-52;

    if ((bits & 0x3f8u) == 0) {
        return (bits & 1u) != 0 ? 0.0 : -0.0;
    }
    return ldexp(value, -(int)(bits & 7u));
}

void t_fill(tw_dtype_t dtype, uint64_t seed, size_t first, size_t n, void *out)
{
    for (size_t i = 0; i < n; i++) {
        if (dtype == TW_BYTE) {
            ((unsigned char *)out)[i] = (unsigned char)t_mix(t_mix(seed) + first + i);
        } else if (dtype == TW_F64) {
            ((double *)out)[i] = value_at(seed, first + i);
        } else if (t_is_half(dtype)) {
            ((uint16_t *)out)[i] =
                t_half_bits(dtype, t_half_round(dtype, value_at(seed, first + i)));
        } else {
            ((float *)out)[i] = (float)value_at(seed, first + i);
        }
    }
}

/* ---- buffers -------------------------------------------------------------------------------- */

/* What stands just before the first guard byte; copied, because it may lie at any address. */
typedef struct header {
    void  *base;
    size_t bytes;
} header_t;

void *t_alloc(size_t bytes, size_t misalign)
{
    unsigned char *base   = t_malloc(bytes + misalign + 64u + sizeof(header_t) + 2u * T_GUARD);
    const size_t   front  = sizeof(header_t) + T_GUARD;
    const size_t   over   = (size_t)((uintptr_t)(base + front) % 64u);
    unsigned char *data   = base + front + (over != 0 ? 64u - over : 0) + misalign;
    const header_t header = {base, bytes};

    memcpy(data - front, &header, sizeof(header));
    memset(data - T_GUARD, 0x5a, T_GUARD);
    memset(data, 0xc3, bytes);
    memset(data + bytes, 0x5a, T_GUARD);
    return data;
}

void t_free(void *data)
{
    unsigned char *p = data;
    header_t       header;
    int            intact = 1;

    if (p == NULL) {
        return;
    }
    memcpy(&header, p - T_GUARD - sizeof(header), sizeof(header));
    for (size_t i = 0; i < T_GUARD; i++) {
        intact &= p[header.bytes + i] == 0x5a && (p - T_GUARD)[i] == 0x5a;
    }
    T_CHECK(intact, "something wrote outside its buffer of %zu bytes", header.bytes);
    free(header.base);
}

/* ---- contexts, communicators, codecs -------------------------------------------------------- */

static void each_setting(const char *const *settings, int put)
{
    char name[64];

    for (size_t i = 0; settings != NULL && settings[i] != NULL; i++) {
        const size_t n = strcspn(settings[i], "=");

        snprintf(name, sizeof(name), "THINWIRE_%.*s", (int)n, settings[i]);
        if (put) {
            setenv(name, settings[i] + n + 1, 1);
        } else {
            unsetenv(name);
        }
    }
}

void t_settings_put(const char *const *settings)
{
    each_setting(settings, 1);
}
void t_settings_take_out(const char *const *settings)
{
    each_setting(settings, 0);
}

tw_context_t *t_context(void)
{
    tw_context_t *ctx    = NULL;
    tw_status_t   status = tw_context_create(&ctx);

    if (status != TW_OK) {
        fprintf(stderr, "rank %d: no context: %s\n", t_rank, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return ctx;
}

tw_comm_t *t_comm(tw_context_t *ctx, MPI_Comm parent)
{
    tw_comm_t  *comm   = NULL;
    tw_status_t status = tw_comm_create(ctx, parent, &comm);

    if (status != TW_OK) {
        fprintf(stderr, "rank %d: no communicator: %s\n", t_rank, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return comm;
}

tw_comm_t *t_comm_under(const char *const *settings, MPI_Comm parent, tw_context_t **ctx_p)
{
    tw_comm_t *comm;

    t_settings_put(settings);
    *ctx_p = t_context();
    comm   = t_comm(*ctx_p, parent);
    t_settings_take_out(settings);
    return comm;
}

void t_comm_done(tw_comm_t *comm, tw_context_t *ctx)
{
    T_OK(tw_comm_destroy(comm));
    tw_context_destroy(ctx);
}

static struct {
    const char *spec;
    tw_dtype_t  dtype;
    tw_codec_t *codec;
} codecs[T_CODECS];

const tw_codec_t *t_codec(const char *spec, tw_dtype_t dtype)
{
    char   why[200] = "";
    size_t i;

    if (spec == NULL || spec[0] == '\0') {
        return NULL;
    }
    if (dtype == TW_BYTE) {
        return tw_codec_bytes();
    }
    for (i = 0; i < T_CODECS && codecs[i].spec != NULL; i++) {
        if (codecs[i].dtype == dtype && strcmp(codecs[i].spec, spec) == 0) {
            return codecs[i].codec;
        }
    }
    if (i == T_CODECS ||
        tw_codec_create(t_ctx, spec, dtype, &codecs[i].codec, why, sizeof(why)) != TW_OK) {
        fprintf(stderr, "rank %d: no codec %s: %s\n", t_rank, spec, why);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    codecs[i].spec  = spec;
    codecs[i].dtype = dtype;
    return codecs[i].codec;
}

size_t t_block(const char *spec, tw_dtype_t dtype)
{
    return spec[0] != '\0' ? tw_codec_block(t_codec(spec, dtype)) : 1;
}

const char *t_algorithm(tw_comm_t *comm, const tw_how_t *how, size_t count)
{
    static char   name[40];
    tw_request_t *plan = NULL;
    float        *x    = t_malloc(count * sizeof(*x));

    T_OK(tw_allreduce_init(comm, TW_IN_PLACE, x, count, TW_SUM, how, &plan));
    snprintf(name, sizeof(name), "%s", tw_request_algorithm(plan));
    T_OK(tw_request_free(&plan));
    free(x);
    return name;
}

void t_codecs_release(void); /* called by harness.c at the end */

void t_codecs_release(void)
{
    for (size_t i = 0; i < T_CODECS; i++) {
        tw_codec_destroy(codecs[i].codec);
        codecs[i].codec = NULL;
        codecs[i].spec  = NULL;
    }
}

/* ---- logs ----------------------------------------------------------------------------------- */

void t_log_take(void *arg, tw_log_level_t level, int rank, const char *line)
{
    t_log_t     *log  = arg;
    const size_t used = strlen(log->text);

    (void)level;
    (void)rank;
    log->lines++;
    snprintf(log->text + used, sizeof(log->text) - used, "%s\n", line);
}

int t_log_holds(MPI_Comm comm, const t_log_t *log, const char *text)
{
    int mine = strstr(log->text, text) != NULL, any;

    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    return any;
}

tw_context_t *t_context_logged(t_log_t *log)
{
    tw_context_t *ctx = t_context();

    *log = (t_log_t){0};
    T_OK(tw_context_set_log(ctx, t_log_take, log));
    return ctx;
}

tw_comm_t *t_comm_logged(const char *const *settings, t_log_t *log, tw_context_t **ctx_p)
{
    tw_comm_t *comm;

    t_settings_put(settings);
    *ctx_p = t_context_logged(log);
    comm   = t_comm(*ctx_p, MPI_COMM_WORLD);
    t_settings_take_out(settings);
    return comm;
}

void t_last_is_named(const t_log_t *log)
{
    char first[40], later[40];
    int  named;

    snprintf(first, sizeof(first), "waiting for rank %d", t_size - 1);
    snprintf(later, sizeof(later), ", %d (", t_size - 1);
    named = t_log_holds(MPI_COMM_WORLD, log, first);
    named |= t_log_holds(MPI_COMM_WORLD, log, later);
    T_CHECK(named, "nobody names rank %d: %s", t_size - 1, log->text);
}
