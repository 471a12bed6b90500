/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack_image.c - conversion of an image of a source for storage. It uses the transforms
 * of training to decode and resize, so that resizing in packing or in training gives the same
 * pixels.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/input/transforms.h"
#include "train/pack/pack_inside.h"

#define TW_PACK_PIXELS (UINT64_C(1) << 26) /* of an image that is accepted */

int tw_pack_transforms(tw_transforms_t *list, const tw_pack_config_t *config, tw_shape_t shape,
                       tw_problem_t *problem)
{
    const tw_image_form_t from   = {.type  = shape.c != 0 ? TW_IMAGE_PIXELS : TW_IMAGE_FILE,
                                    .shape = shape.c != 0 ? shape : (tw_shape_t){.c = 3}};
    const char           *decode = config->stored ? "decode:orientation=stored" : "decode";
    char                  text[64];

    *list = (tw_transforms_t){.n = 0};
    if (config->resize == 0 && config->quality == 0) {
        return 0; /* as they are */
    }
    snprintf(text, sizeof(text), config->resize != 0 ? "%s resize:%zu" : "%s", decode,
             config->resize);
    return tw_transforms_read(list, text, from, "pack", problem);
}

int tw_pack_slot_create(tw_pack_slot_t *slot, const tw_pixels_t *pixels)
{
    *slot = (tw_pack_slot_t){
        .work = {.pixels = pixels, .decoder = tw_decoder_create(pixels), .most = TW_PACK_PIXELS}};
    return slot->work.decoder != NULL ? 0 : -1;
}

void tw_pack_slot_destroy(tw_pack_slot_t *slot)
{
    tw_reader_destroy(&slot->reader);
    tw_work_destroy(&slot->work);
    tw_buffer_destroy(&slot->made);
    free(slot->jpeg);
}

/* Decode what will be stored as it is, as small as can be: damage inside shows. */
static int try(tw_pack_slot_t *slot, const tw_file_facts_t *facts, tw_problem_t *problem)
{
    const int         eighths = facts->jpeg ? 1 : 8;
    const tw_region_t all     = {.h = tw_decode_scaled(facts->h, eighths),
                                 .w = tw_decode_scaled(facts->w, eighths)};

    return tw_decode_region(slot->work.decoder, slot->record.bytes, slot->record.n, facts, 3,
                            eighths, all, &slot->made, problem);
}

/* Whether it is a whole image, and not too large once it is resized: that would be found only after
 * there was memory for it. */
static int pack_image_check(tw_pack_slot_t *slot, size_t resize, int as_it_is,
                            tw_problem_t *problem)
{
    const tw_image_record_t *record = &slot->record;
    tw_file_facts_t          facts;
    uint64_t                 h = record->shape.h, w = record->shape.w;

    if (record->file) {
        if (tw_decode_facts(slot->work.decoder, record->bytes, record->n, slot->work.most, &facts,
                            problem) != 0) {
            return -1;
        }
        if (as_it_is && try(slot, &facts, problem) != 0) {
            return -1;
        }
        h = facts.h;
        w = facts.w;
    }
    if (resize != 0 &&
        (uint64_t)resize * resize * (h > w ? h : w) / (h < w ? h : w) > slot->work.most) {
        return tw_problem_set(
            problem, "%" PRIu64 "x%" PRIu64 " pixels, resized, would be more than %" PRIu64, h, w,
            slot->work.most);
    }
    return 0;
}

static int pack_image_make(tw_pack_slot_t *slot, const tw_transforms_t *list, unsigned quality,
                           tw_problem_t *problem)
{
    tw_planned_t planned = {.image = tw_source_image(&slot->record)};
    tw_shape_t   shape;

    if (tw_transforms_run(list, 0, list->n, &planned, &slot->work, &slot->made, problem) != 0) {
        return -1;
    }
    shape = planned.image.shape;
    if (tw_image_move(&planned.image, slot->work.pixels, &slot->made) == SIZE_MAX) {
        return tw_problem_set(problem, "out of memory");
    }
    if (quality != 0) {
        return tw_pack_jpeg(slot, planned.image.data, shape, quality, problem);
    }
    if (tw_shape_size(shape) > TW_SOURCE_FILE_MAX) {
        return tw_problem_set(problem, "%zux%zux%zu values are too many", shape.c, shape.h,
                              shape.w);
    }
    slot->record =
        (tw_image_record_t){.shape = shape, .bytes = planned.image.data, .n = tw_shape_size(shape)};
    return 0;
}

void tw_pack_slot_fill(tw_pack_slot_t *slot, const tw_source_t *source, const tw_transforms_t *list,
                       const tw_pack_config_t *config, tw_subset_t part, uint32_t index)
{
    tw_problem_t why = {0};
    char         name[TW_PACK_PATH];

    slot->problem = (tw_problem_t){0};
    if (source->ops->read(source, part, index, &slot->reader, &slot->record, &slot->problem) != 0) {
        return; /* it has named the image */
    }
    if (pack_image_check(slot, config->resize, list->n == 0, &why) != 0 ||
        (list->n > 0 && pack_image_make(slot, list, config->quality, &why) != 0)) {
        source->ops->name_of(source, part, index, name, sizeof(name));
        tw_problem_set(&slot->problem, "%s: %s", name, why.text);
    }
}
