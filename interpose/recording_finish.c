/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/recording_finish.c - the recorded sequences of all ranks become one job, which rank 0 writes.
 *
 * The job has the calls of rank 0. Ranks whose sequence is the same, but for the places in the program
 * that calls come from, add their times: of each element the largest total over the ranks, since a
 * collective waits for the slowest, and the largest computation as what is not fixed in it: what one
 * rank computes, others often spend waiting for a message. A rank sends as much as it has elements,
 * and rank 0 takes one such array.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/recording.h"
#include "interpose/recording_state.h"
#include "interpose/recording_text.h"
#include "runtime/base/file.h"

/* Less of a processor no rank had. */
#define TW_RECORDING_SHARE 1e-4

/* What rank 0 says of its sequence. */
typedef struct tw_recording_first {
    uint64_t sequence, structure, leaves;
    uint64_t varies; /* some words have sizes that may differ from rank to rank */
    uint64_t failed;
} tw_recording_first_t;

static bool tw_recording_prints(uint64_t *structure)
{
    uint64_t *prints = malloc((tw_recording.words.count + 1) * sizeof(*prints));

    for (size_t i = 0; i < tw_recording.words.count && prints != NULL; i++) {
        prints[i] = tw_recording_word_print(&tw_recording.words.word[i].key);
    }
    *structure = prints != NULL ? tw_fold_structure(&tw_recording.fold, prints) : 0;
    free(prints);
    return prints != NULL;
}

/* Sums without an order become a sequence of loops. */
static void tw_recording_order(void)
{
    tw_recording_words_t *words = &tw_recording.words;

    if (tw_recording.failed || tw_recording.level != TW_RECORDING_UNORDERED) {
        return;
    }
    tw_recording.failed = !tw_fold_init(&tw_recording.fold, SIZE_MAX);
    for (size_t i = 0; i < words->count && !tw_recording.failed; i++) {
        const tw_recording_word_t *word = &words->word[i];

        if (word->runs > 0) {
            tw_recording.failed = !tw_fold_add_runs(&tw_recording.fold, (uint32_t)i, word->compute,
                                                    word->fixed, word->runs);
        }
    }
}

static bool tw_recording_describe(tw_recording_first_t *mine)
{
    *mine =
        (tw_recording_first_t){.sequence = tw_recording.sequence, .failed = tw_recording.failed};
    if (tw_recording.failed || !tw_recording_prints(&mine->structure)) {
        mine->failed = true;
        return false;
    }
    mine->leaves = tw_fold_leaves(&tw_recording.fold);
    for (size_t i = 0; i < tw_recording.words.count; i++) {
        mine->varies |= tw_recording.words.word[i].key.bytes == TW_RECORDING_VARIES;
    }
    return true;
}

/* Is this rank's sequence rank 0's? Ranks that made the same calls from other places may have found
 * other loops: then all forget the places. False after an error. */
