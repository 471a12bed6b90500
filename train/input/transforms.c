/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms.c - lists of operations: taken apart, planned for an image, and run.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"

static const tw_transform_ops_t *const kinds[] = {
#define TW_TRANSFORM_ROW(name) &tw_transform_##name,
    TW_TRANSFORMS(TW_TRANSFORM_ROW)
#undef TW_TRANSFORM_ROW
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const tw_transform_ops_t *tw_transform_kind(size_t k)
{
    return k < KINDS ? kinds[k] : NULL;
}

/* ---- the text ------------------------------------------------------------------------------ */

static const tw_transform_ops_t *transforms_find(const char *word, size_t length)
{
    for (size_t k = 0; k < KINDS; k++) {
        if (strlen(kinds[k]->name) == length && strncmp(kinds[k]->name, word, length) == 0) {
            return kinds[k];
        }
    }
    return NULL;
}

static int unknown(const char *what, const char *word, tw_problem_t *problem)
{
    char   names[200] = "";
    size_t used       = 0;

    for (size_t k = 0; k < KINDS; k++) {
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", k > 0 ? ", " : "",
                                 kinds[k]->name);
    }
    return tw_problem_set(problem, "%s: '%.40s' is no operation; accepted are %s", what, word,
                          names);
}

static size_t views_of(const tw_transform_t *op)
{
    return op->ops->views != NULL ? op->ops->views(op->own) : 1;
}

