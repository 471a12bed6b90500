/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/adaptive.c - the switch from local to global batch statistics.
 *
 * S3 describes its "adaptive" in three different ways (local until the accuracy converges; no
 * reduction if the model does not converge; none if the batch is large enough) and does not define
 * convergence. All three agree on: local first, global after convergence, never global from BZ_max
 * on. Convergence here: `patience` consecutive epochs whose training accuracy is not above (1 +
 * tolerance) x that of the last epoch that improved. Accuracy that falls, or rises by less than the
 * tolerance in total, has converged. A slow but steady rise has not, since it is compared with the
 * last improvement, not with the last epoch.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <thinwire/statistics.h>

enum { TW_BEST, TW_OBSERVED, TW_QUIET, TW_CONVERGED };

#define TW_EPOCHS_MAX 9007199254740992.0 /* 2^53: whole numbers that a double holds */

tw_status_t tw_adaptive_init(tw_adaptive_t *adaptive)
{
    if (adaptive == NULL || adaptive->patience < 1 || !(adaptive->tolerance >= 0.0) ||
        adaptive->tolerance > 1.0 ||
        (adaptive->mode != TW_STATISTICS_LOCAL && adaptive->mode != TW_STATISTICS_GLOBAL &&
         adaptive->mode != TW_STATISTICS_ADAPTIVE)) {
        return TW_ERR_INVALID_ARG;
    }
    adaptive->best      = 0.0;
    adaptive->observed  = 0;
    adaptive->quiet     = 0;
    adaptive->converged = 0;
    return TW_OK;
}

int tw_adaptive_global(const tw_adaptive_t *adaptive)
{
    if (adaptive == NULL || (adaptive->batch_max > 0 && adaptive->batch >= adaptive->batch_max)) {
        return 0;
    }
    return adaptive->mode == TW_STATISTICS_GLOBAL ||
           (adaptive->mode == TW_STATISTICS_ADAPTIVE && adaptive->converged);
}

tw_status_t tw_adaptive_observe(tw_adaptive_t *adaptive, double accuracy, int *switched_p)
{
    const int before = tw_adaptive_global(adaptive);

    if (adaptive == NULL || !(accuracy >= 0.0) || accuracy > 1.0) {
        return TW_ERR_INVALID_ARG;
    }
    if (adaptive->observed == 0 || accuracy > (1.0 + adaptive->tolerance) * adaptive->best) {
        adaptive->best  = accuracy;
        adaptive->quiet = 0;
    } else if (adaptive->quiet < INT_MAX) {
        adaptive->quiet++;
    }
    adaptive->observed++;
    adaptive->converged = adaptive->converged || adaptive->quiet >= adaptive->patience;
    if (switched_p != NULL) {
        *switched_p = tw_adaptive_global(adaptive) != before;
    }
    return TW_OK;
}

void tw_adaptive_save(const tw_adaptive_t *adaptive, double numbers[TW_ADAPTIVE_NUMBERS])
{
    numbers[TW_BEST]      = adaptive->best;
    numbers[TW_OBSERVED]  = (double)adaptive->observed;
    numbers[TW_QUIET]     = (double)adaptive->quiet;
    numbers[TW_CONVERGED] = (double)adaptive->converged;
}

/* Whole, and from 0 to most? */
static int tw_adaptive_whole(double number, double most)
{
    return number >= 0.0 && number <= most && number == floor(number);
}

tw_status_t tw_adaptive_restore(tw_adaptive_t *adaptive, const double numbers[TW_ADAPTIVE_NUMBERS])
{
    if (adaptive == NULL || numbers == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (!(numbers[TW_BEST] >= 0.0) || numbers[TW_BEST] > 1.0 ||
        !tw_adaptive_whole(numbers[TW_OBSERVED], TW_EPOCHS_MAX) ||
        !tw_adaptive_whole(numbers[TW_QUIET], (double)INT_MAX) ||
        !tw_adaptive_whole(numbers[TW_CONVERGED], 1.0) ||
        (numbers[TW_OBSERVED] > 0.0
             ? numbers[TW_QUIET] >= numbers[TW_OBSERVED]
             : numbers[TW_BEST] + numbers[TW_QUIET] + numbers[TW_CONVERGED] > 0.0)) {
        return TW_ERR_FORMAT;
    }
    adaptive->best      = numbers[TW_BEST];
    adaptive->observed  = (uint64_t)numbers[TW_OBSERVED];
    adaptive->quiet     = (int)numbers[TW_QUIET];
    adaptive->converged = (int)numbers[TW_CONVERGED];
    return TW_OK;
}
