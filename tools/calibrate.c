/* SPDX-License-Identifier: BSD-3-Clause
 * tools/calibrate.c - thinwire calibrate: measures what the codec auto decides by, prints it, and
 * writes the file that communicators over the same hosts in the same layout take it from.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "tools/commands.h"
#include "command/options.h"
#include "runtime/base/dtype.h"
#include "tools/report.h"
#include "tools/table.h"

#define DEFAULT_SECONDS 12

typedef struct calibrate_arguments {
    const char *output, *json;
    int         seconds;
} calibrate_arguments_t;

static void rate_text(char *cell, double rate)
{
    if (rate > 0.0) {
        snprintf(cell, TABLE_CELL, "%.3g GB/s", rate * 1e-9);
    } else {
        table_text(cell, "-");
    }
}

static void time_text(char *cell, double seconds)
{
    if (seconds > 0.0) {
        table_time(cell, seconds);
    } else {
        table_text(cell, "-");
    }
}

static void print_link(const table_column_t *columns, size_t count, const char *name,
                       const tw_link_facts_t *link)
{
    char cells[5][TABLE_CELL];

    if (link->latency <= 0.0) {
        return;
    }
    table_text(cells[0], name);
    time_text(cells[1], link->latency);
    rate_text(cells[2], link->bandwidth);
    rate_text(cells[3], link->shared);
    time_text(cells[4], link->message);
    table_row(columns, count, cells);
}

static void print_links(const tw_facts_t *facts)
{
    static const table_column_t columns[] = {
        {"link", -12}, {"latency", 8}, {"one pair", 10}, {"all at once", 11}, {"each message", 12}};

    table_header(columns, 5);
    print_link(columns, 5, "inside node", &facts->inside);
    print_link(columns, 5, "between", &facts->between);
    printf("\n");
}

static void print_codecs(const tw_facts_t *facts)
{
    static const table_column_t columns[] = {
        {"codec", -28}, {"bytes per value", 0}, {"max error", 9}, {"encode", 10},
        {"decode", 10}, {"decode-add", 10},     {"each call", 9}};
    char cells[7][TABLE_CELL];

    table_header(columns, 7);
    for (int c = 0; c < facts->codecs; c++) {
        const tw_codec_facts_t *codec = &facts->codec[c];
        const double            width = (double)tw_dtype_size(codec->dtype);

        if (codec->dtype == TW_F32) {
            table_text(cells[0], codec->spec);
        } else {
            snprintf(cells[0], TABLE_CELL, "%s (%s)", codec->spec, tw_dtype_name(codec->dtype));
        }
        snprintf(cells[1], TABLE_CELL, "%.4f", codec->bytes);
        table_error(cells[2], codec->max_error);
        rate_text(cells[3], codec->encode > 0.0 ? width / codec->encode : 0.0);
        rate_text(cells[4], codec->decode > 0.0 ? width / codec->decode : 0.0);
        rate_text(cells[5], codec->decode_add > 0.0 ? width / codec->decode_add : 0.0);
        time_text(cells[6], codec->call);
        table_row(columns, 7, cells);
    }
    printf("\n");
}

/* MPI's own collectives side by side; sizes are those of the longest ladder. */
static void print_ladders(const tw_facts_t *facts)
{
    static table_column_t columns[TW_OPERATIONS + 1] = {{"size", 6}};
    char                  cells[TW_OPERATIONS + 1][TABLE_CELL];
    const tw_ladder_t    *longest = &facts->native[0];

    for (int o = 0; o < TW_OPERATIONS; o++) {
        columns[o + 1] = (table_column_t){tw_operation_name((tw_operation_t)o), 9};
        longest        = facts->native[o].steps > longest->steps ? &facts->native[o] : longest;
    }
    printf("MPI's own collectives, by the bytes of the vector or of one rank's block:\n");
    table_header(columns, TW_OPERATIONS + 1);
    for (int i = 0; i < longest->steps; i++) {
        table_size(cells[0], (size_t)longest->bytes[i]);
        for (int o = 0; o < TW_OPERATIONS; o++) {
            const tw_ladder_t *ladder = &facts->native[o];

            table_text(cells[o + 1], "-");
            for (int k = 0; k < ladder->steps; k++) {
                if (ladder->bytes[k] <= longest->bytes[i] &&
                    2.0 * ladder->bytes[k] > longest->bytes[i]) {
                    time_text(cells[o + 1], ladder->seconds[k]);
                }
            }
        }
        table_row(columns, TW_OPERATIONS + 1, cells);
    }
    printf("\n");
}

