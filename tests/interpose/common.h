/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/common.h - what programs that run under the drop-in add to tests/cases.h. They
 * are ordinary MPI programs and know nothing of thinwire.
 *
 * main's arguments are EXPECTATION RANKS. An expectation says what the drop-in may do:
 *     exact            nothing: every result is what native MPI gives, bit for bit
 *     representable    compress by bitpack:2; the values are ones that it keeps, so all is exact
 *     lossy:F[:D]      compress floats (doubles too, where D is given): results are within F (D) of
 *                      the exact ones, as rms of the error over rms of the summands' magnitudes,
 * and some must differ from them, or nothing was compressed. All else is exact.
 *
 * Environment: TW_PRELOADED (a file that must be mapped into this process), TW_THIN (do one in so
 * many of the calls where there are thousands).
 */
#ifndef TW_TESTS_INTERPOSE_COMMON_H
#define TW_TESTS_INTERPOSE_COMMON_H

#include <stdbool.h>

#include "tests/cases.h"

#define T_RANKS_MAX 8

typedef enum t_expect { T_EXACT, T_REPRESENTABLE, T_LOSSY } t_expect_t;

typedef struct t_expectation {
    t_expect_t kind;
    double     rel_float, rel_double; /* T_LOSSY; rel_double 0: doubles stay as they are */
} t_expectation_t;

extern t_expectation_t t_expectation;

/* An MPI call that must succeed. */
#define T_OK(call)                                                                                 \
    do {                                                                                           \
        const int t_code_ = (call);                                                                \
        T_CHECK(t_code_ == MPI_SUCCESS, "%s is error %d", #call, t_code_);                         \
    } while (0)

/* TW_THIN, 1 if it is not set; is a thing to be done, or thinned out? One in TW_THIN is left, drawn
 * from its seed. */
int  t_thin(void);
bool t_chosen(uint64_t seed);

#endif /* TW_TESTS_INTERPOSE_COMMON_H */
