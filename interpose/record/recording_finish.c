/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording_finish.c - the recorded sequences of all ranks become one job, which
 * rank 0 writes.
 *
 * The job has the calls of rank 0. Ranks whose sequence is the same, but for the places in the
 * program that calls come from, add their times: of each element the largest total over the ranks,
 * since a collective waits for the slowest, and the largest computation as what is not fixed in it:
 * what one rank computes, others often spend waiting for a message. A rank sends as much as it has
 * elements, and rank 0 takes one such array.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "interpose/record/recording_state.h"
#include "interpose/record/recording_text.h"
#include "runtime/base/file.h"

/* Less of a processor no rank had. */
#define TW_RECORDING_SHARE 1e-4

/* What rank 0 says of its sequence. */
typedef struct tw_recording_first {
    uint64_t sequence, structure, leaves, nodes;
    uint64_t varies; /* some words have sizes that may differ from rank to rank */
    uint64_t failed;
} tw_recording_first_t;

/* What words are on any rank, by id; NULL: no memory. */
static uint64_t *tw_recording_prints(void)
{
    uint64_t *prints = malloc((tw_recording.words.count + 1) * sizeof(*prints));

    for (size_t i = 0; i < tw_recording.words.count && prints != NULL; i++) {
        prints[i] = tw_recording_word_print(&tw_recording.words.word[i].key);
    }
    return prints;
}

/* Sums without an order become a sequence of loops, in which words that differ by their sites alone
 * follow each other: unfolded, it is the same on ranks that call from other places. */
static bool tw_recording_order(void)
{
    tw_recording_words_t *words = &tw_recording.words, alike = {.count = 0};
    uint32_t             *map = calloc(4 * (words->count + 1), sizeof(*map));
    uint32_t             *next, *order;
    bool                  well;

    if (map == NULL) {
        return false;
    }
    next  = map + words->count;
    order = next + words->count + 1;
    well  = tw_fold_init(&tw_recording.fold, SIZE_MAX) &&
           tw_recording_words_coarser(words, TW_RECORDING_SITES, &alike, map);
    for (size_t i = 0; i < words->count && well; i++) {
        next[map[i] + 1]++;
    }
    for (size_t i = 0; i < alike.count && well; i++) {
        next[i + 1] += next[i];
    }
    for (size_t i = 0; i < words->count && well; i++) {
        order[next[map[i]]++] = (uint32_t)i;
    }
    for (size_t i = 0; i < words->count && well; i++) {
        const tw_recording_word_t *word = &words->word[order[i]];

        well = word->runs == 0 || tw_fold_add_runs(&tw_recording.fold, order[i], word->compute,
                                                   word->fixed, word->runs);
    }
    tw_recording_words_fini(&alike);
    free(map);
    return well;
}

static void tw_recording_describe(tw_recording_first_t *mine)
{
    uint64_t *prints = tw_recording.failed ? NULL : tw_recording_prints();

    *mine = (tw_recording_first_t){.failed = prints == NULL};
    if (prints != NULL) {
        mine->sequence  = tw_fold_sequence(&tw_recording.fold, prints);
        mine->structure = tw_fold_structure(&tw_recording.fold, prints);
        mine->leaves    = tw_fold_leaves(&tw_recording.fold);
        mine->nodes     = tw_recording.fold.nodes;
    }
    for (size_t i = 0; i < tw_recording.words.count; i++) {
        mine->varies |= tw_recording.words.word[i].key.bytes == TW_RECORDING_VARIES;
    }
    free(prints);
}

