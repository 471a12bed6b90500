/* SPDX-License-Identifier: BSD-3-Clause
 * bench/other_codecs.c - what a user would otherwise take, measured as `thinwire bench codec`
 * measures codecs: zfp at a fixed rate, blosc (bitshuffle and lz4; lossless, so its size depends on
 * the values), of float32 and of double; pi-quant of float32, whose integers share one scale and
 * zero point. One thread. The first two are there if configure found them; the library of pi-quant,
 * which PyPI has within `pypiquant` and without a header, is loaded here.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_BLOSC
#include <blosc.h>
#endif
#ifdef HAVE_ZFP
#include <zfp.h>
#endif

#include "command/options.h"
#include "tools/bench_limits.h"
#include "tools/bench_rows.h"
#include "tools/bench_type.h"
#include "tools/measure.h"

#define BUDGET      0.4 /* seconds for a codec at one size */
#define DEFAULT_MIN ((size_t)64 << 10)
#define DEFAULT_MAX ((size_t)256 << 20)

/* Bytes that are enough for the codes of as many bytes of values. */
#define CODES(bytes) ((bytes) / 4 * 5 + 65536)

typedef struct other {
    const char *name;
    tw_dtype_t  dtype;
    int         parameter;
    /* Bytes written, 0 on failure. */
    size_t (*encode)(const struct other *other, const void *x, size_t n, uint8_t *to, size_t size);
    int (*decode)(const struct other *other, const uint8_t *from, size_t bytes, size_t n, void *y);
    const char *missing; /* why it is not here; NULL: it is */
    size_t      most;    /* bytes at once, 0: any number */
} other_t;

#define NOT_FOUND(name) "not found when thinwire was configured (Debian, Ubuntu: " name ")"

#ifdef HAVE_ZFP

#define ZFP_MISSING NULL

/* One-dimensional, `parameter` bits a value. Bytes used, 0 on failure. */
static size_t zfp_work(const other_t *other, void *x, size_t n, uint8_t *codes, size_t size,
                       int decode)
{
    const zfp_type type   = other->dtype == TW_F64 ? zfp_type_double : zfp_type_float;
    bitstream     *bits   = stream_open(codes, size);
    zfp_stream    *stream = zfp_stream_open(bits);
    zfp_field     *field  = zfp_field_1d(x, type, n);
    size_t         bytes;

    zfp_stream_set_rate(stream, other->parameter, type, 1, zfp_false);
    zfp_stream_rewind(stream);
    bytes = decode ? zfp_decompress(stream, field) : zfp_compress(stream, field);
    zfp_field_free(field);
    zfp_stream_close(stream);
    stream_close(bits);
    return bytes;
}

static size_t zfp_encode(const other_t *other, const void *x, size_t n, uint8_t *to, size_t size)
{
    return zfp_work(other, (void *)(uintptr_t)x, n, to, size, 0);
}

static int zfp_decode(const other_t *other, const uint8_t *from, size_t bytes, size_t n, void *y)
{
    return zfp_work(other, y, n, (uint8_t *)(uintptr_t)from, bytes, 1) != 0;
}

#else

#define ZFP_MISSING NOT_FOUND("libzfp-dev")
#define zfp_encode  NULL
#define zfp_decode  NULL

#endif

#ifdef HAVE_BLOSC

#define BLOSC_MISSING NULL

/* Lossless, so the size depends on the values. */
static size_t blosc_encode(const other_t *other, const void *x, size_t n, uint8_t *to, size_t size)
{
    const size_t element = tw_dtype_size(other->dtype);
    const int bytes = blosc_compress_ctx(other->parameter, BLOSC_BITSHUFFLE, element, n * element,
                                         x, to, size, BLOSC_LZ4_COMPNAME, 0, 1);

    return bytes > 0 ? (size_t)bytes : 0;
}

static int blosc_decode(const other_t *other, const uint8_t *from, size_t bytes, size_t n, void *y)
{
    const size_t whole = n * tw_dtype_size(other->dtype);

    (void)bytes;
    return blosc_decompress_ctx(from, y, whole, 1) == (int)whole;
}

#else

#define BLOSC_MISSING NOT_FOUND("libblosc-dev")
#define blosc_encode  NULL
#define blosc_decode  NULL

#endif

