/* SPDX-License-Identifier: BSD-3-Clause
 * bench/eight_bit_errors.c - mean errors of the 8-bit types on six distributions, beside those that
 * Table 1 of Dettmers, "8-Bit Approximations for Parallelism in Deep Learning", 2015, prints. The
 * last two are of MNIST, from a run of thinwire-train (mnist_quantiles.h).
 *
 * The paper divides each array by its absolute maximum before it encodes with the dynamic tree. Our
 * tree8 and int8 scale blocks; to do as the paper did ("one scale"), the array's maximum is put at
 * the head of every block of 2^20 values and left out of the means. The rows "block=4096" are the
 * codecs as they are used. The relative error of an exact zero is not defined; zeros are left out.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/codec.h>

#include "bench/mnist_quantiles.h"
#include "command/options.h"
#include "tools/measure.h"
#include "tools/report.h"
#include "tools/table.h"

#define SAMPLES ((size_t)25000000)
#define PIECE   ((size_t)1048576) /* values encoded at once: the largest block there is */
#define PIECES  (SAMPLES / (PIECE - 1) + 1)

/* With one scale the errors of a normal array depend on its maximum: tree8 has 1.64 % if that
 * is 5.3 deviations, 1.67 % at 5.6, 1.70 % at 6.0. Arrays of this size lie below 5.55 as often as
 * above; this seed gives one in the middle, 5.58. The maximum is printed. */
#define SEED 106

typedef struct distribution {
    const char *name;
    double      deviation; /* 0: uniform on (0, 1], or measured            */
    int         offset;    /* of mantissa8 and static8, as in the paper    */
    const char *paper_relative[3], *paper_absolute[3]; /* dynamic tree, mantissa, static tree */
    const tw_quantiles_t *measured;
} distribution_t;

static const distribution_t distributions[] = {
    {"U(0,1)", 0.0, 10, {"1.39", "7.22", "4.82"}, {"0.000043", "0.0017", "0.0007"}, NULL},
    {"N(0,1)", 1.0, 10, {"2.46", "6.89", "6.3"}, {"0.0005", "0.0104", "0.0093"}, NULL},
    {"N(0,10^2)", 10.0, 100, {"2.49", "7.19", "6.28"}, {"0.049", "1.066", "0.926"}, NULL},
    {"N(0,0.2^2)", 0.2, 10, {"2.45", "8.26", "6.58"}, {"0.00002", "0.00055", "0.00022"}, NULL},
    {"gradients", 0.0, 10, {"5.3", "3.7", "3.6"}, {"0.000009", "0.0003", "0.0003"}, &mnist[0]},
    {"activations", 0.0, 10, {"2.4", "5.9", "4.6"}, {"0.25", "7.3", "5.16"}, &mnist[1]},
};

typedef struct means {
    double relative, absolute, square;
    size_t count, nonzero;
} means_t;

typedef struct row {
    const distribution_t *distribution;
    const char           *codec; /* without the block                                  */
    int                   one;   /* one scale for the array, as the paper; else blocks */
    int                   paper; /* column of the paper's values, or -1                */
} row_t;

typedef struct scratch {
    float   *in, *out;
    uint8_t *codes;
} scratch_t;

static int scratch_create(scratch_t *s)
{
    s->in    = malloc(PIECE * sizeof(float));
    s->out   = malloc(PIECE * sizeof(float));
    s->codes = malloc(2 * PIECE);
    return s->in != NULL && s->out != NULL && s->codes != NULL;
}

static void scratch_destroy(scratch_t *s)
{
    free(s->in);
    free(s->out);
    free(s->codes);
}

static means_t piece_means(const float *x, const float *y, size_t n)
{
    means_t m = {.count = n};

    for (size_t i = 0; i < n; i++) {
        const double error = fabs((double)x[i] - (double)y[i]);

        m.absolute += error;
        m.square += error * error;
        if (x[i] != 0.0f) {
            m.relative += error / fabs((double)x[i]);
            m.nonzero++;
        }
    }
    return m;
}

/* Values [first, first + n) of x; `maximum` is put before them if it is not 0. */
static tw_status_t measure_piece(const tw_codec_t *codec, scratch_t *s, const float *x, size_t n,
                                 float maximum, means_t *means)
{
    const tw_exec_t exec = {TW_MEMORY_HOST, NULL, 1};
    const size_t    head = maximum != 0.0f;
    tw_status_t     status;

    s->in[0] = maximum;
    memcpy(s->in + head, x, n * sizeof(float));
    status = tw_codec_encode(codec, &exec, s->in, n + head, s->codes);
    if (status == TW_OK) {
        status = tw_codec_decode(codec, &exec, s->codes, n + head, s->out);
    }
    if (status == TW_OK) {
        *means = piece_means(x, s->out + head, n);
    }
    return status;
}

