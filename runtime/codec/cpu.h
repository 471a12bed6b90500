/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cpu.h - which instruction sets kernels may use: what the processor and the operating system
 * both support, capped by THINWIRE_CPU. A level includes those below it of its architecture, and
 * scalar.
 */
#ifndef TW_CODEC_CPU_H
#define TW_CODEC_CPU_H

typedef enum tw_cpu_level_id {
    TW_CPU_SCALAR = 0,
    TW_CPU_AVX2   = 1, /* AVX2, FMA, F16C                      */
    TW_CPU_AVX512 = 2, /* AVX-512 F, BW, DQ, VL, VBMI, VBMI2   */
    TW_CPU_NEON   = 3, /* Advanced SIMD of arm64               */
    TW_CPU_VSX    = 4, /* VSX of POWER8 and later              */
    TW_CPU_LEVELS
} tw_cpu_level_id_t;

/* What this machine supports, whatever the settings. */
tw_cpu_level_id_t tw_cpu_detect(void);

/* The next level down. */
tw_cpu_level_id_t tw_cpu_below(tw_cpu_level_id_t level);

/* What is left of `found` under a cap: the cap itself where found includes it, else found if it
 * lies below the cap, else scalar (a cap of another architecture). */
tw_cpu_level_id_t tw_cpu_cap(tw_cpu_level_id_t found, tw_cpu_level_id_t cap);

/* "scalar", "avx2", "avx512", "neon", "vsx". */
const char *tw_cpu_name(tw_cpu_level_id_t level);

#endif /* TW_CODEC_CPU_H */
