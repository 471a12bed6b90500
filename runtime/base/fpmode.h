/* SPDX-License-Identifier: BSD-3-Clause
 * base/fpmode.h - the floating-point mode codecs are defined in: round to nearest, denormals kept.
 *
 * tw_fpmode_t saved = tw_fpmode_enter(); ... tw_fpmode_leave(saved);
 * Exception flags that the work raises are dropped with the saved mode. On architectures other than
 * x86-64, arm64 and ppc64 the rounding mode alone is set, by <fenv.h>.
 */
#ifndef TW_BASE_FPMODE_H
#define TW_BASE_FPMODE_H

#include <stdint.h>

/* A function of whose arithmetic none may move out of the mode that its caller has entered. */
#define TW_IN_FPMODE __attribute__((noinline))

#if defined(__x86_64__)

#include <xmmintrin.h>

typedef uint32_t tw_fpmode_t;

static inline tw_fpmode_t tw_fpmode_enter(void)
{
    const tw_fpmode_t saved = _mm_getcsr();

    _mm_setcsr(0x1f80u); /* all exceptions masked, nearest, no FTZ, no DAZ */
    return saved;
}

static inline void tw_fpmode_leave(tw_fpmode_t saved)
{
    _mm_setcsr(saved);
}

#elif defined(__aarch64__)

typedef uint64_t tw_fpmode_t;

static inline tw_fpmode_t tw_fpmode_enter(void)
{
    tw_fpmode_t saved;

    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return saved;
}

static inline void tw_fpmode_leave(tw_fpmode_t saved)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(saved) : "memory");
}

#elif defined(__powerpc64__)

typedef double tw_fpmode_t; /* the FPSCR, as its instructions put it into a register */

static inline tw_fpmode_t tw_fpmode_enter(void)
{
    tw_fpmode_t saved;

    __asm__ volatile("mffs %0" : "=d"(saved));
    __asm__ volatile("mtfsf 255, %0" : : "d"(0.0) : "memory");
    return saved;
}

static inline void tw_fpmode_leave(tw_fpmode_t saved)
{
    __asm__ volatile("mtfsf 255, %0" : : "d"(saved) : "memory");
}

#else

#include <fenv.h>

typedef fenv_t tw_fpmode_t;

static inline tw_fpmode_t tw_fpmode_enter(void)
{
    fenv_t saved;

    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}

static inline void tw_fpmode_leave(tw_fpmode_t saved)
{
    fesetenv(&saved);
}

#endif

#endif /* TW_BASE_FPMODE_H */
