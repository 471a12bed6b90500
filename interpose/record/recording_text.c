/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_text.c - see recording_text.h. One item a line and nothing that need
 * not be there: a sequence of TW_RECORDING_NODES nodes is at most 10 MB. Numbers have a point in
 * any locale.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/report/python.h"
#include "interpose/report/records.h"
#include "interpose/report/report_parts.h"
#include "interpose/record/recording_text.h"

#define TW_RECORDING_LEGEND 200        /* words that the head explains */
#define TW_RECORDING_SHORT  2147483647 /* libconfig wants an L behind what is longer */
#define TW_RECORDING_LEAST  5e-10
#define TW_RECORDING_MOST   1e6 /* seconds of an item */

enum { TW_RECORDING_NUMBER = 48, TW_RECORDING_NAME = 64 };

static const char *const tw_recording_operations[TW_OPERATIONS + 1] = {
    [TW_OPERATION_ALLREDUCE]      = "allreduce",
    [TW_OPERATION_REDUCE]         = "reduce",
    [TW_OPERATION_REDUCE_SCATTER] = "reduce_scatter",
    [TW_OPERATION_BCAST]          = "bcast",
    [TW_OPERATION_ALLGATHER]      = "allgather",
    [TW_OPERATION_ALLTOALL]       = "alltoall",
    [TW_RECORDING_MESSAGES]       = "messages"};

typedef struct tw_recording_writer {
    const tw_recording_job_t *job;
    FILE                     *to;
    unsigned                 *number; /* of words, by id: the same for a start and its wait */
    uint64_t                 *runs;   /* by number: of starts in all slots                  */
    size_t                    leaf;
    bool                      follows; /* something stands before the next item */
} tw_recording_writer_t;

/* ---- words --------------------------------------------------------------------------------- */

static bool tw_recording_number(tw_recording_writer_t *w)
{
    const tw_recording_words_t *words = w->job->words;
    tw_recording_words_t        all   = *words; /* only looked into */
    unsigned                    last  = 0;

    w->number = calloc(words->count + 1, sizeof(*w->number));
    w->runs   = calloc(words->count + 1, sizeof(*w->runs));
    for (size_t i = 0; i < words->count && w->number != NULL && w->runs != NULL; i++) {
        tw_recording_key_t key = words->word[i].key;
        uint32_t           first;

        if (key.operation == TW_RECORDING_MESSAGES && key.kind == TW_RECORDING_START &&
            words->word[i].bytes <= 0.0) {
            continue; /* no rank has sent any */
        }
        if (key.kind == TW_RECORDING_WAIT || key.slot > 0) {
            key.kind     = TW_RECORDING_START;
            key.slot     = 0;
            first        = tw_recording_words_get(&all, &key, 0);
            w->number[i] = first != TW_RECORDING_NO_ID ? w->number[first] : 0;
        } else if (key.kind >= TW_RECORDING_CALL) {
            w->number[i] = ++last;
        }
        w->runs[w->number[i]] +=
            words->word[i].key.kind != TW_RECORDING_WAIT ? words->word[i].runs : 0;
    }
    return w->number != NULL && w->runs != NULL;
}

static void tw_recording_name(const tw_recording_writer_t *w, uint32_t id, char *name)
{
    const tw_recording_key_t *key  = &w->job->words->word[id].key;
    const int                 used = snprintf(name, TW_RECORDING_NAME, "%s %u",
                                              tw_recording_operations[key->operation], w->number[id]);

    if (key->slot > 0) {
        snprintf(name + used, TW_RECORDING_NAME - (size_t)used, "/%u", key->slot);
    }
}

static double tw_recording_size(tw_elements_t elements)
{
    return tw_elements_are_values(elements) ? (double)tw_dtype_size(tw_dtypes[elements - 1]) : 4.0;
}

