/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/hybrid_schedule.c - assignment of examples to passes. Pure functions.
 *
 * All schemes but (a) are one: ranks form groups of g, and each group of s ranks makes s passes. In
 * the q-th pass each member gives the q-th of s slices of its examples; the first slices get the
 * remainder. (b) is g = 1 and (c) is g = K. Groups consist of consecutive ranks in a given order of
 * positions; inside a pass ranks ascend.
 */
#include "config.h"

#include "runtime/scheduler/hybrid.h"

static int tw_hybrid_group(tw_scheme_t scheme, int group, int size)
{
    switch (scheme) {
    case TW_SCHEME_B:
        return 1;
    case TW_SCHEME_GROUP:
        return group;
    case TW_SCHEME_A:
    case TW_SCHEME_C:
        break;
    }
    return size;
}

/* The q-th of s slices of n examples. */
static void tw_hybrid_slice(size_t n, size_t s, size_t q, size_t *first_p, size_t *count_p)
{
    const size_t each = n / s, left = n % s;

    *first_p = q * each + (q < left ? q : left);
    *count_p = each + (q < left ? 1 : 0);
}

/* One pass, of the ranks at positions lo .. lo + s - 1. Returns its rows; first NULL: they alone
 * are wanted. */
static size_t tw_hybrid_fill(const size_t *examples, const int *position, int size, int lo, int s,
                             size_t slices, size_t q, size_t *first, size_t *count)
{
    size_t rows = 0;

    for (int r = 0; r < size; r++) {
        size_t begin = 0, n = 0;

        if (position[r] >= lo && position[r] < lo + s) {
            tw_hybrid_slice(examples[r], slices, q, &begin, &n);
        }
        rows += n;
        if (first != NULL) {
            first[r] = begin;
            count[r] = n;
        }
    }
    return rows;
}

/* Go through all passes; those without examples leave no trace. */
static size_t tw_hybrid_walk(tw_scheme_t scheme, int group, const size_t *examples,
                             const int *position, int size, tw_hybrid_pass_t *pass, size_t *arrays,
                             size_t *longest_p)
{
    const int g      = tw_hybrid_group(scheme, group, size);
    size_t    passes = 0;

    *longest_p = 0;
    for (int lo = 0; lo < size; lo += g) {
        const int    s      = size - lo < g ? size - lo : g;
        const size_t slices = scheme == TW_SCHEME_A ? 1 : (size_t)s;

        for (size_t q = 0; q < slices; q++) {
            size_t *first = arrays != NULL ? arrays + 2 * passes * (size_t)size : NULL;
            size_t *count = arrays != NULL ? first + size : NULL;
            size_t  rows  = tw_hybrid_fill(examples, position, size, lo, s, slices, q, NULL, NULL);

            *longest_p = rows > *longest_p ? rows : *longest_p;
            if (rows == 0) {
                continue;
            }
            if (pass != NULL) {
                tw_hybrid_fill(examples, position, size, lo, s, slices, q, first, count);
                pass[passes] = (tw_hybrid_pass_t){
                    .pass = passes, .examples = rows, .first = first, .count = count};
            }
            passes++;
        }
    }
    return passes;
}

size_t tw_hybrid_count(tw_scheme_t scheme, int group, const size_t *examples, const int *position,
                       int size, size_t *longest_p)
{
    return tw_hybrid_walk(scheme, group, examples, position, size, NULL, NULL, longest_p);
}

void tw_hybrid_schedule(tw_scheme_t scheme, int group, const size_t *examples, const int *position,
                        int size, tw_hybrid_pass_t *pass, size_t *arrays)
{
    size_t longest;

    tw_hybrid_walk(scheme, group, examples, position, size, pass, arrays, &longest);
}

int tw_hybrid_owner(const tw_hybrid_pass_t *pass, int size)
{
    int owner = -1;

    for (int r = 0; r < size; r++) {
        if (pass->count[r] > 0 && owner >= 0) {
            return -1;
        }
        owner = pass->count[r] > 0 ? r : owner;
    }
    return owner;
}
