/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cpu.c - detection. gcc's and clang's __builtin_cpu_supports checks the operating system's
 * state (XGETBV) together with the CPUID bits.
 */
#include "config.h"

#include "runtime/codec/cpu.h"

tw_cpu_level_id_t tw_cpu_detect(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return TW_CPU_SCALAR;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi")) {
        return TW_CPU_AVX512;
    }
    return TW_CPU_AVX2;
#else
    return TW_CPU_SCALAR;
#endif
}

const char *tw_cpu_name(tw_cpu_level_id_t level)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};

    return names[level];
}
