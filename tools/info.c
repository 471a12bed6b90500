/* SPDX-License-Identifier: BSD-3-Clause
 * tools/info.c - thinwire info: what runs here.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "command/options.h"
#include "tools/commands.h"
#include "tools/device.h"
#include "tools/info_codecs.h"
#include "tools/mpi_library.h"
#include "tools/report.h"
#include "tools/topology.h"

static void print_device(const device_facts_t *device)
{
    if (!device->linked) {
        printf("CUDA        not built in\n");
        return;
    }
    printf("CUDA        runtime %d.%d, ", device->runtime / 1000, device->runtime % 1000 / 10);
    if (device->driver == 0) {
        printf("no driver, 0 devices\n");
    } else {
        printf("driver for CUDA %d.%d, %d device%s%s%s\n", device->driver / 1000,
               device->driver % 1000 / 10, device->count, device->count == 1 ? "" : "s",
               device->count > 0 ? ", the first is " : "", device->first);
    }
}

static const char *cuda_awareness(const char *aware)
{
    return strcmp(aware, "yes") == 0 ? "yes (MPI can send device memory)"
           : strcmp(aware, "no") == 0
               ? "no (MPI cannot send device memory)"
               : "unknown (MPI does not say whether it can send device memory)";
}

/* How codes in device memory would reach the other ranks: THINWIRE_DEVICE_PATH. */
static const char *device_path(const device_facts_t *device, const mpi_library_t *mpi)
{
    tw_setting_t setting;

    if (device->count == 0) {
        return "none (no device)";
    }
    for (size_t i = 0; i < tw_settings_count(); i++) {
        if (tw_settings_get(i, &setting) == TW_OK &&
            strcmp(setting.name, "THINWIRE_DEVICE_PATH") == 0 &&
            strcmp(setting.value_text, "auto") != 0) {
            return strcmp(setting.value_text, "direct") == 0 ? "direct" : "staged";
        }
    }
    return strcmp(mpi->cuda_aware, "yes") == 0 ? "direct" : "staged";
}

static void print_forms(void)
{
    const char *form, *help;
    int         width = 0;

    for (size_t i = 0; i < tw_codec_count(); i++) {
        tw_codec_describe(i, NULL, &form, NULL);
        width = (int)strlen(form) > width ? (int)strlen(form) : width;
    }
    printf("\nHow a codec is written:\n");
    for (size_t i = 0; i < tw_codec_count(); i++) {
        tw_codec_describe(i, NULL, &form, &help);
        printf("  %-*s  %s\n", width, form, help);
    }
    printf("  %-*s  %s\n", width, "auto[:max_error]",
           "in collectives: the fastest of them with at most this error, or MPI as it is");
}

static void print_settings(const char *title, int advanced)
{
    tw_setting_t setting;

    printf("\n%s:\n", title);
    for (size_t i = 0; i < tw_settings_count(); i++) {
        tw_settings_get(i, &setting);
        if (setting.advanced == advanced) {
            printf("  %s=%s\n      %s\n      accepted: %s; default: %s\n", setting.name,
                   setting.value_text, setting.help, setting.accepted,
                   setting.default_text[0] != '\0' ? setting.default_text : "(none)");
        }
    }
}

static json_t *settings_json(void)
{
    json_t      *list = json_array();
    tw_setting_t s;

    for (size_t i = 0; i < tw_settings_count(); i++) {
        json_t *entry;

        tw_settings_get(i, &s);
        entry = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "name", s.name, "module", s.module,
                          "accepted", s.accepted, "default", s.default_text, "help", s.help,
                          "advanced", s.advanced);
        json_object_set_new(entry, "value", json_string(s.value_text));
        json_array_append_new(list, entry);
    }
    return list;
}

static void print_machine(const json_t *machine)
{
    const long long cores = (long long)json_integer_value(json_object_get(machine, "cores"));

    printf("machine     %s, %s, %lld core%s for this process, %.1f GiB\n",
           json_string_value(json_object_get(machine, "cpu")),
           json_string_value(json_object_get(machine, "architecture")), cores,
           cores == 1 ? "" : "s",
           (double)json_integer_value(json_object_get(machine, "memory_bytes")) / 1073741824.0);
}