static void print_factors(const tw_facts_t *facts)
{
    static const table_column_t columns[] = {
        {"operation", -14}, {"algorithm", -12}, {"short", 6}, {"long", 6}};
    tw_operation_t operation;
    const char    *name;
    char           cells[4][TABLE_CELL];

    printf(
        "Measured time of each algorithm with fp32 / what the links alone would take, of its steps "
        "by a short\nvector, of its bytes by a long one:\n");
    table_header(columns, 4);
    for (size_t a = 0; tw_model_describe(a, &operation, &name) == TW_OK; a++) {
        if (facts->factor_bytes[a][0] <= 0.0) {
            continue; /* not for these ranks */
        }
        table_text(cells[0], tw_operation_name(operation));
        table_text(cells[1], name);
        table_number(cells[2], facts->factor[a][0]);
        table_number(cells[3], facts->factor[a][1]);
        table_row(columns, 4, cells);
    }
}

static json_t *link_json(const tw_link_facts_t *link)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "latency", link->latency, "bandwidth", link->bandwidth,
                     "shared", link->shared, "message", link->message);
}

static void add_rows(report_t *report, const tw_facts_t *facts)
{
    tw_operation_t operation;
    const char    *name;
    json_t        *codecs = json_array(), *factors = json_array();

    for (int o = 0; o < TW_OPERATIONS; o++) {
        for (int i = 0; i < facts->native[o].steps; i++) {
            report_row(report,
                       json_pack("{s:s, s:s, s:i, s:I, s:f}", "codec", "mpi", "operation",
                                 tw_operation_name((tw_operation_t)o), "ranks", facts->ranks,
                                 "bytes", (json_int_t)facts->native[o].bytes[i], "seconds",
                                 facts->native[o].seconds[i]));
        }
    }
    for (int c = 0; c < facts->codecs; c++) {
        const tw_codec_facts_t *codec = &facts->codec[c];

        json_array_append_new(
            codecs, json_pack("{s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:f}", "codec", codec->spec,
                              "double", codec->dtype == TW_F64, "bytes", codec->bytes, "max_error",
                              codec->max_error, "encode", codec->encode, "decode", codec->decode,
                              "decode_add", codec->decode_add, "call", codec->call));
    }
    for (size_t a = 0; tw_model_describe(a, &operation, &name) == TW_OK; a++) {
        json_array_append_new(factors,
                              json_pack("{s:s, s:s, s:f, s:f}", "operation",
                                        tw_operation_name(operation), "algorithm", name, "short",
                                        facts->factor[a][0], "long", facts->factor[a][1]));
    }
    json_object_set_new(report->root, "inside", link_json(&facts->inside));
    json_object_set_new(report->root, "between", link_json(&facts->between));
    json_object_set_new(report->root, "engine", json_real(facts->engine));
    json_object_set_new(report->root, "processor", json_real(facts->processor));
    json_object_set_new(report->root, "moving", json_real(facts->moving));
    json_object_set_new(report->root, "codecs", codecs);
    json_object_set_new(report->root, "factors", factors);
}

static void print_processor(const tw_facts_t *facts)
{
    printf("While all ranks compute, each has %.2f of a processor", facts->processor);
    if (facts->nodes > 1) {
        printf("; a byte to or from another node takes %.2g ns of one", 1e9 * facts->moving);
    }
    printf(".\n\n");
}

