/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cpu.c - detection. gcc's and clang's __builtin_cpu_supports checks the operating system's
 * state (XGETBV) together with the CPUID bits; arm64 always has Advanced SIMD; on POWER the kernel
 * says what it supports.
 */
#include "config.h"

#if defined(__powerpc64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/codec/cpu.h"

#if defined(__x86_64__)
/* clang 14 does not know this one by name; its registers are those of AVX. */
static int tw_cpu_f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
#endif

tw_cpu_level_id_t tw_cpu_detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !tw_cpu_f16c()) {
        return TW_CPU_SCALAR;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2")) {
        return TW_CPU_AVX512;
    }
    return TW_CPU_AVX2;
#elif defined(__aarch64__)
    return TW_CPU_NEON;
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (getauxval(AT_HWCAP2) & 0x80000000u) != 0 ? TW_CPU_VSX : TW_CPU_SCALAR; /* ISA 2.07 */
#else
    return TW_CPU_SCALAR;
#endif
}

tw_cpu_level_id_t tw_cpu_below(tw_cpu_level_id_t level)
{
    return level == TW_CPU_AVX512 ? TW_CPU_AVX2 : TW_CPU_SCALAR;
}

tw_cpu_level_id_t tw_cpu_cap(tw_cpu_level_id_t found, tw_cpu_level_id_t cap)
{
    tw_cpu_level_id_t level = found;

    while (level != cap && level != TW_CPU_SCALAR) {
        level = tw_cpu_below(level);
    }
    if (level == cap) {
        return cap;
    }
    for (level = cap; level != TW_CPU_SCALAR; level = tw_cpu_below(level)) {
        if (level == found) {
            return found;
        }
    }
    return TW_CPU_SCALAR;
}

const char *tw_cpu_name(tw_cpu_level_id_t level)
{
    static const char *const names[TW_CPU_LEVELS] = {"scalar", "avx2", "avx512", "neon", "vsx"};

    return names[level];
}