static void info_collect(const job_t *job, tw_context_t *ctx, const info_codecs_t *lists,
                         int settings, report_t *report)
{
    device_facts_t device;
    mpi_library_t  mpi;

    device_facts_get(&device);
    mpi_library_get(&mpi, job);
    printf("thinwire    %s\n", tw_version());
    printf("build       %s\n", tw_build());
    print_machine(json_object_get(report->root, "machine"));
    printf("CPU level   %s\n", tw_cpu_level(ctx));
    printf("MPI         %s\n", mpi.library);
    printf("fabric      %s\n", mpi.fabric);
    printf("CUDA-aware  %s\n", cuda_awareness(mpi.cuda_aware));
    printf("endpoints   %s (THINWIRE_TRANSPORT)\n", tw_endpoints());
    print_device(&device);
    printf("device path %s\n", device_path(&device, &mpi));
    info_codecs_print(lists, ctx);
    print_forms();
    if (settings) {
        print_settings("Settings (environment variables)", 0);
        print_settings("Advanced settings, for work on thinwire itself and for tests", 1);
    }
    json_object_set_new(report->root, "build", json_string(tw_build()));
    json_object_set_new(report->root, "cpu_level", json_string(tw_cpu_level(ctx)));
    json_object_set_new(report->root, "mpi",
                        json_pack("{s:s, s:s, s:s}", "library", mpi.library, "fabric", mpi.fabric,
                                  "cuda_aware", mpi.cuda_aware));
    json_object_set_new(report->root, "endpoints", json_string(tw_endpoints()));
    json_object_set_new(report->root, "cuda",
                        json_pack("{s:b, s:i, s:i, s:i, s:s}", "linked", device.linked, "runtime",
                                  device.runtime, "driver", device.driver, "devices", device.count,
                                  "first", device.first));
    json_object_set_new(report->root, "device_path", json_string(device_path(&device, &mpi)));
    info_codecs_json(lists, ctx, report->root);
    json_object_set_new(report->root, "settings", settings_json());
}

/* What rank 0 says. */
static int info_alone(const job_t *job, tw_context_t *ctx, const topology_options_t *topology,
                      const topology_rank_t *rank_facts, int settings, const char *json)
{
    static info_codecs_t codecs;
    report_t             report;
    job_t                solo = *job;
    int                  code = EXIT_FAILED;

    solo.size = 1;
    if (topology->wanted) {
        if (report_begin(&report, &solo, json) == 0) {
            code = report_end(&report, &solo,
                              topology_show(&solo, ctx, topology, rank_facts, &report) == 0);
        }
    } else if (info_codecs_create(&codecs, &solo, ctx) == 0) {
        if (report_begin(&report, &solo, json) == 0) {
            info_collect(&solo, ctx, &codecs, settings, &report);
            code = report_end(&report, &solo, 1);
        }
        info_codecs_destroy(&codecs);
    }
    return code;
}

int info_main(job_t *job, int argc, char **argv)
{
    int                settings   = 0;
    const char        *json       = NULL;
    topology_options_t topology   = {0, NULL, 0};
    topology_rank_t   *rank_facts = NULL;
    tw_context_t      *ctx;
    int                code;
    const option_t     options[] = {
            {"--settings", NULL, "Also list every THINWIRE_* setting with its value and help.",
             OPTION_FLAG, &settings, 0, 0},
            {"--topology", NULL,
             "Instead, draw the machine, and which GPU, cores, memory and network each local\n"
                 "rank gets.",
             OPTION_FLAG, &topology.wanted, 0, 0},
            {"--xml", "FILE", "Of the machine in this XML file of hwloc, not of this one.", OPTION_TEXT,
             &topology.xml, 0, 0},
            {"--ranks", "N", "For so many local ranks. Default: those of mpirun, else one per GPU.",
             OPTION_COUNT, &topology.ranks, 1, 4096},
            {"--json", "FILE", "Also write all of it, settings included, as one JSON object.",
             OPTION_TEXT, &json, 0, 0},
            {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {
        "thinwire info [OPTION...]",
        "Prints the library's version and build, the machine, the MPI library and how its "
        "messages\n"
        "travel, the codecs, and whether there are CUDA devices. Under mpirun, rank 0 speaks.",
        "Examples:\n  thinwire info\n  thinwire info --settings\n"
        "  thinwire info --topology --ranks 4\n"
        "  mpirun -n 1 thinwire info --json info.json",
        .options = options};

    code = job_options(job, &command, "info", argc, argv);
    if (code != JOB_GO_ON) {
        return code;
    }
    if (!topology.wanted && (topology.xml != NULL || topology.ranks > 0)) {
        job_complain(job, "info: --xml and --ranks go with --topology");
        return EXIT_USAGE;
    }
    ctx = job_context(job);
    if (ctx == NULL) {
        return EXIT_FAILED;
    }
    code = EXIT_FAILED;
    if (!topology.wanted || topology_gather(job, ctx, &topology, &rank_facts) == 0) {
        code =
            job->rank > 0 ? EXIT_OK : info_alone(job, ctx, &topology, rank_facts, settings, json);
    }
    free(rank_facts);
    tw_context_destroy(ctx);
    return code;
}