/* One word of a list becomes its last operation. */
static int append(tw_transforms_t *list, const char *word, size_t at, tw_image_form_t *form,
                  const char *what, tw_problem_t *problem)
{
    const size_t              length = strcspn(word, ":");
    const tw_transform_ops_t *ops    = transforms_find(word, length);
    tw_transform_t           *op     = &list->op[list->n];
    tw_problem_t              inner  = {0};

    if (ops == NULL) {
        return unknown(what, word, problem);
    }
    if (list->n == TW_TRANSFORMS_MAX) {
        return tw_problem_set(problem, "%s: more than %d operations", what, TW_TRANSFORMS_MAX);
    }
    op->own = calloc(1, ops->own > 0 ? ops->own : 1);
    if (op->own == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    op->ops           = ops;
    list->at[list->n] = at;
    list->draw[list->n] =
        list->n > 0 ? list->draw[list->n - 1] + list->op[list->n - 1].ops->draws : 0;
    list->n++;
    if (ops->parse(op->own, word[length] == ':' ? word + length + 1 : word + length, &inner) != 0) {
        return inner.set
                   ? tw_problem_set(problem, "%s: %s: %.400s", what, word, inner.text)
                   : tw_problem_set(problem, "%s: '%.80s': accepted is %s", what, word, ops->form);
    }
    if (ops->follow != NULL && ops->follow(op->own, form, &inner) != 0) {
        return tw_problem_set(problem, "%s: %.80s: %.400s", what, word, inner.text);
    }
    list->views *= views_of(op);
    return 0;
}

static int is_decode(const char *word)
{
    return word != NULL && transforms_find(word, strcspn(word, ":")) == &tw_transform_decode;
}

static int append_all(tw_transforms_t *list, char *words, tw_image_form_t *form, const char *what,
                      tw_problem_t *problem)
{
    char       *rest;
    const char *word = strtok_r(words, " \t\n", &rest);

    if (!is_decode(word) && form->type == TW_IMAGE_FILE &&
        append(list, "decode", 0, form, what, problem) != 0) {
        return -1;
    }
    for (; word != NULL; word = strtok_r(NULL, " \t\n", &rest)) {
        if (is_decode(word) && list->n > 0) {
            return tw_problem_set(problem, "%s: decode comes first", what);
        }
        if (append(list, word, (size_t)(word - words), form, what, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

int tw_transforms_read(tw_transforms_t *list, const char *text, tw_image_form_t from,
                       const char *what, tw_problem_t *problem)
{
    char words[TW_TRANSFORMS_TEXT];

    *list = (tw_transforms_t){.views = 1};
    if (strlen(text) >= sizeof(words)) {
        return tw_problem_set(problem, "%s: %zu characters; accepted are up to %zu", what,
                              strlen(text), sizeof(words) - 1);
    }
    strcpy(words, text);
    strcpy(list->text, text);
    if (append_all(list, words, &from, what, problem) != 0) {
        tw_transforms_destroy(list);
        return -1;
    }
    list->form = from;
    return 0;
}

int tw_transforms_parse(tw_transforms_t *list, const char *text, tw_image_form_t from,
                        const char *what, tw_problem_t *problem)
{
    if (tw_transforms_read(list, text, from, what, problem) != 0) {
        return -1;
    }
    if (list->form.shape.h == 0) {
        tw_transforms_destroy(list);
        return tw_problem_set(
            problem,
            "%s: images differ in size, and nothing in '%s' makes them equal: add "
            "resize:HxW or crop:HxW",
            what, text);
    }
    return 0;
}

void tw_transforms_destroy(tw_transforms_t *list)
{
    for (size_t k = 0; k < list->n; k++) {
        if (list->op[k].ops->release != NULL) {
            list->op[k].ops->release(list->op[k].own);
        }
        free(list->op[k].own);
    }
    *list = (tw_transforms_t){.n = 0};
}

void tw_transforms_for_tests(const tw_transforms_t *list, char *text, size_t size)
{
    char   words[TW_TRANSFORMS_TEXT], other[80], *rest;
    size_t used = 0;

    strcpy(words, list->text);
    text[0] = '\0';
    for (char *word = strtok_r(words, " \t\n", &rest); word != NULL && used < size;
         word       = strtok_r(NULL, " \t\n", &rest)) {
        const tw_transform_ops_t *ops = transforms_find(word, strcspn(word, ":"));

        if (ops->in_tests != NULL) {
            ops->in_tests(word, other, sizeof(other));
            word = other;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 used > 0 && word[0] != '\0' ? " " : "", word);
    }
}

/* ---- an image ------------------------------------------------------------------------------ */

static tw_region_t whole(tw_shape_t shape)
{
    return (tw_region_t){.top = 0, .left = 0, .h = shape.h, .w = shape.w};
}

/* Sizes and drawn numbers forward, then what is needed backward. */
static int transforms_plan(const tw_transforms_t *list, tw_planned_t *planned, tw_work_t *work,
                           tw_problem_t *problem)
{
    tw_transform_step_t *step  = planned->step;
    tw_shape_t           shape = planned->image.shape;
    size_t               view  = planned->view;
    tw_region_t          make;

    for (size_t k = 0; k < list->n; k++) {
        const tw_transform_t *op = &list->op[k];

        step[k] = (tw_transform_step_t){.in = shape, .out = shape, .view = view % views_of(op)};
        view /= views_of(op);
        if (op->ops->plan != NULL &&
            op->ops->plan(op->own, k + 1 < list->n ? op + 1 : NULL, &planned->image, planned->key,
                          list->draw[k], &step[k], work, problem) != 0) {
            return -1;
        }
        shape = step[k].out;
    }
    make = whole(shape);
    for (size_t k = list->n; k-- > 0;) {
        const tw_transform_t *op = &list->op[k];

        step[k].make = make;
        step[k].need = op->ops->needs != NULL ? op->ops->needs(op->own, &step[k], make) : make;
        make         = step[k].need;
    }
    if (list->views > 1 && planned->image.type == TW_IMAGE_FILE) {
        step[0].make = whole(step[0].out); /* a file is broken for all its views or for none */
    }
    planned->ready = 1;
    return 0;
}

/* A mean and then a scale in one pass over the image; 0: they are not that. */
static int run_together(const tw_transform_t *op, const tw_transform_step_t *step,
                        tw_planned_t *planned, tw_work_t *work, tw_buffer_t *out,
                        tw_problem_t *problem)
{
    const float *mean[2] = {NULL}, *scale[2] = {NULL};
    size_t       n[2] = {0};

    for (int k = 0; k < 2; k++) {
        if (op[k].ops->affine == NULL) {
            return 0;
        }
        op[k].ops->affine(op[k].own, &step[k], &mean[k], &scale[k], &n[k]);
    }
    if (mean[0] == NULL || scale[1] == NULL) {
        return 0;
    }
    return tw_setting_affine(&planned->image, mean[0], n[0], scale[1], n[1], work, out, problem) ==
                   0
               ? 1
               : -1;
}

int tw_transforms_run(const tw_transforms_t *list, size_t first, size_t end, tw_planned_t *planned,
                      tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    if (!planned->ready && transforms_plan(list, planned, work, problem) != 0) {
        return -1;
    }
    for (size_t k = first; k < end; k++) {
        const tw_transform_t *op = &list->op[k];

        if (planned->image.type != TW_IMAGE_FILE) {
            tw_image_cut(&planned->image, planned->step[k].need);
        }
        if (k + 1 < end) {
            const int together = run_together(op, &planned->step[k], planned, work,
                                              k + 2 == end ? out : NULL, problem);

            if (together < 0) {
                return -1;
            }
            if (together > 0) {
                k++;
                continue;
            }
        }
        if (op->ops->run(op->own, &planned->step[k], &planned->image, work,
                         k + 1 == end ? out : NULL, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

uint64_t tw_work_grown(const tw_work_t *work)
{
    return work->scratch[0].grown + work->scratch[1].grown + work->rows.grown +
           work->weights.grown + (work->decoder != NULL ? tw_decoder_grown(work->decoder) : 0);
}

void tw_work_destroy(tw_work_t *work)
{
    tw_buffer_destroy(&work->scratch[0]);
    tw_buffer_destroy(&work->scratch[1]);
    tw_buffer_destroy(&work->rows);
    tw_buffer_destroy(&work->weights);
    tw_decoder_destroy(work->decoder);
    work->decoder = NULL;
}
