/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/expect.h - what the stand-in's own tests expect of a call: that it succeeds, or
 * that it is refused and the stand-in says why.
 */
#ifndef TW_TESTS_GPU_STANDIN_EXPECT_H
#define TW_TESTS_GPU_STANDIN_EXPECT_H

#include <check.h>
#include <cuda_runtime_api.h>
#include <string.h>

#include "tests/gpu/standin/standin.h"

#define CUDA(call) ck_assert_int_eq((call), cudaSuccess)

/* The last finding has this text in it; there is none afterwards. */
#define FOUND(text)                                                                                \
    do {                                                                                           \
        ck_assert_int_ge(standin_findings(), 1);                                                   \
        ck_assert_msg(strstr(standin_finding(), (text)) != NULL, "%s", standin_finding());         \
    } while (0)

/* error is cudaSuccess where the libraries would not notice. */
#define REFUSED(call, error, text)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq((call), (error));                                                         \
        FOUND(text);                                                                               \
    } while (0)

/* With whatever error of cuDNN or cuBLAS, and one finding. */
#define REFUSED_SOMEHOW(call, text)                                                                \
    do {                                                                                           \
        ck_assert_int_ne((call), 0);                                                               \
        ck_assert_int_eq(standin_findings(), 1);                                                   \
        ck_assert_msg(strstr(standin_finding(), (text)) != NULL, "%s", standin_finding());         \
    } while (0)

#endif /* TW_TESTS_GPU_STANDIN_EXPECT_H */