/* Values of a run; bytes / 4 of what are none. */
static void tw_recording_count(const tw_recording_word_t *word, char *text)
{
    const double size  = tw_recording_size((tw_elements_t)word->key.type);
    const double bytes = word->key.bytes != TW_RECORDING_VARIES ? (double)word->key.bytes
                         : word->runs > 0                       ? word->bytes / (double)word->runs
                                                                : 0.0;
    const double count = fmin(bytes / size, 1e15);

    if (count == floor(count)) {
        snprintf(text, TW_RECORDING_NUMBER, "%.0f%s", count, count > TW_RECORDING_SHORT ? "L" : "");
    } else {
        tw_format_exact(text, TW_RECORDING_NUMBER, count);
    }
}

/* ---- items --------------------------------------------------------------------------------- */

static void tw_recording_line(tw_recording_writer_t *w, int depth)
{
    fprintf(w->to, "%s%*s", w->follows ? ",\n" : "\n", 2 * depth, "");
    w->follows = true;
}

static void tw_recording_seconds(tw_recording_writer_t *w, int depth, double seconds,
                                 const char *more)
{
    char text[TW_RECORDING_NUMBER];

    if (seconds >= TW_RECORDING_LEAST) {
        tw_format_fixed(text, sizeof(text), fmin(seconds, TW_RECORDING_MOST), 9);
        tw_recording_line(w, depth);
        fprintf(w->to, "{compute=%s;%s}", text, more);
    }
}

/* Number and neighbours of messages, with their parts of the bytes; of a rank that sends none, the
 * next. */
static void tw_recording_to(tw_recording_writer_t *w, const tw_recording_word_t *word)
{
    static const tw_recording_neighbours_t next = {.count = 1, .offset = {1}};
    const tw_recording_neighbours_t       *to =
        word->key.stride > 0 ? &w->job->place[word->key.stride - 1] : &next;
    const double number = word->messages / (double)(word->runs > 0 ? word->runs : 1);
    double       sum    = 0.0;

    fprintf(w->to, "messages=%.0f;to=[", number > 1.0 ? number : 1.0);
    for (int i = 0; i < to->count; i++) {
        fprintf(w->to, "%s%d", i > 0 ? "," : "", to->offset[i]);
        sum += to->bytes[i];
    }
    fputs("];", w->to);
    for (int i = 0; i < to->count && to->count > 1 && sum > 0.0; i++) {
        char part[TW_RECORDING_NUMBER];

        tw_format_fixed(part, sizeof(part), to->bytes[i] / sum, 6);
        fprintf(w->to, "%s%s", i > 0 ? "," : "part=[", part);
    }
    fputs(to->count > 1 && sum > 0.0 ? "];" : "", w->to);
}

static void tw_recording_exchange(tw_recording_writer_t *w, int depth, uint32_t id)
{
    const tw_recording_word_t *word = &w->job->words->word[id];
    const tw_recording_key_t  *key  = &word->key;
    char                       name[TW_RECORDING_NAME], count[TW_RECORDING_NUMBER];

    if (key->kind < TW_RECORDING_CALL || w->number[id] == 0) {
        return;
    }
    tw_recording_name(w, id, name);
    tw_recording_line(w, depth);
    if (key->kind == TW_RECORDING_WAIT) {
        fprintf(w->to, "{wait=\"%s\";}", name);
        return;
    }
    tw_recording_count(word, count);
    fprintf(w->to, "{%s=\"%s\";name=\"%s\";count=%s;",
            key->kind == TW_RECORDING_CALL ? "call" : "start",
            tw_recording_operations[key->operation], name, count);
    if (key->type != TW_ELEMENTS_f32) {
        fprintf(w->to, "type=\"%s\";", tw_elements_text((tw_elements_t)key->type));
    }
    if (key->operation == TW_RECORDING_MESSAGES) {
        tw_recording_to(w, word);
    } else if (key->ranks != (uint32_t)w->job->ranks) {
        fprintf(w->to, "ranks=%u;", key->ranks);
        if (key->stride > 1) {
            fprintf(w->to, "stride=%u;", key->stride);
        }
    }
    fputc('}', w->to);
}