static bool tw_recording_compare(tw_recording_first_t *first, int *alike)
{
    tw_recording_first_t mine;
    int                  again[2] = {0, 0};

    for (int k = 0; k < 2; k++) {
        tw_recording_describe(&mine);
        *first = mine;
        if (tw_next.Bcast(first, (int)sizeof(*first), MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS) {
            return false;
        }
        *alike = !mine.failed && !first->failed && mine.structure == first->structure &&
                 mine.leaves == first->leaves;
        again[0] = !*alike && !mine.failed && !first->failed && mine.sequence == first->sequence;
        if (k == 1 || tw_next.Allreduce(&again[0], &again[1], 1, MPI_INT, MPI_MAX,
                                        MPI_COMM_WORLD) != MPI_SUCCESS) {
            return k == 1;
        }
        if (!again[1]) {
            return true;
        }
        if (tw_recording.level == TW_RECORDING_UNORDERED) {
            tw_fold_fini(&tw_recording.fold);
        }
        tw_recording_coarsen(TW_RECORDING_SITES);
        tw_recording_order();
    }
    return true;
}

/* ---- times --------------------------------------------------------------------------------- */

/* Of each leaf: seconds of a run by the clock, all and in computation; those of a processor that it
 * computed; and the bytes of its word. */
typedef struct tw_recording_means {
    double *total, *lasted, *compute, *bytes;
    size_t  n;
} tw_recording_means_t;

/* What this rank had of a processor while it computed. */
static double tw_recording_share(void)
{
    const double share = tw_recording.processor.lasted > 0.0
                             ? tw_recording.processor.had / tw_recording.processor.lasted
                             : 1.0;

    return share > TW_RECORDING_SHARE ? share : TW_RECORDING_SHARE;
}

static void tw_recording_mean(void *arg, tw_fold_node_t *leaf)
{
    tw_recording_means_t      *means = arg;
    const tw_recording_word_t *word  = &tw_recording.words.word[leaf->id];

    means->compute[means->n] = leaf->compute / (double)leaf->runs;
    means->lasted[means->n]  = means->compute[means->n] / tw_recording_share();
    means->total[means->n]   = means->lasted[means->n] + leaf->fixed / (double)leaf->runs;
    means->bytes[means->n]   = word->runs > 0 ? word->bytes / (double)word->runs : 0.0;
    means->n++;
}

/* Room for two arrays of means: this rank's, and all ranks' on rank 0. */
static double *tw_recording_means_make(size_t leaves, tw_recording_means_t *mine,
                                       tw_recording_means_t *all)
{
    double *values = calloc(8 * leaves + 1, sizeof(*values)), *theirs = values + 4 * leaves;

    if (values == NULL) {
        tw_give_up(MPI_COMM_WORLD, "no memory for the recorded job");
    }
    *mine = (tw_recording_means_t){values, values + leaves, values + 2 * leaves,
                                   values + 3 * leaves, 0};
    *all = (tw_recording_means_t){theirs, theirs + leaves, theirs + 2 * leaves, theirs + 3 * leaves,
                                  0};
    return values;
}

/* What the slowest rank is beyond computing, on top of what that takes with a processor of its own. */
static void tw_recording_total(tw_recording_means_t *all, size_t leaves)
{
    for (size_t i = 0; i < leaves; i++) {
        all->total[i] += all->compute[i] - all->lasted[i];
    }
}

typedef struct tw_recording_bytes {
    const double *means;
    int           alike;
    size_t        n;
} tw_recording_bytes_t;

static void tw_recording_bytes_add(void *arg, tw_fold_node_t *leaf)
{
    tw_recording_bytes_t *bytes = arg;
    tw_recording_word_t  *word  = &tw_recording.words.word[leaf->id];

    word->bytes += bytes->means[bytes->n++] / bytes->alike * (double)leaf->runs;
}

/* Words whose sizes vary have the mean over the ranks. */
static void tw_recording_bytes(const double *means, int alike)
{
    tw_recording_bytes_t bytes = {.means = means, .alike = alike};

    for (size_t i = 0; i < tw_recording.words.count; i++) {
        tw_recording.words.word[i].bytes = 0.0;
    }
    tw_fold_each(&tw_recording.fold, tw_recording_bytes_add, &bytes);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void tw_recording_warn(const tw_recording_job_t *job)
{
    if (job->unordered) {
        tw_complain("the job %s is approximate: no loops were found, the order of calls is lost",
                    tw_state.config.record);
    } else if (job->averaged) {
        tw_complain("the job %s is approximate: too many different sizes, calls have their mean",
                    tw_state.config.record);
    }
    if (job->alike < job->ranks) {
        tw_complain("the job %s: %d of %d ranks made other calls than rank 0 and are left out",
                    tw_state.config.record, job->ranks - job->alike, job->ranks);
    }
}

static void tw_recording_write(const tw_recording_means_t *all, int alike, uint64_t others)
{
    const tw_recording_job_t job = {.program     = program_invocation_short_name,
                                    .ranks       = tw_state.size,
                                    .alike       = alike,
                                    .averaged    = tw_recording.level == TW_RECORDING_AVERAGED,
                                    .unordered   = tw_recording.level == TW_RECORDING_UNORDERED,
                                    .threshold   = tw_state.config.threshold,
                                    .calls       = tw_recording.calls,
                                    .others      = others,
                                    .collectives = 1e-9 * (double)tw_recording.collective_ns,
                                    .words       = &tw_recording.words,
                                    .fold        = &tw_recording.fold,
                                    .total       = all->total,
                                    .compute     = all->compute};
    size_t                   length;
    char                    *text = tw_recording_text(&job, &length);

    if (text == NULL) {
        tw_complain("the job %s is not written: no memory", tw_state.config.record);
    } else if (!tw_file_replace(tw_state.config.record, text, length)) {
        tw_complain("the job %s cannot be written: %s", tw_state.config.record, strerror(errno));
    } else {
        tw_recording_warn(&job);
    }
    free(text);
}

static void tw_recording_gather(const tw_recording_first_t *first, int alike)
{
    const int            leaves     = (int)first->leaves;
    uint64_t             mine_of[2] = {(uint64_t)alike, tw_recording.others}, all_of[2] = {0, 0};
    tw_recording_means_t mine, all;
    double              *values = tw_recording_means_make(first->leaves, &mine, &all);

    if (alike) {
        tw_fold_each(&tw_recording.fold, tw_recording_mean, &mine);
    }
    if (tw_next.Reduce(mine_of, all_of, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD) ==
            MPI_SUCCESS &&
        tw_next.Reduce(mine.total, all.total, 3 * leaves, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD) ==
            MPI_SUCCESS &&
        (!first->varies || tw_next.Reduce(mine.bytes, all.bytes, leaves, MPI_DOUBLE, MPI_SUM, 0,
                                          MPI_COMM_WORLD) == MPI_SUCCESS) &&
        tw_state.rank == 0) {
        if (first->varies) {
            tw_recording_bytes(all.bytes, (int)all_of[0]);
        }
        tw_recording_total(&all, first->leaves);
        tw_recording_write(&all, (int)all_of[0], all_of[1]);
    }
    free(values);
}

void tw_recording_finish(void)
{
    tw_recording_first_t first;
    int                  alike = 0;

    if (tw_state.config.record[0] == '\0') {
        return;
    }
    tw_recording_order();
    if (!tw_recording_compare(&first, &alike)) {
        tw_say("the job %s is not written: MPI failed", tw_state.config.record);
    } else if (first.failed) {
        tw_say("the job %s is not written: no memory", tw_state.config.record);
    } else {
        tw_recording_gather(&first, alike);
    }
    tw_fold_fini(&tw_recording.fold);
    tw_recording_words_fini(&tw_recording.words);
}