/* Is this rank's sequence rank 0's? False after an error. */
static bool tw_recording_compare(tw_recording_first_t *mine, tw_recording_first_t *first,
                                 int *alike)
{
    uint64_t calls = tw_recording.sequence;
    int      own, level;

    if (tw_next.Bcast(&calls, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD) != MPI_SUCCESS) {
        return false;
    }
    /* Of ranks with the same calls some may have had to tell less apart: then all of them do. */
    own = tw_recording.failed || calls != tw_recording.sequence ? TW_RECORDING_ALL
                                                                : (int)tw_recording.level;
    if (tw_next.Allreduce(&own, &level, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS) {
        return false;
    }
    tw_recording_coarsen((tw_recording_level_t)level);
    if (!tw_recording.failed && tw_recording.level == TW_RECORDING_UNORDERED) {
        tw_recording.failed = !tw_recording_order();
    }
    tw_recording_describe(mine);
    *first = *mine;
    if (tw_next.Bcast(first, (int)sizeof(*first), MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS) {
        return false;
    }
    *alike = !mine->failed && !first->failed && mine->sequence == first->sequence;
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

/* Room for the means of so many leaves, to be freed by `total`. */
static tw_recording_means_t tw_recording_means_make(size_t leaves)
{
    double *values = calloc(4 * leaves + 1, sizeof(*values));

    if (values == NULL) {
        tw_give_up(MPI_COMM_WORLD, "no memory for the recorded job");
    }
    return (tw_recording_means_t){values, values + leaves, values + 2 * leaves, values + 3 * leaves,
                                  0};
}

/* What the slowest rank is beyond computing, on top of what that takes with a processor of its
 * own. */
static void tw_recording_total(tw_recording_means_t *all, size_t leaves)
{
    for (size_t i = 0; i < leaves; i++) {
        all->total[i] += all->compute[i] - all->lasted[i];
    }
}

/* ---- other loops --------------------------------------------------------------------------- */

/* This rank's means, of the leaves of its own loops, go to those of rank 0's. */
typedef struct tw_recording_laid {
    const tw_recording_means_t *from;
    tw_recording_means_t        to;   /* sums */
    double                     *runs; /* of each of its leaves so far */
} tw_recording_laid_t;

static void tw_recording_lay(void *arg, uint32_t own, uint32_t leaf, uint64_t runs)
{
    tw_recording_laid_t *laid = arg;
    const double         n    = (double)runs;

    laid->to.total[leaf] += n * laid->from->total[own];
    laid->to.lasted[leaf] += n * laid->from->lasted[own];
    laid->to.compute[leaf] += n * laid->from->compute[own];
    laid->to.bytes[leaf] += n * laid->from->bytes[own];
    laid->runs[leaf] += n;
}

/* The array of all nodes of this rank, with room for so many more of rank 0's. */
static tw_fold_shape_t *tw_recording_shape(size_t more)
{
    const size_t     mine   = tw_recording.fold.nodes;
    tw_fold_shape_t *shape  = calloc(mine + more + 1, sizeof(*shape));
    uint64_t        *prints = tw_recording_prints();

    if (shape == NULL || prints == NULL) {
        tw_give_up(MPI_COMM_WORLD, "no memory for the recorded job");
    }
    tw_fold_shape(&tw_recording.fold, prints, shape);
    free(prints);
    return shape;
}

/* Ranks that made the same calls from other places may have found other loops: rank 0 tells its
 * own, and those ranks go through both. False after an error of MPI. */
static bool tw_recording_reconcile(const tw_recording_first_t *mine,
                                   const tw_recording_first_t *first, int *alike,
                                   tw_recording_means_t *means)
{
    const int        other = *alike && (mine->structure != first->structure ||
                                 mine->leaves != first->leaves || mine->nodes != first->nodes);
    int              any   = 0;
    const size_t     own   = tw_state.rank == 0 || mine->failed ? 0 : mine->nodes;
    tw_fold_shape_t *shape;
    bool             well;

    if (tw_next.Allreduce(&other, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS) {
        return false;
    }
    if (any == 0) {
        return true;
    }
    shape = tw_recording_shape(first->nodes);
    well  = tw_next.Bcast(shape + own, (int)(first->nodes * sizeof(*shape)), MPI_BYTE, 0,
                          MPI_COMM_WORLD) == MPI_SUCCESS;
    if (well && other) {
        const size_t        leaves = first->leaves;
        tw_recording_laid_t laid   = {means, tw_recording_means_make(leaves), NULL};
        double             *runs   = calloc(leaves + 1, sizeof(*runs));

        if (runs == NULL) {
            tw_give_up(MPI_COMM_WORLD, "no memory for the recorded job");
        }
        laid.runs = runs;
        *alike    = tw_fold_beside(shape, own, shape + own, first->nodes, tw_recording_lay, &laid);
        for (size_t i = 0; i < leaves; i++) {
            laid.to.total[i]   = *alike ? laid.to.total[i] / runs[i] : 0.0;
            laid.to.lasted[i]  = *alike ? laid.to.lasted[i] / runs[i] : 0.0;
            laid.to.compute[i] = *alike ? laid.to.compute[i] / runs[i] : 0.0;
            laid.to.bytes[i]   = *alike ? laid.to.bytes[i] / runs[i] : 0.0;
        }
        free(runs);
        free(means->total);
        *means = laid.to;
    }
    free(shape);
    return well;
}

/* ---- sizes --------------------------------------------------------------------------------- */

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
    if (job->unordered || job->averaged) {
        tw_complain("the job %s is approximate: %s%s", tw_state.config.record,
                    job->unordered ? "no loops were found, the order of calls is lost"
                                   : "too many different sizes, calls have their mean",
                    job->placeless ? "; too many different calls, the places of some are lost"
                                   : "");
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
                                    .placeless   = tw_recording.placeless,
                                    .calls       = tw_recording.calls,
                                    .others      = others,
                                    .collectives = 1e-9 * (double)tw_recording.collective_ns,
                                    .messages    = 1e-9 * (double)tw_recording.message_ns,
                                    .place       = tw_recording.place,
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

static void tw_recording_gather(const tw_recording_first_t *mine, const tw_recording_first_t *first,
                                int alike)
{
    const int            leaves = (int)first->leaves;
    tw_recording_means_t own    = tw_recording_means_make(alike ? mine->leaves : first->leaves);
    tw_recording_means_t all    = tw_recording_means_make(first->leaves);
    uint64_t             mine_of[2], all_of[2] = {0, 0};

    if (alike) {
        tw_fold_each(&tw_recording.fold, tw_recording_mean, &own);
    }
    if (tw_recording_reconcile(mine, first, &alike, &own)) {
        mine_of[0] = (uint64_t)alike;
        mine_of[1] = tw_recording.others;
        if (tw_next.Reduce(mine_of, all_of, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD) ==
                MPI_SUCCESS &&
            tw_next.Reduce(own.total, all.total, 3 * leaves, MPI_DOUBLE, MPI_MAX, 0,
                           MPI_COMM_WORLD) == MPI_SUCCESS &&
            (!first->varies || tw_next.Reduce(own.bytes, all.bytes, leaves, MPI_DOUBLE, MPI_SUM, 0,
                                              MPI_COMM_WORLD) == MPI_SUCCESS) &&
            tw_state.rank == 0) {
            if (first->varies) {
                tw_recording_bytes(all.bytes, (int)all_of[0]);
            }
            tw_recording_total(&all, first->leaves);
            tw_recording_write(&all, (int)all_of[0], all_of[1]);
        }
    }
    free(own.total);
    free(all.total);
}

void tw_recording_finish(void)
{
    tw_recording_first_t mine, first;
    int                  alike = 0;

    if (tw_state.config.record[0] == '\0') {
        return;
    }
    if (!tw_recording_compare(&mine, &first, &alike)) {
        tw_say("the job %s is not written: MPI failed", tw_state.config.record);
    } else if (first.failed) {
        tw_say("the job %s is not written: no memory", tw_state.config.record);
    } else {
        tw_recording_gather(&mine, &first, alike);
    }
    tw_fold_fini(&tw_recording.fold);
    tw_recording_words_fini(&tw_recording.words);
    free(tw_recording.place);
    tw_recording.place = NULL;
}
