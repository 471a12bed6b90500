/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/study.c - see study.h.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "tools/scale/study.h"
#include "tools/table.h"

/* A codec pays where it makes a step shorter by so much. */
#define PAYS 0.95

/* Of a network of any rate: from 1 Mbit/s, so many steps of a tenth of a power of ten. */
enum { RATES = 61, PER_DECADE = 10 };

/* ---- one step ------------------------------------------------------------------------------ */

static int is_lossy_for_gradients_only(const study_t *study, const char *spec)
{
    for (int c = 0; c < study->facts.codecs; c++) {
        if (strcmp(study->facts.codec[c].spec, spec) == 0) {
            return study->facts.codec[c].feedback;
        }
    }
    return 0;
}

int study_step(const study_t *study, const network_t *network, int ranks, size_t which,
               step_time_t *time, char *why, size_t why_size)
{
    tw_facts_t  facts     = study->facts;
    const char *spec      = which == STUDY_FP32 ? "fp32" : tw_codec_spec(study->specs.codec[which]);
    const step_case_t how = {.facts          = &facts,
                             .spec           = spec,
                             .only_gradients = is_lossy_for_gradients_only(study, spec),
                             .share = study->weak ? 1.0 : (double)study->work.ranks / ranks};

    network_facts(network, ranks, study->per_node, &facts);
    return step_time(&study->work, &how, time, why, why_size);
}

