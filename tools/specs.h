/* SPDX-License-Identifier: BSD-3-Clause
 * tools/specs.h - a list of codecs, as --codec gives it.
 */
#ifndef TOOLS_SPECS_H
#define TOOLS_SPECS_H

#include <thinwire/codec.h>

#include "tools/job.h"

#define SPECS_MAX    64
#define SPECS_LENGTH 128

typedef struct specs {
    size_t            count;
    int               moves; /* set before: "bytes" stands for tw_codec_bytes(), too */
    char              text[SPECS_MAX][SPECS_LENGTH]; /* as the user wrote it */
    tw_codec_t       *codec[SPECS_MAX];
    tw_codec_traits_t traits[SPECS_MAX];
} specs_t;

/* Create the codecs, of elements of dtype, of a list such as "tree8,bitpack:2,onebit:block=512".
 * @return 0, or -1 and rank 0 has said why in one line. */
int specs_create(specs_t *specs, const job_t *job, tw_context_t *ctx, const char *list,
                 tw_dtype_t dtype);

/* One codec of every kind the library knows for elements of dtype, with default options; where a
 * number must be given (bitpack:K), one for each that is accepted. @return 0, or -1 and rank 0 has
 * said why. */
int specs_create_all(specs_t *specs, const job_t *job, tw_context_t *ctx, tw_dtype_t dtype);

void specs_destroy(specs_t *specs);

#endif /* TOOLS_SPECS_H */