/* Means over all of x, the pieces added in order whatever the threads. */
static tw_status_t measure(const tw_codec_t *codec, const float *x, float maximum, means_t *total)
{
    static means_t means[PIECES];
    const size_t   step   = maximum != 0.0f ? PIECE - 1 : PIECE;
    const size_t   pieces = (SAMPLES + step - 1) / step;
    tw_status_t    result = TW_OK;

#ifdef _OPENMP
#pragma omp parallel
#endif
    {
        scratch_t   s;
        tw_status_t status = scratch_create(&s) ? TW_OK : TW_ERR_NO_MEMORY;

#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
        for (size_t p = 0; p < pieces; p++) {
            const size_t first = p * step, left = SAMPLES - first;

            if (status == TW_OK) {
                status = measure_piece(codec, &s, x + first, left < step ? left : step, maximum,
                                       &means[p]);
            }
        }
        scratch_destroy(&s);
        if (status != TW_OK) {
#ifdef _OPENMP
#pragma omp critical
#endif
            result = status;
        }
    }
    *total = (means_t){0};
    for (size_t p = 0; p < pieces; p++) {
        total->relative += means[p].relative;
        total->absolute += means[p].absolute;
        total->square += means[p].square;
        total->count += means[p].count;
        total->nonzero += means[p].nonzero;
    }
    total->relative *= 100.0 / (double)(total->nonzero > 0 ? total->nonzero : 1);
    total->absolute /= (double)total->count;
    total->square /= (double)total->count;
    return result;
}

static float absolute_maximum(const float *x)
{
    float most = 0.0f;

    for (size_t i = 0; i < SAMPLES; i++) {
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    }
    return most;
}

static const table_column_t columns[] = {
    {"distribution", -12}, {"maximum", 0},    {"codec", -20},
    {"scale", -10},        {"relative %", 0}, {"paper", 6},
    {"absolute", 9},       {"square", 9},     {"paper's \"absolute\"", 0}};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static const char *scale_name(const row_t *row, const tw_codec_t *codec)
{
    return row->one ? "one" : tw_codec_block(codec) > 1 ? "block=4096" : "none";
}

static void print_row(const row_t *row, float maximum, const char *scale, const means_t *m)
{
    char cells[COLUMNS][TABLE_CELL];

    table_text(cells[0], row->distribution->name);
    snprintf(cells[1], TABLE_CELL, "%.4g", (double)maximum);
    table_text(cells[2], row->codec);
    table_text(cells[3], scale);
    snprintf(cells[4], TABLE_CELL, "%.3f", m->relative);
    table_text(cells[5], row->paper >= 0 ? row->distribution->paper_relative[row->paper] : "-");
    snprintf(cells[6], TABLE_CELL, "%.3g", m->absolute);
    snprintf(cells[7], TABLE_CELL, "%.3g", m->square);
    table_text(cells[8], row->paper >= 0 ? row->distribution->paper_absolute[row->paper] : "-");
    table_row(columns, COLUMNS, cells);
}

static void add_row(report_t *report, const row_t *row, float maximum, const char *scale,
                    const means_t *m)
{
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:f, s:s, s:I, s:f, s:f, s:f}", "operation", "errors", "codec",
                  row->codec, "distribution", row->distribution->name, "maximum", (double)maximum,
                  "scale", scale, "samples", (json_int_t)m->count, "relative_error_percent",
                  m->relative, "absolute_error", m->absolute, "squared_error", m->square);

    if (row->paper >= 0) {
        json_object_set_new(json, "paper_relative_error_percent",
                            json_real(atof(row->distribution->paper_relative[row->paper])));
        json_object_set_new(json, "paper_absolute_error",
                            json_real(atof(row->distribution->paper_absolute[row->paper])));
    }
    report_row(report, json);
}

