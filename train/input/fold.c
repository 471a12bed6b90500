/* SPDX-License-Identifier: BSD-3-Clause
 * input/fold.c - see fold.h.
 */
#include "config.h"

#include "train/input/fold.h"

static size_t value_bytes(const tw_image_t *image)
{
    return image->type == TW_IMAGE_FLOATS ? sizeof(float) : 1;
}

static int folds(const tw_transform_t *op)
{
    return op->ops->view || op->ops->affine != NULL;
}

size_t tw_fold_first(const tw_transforms_t *list)
{
    size_t first = list->n, steps = 0;

    if (list->form.shape.c > TW_FOLD_PLANES) {
        return list->n;
    }
    while (first > 0 && folds(&list->op[first - 1])) {
        steps += !list->op[first - 1].ops->view;
        if (steps > TW_FOLD_STEPS) {
            break;
        }
        first--;
    }
    return first;
}

/* Which number of a mean of pixels belongs to the value at image->data, and to its neighbours. */
static void note_pixels(tw_folded_t *fold, const tw_transform_step_t *step, const float *pixel)
{
    const tw_image_t *image = &fold->image;
    const tw_region_t see   = image->present;

    fold->pixel        = pixel;
    fold->pixels       = tw_shape_size(step->in);
    fold->pixel_plane  = (int64_t)(step->in.h * step->in.w);
    fold->pixel_row    = (int64_t)step->in.w;
    fold->pixel_column = image->mirrored ? -1 : 1;
    fold->pixel_first  = (int64_t)(see.top * step->in.w + see.left) +
                        (image->mirrored && see.w > 0 ? (int64_t)see.w - 1 : 0);
}

/* Later views have moved the first value. */
static void move_pixels(tw_folded_t *fold, const void *before)
{
    const size_t moved =
        (size_t)((const char *)fold->image.data - (const char *)before) / value_bytes(&fold->image);

    if (fold->image.row > 0) {
        fold->pixel_first += (int64_t)(moved / fold->image.row) * fold->pixel_row +
                             (int64_t)(moved % fold->image.row) * fold->pixel_column;
    }
}

static void note_numbers(tw_folded_t *fold, const float *mean, const float *scale, size_t n)
{
    for (size_t c = 0; c < TW_FOLD_PLANES; c++) {
        const size_t k = n > 1 ? c < n ? c : n - 1 : 0;

        fold->step[fold->steps].mean[c]  = mean != NULL ? mean[k] : 0.0f;
        fold->step[fold->steps].scale[c] = scale != NULL ? scale[k] : 1.0f;
    }
    fold->steps++;
}

void tw_fold_make(const tw_transforms_t *list, size_t first, const tw_planned_t *planned,
                  tw_folded_t *fold)
{
    const void *before = NULL;

    *fold = (tw_folded_t){.image = planned->image};
    for (size_t k = first; k < list->n; k++) {
        const tw_transform_t      *op    = &list->op[k];
        const tw_transform_step_t *step  = &planned->step[k];
        const float               *pixel = NULL, *mean = NULL, *scale = NULL;
        size_t                     n = 0;

        tw_image_cut(&fold->image, step->need);
        if (op->ops->view) {
            op->ops->run(op->own, step, &fold->image, NULL, NULL, NULL);
            continue;
        }
        pixel = op->ops->pixels != NULL ? op->ops->pixels(op->own) : NULL;
        if (pixel != NULL) {
            note_pixels(fold, step, pixel);
            before = fold->image.data;
        } else {
            op->ops->affine(op->own, step, &mean, &scale, &n);
            note_numbers(fold, mean, scale, n);
        }
    }
    if (fold->pixel != NULL) {
        move_pixels(fold, before);
    }
}
