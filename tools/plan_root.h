/* SPDX-License-Identifier: BSD-3-Clause
 * tools/plan_root.h - what thinwire plan says of weights that travel from a root in fewer bytes:
 * the balance of link and operations (S0, section V-B), and how much shorter a step gets.
 */
#ifndef TOOLS_PLAN_ROOT_H
#define TOOLS_PLAN_ROOT_H

#include "tools/plan_advice.h"

/** Print it for 32, 24, 16 and 8 bits of each weight, and add it to the report; nothing for one
 * rank. rate: bytes a second of a link. @return 0, or -1 with the problem set. */
int plan_root(const plan_t *plan, double rate, tw_context_t *ctx, report_t *report,
              tw_problem_t *problem);

#endif /* TOOLS_PLAN_ROOT_H */
