/* SPDX-License-Identifier: BSD-3-Clause
 * tools/info_codecs.h - what thinwire info says of codecs, by type of elements.
 */
#ifndef TOOLS_INFO_CODECS_H
#define TOOLS_INFO_CODECS_H

#include <jansson.h>

#include "runtime/base/dtype.h"
#include "tools/specs.h"

/* A codec: its place among those of the first type that has it. */
typedef struct info_codec {
    size_t type, i;
} info_codec_t;

/* The codecs of each type, in the order of tw_dtypes, whose first is float; and all of them, each
 * once, in the order of base/traits.h. */
typedef struct info_codecs {
    specs_t      of[TW_DTYPE_ROWS];
    info_codec_t all[TW_DTYPE_ROWS * SPECS_MAX];
    size_t       count;
} info_codecs_t;

/* @return 0, or -1 and rank 0 has said why. */
int  info_codecs_create(info_codecs_t *lists, const job_t *job, tw_context_t *ctx);
void info_codecs_destroy(info_codecs_t *lists);

void info_codecs_print(const info_codecs_t *lists, tw_context_t *ctx);

/* The keys "codecs" and "finer". */
void info_codecs_json(const info_codecs_t *lists, tw_context_t *ctx, json_t *root);

#endif /* TOOLS_INFO_CODECS_H */