static int run_row(const job_t *job, tw_context_t *ctx, const row_t *row, const float *x,
                   float maximum, report_t *report)
{
    char        spec[64], why[512];
    tw_codec_t *codec;
    means_t     means;
    tw_status_t status;

    snprintf(spec, sizeof(spec), "%s%s", row->codec,
             !row->one                 ? ""
             : strchr(row->codec, ':') ? ",block=1048576"
                                       : ":block=1048576");
    status = tw_codec_create(ctx, spec, TW_F32, &codec, why, sizeof(why));
    if (status != TW_OK) {
        job_complain(job, "%s: %s", spec, why);
        return 0;
    }
    status = measure(codec, x, row->one ? maximum : 0.0f, &means);
    if (status == TW_OK) {
        print_row(row, maximum, scale_name(row, codec), &means);
        add_row(report, row, maximum, scale_name(row, codec), &means);
    } else {
        job_complain(job, "%s: %s", spec, tw_status_text(status));
    }
    tw_codec_destroy(codec);
    return status == TW_OK;
}

static int run_distribution(const job_t *job, tw_context_t *ctx, const distribution_t *d, float *x,
                            report_t *report)
{
    char  mantissa8[32], static8[32];
    float maximum;
    int   well = 1;

    snprintf(mantissa8, sizeof(mantissa8), "mantissa8:offset=%d", d->offset);
    snprintf(static8, sizeof(static8), "static8:offset=%d", d->offset);
    if (d->measured != NULL) {
        data_measured(x, SAMPLES, SEED, d->measured, d->measured == &mnist[0] ? MNIST_BATCH : 1.0);
    } else if (d->deviation > 0.0) {
        data_normal(x, SAMPLES, SEED, d->deviation);
    } else {
        data_uniform(x, SAMPLES, SEED);
    }
    maximum = absolute_maximum(x);
    {
        const row_t rows[] = {
            {d, "tree8", 1, 0},   {d, "tree8", 0, 0}, {d, "tree8:split=0.55", 1, 0},
            {d, mantissa8, 0, 1}, {d, static8, 0, 2}, {d, "int8", 1, -1},
            {d, "int8", 0, -1},
        };

        for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]) && well; r++) {
            well = run_row(job, ctx, &rows[r], x, maximum, report);
        }
    }
    return well;
}

static void print_caption(void)
{
    printf(
        "Mean errors of 8-bit types, %zu million values of each distribution, seeded.\n"
        "\"paper\": as printed in Dettmers, 8-Bit Approximations for Parallelism in Deep "
        "Learning, Table 1.\n"
        "scale one: the array is scaled by its absolute maximum, as in the paper; block=4096: "
        "each block by\nits own, as the codec is used; none: no scale, the offset is the "
        "paper's.\n"
        "maximum: of the absolute values of the array; errors with one scale depend on it.\n"
        "The normal arrays are the same draws times the deviation. Gradients (summed over a batch, "
        "as in the\npaper) and activations of MNIST are ours, and not the paper's.\n"
        "The paper's \"absolute\" column grows with the square of the data, as a mean squared "
        "error does: it is\ncomparable with the column square, not with absolute.\n\n",
        SAMPLES / 1000000);
}

static int run(const job_t *job, tw_context_t *ctx, report_t *report)
{
    float *x    = malloc(SAMPLES * sizeof(*x));
    int    well = x != NULL;

    if (well) {
        print_caption();
        table_header(columns, COLUMNS);
    } else {
        job_complain(job, "not enough memory for %zu million values", SAMPLES / 1000000);
    }
    for (size_t i = 0; i < sizeof(distributions) / sizeof(distributions[0]) && well; i++) {
        well = run_distribution(job, ctx, &distributions[i], x, report);
    }
    free(x);
    return well;
}

int main(int argc, char **argv)
{
    job_t          job = {.size = 1, .local_ranks = 1, .argc = argc, .argv = argv};
    int            code;
    const char    *json = NULL;
    report_t       report;
    tw_context_t  *ctx;
    const option_t options[] = {
        {"--json", "FILE", "Also write the rows as JSON.", OPTION_TEXT, &json, 0, 0},
        {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {"eight-bit-errors [OPTION...]",
                               "Mean errors of the 8-bit types on six distributions, 25 million "
                               "values each, beside\nthose that Dettmers (2015, Table 1) prints.",
                               "", .options = options};

    code = job_options(&job, &command, "eight-bit-errors", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    ctx = job_context(&job);
    if (ctx == NULL || report_begin(&report, &job, json) != 0) {
        tw_context_destroy(ctx);
        return EXIT_FAILED;
    }
    code = report_end(&report, &job, run(&job, ctx, &report));
    tw_context_destroy(ctx);
    return code;
}
