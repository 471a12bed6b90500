/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cpu.h - which instruction sets kernels may use: what the processor and the operating system
 * both support, capped by THINWIRE_CPU. Levels are ordered; a level includes those below it.
 */
#ifndef TW_CODEC_CPU_H
#define TW_CODEC_CPU_H

typedef enum tw_cpu_level_id {
    TW_CPU_SCALAR = 0,
    TW_CPU_AVX2   = 1, /* AVX2, FMA                        */
    TW_CPU_AVX512 = 2  /* AVX-512 F, BW, DQ, VL, VBMI      */
} tw_cpu_level_id_t;

/* What this machine supports, whatever the settings. */
tw_cpu_level_id_t tw_cpu_detect(void);

/* "scalar", "avx2", "avx512". */
const char *tw_cpu_name(tw_cpu_level_id_t level);

#endif /* TW_CODEC_CPU_H */