static void tw_recording_items(tw_recording_writer_t *w, const tw_fold_node_t *nodes, size_t length,
                               int depth)
{
    for (size_t i = 0; i < length; i++) {
        if (nodes[i].length == 0) {
            const double total = w->job->total[w->leaf], compute = w->job->compute[w->leaf];

            w->leaf++;
            tw_recording_seconds(w, depth, compute, "");
            tw_recording_seconds(w, depth, total - compute, "fixed=true;idle=true;");
            tw_recording_exchange(w, depth, nodes[i].id);
            continue;
        }
        tw_recording_line(w, depth);
        fprintf(w->to, "{repeat=%llu%s;step=(", (unsigned long long)nodes[i].times,
                nodes[i].times > TW_RECORDING_SHORT ? "L" : "");
        w->follows = false;
        tw_recording_items(w, nodes[i].body, nodes[i].length, depth + 1);
        if (!w->follows) { /* nothing that takes time: a loop may not be empty */
            fputs("{compute=0.0;}", w->to);
        }
        fputs(");}", w->to);
        w->follows = true;
    }
}

/* ---- the head ------------------------------------------------------------------------------ */

static void tw_recording_locate(const tw_recording_key_t *key, tw_record_key_t *site)
{
    memset(site, 0, sizeof(*site));
    if (key->python) {
        const tw_python_place_t *place = (const tw_python_place_t *)(uintptr_t)key->site;

        memcpy(site->object, place->text, sizeof(site->object));
        site->offset = place->line;
    } else if (key->site != 0) {
        tw_site_locate(key->site, site->object, sizeof(site->object), &site->offset);
    }
}

/* Is it one that the head explains? */
static bool tw_recording_explained(const tw_recording_writer_t *w, size_t id)
{
    const tw_recording_key_t *key = &w->job->words->word[id].key;

    return w->number[id] > 0 &&
           (key->kind == TW_RECORDING_CALL ||
            (key->kind == TW_RECORDING_START && key->slot == 0)) &&
           w->number[id] <= TW_RECORDING_LEGEND;
}

static void tw_recording_legend(const tw_recording_writer_t *w)
{
    const tw_recording_words_t *words = w->job->words;
    tw_record_t                *sites = calloc(TW_RECORDING_LEGEND + 1, sizeof(*sites));
    size_t                      n     = 0;
    unsigned                    last  = 0;

    for (size_t i = 0; i < words->count && sites != NULL; i++) {
        if (tw_recording_explained(w, i) && n < TW_RECORDING_LEGEND) {
            tw_recording_locate(&words->word[i].key, &sites[n++].key);
        }
    }
    if (sites != NULL) {
        tw_site_prepare(sites, n);
    }
    n = 0;
    for (size_t i = 0; i < words->count; i++) {
        const tw_recording_word_t *word      = &words->word[i];
        char                       text[256] = "several places", name[TW_RECORDING_NAME];

        last = w->number[i] > last ? w->number[i] : last;
        if (!tw_recording_explained(w, i)) {
            continue;
        }
        if (word->key.site != 0 && sites != NULL && n < TW_RECORDING_LEGEND) {
            tw_site_name(sites[n].key.object, sites[n].key.offset, text, sizeof(text));
        }
        n++;
        for (char *at = text; *at != '\0'; at++) {
            *at = (unsigned char)*at < ' ' ? '?' : *at;
        }
        tw_recording_name(w, (uint32_t)i, name);
        if (word->key.operation == TW_RECORDING_MESSAGES) {
            fprintf(w->to, "#   %s: %llu times, %s\n", name,
                    (unsigned long long)w->runs[w->number[i]], text);
            continue;
        }
        fprintf(w->to, "#   %s: %llu times, %u ranks, %s\n", name,
                (unsigned long long)w->runs[w->number[i]], word->key.ranks, text);
    }
    if (last > TW_RECORDING_LEGEND) {
        fprintf(w->to, "#   and %u more\n", last - TW_RECORDING_LEGEND);
    }
    free(sites);
}

static void tw_recording_sum(void *arg, tw_fold_node_t *leaf)
{
    double *sums = arg;

    sums[0] += leaf->compute;
    sums[1] += leaf->fixed;
}

