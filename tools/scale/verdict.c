/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/verdict.c - what follows from the rows of a study, and what is not in them.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "scaling/errors.h"
#include "tools/scale/study.h"
#include "tools/table.h"

/* Of a network of any rate: from 1 Mbit/s, so many steps of a tenth of a power of ten. */
enum { RATES = 61, PER_DECADE = 10 };

/* The way with the shortest step, if its codec pays; else the best of those with fp32. time: of all
 * ways of study_time(). */
static size_t best_way(const study_t *study, const step_time_t *time)
{
    const size_t each  = study->specs.count + 1;
    size_t       least = 0, plain = each - 1;

    for (size_t w = 0; w < study_ways(study); w++) {
        least = time[w].seconds < time[least].seconds ? w : least;
        plain = w % each == each - 1 && time[w].seconds < time[plain].seconds ? w : plain;
    }
    return time[least].seconds < STUDY_PAYS * time[plain].seconds ? least : plain;
}

/* "tree8 on 2 to 16, fp32 on 32" */
static void say_best(const study_t *study, size_t n, char *text, size_t size)
{
    const size_t each = study->specs.count + 1;
    size_t       used = 0;

    text[0] = '\0';
    for (size_t r = 0, end; r < study->sizes && used < size; r = end) {
        const size_t w = best_way(study, study_time(study, n, r, 0, 0));
        char         way[2 * TABLE_CELL];

        end = r + 1;
        while (end < study->sizes && best_way(study, study_time(study, n, end, 0, 0)) == w) {
            end++;
        }
        study_way(study, w / each, w % each, way, sizeof(way));
        used += (size_t)snprintf(text + used, size - used, "%s%s on %d", used > 0 ? ", " : "", way,
                                 study->ranks[r]);
        if (end > r + 1 && used < size) {
            used += (size_t)snprintf(text + used, size - used, " to %d", study->ranks[end - 1]);
        }
    }
}

/* The highest rate, in Gbit/s, at which a codec pays on so many ranks; 0: at none; below it, it
 * pays everywhere down to the lowest that was tried. */
static double pays_up_to(const study_t *study, const network_t *network, int ranks)
{
    static const double tenth[PER_DECADE] = {1.0,   1.259, 1.585, 1.995, 2.512,
                                             3.162, 3.981, 5.012, 6.310, 7.943};
    const size_t        each              = study->specs.count + 1;
    network_t           one               = *network;
    double              most = 0.0, decade = 1e-3;

    for (int k = 0; k < RATES; k++) {
        step_time_t  time[STUDY_VARIANTS * (SPECS_MAX + 1)];
        tw_problem_t problem = {.set = 0};
        size_t       w       = 0;

        one.rate = decade * tenth[k % PER_DECADE];
        while (w < study_ways(study) &&
               study_step(study, &one, ranks, w / each, w % each, &time[w], &problem) == 0) {
            w++;
        }
        if (w == study_ways(study) && best_way(study, time) % each < each - 1) {
            most = one.rate;
        }
        decade *= k % PER_DECADE == PER_DECADE - 1 ? 10.0 : 1.0;
    }
    return most;
}

/* How sure that is. */
static void say_errors(const study_t *study)
{
    printf("A codec pays where a step becomes 5 %% shorter. These are %s, of assumed or measured "
           "links and of codecs on one core. Predicted steps of trainings were within %.0f %% of "
           "measured ones in half of the cases, within %.0f %% in nine of ten",
           study->simulate ? "simulations" : "predictions", 100.0 * STEP_ERROR_HALF,
           100.0 * STEP_ERROR_NINE);
    if (study->work.training.layers == 0) {
        printf("; a recorded program's within %.0f %% in half of them", 100.0 * PROGRAM_ERROR_HALF);
    }
    printf(" (docs/performance.md).\n");
}

/* Seconds of a step that were recorded and stay as they are. */
static double recorded(const workload_t *work, size_t from, size_t end)
{
    double sum = 0.0;

    for (size_t i = from; i < end; i++) {
        const item_t *item = &work->item[i];

        if (item->kind == ITEM_IDLE) {
            sum += item->seconds;
        } else if (item->kind == ITEM_REPEAT) {
            sum += (double)item->times * recorded(work, i + 1, item->end);
            i = item->end;
        }
    }
    return sum;
}

void study_unmodelled(const study_t *study)
{
    const workload_t *work  = &study->work;
    const double      idle  = recorded(work, 0, work->items);
    int               sends = 0;

    for (size_t i = 0; i < work->exchanges; i++) {
        sends = sends || work->exchange[i].messages > 0;
    }
    if (idle > 0.0) {
        printf(
            "\nNot modelled: %.3g s of a step are as they were recorded, on any network: receives "
            "without sends, and collectives that no job has.\n",
            idle);
    }
    if (sends) {
        printf("%sMessages take what their bytes, neighbours and number do, and are not "
               "compressed. Not "
               "modelled: ranks that wait for each other one after the other.\n",
               idle > 0.0 ? "" : "\n");
    }
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
        snprintf(line, sizeof(line), "%s: best by %s", network->name, text);
        if (!network->measured && !study->simulate && most > 1) {
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
    say_errors(study);
    if (report->root != NULL) {
        json_object_set_new(report->root, "verdict", verdicts);
    } else {
        json_decref(verdicts);
    }
}
