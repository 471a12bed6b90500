/* SPDX-License-Identifier: BSD-3-Clause
 * train/loop_evaluate.c - a test of the network, and a check of its weights.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "command/watch.h"
#include "train/base/agree.h"
#include "train/loop_inside.h"
#include "train/step/step.h"

/* Fractions of the test images that the network gets wrong, by its first answer and by its first
 * five, and the mean loss. All ranks take part in all batches: they hold the dense layers
 * together. */
int tw_training_test(tw_training_t *t, tw_evaluation_t *e, tw_problem_t *problem)
{
    const size_t    all     = tw_feed_count(t->feed, TW_SUBSET_TEST);
    tw_head_wrong_t wrong   = {.one = 0};
    double          mine[3] = {0.0}, sum[3];

    tw_profile_evaluation(t->profile, 1);
    for (size_t begin = 0; begin < all; begin += t->batch) {
        if (tw_step_test(t, begin, &mine[2], &wrong, problem) != 0) {
            return -1;
        }
    }
    mine[0] = (double)wrong.one;
    mine[1] = (double)wrong.five;
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(mine, sum, 3, MPI_DOUBLE, MPI_SUM, t->comm);
    watch_end();
    tw_profile_evaluation(t->profile, 0);
    e->test_error      = sum[0] / (double)all;
    e->test_error_top5 = sum[1] / (double)all;
    e->test_loss       = sum[2] / (double)all;
    return 0;
}

/* A hash of each layer's tensors, split ones or those that every rank has, and the first layer that
 * is not finite here. */
static int hash_layers(tw_training_t *t, int split, uint64_t *words, uint64_t *bad_p,
                       tw_problem_t *problem)
{
    int finite;

    for (size_t l = 0; l < t->network.layers; l++) {
        if (tw_params_hash(&t->params, l, split, &words[l], &finite, problem) != 0) {
            problem->fatal = t->size > 1; /* the others wait for this rank's hashes */
            return -1;
        }
        *bad_p = finite || *bad_p < l ? *bad_p : l;
    }
    return 0;
}

/* Groups of ranks that hold the same parts hold the same weights. */
static int check_parts(tw_training_t *t, const char *when, tw_problem_t *problem)
{
    uint64_t words[TW_NETWORK_LAYERS_MAX] = {0}, bad = 0, all = 0;
    size_t   layer = 0;
    int      rank;

    if (t->peers == NULL) {
        return 0;
    }
    if (hash_layers(t, 1, words, &bad, problem) != 0) {
        return -1;
    }
    bad = tw_agree_words(t->parts.peers, words, t->network.layers, &rank, &layer) != 0
              ? (uint64_t)layer + 1
              : 0;
    MPI_Allreduce(&bad, &all, 1, MPI_UINT64_T, MPI_MAX, t->comm);
    return all == 0 ? 0
                    : tw_problem_set(problem,
                                     "%s ranks of several groups have other weights of the same "
                                     "part of layer %s",
                                     when, t->network.layer[all - 1].name);
}

/* Hash all weights that every rank has, and see that they are finite and the same on all ranks.
 * Collective, and so is what it says. */
int tw_training_check_weights(tw_training_t *t, tw_problem_t *problem)
{
    const size_t layers                       = t->network.layers;
    const int    whole                        = t->step % t->steps == 0;
    uint64_t     words[TW_NETWORK_LAYERS_MAX] = {0};
    uint64_t     bad = layers, first = layers; /* the first not finite: here, on any rank */
    int          rank, status        = 0;
    size_t       layer;
    char         when[40];

    if (hash_layers(t, 0, words, &bad, problem) != 0) {
        return -1;
    }
    snprintf(when, sizeof(when), "after %s %" PRIu64, whole ? "epoch" : "step",
             whole ? t->step / t->steps : tw_training_done(t));
    /* Shares of split layers only their rank sees. */
    MPI_Allreduce(&bad, &first, 1, MPI_UINT64_T, MPI_MIN, t->comm);
    if (tw_agree_words(t->comm, words, layers, &rank, &layer) != 0) {
        status = tw_problem_set(problem, "%s rank %d has other weights than rank 0 in layer %s",
                                when, rank, t->network.layer[layer].name);
    } else if (first < layers) {
        status = tw_problem_set(problem,
                                "%s weights of layer %s are not finite; a smaller --lr may help",
                                when, t->network.layer[first].name);
    }
    return status == 0 ? check_parts(t, when, problem) : status;
}

/* Seconds have been agreed on, and errors and loss come from one sum: all ranks note the same. */
int tw_training_evaluate(tw_training_t *t, tw_problem_t *problem)
{
    tw_evaluation_t one = {.step       = tw_training_done(t),
                           .epoch      = t->epochs + 1,
                           .seconds    = t->seconds,
                           .train_loss = t->record.train_loss / t->record.images};

    if (tw_training_test(t, &one, problem) != 0) {
        return -1;
    }
    if (tw_evaluations_add(&t->evaluations, &one, problem) != 0) {
        problem->fatal = t->size > 1; /* the others train on */
        return -1;
    }
    return 0;
}
