/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/study.c - see study.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "tools/scale/study.h"
#include "tools/table.h"

/* A codec pays where it makes a step shorter by so much. */
#define PAYS 0.95

/* Of a network of any rate: from 1 Mbit/s, so many steps of a tenth of a power of ten. */
enum { RATES = 61, PER_DECADE = 10 };

/* ---- one step ------------------------------------------------------------------------------ */

/* With a codec by its place; specs.count: fp32. */
static int compute(const study_t *study, const network_t *network, int ranks, size_t s,
                   step_time_t *time, char *why, size_t why_size)
{
    tw_facts_t  facts = study->facts;
    const char *spec  = s == study->specs.count ? "fp32" : tw_codec_spec(study->specs.codec[s]);
    const tw_codec_facts_t *codec = tw_facts_codec(&facts, spec, 0);
    const step_case_t       how   = {.facts          = &facts,
                                     .spec           = spec,
                                     .only_gradients = codec != NULL && codec->feedback,
                                     .share = study->weak ? 1.0 : (double)study->work.ranks / ranks};

    network_facts(network, ranks, study->per_node, &facts);
    return step_time(&study->work, &how, time, why, why_size);
}

static int compute_alone(study_t *study, char *why, size_t why_size)
{
    tw_facts_t        facts = study->facts;
    const step_case_t how   = {
          .facts = &facts, .spec = "fp32", .share = study->weak ? 1.0 : study->work.ranks};
    step_time_t time;

    facts.ranks = facts.nodes = facts.local_ranks = 1;
    if (!step_time(&study->work, &how, &time, why, why_size)) {
        return 0;
    }
    study->alone = time.seconds;
    return 1;
}

static size_t place_of(const study_t *study, size_t n, size_t r, size_t s)
{
    return (n * study->sizes + r) * (study->specs.count + 1) + s;
}

int study_compute(study_t *study, char *why, size_t why_size)
{
    study->time = calloc(place_of(study, study->networks, 0, 0), sizeof(*study->time));
    if (study->time == NULL) {
        snprintf(why, why_size, "out of memory");
        return 0;
    }
    for (size_t n = 0; n < study->networks; n++) {
        for (size_t r = 0; r < study->sizes; r++) {
            for (size_t s = 0; s <= study->specs.count; s++) {
                if (!compute(study, &study->network[n], study->ranks[r], s,
                             &study->time[place_of(study, n, r, s)], why, why_size)) {
                    return 0;
                }
            }
        }
    }
    return compute_alone(study, why, why_size);
}

void study_free(study_t *study)
{
    workload_free(&study->work);
    free(study->time);
    study->time = NULL;
}

const step_time_t *study_time(const study_t *study, size_t n, size_t r, size_t s)
{
    return &study->time[place_of(study, n, r, s)];
}

double study_speedup(const study_t *study, int ranks, const step_time_t *time)
{
    return time->seconds > 0.0 ? (study->weak ? ranks : 1.0) * study->alone / time->seconds : 0.0;
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

static void add_row(const study_t *study, size_t n, size_t r, size_t s, report_t *report)
{
    const char        *spec    = study->specs.text[s];
    const step_time_t *time    = study_time(study, n, r, s);
    const int          ranks   = study->ranks[r];
    const double       speedup = study_speedup(study, ranks, time);

    print_row(ranks, spec, time, speedup);
    report_row(report, json_pack("{s:s, s:i, s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "network",
                                 study->network[n].name, "ranks", ranks, "ranks_per_node",
                                 study->per_node < ranks ? study->per_node : ranks, "codec", spec,
                                 "seconds", time->seconds, "compute_seconds", time->compute,
                                 "exposed", time->exposed, "codec_seconds", time->codec, "speedup",
                                 speedup, "bytes", time->bytes));
}

void study_rows(const study_t *study, report_t *report)
{
    char text[400];

    for (size_t n = 0; n < study->networks; n++) {
        network_describe(&study->network[n], text, sizeof(text));
        printf("%s%s\n", n > 0 ? "\n" : "", text);
        table_header(columns, COLUMNS);
        for (size_t r = 0; r < study->sizes; r++) {
            for (size_t s = 0; s < study->specs.count; s++) {
                add_row(study, n, r, s, report);
            }
        }
    }
}

/* ---- the verdict --------------------------------------------------------------------------- */

/* The place of the codec with the shortest step, if it pays; else that of fp32. time: of all codecs, fp32
 * last. */
static size_t best(const step_time_t *time, size_t codecs)
{
    size_t least = codecs;

    for (size_t s = 0; s < codecs; s++) {
        least = time[s].seconds < time[least].seconds ? s : least;
    }
    return time[least].seconds < PAYS * time[codecs].seconds ? least : codecs;
}

/* "tree8 on 2 to 16, fp32 on 32" */
static void say_best(const study_t *study, size_t n, char *text, size_t size)
{
    const size_t codecs = study->specs.count;
    size_t       used   = 0;

    text[0] = '\0';
    for (size_t r = 0, end; r < study->sizes && used < size; r = end) {
        const size_t s = best(study_time(study, n, r, 0), codecs);

        end = r + 1;
        while (end < study->sizes && best(study_time(study, n, end, 0), codecs) == s) {
            end++;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s on %d", used > 0 ? ", " : "",
                                 s == codecs ? "fp32" : study->specs.text[s], study->ranks[r]);
        if (end > r + 1 && used < size) {
            used += (size_t)snprintf(text + used, size - used, " to %d", study->ranks[end - 1]);
        }
    }
}

/* The highest rate, in Gbit/s, at which a codec pays on so many ranks; 0: at none; below it, it pays
 * everywhere down to the lowest that was tried. */
static double pays_up_to(const study_t *study, const network_t *network, int ranks)
{
    static const double tenth[PER_DECADE] = {1.0,   1.259, 1.585, 1.995, 2.512,
                                             3.162, 3.981, 5.012, 6.310, 7.943};
    network_t           one               = *network;
    double              most = 0.0, decade = 1e-3;

    for (int k = 0; k < RATES; k++) {
        step_time_t time[SPECS_MAX + 1];
        char        why[200];
        size_t      s = 0;

        one.rate = decade * tenth[k % PER_DECADE];
        while (s <= study->specs.count &&
               compute(study, &one, ranks, s, &time[s], why, sizeof(why))) {
            s++;
        }
        if (s > study->specs.count && best(time, study->specs.count) < study->specs.count) {
            most = one.rate;
        }
        decade *= k % PER_DECADE == PER_DECADE - 1 ? 10.0 : 1.0;
    }
    return most;
}

void study_verdict(const study_t *study, report_t *report)
{
    const int most     = study->ranks[study->sizes - 1];
    json_t   *verdicts = json_array();

    printf("\n");
    for (size_t n = 0; n < study->networks; n++) {
        const network_t *network = &study->network[n];
        char             text[600], line[900];
        double           rate = 0.0;

        say_best(study, n, text, sizeof(text));
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
}