/* pi-quant 4.1: its functions, and the numbers of types, operations and ways to round. */
enum {
    PIQUANT_F32     = 0,
    PIQUANT_UINT4   = 3,
    PIQUANT_UINT8   = 4,
    PIQUANT_NEAREST = 0,
    PIQUANT_SET     = 0
};

static struct {
    const char *missing;
    void       *context;
    void *(*create)(size_t threads);
    void (*scale)(void *context, const float *x, size_t n, int type, float *scale, int64_t *zero);
    void (*quantize)(void *context, const void *x, int from, void *codes, int to, size_t n,
                     float scale, int64_t zero, int rounding);
    void (*dequantize)(void *context, const void *codes, int from, void *x, int to, size_t n,
                       float scale, int64_t zero, int operation);
} piquant;

/* Ahead of the codes. */
typedef struct piquant_header {
    int64_t zero;
    float   scale;
} piquant_header_t;

static size_t piquant_encode(const other_t *other, const void *x, size_t n, uint8_t *to,
                             size_t size)
{
    piquant_header_t header = {0};

    (void)size;
    piquant.scale(piquant.context, x, n, other->parameter, &header.scale, &header.zero);
    memcpy(to, &header, sizeof(header));
    piquant.quantize(piquant.context, x, PIQUANT_F32, to + sizeof(header), other->parameter, n,
                     header.scale, header.zero, PIQUANT_NEAREST);
    return sizeof(header) + (other->parameter == PIQUANT_UINT8 ? n : (n + 1) / 2);
}

static int piquant_decode(const other_t *other, const uint8_t *from, size_t bytes, size_t n,
                          void *y)
{
    piquant_header_t header;

    (void)bytes;
    memcpy(&header, from, sizeof(header));
    piquant.dequantize(piquant.context, from + sizeof(header), other->parameter, y, PIQUANT_F32, n,
                       header.scale, header.zero, PIQUANT_SET);
    return 1;
}

/* What keeps it from being used; NULL: nothing. */
static const char *piquant_open(const char *path)
{
    static const struct {
        const char *name;
        void       *function;
    } functions[] = {{"piquant_context_create", &piquant.create},
                     {"piquant_compute_quant_params_float32", &piquant.scale},
                     {"piquant_quantize", &piquant.quantize},
                     {"piquant_dequantize", &piquant.dequantize}};
    void *library = dlopen(path != NULL ? path : "libpiquant.so", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        return "not found; --piquant FILE names libpiquant.so of PyPI's pypiquant";
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *const symbol = dlsym(library, functions[i].name);

        if (symbol == NULL) {
            return "its library has other functions; accepted: that of pypiquant 4.1";
        }
        memcpy(functions[i].function, &symbol, sizeof(symbol));
    }
    piquant.context = piquant.create(1);
    return piquant.context != NULL ? NULL : "it gives no context";
}

#define BLOSC_MOST 0x7fc00000 /* it counts bytes by int */

static const other_t others[] = {
    {"zfp, 8 bits", TW_F32, 8, zfp_encode, zfp_decode, ZFP_MISSING, 0},
    {"zfp, 16 bits", TW_F32, 16, zfp_encode, zfp_decode, ZFP_MISSING, 0},
    {"zfp, 16 bits", TW_F64, 16, zfp_encode, zfp_decode, ZFP_MISSING, 0},
    {"zfp, 32 bits", TW_F64, 32, zfp_encode, zfp_decode, ZFP_MISSING, 0},
    {"blosc, bitshuffle+lz4", TW_F32, 5, blosc_encode, blosc_decode, BLOSC_MISSING, BLOSC_MOST},
    {"blosc, bitshuffle+lz4", TW_F64, 5, blosc_encode, blosc_decode, BLOSC_MISSING, BLOSC_MOST},
    {"pi-quant, 4 bits", TW_F32, PIQUANT_UINT4, piquant_encode, piquant_decode, NULL, 0},
    {"pi-quant, 8 bits", TW_F32, PIQUANT_UINT8, piquant_encode, piquant_decode, NULL, 0},
};

typedef struct work {
    const arena_t *arena;
    const other_t *other;
    size_t         n;
    size_t        *bytes;
} work_t;

static tw_status_t run_copy(const void *what)
{
    const work_t *w = what;

    limits_copy(w->arena->y, w->arena->x, w->n * tw_dtype_size(w->arena->dtype) / sizeof(float), 1);
    return TW_OK;
}

