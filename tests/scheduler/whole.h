/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/whole.h - a batch that lies over the ranks, what each rank computes of its part,
 * and one rank that has the whole batch and computes in long double. Every rank can compute every
 * other's values.
 */
#ifndef TW_TESTS_SCHEDULER_WHOLE_H
#define TW_TESTS_SCHEDULER_WHOLE_H

#include "tests/mpi/harness.h"

#define LAYERS       5
#define CHANNELS     66 /* of a layer at most */
#define CHANNELS_ALL 86
#define VALUES       40 /* of a rank and channel at most */
#define BOUND        1e-12
#define EPSILON      1e-5

extern const size_t channels_of[LAYERS];

typedef struct batch {
    uint64_t seed;
    double   mean, deviation; /* of the values, about */
    size_t   count[T_RANKS_MAX];
} batch_t;

/* Uneven counts; every third rank, by the seed, has none. The same memory each time. */
batch_t *batch_make(uint64_t seed, double mean, double deviation);

double uniform(uint64_t x); /* 0 .. 1 */

/* The i-th value that rank r has in a channel: of the layer's input, or of the gradient of its
 * output. */
double value(const batch_t *batch, int r, size_t layer, size_t c, size_t i, int dy);

/* Per layer what tw_statistics_moments() or tw_statistics_sums() takes. */
typedef struct moments {
    double  numbers[LAYERS][1 + 2 * CHANNELS];
    double *list[LAYERS];
} moments_t;

void local_moments(const batch_t *batch, int r, moments_t *m);

/* Of this rank, sum of dy and of dy xhat, by the merged moments. */
void local_sums(const batch_t *batch, const moments_t *m, moments_t *sums);

typedef struct whole {
    long double count, mean, m2;
    long double mean_error, m2_error; /* how far merged moments may be from these: see whole.c */
} whole_t;

/* One rank that has what ranks first .. last - 1 have. */
whole_t whole_moments(const batch_t *batch, int first, int last, size_t layer, size_t c);
void whole_sums(const batch_t *batch, size_t layer, size_t c, const whole_t *w, long double *sums);

/* Within BOUND x scale. */
int near(double got, long double want, long double scale);

/* Are all moments those of ranks first .. last - 1 together? */
void expect_whole(const batch_t *batch, int first, int last, const moments_t *m);

#endif /* TW_TESTS_SCHEDULER_WHOLE_H */
