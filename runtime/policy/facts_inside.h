/* SPDX-License-Identifier: BSD-3-Clause
 * policy/facts_inside.h - how a file of facts begins, for writing (facts_write.c) and reading
 * (facts_text.c).
 */
#ifndef TW_POLICY_FACTS_INSIDE_H
#define TW_POLICY_FACTS_INSIDE_H

#define TW_FACTS_HEADER "thinwire calibration 2"

#endif /* TW_POLICY_FACTS_INSIDE_H */