static tw_status_t run_encode(const void *what)
{
    const work_t *w = what;

    *w->bytes = w->other->encode(w->other, w->arena->x, w->n, w->arena->codes,
                                 CODES(w->n * tw_dtype_size(w->arena->dtype)));
    return *w->bytes > 0 ? TW_OK : TW_ERR_INVALID_ARG;
}

static tw_status_t run_decode(const void *what)
{
    const work_t *w = what;

    return w->other->decode(w->other, w->arena->codes, *w->bytes, w->n, w->arena->y)
               ? TW_OK
               : TW_ERR_INVALID_ARG;
}

/* Encode and decode n values between the arrays. */
static tw_status_t measure(const arena_t *arena, const other_t *other, size_t n,
                           codec_result_t *result)
{
    static alternation_t a;
    size_t               bytes  = 0;
    const work_t         work   = {arena, other, n, &bytes};
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

static int bench(const other_t *other, size_t min, size_t max, const arena_t *arena,
                 const job_t *job, rows_t *rows)
{
    const char *missing = other->encode == piquant_encode ? piquant.missing : other->missing;

    if (missing != NULL) {
        printf("%s: not here: %s\n", other->name, missing);
        return 1;
    }
    for (size_t bytes = min; bytes > 0; bytes = measure_next_size(bytes, max)) {
        const row_key_t key    = {other->name, "-", 1, bytes};
        const size_t    n      = bytes / tw_dtype_size(arena->dtype);
        codec_result_t  result = {0};
        tw_status_t     status;

        if (other->most > 0 && bytes >= other->most) {
            printf("%s: cannot encode %zu bytes at once\n", other->name, bytes);
            continue;
        }
        status = measure(arena, other, n, &result);
        if (status != TW_OK) {
            job_complain(job, "%s at %zu bytes: %s", other->name, bytes, tw_status_text(status));
            return 0;
        }
        for (int o = BENCH_ENCODE; o <= BENCH_DECODE; o++) {
            rows_add(rows, &key, (kernel_operation_t)o, &result);
        }
    }
    return 1;
}

static int run(const job_t *job, tw_dtype_t dtype, size_t min, size_t max, report_t *report)
{
    plot_t  plot = {0};
    rows_t  rows = {report, &plot, 0};
    arena_t arena;
    int     well = 1;

    if (arena_create(&arena, job, dtype, max / tw_dtype_size(dtype), CODES(max)) != 0) {
        return 0;
    }
    rows_begin();
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && well; i++) {
        well = others[i].dtype != dtype || bench(&others[i], min, max, &arena, job, &rows);
    }
    rows_end(&rows);
    arena_destroy(&arena);
    return well;
}

int main(int argc, char **argv)
{
    job_t          job = {.size = 1, .local_ranks = 1, .argc = argc, .argv = argv};
    size_t         min = 0, max = 0;
    const char    *json = NULL, *library = NULL;
    tw_problem_t   problem = {.set = 0};
    tw_dtype_t     dtype;
    int            code, doubles = 0;
    report_t       report;
    const option_t options[] = {
        {"--double", NULL, "Values are doubles.", OPTION_FLAG, &doubles, 0, 0},
        {"--piquant", "FILE", "Library of pi-quant, of PyPI's pypiquant (default libpiquant.so).",
         OPTION_TEXT, &library, 0, 0},
        {"--min", "SIZE", "Smallest array, in bytes of values (default 64k).", OPTION_SIZE, &min, 0,
         0},
        {"--max", "SIZE", "Largest array; sizes grow by factors of 4 (default 256M).", OPTION_SIZE,
         &max, 0, 0},
        {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &json, 0, 0},
        {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {"other-codecs [OPTION...]",
                               "What else one could take, measured as thinwire bench codec "
                               "measures codecs: zfp, blosc and pi-quant.\n"
                               "One thread.",
                               "", .options = options};

    code = job_options(&job, &command, "other-codecs", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (measure_range(&min, &max, DEFAULT_MIN, DEFAULT_MAX, &problem) != 0 ||
        bench_type(doubles ? "double" : NULL, min, &dtype, &problem) != 0) {
        job_complain(&job, "other-codecs: %s", problem.text);
        return EXIT_USAGE;
    }
    piquant.missing = piquant_open(library);
    if (report_begin(&report, &job, json) != 0) {
        return EXIT_FAILED;
    }
    return report_end(&report, &job, run(&job, dtype, min, max, &report));
}