static void tw_recording_head(tw_recording_writer_t *w)
{
    const tw_recording_job_t *job     = w->job;
    double                    sums[2] = {0.0, 0.0};
    char computed[TW_RECORDING_NUMBER], fixed[TW_RECORDING_NUMBER], in[TW_RECORDING_NUMBER],
        share[TW_RECORDING_NUMBER], sent[TW_RECORDING_NUMBER];

    tw_format_fixed(sent, sizeof(sent), job->messages, 6);
    tw_fold_each(job->fold, tw_recording_sum, sums);
    tw_format_fixed(computed, sizeof(computed), sums[0], 6);
    tw_format_fixed(fixed, sizeof(fixed), sums[1], 6);
    tw_format_fixed(in, sizeof(in), job->collectives, 6);
    tw_format_percent(share, sizeof(share), sums[1], sums[0] + sums[1]);
    fprintf(
        w->to,
        "# Recorded by thinwire run --record: %s from MPI_Init to MPI_Finalize, as one step.\n"
        "# Rank 0 made %llu collectives, in which it was for %s s, and was for %s s in messages "
        "that are told.\n"
        "# It computed for %s s, and was for %s s (%s of the rest) in receives without sends "
        "and\n# in collectives that no job has (fixed = true).\n",
        job->program, (unsigned long long)job->calls, in, sent, computed, fixed, share);
    if (job->alike == job->ranks) {
        fprintf(w->to,
                "# Times are the largest of %d rank%s, each its mean over the rounds of a loop.\n",
                job->ranks, job->ranks == 1 ? "" : "s");
    } else {
        fprintf(w->to,
                "# Times are the largest of %d of %d ranks, each its mean over the rounds of a "
                "loop.\n# %d rank%s made other calls than rank 0: left out.\n",
                job->alike, job->ranks, job->ranks - job->alike,
                job->ranks - job->alike == 1 ? "" : "s");
    }
    if (job->averaged) {
        fputs("# APPROXIMATE: too many different sizes. Calls from one place have their mean size; "
              "the sums of "
              "bytes are exact.\n",
              w->to);
    }
    if (job->unordered) {
        fputs("# APPROXIMATE: no loops were found. The order of calls is not the program's; their "
              "numbers and "
              "bytes are.\n",
              w->to);
    }
    if (job->placeless) {
        fputs("# Too many different calls: the places of some are lost. They have one mean size.\n",
              w->to);
    }
    if (job->others > 0) {
        fprintf(
            w->to,
            "# %llu collectives of other threads than that which called MPI_Init are not in it.\n",
            (unsigned long long)job->others);
    }
    tw_recording_legend(w);
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void tw_recording_title(const char *program, char *title)
{
    size_t n = 0;

    for (; program[n] != '\0' && n < TW_RECORDING_NAME - 1; n++) {
        title[n] = program[n] > ' ' && program[n] < 127 && program[n] != '"' && program[n] != '\\'
                       ? program[n]
                       : '_';
    }
    title[n] = '\0';
}

/* No job has more. */
static unsigned long long tw_recording_least(const tw_recording_job_t *job)
{
    return job->threshold < 1000000000000000u ? job->threshold : 1000000000000000u;
}

char *tw_recording_text(const tw_recording_job_t *job, size_t *length_p)
{
    tw_recording_writer_t w    = {.job = job};
    char                 *text = NULL;
    char                  title[TW_RECORDING_NAME];
    tw_recording_job_t    named = *job;
    bool                  well;

    w.to = open_memstream(&text, length_p);
    if (w.to == NULL) {
        return NULL;
    }
    tw_recording_title(job->program, title);
    named.program = title;
    w.job         = &named;
    well          = tw_recording_number(&w);
    if (well) {
        tw_recording_head(&w);
        fprintf(w.to, "name = \"%s\";\nranks = %d;\nfixed_ranks = true;\nthreshold = %lluL;\n",
                title[0] != '\0' ? title : "program", job->ranks, tw_recording_least(job));
        fputs("step = (", w.to);
        tw_recording_items(&w, job->fold->top, job->fold->length, 1);
        fprintf(w.to, "%s\n);\n", w.follows ? "" : "{compute=0.0;}");
    }
    free(w.number);
    free(w.runs);
    well = ferror(w.to) == 0 && well;
    if (fclose(w.to) != 0 || !well) {
        free(text);
        text = NULL;
    }
    return text;
}
