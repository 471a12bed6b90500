/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/safetensors.c - see safetensors.h: the list of tensors, and writing.
 */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/file.h"
#include "train/checkpoint/safetensors_inside.h"

/* ---- the list ------------------------------------------------------------------------------- */

static void entry_name(tw_exported_t *e, const tw_training_t *t, size_t layer, const char *part)
{
    snprintf(e->name, sizeof(e->name), "%s.%s", t->network.layer[layer].name, part);
}

/* gamma and beta are weight and bias elsewhere. */
static void entry_of_param(tw_exported_t *e, const tw_training_t *t, const tw_param_t *p)
{
    const tw_network_layer_t *layer = &t->network.layer[p->layer];
    const int                 first = p->role == TW_WEIGHT || p->role == TW_GAMMA;

    e->param = p;
    e->count = p->units_all * p->per_unit;
    entry_name(e, t, p->layer, first ? "weight" : "bias");
    e->shape[e->dimensions++] = p->turned ? p->per_unit : p->units_all;
    if (p->role != TW_WEIGHT) {
        return;
    }
    if (layer->kind == TW_DENSE) {
        e->shape[e->dimensions++] = p->turned ? p->units_all : p->per_unit;
        return;
    }
    e->shape[e->dimensions++] = p->per_unit / (layer->kernel[0] * layer->kernel[1]);
    e->shape[e->dimensions++] = layer->kernel[0];
    e->shape[e->dimensions++] = layer->kernel[1];
}

static void entry_of_state(tw_exported_t *e, const tw_training_t *t, const tw_param_norm_t *norm,
                           int variance)
{
    e->count = e->shape[e->dimensions++] = norm->channels;
    e->state = t->params.state + norm->first + (variance ? norm->channels : 0);
    entry_name(e, t, norm->layer, variance ? "running_var" : "running_mean");
}

tw_exported_t *tw_exported_list(const tw_training_t *t, size_t *count_p, tw_problem_t *problem)
{
    tw_exported_t    *list = calloc(t->params.count + 2 * t->params.norms + 1, sizeof(*list));
    const tw_param_t *p;
    size_t            n  = 0;
    uint64_t          at = 0;
    int               which;

    if (list == NULL) {
        tw_problem_set(problem, "out of memory");
        return NULL;
    }
    for (size_t k = 0; (p = tw_checkpoint_tensor(t, k, &which)) != NULL; k += 2) {
        entry_of_param(&list[n++], t, p);
    }
    for (size_t k = 0; k < 2 * t->params.norms; k++) {
        entry_of_state(&list[n++], t, &t->params.norm[k / 2], k % 2 == 1);
    }
    for (size_t i = 0; i < n; i++) {
        list[i].at = at;
        at += list[i].count * sizeof(float);
    }
    *count_p = n;
    return list;
}

void tw_exported_shape(const tw_exported_t *entry, char *text, size_t size)
{
    size_t used = 0;

    for (size_t d = 0; d < entry->dimensions && used < size; d++) {
        used += (size_t)snprintf(text + used, size - used, "%s%zu%s", d == 0 ? "[" : ", ",
                                 entry->shape[d], d + 1 == entry->dimensions ? "]" : "");
    }
}

int tw_exported_order(const char *option, tw_problem_t *problem)
{
    const uint16_t one = 1;

    return *(const uint8_t *)&one == 1
               ? 0
               : tw_problem_set(problem, "%s: only on machines of little byte order", option);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* NULL: no memory, names that are not UTF-8, or the same twice. */
static json_t *describe(const tw_exported_t *list, size_t n)
{
    json_t *root = json_pack("{s:{s:s}}", "__metadata__", "producer", "thinwire-train");

    for (size_t i = 0; i < n && root != NULL; i++) {
        const tw_exported_t *e     = &list[i];
        json_t              *shape = json_array();
        int                  bad   = json_object_get(root, e->name) != NULL;

        for (size_t d = 0; d < e->dimensions; d++) {
            bad |= json_array_append_new(shape, json_integer((json_int_t)e->shape[d])) != 0;
        }
        bad |= json_object_set_new(root, e->name,
                                   json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape,
                                             "data_offsets", (json_int_t)e->at,
                                             (json_int_t)(e->at + e->count * sizeof(float)))) != 0;
        if (bad) {
            json_decref(root);
            root = NULL;
        }
    }
    return root;
}

static int write_header(const char *path, FILE *stream, const tw_exported_t *list, size_t n,
                        tw_problem_t *problem)
{
    json_t  *root = describe(list, n);
    char    *text = root != NULL ? json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    uint64_t length;

    json_decref(root);
    if (text == NULL) {
        return tw_problem_set(problem,
                              "--export %s: names of layers have to differ, and to be UTF-8", path);
    }
    length = (strlen(text) + 7) / 8 * 8;
    fwrite(&length, sizeof(length), 1, stream);
    fprintf(stream, "%-*s", (int)length, text);
    free(text);
    return 0;
}

static int write_data(tw_training_t *t, const tw_exported_t *list, size_t n, FILE *stream,
                      tw_problem_t *problem)
{
    tw_pieces_t pieces = {.piece = NULL};
    int         status = tw_pieces_make(&pieces, t, problem);

    for (size_t i = 0; i < n && status == 0; i++) {
        if (list[i].param != NULL) {
            status = list[i].param->turned
                         ? tw_exported_write_turned(t, &pieces, list[i].param, stream, problem)
                         : tw_pieces_write(&pieces, t, list[i].param, 0, stream, problem);
        } else {
            tw_pieces_write_whole(&pieces, t, list[i].state, list[i].count, stream, problem);
        }
    }
    tw_pieces_free(&pieces);
    return status == 0 ? tw_checkpoint_agreed(t, problem) : status;
}

int tw_safetensors_write(tw_training_t *t, tw_problem_t *problem)
{
    const char    *path = t->options->export_to;
    tw_file_t      file = {.stream = NULL};
    size_t         n    = 0;
    tw_exported_t *list = tw_exported_list(t, &n, problem);
    int            status;

    if (list != NULL && t->rank == 0 && tw_exported_order("--export", problem) == 0 &&
        tw_file_begin(&file, "--export", path, problem) == 0) {
        write_header(path, file.stream, list, n, problem);
    }
    status = tw_checkpoint_agreed(t, problem);
    if (status == 0) {
        status = write_data(t, list, n, file.stream, problem);
    }
    free(list);
    if (file.stream == NULL) {
        return status;
    }
    if (status != 0) {
        tw_file_drop(&file);
        return -1;
    }
    return tw_file_end(&file, "--export", problem);
}
