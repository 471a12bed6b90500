/* SPDX-License-Identifier: BSD-3-Clause
 * input/source.c - from the name of a data set to its source; what all kinds share.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/base/hash.h"
#include "train/input/sources.h"

enum { SAMPLES = 16 }; /* images of a part that are hashed */

static const tw_source_ops_t *const kinds[] = {
#define TW_SOURCE_ROW(name) &tw_source_##name,
    TW_SOURCES(TW_SOURCE_ROW)
#undef TW_SOURCE_ROW
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const tw_source_ops_t *tw_source_kind(size_t k)
{
    return k < KINDS ? kinds[k] : NULL;
}

/* What follows the name of a kind in a spec; NULL: it is another kind. */
static const char *arguments_of(const tw_source_ops_t *ops, const char *spec)
{
    const size_t length = strlen(ops->name);

    if (strncmp(spec, ops->name, length) != 0) {
        return NULL;
    }
    if (spec[length] == '\0') {
        return spec + length;
    }
    return spec[length] == ':' ? spec + length + 1 : NULL;
}

static int unknown(const char *spec, tw_problem_t *problem)
{
    char   forms[400] = "";
    size_t used       = 0;

    for (size_t k = 0; k < KINDS; k++) {
        used += (size_t)snprintf(forms + used, sizeof(forms) - used, "%s%s",
                                 k == 0          ? ""
                                 : k + 1 < KINDS ? ", "
                                                 : " and ",
                                 kinds[k]->form);
    }
    return tw_problem_set(problem, "--data '%.100s' is no data set; accepted are %s", spec, forms);
}

int tw_source_open(tw_source_t *source, const char *spec, int skip, const tw_source_ranks_t *ranks,
                   tw_problem_t *problem)
{
    for (size_t k = 0; k < KINDS; k++) {
        const char *arguments = arguments_of(kinds[k], spec);

        if (arguments == NULL) {
            continue;
        }
        *source = (tw_source_t){.ops = kinds[k], .skip = skip, .ranks = ranks};
        if (kinds[k]->open(source, spec, arguments, problem) != 0) {
            tw_source_close(source);
            return -1;
        }
        source->ranks = NULL;
        return 0;
    }
    *source = (tw_source_t){.ops = NULL};
    return unknown(spec, problem);
}

void tw_source_close(tw_source_t *source)
{
    if (source->ops != NULL) {
        source->ops->close(source);
    }
    for (size_t c = 0; source->class_names != NULL && c < source->classes; c++) {
        free(source->class_names[c]);
    }
    free(source->class_names);
    free(source->part[TW_SUBSET_TRAIN].labels);
    free(source->part[TW_SUBSET_TEST].labels);
    *source = (tw_source_t){.ops = NULL};
}

tw_image_t tw_source_image(const tw_image_record_t *record)
{
    const tw_shape_t shape = record->shape;

    if (record->file) {
        return (tw_image_t){.type = TW_IMAGE_FILE, .data = record->bytes, .bytes = record->n};
    }
    return (tw_image_t){.type    = TW_IMAGE_PIXELS,
                        .data    = record->bytes,
                        .shape   = shape,
                        .present = {.h = shape.h, .w = shape.w},
                        .row     = shape.w,
                        .plane   = shape.h * shape.w};
}

void tw_reader_destroy(tw_source_reader_t *reader)
{
    tw_buffer_destroy(&reader->buffer);
}

/* Images that lie evenly in a part, the first and the last among them. */
static uint64_t hash_samples(const tw_source_t *source, tw_subset_t part, uint64_t hash,
                             tw_source_reader_t *reader)
{
    const size_t n = source->part[part].n, samples = n < SAMPLES ? n : SAMPLES;

    for (size_t k = 0; k < samples; k++) {
        const size_t      index  = samples > 1 ? k * (n - 1) / (samples - 1) : 0;
        tw_problem_t      inner  = {0};
        tw_image_record_t record = {.n = 0};

        if (source->ops->read(source, part, (uint32_t)index, reader, &record, &inner) == 0) {
            hash = tw_hash(hash, record.bytes, record.n);
        } else {
            hash = tw_hash(hash, &index, sizeof(index));
        }
    }
    return hash;
}

uint64_t tw_source_hash(const tw_source_t *source)
{
    const uint64_t     facts[] = {source->manifest,
                                  source->shape.c,
                                  source->shape.h,
                                  source->shape.w,
                                  source->classes,
                                  source->part[TW_SUBSET_TRAIN].n,
                                  source->part[TW_SUBSET_TEST].n};
    uint64_t           hash    = tw_hash(0, facts, sizeof(facts));
    tw_source_reader_t reader  = {.buffer = {.bytes = NULL}};

    if (source->hash != 0) {
        return source->hash;
    }
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        hash = tw_hash(hash, source->part[part].labels,
                       source->part[part].n * sizeof(*source->part[part].labels));
        hash = hash_samples(source, part, hash, &reader);
    }
    tw_reader_destroy(&reader);
    return hash;
}