/* By computing alone on one rank: with all examples, or with as many as every rank has. */
double study_speedup(const study_t *study, int ranks, const step_time_t *time)
{
    tw_facts_t        facts = study->facts;
    const step_case_t how   = {
          .facts = &facts, .spec = "fp32", .share = study->weak ? 1.0 : study->work.ranks};
    step_time_t alone;
    char        why[8];

    facts.ranks = facts.nodes = facts.local_ranks = 1;
    if (!step_time(&study->work, &how, &alone, why, sizeof(why)) || time->seconds <= 0.0) {
        return 0.0;
    }
    return (study->weak ? ranks : 1.0) * alone.seconds / time->seconds;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static const table_column_t columns[] = {
    {"ranks", 5}, {"codec", -16},     {"step", 9},     {"computing", 9},   {"exposed", 9},
    {"share", 6}, {"codec time", 10}, {"speed-up", 8}, {"efficiency", 10}, {"MB sent", 9}};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void print_row(int ranks, const char *spec, const step_time_t *time, double speedup)
{
    char cells[COLUMNS][TABLE_CELL];

    snprintf(cells[0], TABLE_CELL, "%d", ranks);
    table_text(cells[1], spec);
    table_time(cells[2], time->seconds);
    table_time(cells[3], time->compute);
    table_time(cells[4], time->exposed);
    snprintf(cells[5], TABLE_CELL, "%.0f %%",
             time->seconds > 0.0 ? 100.0 * time->exposed / time->seconds : 0.0);
    table_time(cells[6], time->codec);
    snprintf(cells[7], TABLE_CELL, "%.2f", speedup);
    snprintf(cells[8], TABLE_CELL, "%.1f %%", 100.0 * speedup / ranks);
    table_number(cells[9], 1e-6 * time->bytes);
    table_row(columns, COLUMNS, cells);
}

static int add_row(const study_t *study, const network_t *network, int ranks, size_t s,
                   report_t *report)
{
    const char *spec = study->specs.text[s];
    step_time_t time;
    char        why[200];
    double      speedup;

    if (!study_step(study, network, ranks, s, &time, why, sizeof(why))) {
        job_complain(study->job, "scale: %s", why);
        return 0;
    }
    speedup = study_speedup(study, ranks, &time);
    print_row(ranks, spec, &time, speedup);
    report_row(report, json_pack("{s:s, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "network",
                                 network->name, "ranks", ranks, "ranks_per_node",
                                 study->per_node < ranks ? study->per_node : ranks, "codec", spec,
                                 "seconds", time.seconds, "compute_seconds", time.compute,
                                 "exposed", time.exposed, "codec_seconds", time.codec, "speedup",
                                 speedup, "bytes", time.bytes));
    return 1;
}

int study_rows(const study_t *study, report_t *report)
{
    char text[400];

    for (size_t n = 0; n < study->networks; n++) {
        network_describe(&study->network[n], text, sizeof(text));
        printf("%s%s\n", n > 0 ? "\n" : "", text);
        table_header(columns, COLUMNS);
        for (size_t r = 0; r < study->sizes; r++) {
            for (size_t s = 0; s < study->specs.count; s++) {
                if (!add_row(study, &study->network[n], study->ranks[r], s, report)) {
                    return 0;
                }
            }
        }
    }
    return 1;
}

/* ---- the verdict --------------------------------------------------------------------------- */

/* The codec of the shortest step; time is of that and of fp32. */
static int best(const study_t *study, const network_t *network, int ranks, size_t *which,
                double *seconds, double *plain)
{
    step_time_t time;
    char        why[200];

    if (!study_step(study, network, ranks, STUDY_FP32, &time, why, sizeof(why))) {
        return 0;
    }
    *plain = *seconds = time.seconds;
    *which            = STUDY_FP32;
    for (size_t s = 0; s < study->specs.count; s++) {
        if (!study_step(study, network, ranks, s, &time, why, sizeof(why))) {
            return 0;
        }
        if (time.seconds < *seconds) {
            *seconds = time.seconds;
            *which   = s;
        }
    }
    return 1;
}

static const char *name_of(const study_t *study, size_t which, double seconds, double plain)
{
    return which == STUDY_FP32 || seconds >= PAYS * plain ? "fp32" : study->specs.text[which];
}

/* "tree8 on 2 to 16 ranks, fp32 on 32" */
static void say_best(const study_t *study, const network_t *network, char *text, size_t size)
{
    const char *last = NULL;
    size_t      used = 0, from = 0;

    text[0] = '\0';
    for (size_t r = 0; r <= study->sizes && used < size; r++) {
        const char *name = NULL;
        double      seconds, plain;
        size_t      which;

        if (r < study->sizes && best(study, network, study->ranks[r], &which, &seconds, &plain)) {
            name = name_of(study, which, seconds, plain);
        }
        if (last != NULL && (name == NULL || strcmp(name, last) != 0)) {
            used += (size_t)snprintf(text + used, size - used, "%s%s on %d", used > 0 ? ", " : "",
                                     last, study->ranks[from]);
            if (r - 1 > from && used < size) {
                used += (size_t)snprintf(text + used, size - used, " to %d", study->ranks[r - 1]);
            }
            from = r;
        }
        last = name;
    }
}

/* The highest rate, in Gbit/s, at which a codec pays on so many ranks; 0: at none; below it, it pays
 * everywhere down to the lowest that was tried. */
static double pays_up_to(const study_t *study, const network_t *network, int ranks)
{
    network_t one  = *network;
    double    most = 0.0, rate = 1e-3, ten = 1.0;

    for (int k = 0; k < RATES; k++) {
        static const double tenth[PER_DECADE] = {1.0,   1.259, 1.585, 1.995, 2.512,
                                                 3.162, 3.981, 5.012, 6.310, 7.943};
        double              seconds, plain;
        size_t              which;

        one.rate = rate * ten * tenth[k % PER_DECADE];
        if (best(study, &one, ranks, &which, &seconds, &plain) && seconds < PAYS * plain) {
            most = one.rate;
        }
        ten *= k % PER_DECADE == PER_DECADE - 1 ? 10.0 : 1.0;
    }
    return most;
}

int study_verdict(const study_t *study, report_t *report)
{
    const int most     = study->ranks[study->sizes - 1];
    json_t   *verdicts = json_array();

    printf("\n");
    for (size_t n = 0; n < study->networks; n++) {
        const network_t *network = &study->network[n];
        char             text[600], line[900];
        double           rate = 0.0;

        say_best(study, network, text, sizeof(text));
        snprintf(line, sizeof(line), "%s: shortest step by %s", network->name, text);
        if (!network->measured && most > 1) {
            const size_t used = strlen(line);

            rate = pays_up_to(study, network, most);
            if (rate >= 0.99e3) {
                snprintf(line + used, sizeof(line) - used,
                         "; on %d ranks compression pays at any rate up to 1000 Gbit/s", most);
            } else if (rate > 0.0) {
                snprintf(line + used, sizeof(line) - used,
                         "; on %d ranks compression pays up to links of %.3g Gbit/s", most, rate);
            } else {
                snprintf(line + used, sizeof(line) - used,
                         "; on %d ranks compression pays at no rate", most);
            }
        }
        printf("%s.\n", line);
        json_array_append_new(verdicts, json_pack("{s:s, s:s, s:f}", "network", network->name,
                                                  "text", line, "pays_up_to_gbit", rate));
    }
    printf("A codec pays where a step becomes 5 %% shorter. These are predictions, of assumed or "
           "measured links and of codecs on one core; docs/performance.md has their errors.\n");
    if (report->root != NULL) {
        json_object_set_new(report->root, "verdict", verdicts);
    } else {
        json_decref(verdicts);
    }
    return 1;
}
