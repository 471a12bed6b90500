/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/codecs.h - how fast codecs are on this machine, for predictions.
 */
#ifndef TOOLS_SCALE_CODECS_H
#define TOOLS_SCALE_CODECS_H

#include <thinwire/facts.h>

#include "command/problem.h"
#include "tools/specs.h"

/** Measure the codecs of a list on one core, and of more, up to a NULL, for floats and where they
 * can for doubles, into the facts; in any case fp32 and, of doubles, bitpack:8, which leave them as
 * they are.
 * @return 0, or -1 with the problem set: no memory, or more codecs than facts hold. */
int codecs_measure(const specs_t *specs, const char *const *more, tw_context_t *ctx,
                   tw_facts_t *facts, tw_problem_t *problem);

/** Codecs, up to a NULL, that the facts have not get the times of the nearest in bytes, which
 * `taken` tells, "" for none: "bitpack:1 as bitpack:2". @return as above. */
int codecs_complete(const char *const *specs, tw_context_t *ctx, tw_facts_t *facts, char *taken,
                    size_t size, tw_problem_t *problem);

/** One codec for float32, in full, which does not choose another.
 * @param what  where it was asked for, for errors. @return as above. */
int codecs_read(tw_context_t *ctx, const char *what, const char *spec, char text[TW_FACTS_SPEC],
                tw_codec_traits_t *traits, tw_problem_t *problem);

/** All codecs but those that change nothing take as long for each byte of float32: so many bytes a
 * second; 0: nothing is changed. */
void codecs_set_rate(tw_facts_t *facts, double rate);

#endif /* TOOLS_SCALE_CODECS_H */
