/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/rates.h - learning rates: how they follow the batch size, and how they change over the
 * epochs.
 *
 * Pure functions: no memory, no MPI, safe from any thread; equal arguments give equal bits on all
 * ranks of one machine type, which keeps updates of replicated weights equal.
 * Source: Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014,
 * section 5 (S4), and the released configurations for what the papers' text left out. */
#ifndef THINWIRE_RATES_H
#define THINWIRE_RATES_H

#include <stddef.h>

#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

/* What to do with learning rate (eps) and weight decay (omega) when the batch becomes k times as
 * large. */
typedef enum tw_rate_rule {
    TW_RATE_LINEAR =
        0, /* eps' = k eps, omega' = omega: S4's practice                              */
    TW_RATE_SQRT =
        1 /* eps' = sqrt(k) eps: keeps the variance of the update's expectation; the decay
                           of the weights over k small steps is kept too, exactly
                               omega' = (1 - (1 - eps omega)^k) / eps'
                           or approximately, for small eps omega,
                               omega' = sqrt(k) omega */
} tw_rate_rule_t;

/** Scale a learning rate and a weight decay.
 * @param [in]     k        new batch size over the one that the numbers were made for; above 0, not
 *                          only whole numbers.
 * @param [in]     exact    TW_RATE_SQRT: not 0 takes the exact formula. Otherwise ignored.
 * @param [in,out] rate_p   eps, above 0.
 * @param [in,out] decay_p  omega, 0 or more, with eps omega < 1; NULL: only the rate.
 * @return TW_OK, TW_ERR_INVALID_ARG (numbers out of range or not finite; nothing is changed). */
tw_status_t tw_rate_scale(tw_rate_rule_t rule, double k, int exact, double *rate_p,
                          double *decay_p);

#define TW_SCHEDULE_STEPS 32 /* epochs that "steps" can list */

typedef enum tw_schedule_kind {
    TW_SCHEDULE_CONSTANT = 0,
    TW_SCHEDULE_EXP      = 1,
    TW_SCHEDULE_STEPS_AT = 2,
    TW_SCHEDULE_DEXP     = 3,
    TW_SCHEDULE_STAIRS   = 4
} tw_schedule_kind_t;

/* A schedule as tw_schedule_parse() fills it in; a plain value, to be copied at will. Zeros:
 * constant. */
typedef struct tw_schedule {
    tw_schedule_kind_t kind;
    double             factor;       /* exp, steps, stairs: each time; dexp: of the whole */
    size_t             steps;        /* steps: epochs listed; dexp: pieces                */
    double epoch[TW_SCHEDULE_STEPS]; /* steps: at which; stairs: [0], the width of a stair */
} tw_schedule_t;

/** Read a schedule:
 *     "" or "constant"   the base rate throughout
 *     "exp:F"            times F after every whole epoch                            exp:0.99
 *     "steps:E,E,...:F"  times F at each epoch listed, in rising order              steps:25,37:0.1
 *     "dexp:F:N"         N equal pieces, each times F^(-1/(N-1)), so that the last
 *                        has base/F (S4: at 25, 50 and 75 % of the epochs)          dexp:250:4
 *     "stairs:E:F"       times F every E epochs (S0)                                stairs:30:0.16
 * Factors are above 0; epochs are above 0 and count what is completed: "steps:25:0.1" changes the
 * rate for the 26th epoch. N is 2 .. 1000000.
 * @param [out] schedule  set only on TW_OK.
 * @param [out] why       if not NULL and why_size > 0: on failure one line that names the bad part
 *                        and the accepted form; "" on success.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL), TW_ERR_SPEC. */
tw_status_t tw_schedule_parse(const char *text, tw_schedule_t *schedule, char *why,
                              size_t why_size);

/** The learning rate at one moment.
 * @param [in] schedule  of tw_schedule_parse(); NULL: constant.
 * @param [in] base      the rate at the beginning.
 * @param [in] epoch     epochs completed, 0 at the beginning; fractions where the rate may change
 *                       inside an epoch (dexp over 90 epochs changes at 22.5). Below 0 counts as 0.
 * @param [in] epochs    of the whole run, for dexp: what lies beyond stays at base/F; 0 or less:
 *                       base. */
double tw_schedule_rate(const tw_schedule_t *schedule, double base, double epoch, double epochs);

TW_END_DECLS

#endif /* THINWIRE_RATES_H */
