/* SPDX-License-Identifier: BSD-3-Clause
 * policy/power.h - logarithm and power by additions, products and quotients alone, which every
 * processor rounds alike: libm's differ from one version, and one processor, to the next. The
 * floating-point mode must be that of base/fpmode.h.
 */
#ifndef TW_POLICY_POWER_H
#define TW_POLICY_POWER_H

/* log2(x) of a positive, finite x, to about 1e-15 of the larger of it and 1; of what is below
 * 2^-1022 as of that. */
double tw_power_log2(double x);

/* 2^y, to about 1e-15 of it; y from -1000 to 1000, and as those beyond. */
double tw_power_exp2(double y);

#endif /* TW_POLICY_POWER_H */