static void print_all(const tw_facts_t *facts, const char *written)
{
    printf("%d rank%s on %d node%s, at most %d on a node; an operation of the library takes at "
           "least %.2f us\n\n",
           facts->ranks, facts->ranks == 1 ? "" : "s", facts->nodes, facts->nodes == 1 ? "" : "s",
           facts->local_ranks, facts->engine * 1e6);
    print_links(facts);
    print_processor(facts);
    print_codecs(facts);
    print_ladders(facts);
    print_factors(facts);
    printf("\nwritten to %s\n", written);
}

/* Measure, write, print. */
static int run_calibration(const job_t *job, tw_comm_t *comm, const calibrate_arguments_t *a,
                           report_t *report)
{
    static tw_facts_t facts;
    static char       written[4096];
    tw_status_t       status = tw_comm_calibrate(comm, a->seconds);

    if (status == TW_OK) {
        status = tw_comm_get_facts(comm, &facts);
    }
    if (status == TW_OK) {
        status = tw_comm_calibration_save(comm, a->output, written,
                                          sizeof(written)); /* logs its own cause */
        if (status == TW_ERR_IO) {
            return -1;
        }
    }
    if (status != TW_OK) {
        job_complain(job, "calibrate: %s", tw_status_text(status));
        return -1;
    }
    if (job->rank == 0) {
        print_all(&facts, written);
        add_rows(report, &facts);
        json_object_set_new(report->root, "output", json_string(written));
        json_object_set_new(report->root, "nodes", json_integer(facts.nodes));
    }
    return 0;
}

static int run_job(const job_t *job, const calibrate_arguments_t *a)
{
    report_t      report;
    tw_comm_t    *comm = NULL;
    tw_context_t *ctx  = job_context(job);
    int           code = EXIT_FAILED;

    if (ctx != NULL && report_try(job, "--output", a->output) == 0 &&
        report_begin(&report, job, a->json) == 0) { /* tw_comm_create() logs its own cause */
        const int well = tw_comm_create(ctx, MPI_COMM_WORLD, &comm) == TW_OK &&
                         run_calibration(job, comm, a, &report) == 0;

        code = report_end(&report, job, well);
        tw_comm_destroy(comm);
    }
    tw_context_destroy(ctx);
    return code;
}

int calibrate_main(job_t *job, int argc, char **argv)
{
    calibrate_arguments_t a = {.seconds = DEFAULT_SECONDS};
    int                   code;
    const option_t        options[] = {
               {"--output", "FILE",
                "Write the measurements to FILE, for THINWIRE_CALIBRATION=FILE. Default: that\n"
                       "setting, or a name of their own in $XDG_CACHE_HOME/thinwire or ~/.cache/thinwire.",
                OPTION_TEXT, &a.output, 0, 0},
               {"--seconds", "N", "Measure for about N seconds, 1 to 600 (default 12).", OPTION_COUNT,
                &a.seconds, 1, 600},
               {"--json", "FILE", "Also write them as JSON.", OPTION_TEXT, &a.json, 0, 0},
               {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {
        "mpirun ... thinwire calibrate [OPTION...]",
        "Measures latency and bandwidth inside nodes and between them, the codecs, and MPI's own\n"
        "collectives, on the ranks that mpirun starts; prints the tables, and writes the file by "
        "which\n"
        "the codec auto decides in every run on the same hosts in the same layout.",
        "Examples:\n  mpirun -n 4 thinwire calibrate\n"
        "  mpirun -n 4 --host a,b thinwire calibrate --output ab.calibration --json ab.json",
        .options = options};

    code = job_options(job, &command, "calibrate", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    job_need_mpi(job);
    if (job->size == 1) { /* no links; and auto on one rank has nothing to decide by them */
        job_complain(job,
                     "calibrate: one rank alone has no other to exchange with; start it on the "
                     "ranks of your program, as in: mpirun -n 4 thinwire calibrate");
        return EXIT_USAGE;
    }
    return run_job(job, &a);
}
