/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/safetensors_read.c - see safetensors.h: reading. Rank 0 believes nothing that
 * the header says before it has compared it with the network and with the length of the file.
 */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint/safetensors_inside.h"

/* Bytes of the longest header that is read, as in the format's own reader. */
#define TW_HEADER_MOST 100000000u

/* A file on rank 0. */
typedef struct tw_source_file {
    const char *path;
    FILE       *stream;
    uint64_t    begin, length; /* of the data */
} tw_source_file_t;

static int refuse(const tw_source_file_t *file, const char *how, tw_problem_t *problem)
{
    return tw_problem_set(problem, "--import %s: %s", file->path, how);
}

/* ---- the header ----------------------------------------------------------------------------- */

static json_t *parse(tw_source_file_t *file, uint64_t length, tw_problem_t *problem)
{
    char        *text = malloc(length + 1);
    json_error_t error;
    json_t      *root = NULL;

    if (text == NULL) {
        tw_problem_set(problem, "out of memory");
    } else if (fread(text, 1, length, file->stream) != length) {
        refuse(file, "is too short", problem);
    } else {
        root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
        if (!json_is_object(root)) {
            refuse(file, "its header is no JSON object, or has a name twice", problem);
            json_decref(root);
            root = NULL;
        }
    }
    free(text);
    return root;
}

/* The header; and where the data are. NULL with the problem set. */
static json_t *read_header(tw_source_file_t *file, tw_problem_t *problem)
{
    uint64_t length = 0, most;
    long     all;

    if (fseek(file->stream, 0, SEEK_END) != 0 || (all = ftell(file->stream)) < 0 ||
        fseek(file->stream, 0, SEEK_SET) != 0) {
        refuse(file, "is not a regular file", problem);
        return NULL;
    }
    most = (uint64_t)all > sizeof(length) ? (uint64_t)all - sizeof(length) : 0;
    if (fread(&length, sizeof(length), 1, file->stream) != 1 || length > most ||
        length > TW_HEADER_MOST || length < 2) {
        refuse(file, "is no safetensors file, or is cut off in its header", problem);
        return NULL;
    }
    file->begin  = sizeof(length) + length;
    file->length = most - length;
    return parse(file, length, problem);
}

/* ---- what it says --------------------------------------------------------------------------- */

/* The bytes of a tensor: begin and end, inside the data. */
static int read_offsets(const tw_source_file_t *file, const char *name, const json_t *tensor,
                        uint64_t range[2], tw_problem_t *problem)
{
    const json_t *offsets = json_object_get(tensor, "data_offsets");

    for (size_t k = 0; k < 2; k++) {
        const json_t    *one   = json_array_get(offsets, k);
        const json_int_t value = json_is_integer(one) ? json_integer_value(one) : -1;

        if (json_array_size(offsets) != 2 || value < 0) {
            return tw_problem_set(problem, "--import %s: %.80s has no data_offsets", file->path,
                                  name);
        }
        range[k] = (uint64_t)value;
    }
    return range[0] <= range[1] && range[1] <= file->length
               ? 0
               : tw_problem_set(problem, "--import %s: %.80s does not lie inside the file",
                                file->path, name);
}

static int same_shape(const tw_exported_t *e, const json_t *shape)
{
    int same = json_array_size(shape) == e->dimensions;

    for (size_t d = 0; d < e->dimensions && same; d++) {
        const json_t *one = json_array_get(shape, d);

        same = json_is_integer(one) && json_integer_value(one) == (json_int_t)e->shape[d];
    }
    return same;
}

/* A tensor of the network, as the network has it. */
static int find(const tw_source_file_t *file, const json_t *root, tw_exported_t *e,
                tw_problem_t *problem)
{
    const json_t *tensor   = json_object_get(root, e->name);
    const char   *type     = json_string_value(json_object_get(tensor, "dtype"));
    const json_t *shape    = json_object_get(tensor, "shape");
    uint64_t      range[2] = {0, 0};
    char          want[100], *got;

    if (tensor == NULL) {
        return tw_problem_set(problem, "--import %s: has no %s, which this model has", file->path,
                              e->name);
    }
    if (type == NULL || strcmp(type, "F32") != 0) {
        return tw_problem_set(problem, "--import %s: %s is of type %.20s; accepted: F32",
                              file->path, e->name, type != NULL ? type : "unknown");
    }
    if (!same_shape(e, shape)) {
        tw_exported_shape(e, want, sizeof(want));
        got = shape != NULL ? json_dumps(shape, JSON_ENCODE_ANY) : NULL;
        tw_problem_set(problem, "--import %s: %s has the shape %.100s, in this model %s",
                       file->path, e->name, got != NULL ? got : "[]", want);
        free(got);
        return -1;
    }
    if (read_offsets(file, e->name, tensor, range, problem) != 0) {
        return -1;
    }
    e->at = range[0];
    return range[1] - range[0] == e->count * sizeof(float)
               ? 0
               : tw_problem_set(problem, "--import %s: %s has other bytes than its shape",
                                file->path, e->name);
}

static int is_counter(const char *name)
{
    static const char end[]  = ".num_batches_tracked";
    const size_t      length = strlen(name), of_end = sizeof(end) - 1;

    return length > of_end && strcmp(name + length - of_end, end) == 0;
}

static int is_known(const tw_exported_t *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return 1;
        }
    }
    return is_counter(name);
}

static int by_begin(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Tensors fill the data, one behind the other. */
static int check_gaps(const tw_source_file_t *file, uint64_t (*range)[2], size_t n,
                      tw_problem_t *problem)
{
    uint64_t end = 0;

    qsort(range, n, sizeof(*range), by_begin);
    for (size_t i = 0; i < n; i++) {
        if (range[i][0] != end) {
            return refuse(file, "its tensors overlap, or have gaps between them", problem);
        }
        end = range[i][1];
    }
    return end == file->length ? 0 : refuse(file, "is longer than its tensors", problem);
}

/* All that the file has: known names, and places that do not overlap. */
static int check_all(const tw_source_file_t *file, json_t *root, const tw_exported_t *list,
                     size_t n, tw_problem_t *problem)
{
    uint64_t(*range)[2] = calloc(json_object_size(root) + 1, sizeof(*range));
    const char *name;
    json_t     *tensor;
    size_t      ranges = 0;
    int         status = range != NULL ? 0 : tw_problem_set(problem, "out of memory");

    json_object_foreach(root, name, tensor)
    {
        if (status != 0 || strcmp(name, "__metadata__") == 0) {
            continue;
        }
        status = is_known(list, n, name)
                     ? read_offsets(file, name, tensor, range[ranges++], problem)
                     : tw_problem_set(problem, "--import %s: has %.80s, which this model has not",
                                      file->path, name);
    }
    status = status == 0 ? check_gaps(file, range, ranges, problem) : status;
    free(range);
    return status;
}

/* On rank 0: open it, and find every tensor's place. */
static int open_file(tw_source_file_t *file, tw_exported_t *list, size_t n, tw_problem_t *problem)
{
    json_t *root;
    int     status = 0;

    file->stream = fopen(file->path, "rb");
    if (file->stream == NULL) {
        return tw_problem_set(problem, "--import %s: cannot be read: %s", file->path,
                              strerror(errno));
    }
    root = read_header(file, problem);
    if (root == NULL) {
        return -1;
    }
    for (size_t i = 0; i < n && status == 0; i++) {
        status = find(file, root, &list[i], problem);
    }
    status = status == 0 ? check_all(file, root, list, n, problem) : status;
    json_decref(root);
    return status;
}

/* ---- the data ------------------------------------------------------------------------------- */

/* Collective. */
static int read_data(tw_training_t *t, tw_source_file_t *file, const tw_exported_t *list, size_t n,
                     tw_problem_t *problem)
{
    tw_pieces_t pieces = {.piece = NULL};
    int         bad = 0, status = tw_pieces_make(&pieces, t, problem);

    for (size_t i = 0; i < n && status == 0; i++) {
        if (t->rank == 0) {
            bad |= fseek(file->stream, (long)(file->begin + list[i].at), SEEK_SET) != 0;
        }
        if (list[i].param != NULL && list[i].param->turned) {
            status =
                tw_exported_read_turned(t, &pieces, list[i].param, file->stream, &bad, problem);
        } else if (list[i].param != NULL) {
            tw_pieces_read(&pieces, t, list[i].param, 0, file->stream, &bad, problem);
        } else {
            tw_pieces_read_whole(&pieces, t, list[i].state, list[i].count, file->stream, &bad,
                                 problem);
        }
    }
    tw_pieces_free(&pieces);
    if (bad) {
        refuse(file, "is too short", problem);
    }
    return status == 0 ? tw_checkpoint_agreed(t, problem) : status;
}

/* Running statistics that can be: no variance is negative. Every rank has all of them. */
static int check_state(const tw_training_t *t, const char *path, const tw_exported_t *e,
                       tw_problem_t *problem)
{
    const int variance = e->name[strlen(e->name) - 1] == 'r'; /* running_var */
    float    *host     = malloc(e->count * sizeof(*host));
    int       bad      = 0;

    if (host == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    if (tw_params_get(&t->params, host, e->state, e->count, problem) == 0) {
        for (size_t i = 0; i < e->count; i++) {
            bad |= !isfinite(host[i]) || (variance && host[i] < 0.0f);
        }
    }
    free(host);
    return bad ? tw_problem_set(problem, "--import %s: %s holds values that cannot be", path,
                                e->name)
               : 0;
}

/* Each rank sees what it holds. */
static int check_values(const tw_training_t *t, const char *path, const tw_exported_t *list,
                        size_t n, tw_problem_t *problem)
{
    for (size_t l = 0; l < t->network.layers && !problem->set; l++) {
        uint64_t hash;
        int      finite = 1;

        if (tw_params_hash(&t->params, l, 0, &hash, &finite, problem) == 0 && !finite) {
            tw_problem_set(problem, "--import %s: weights of layer %s are not finite", path,
                           t->network.layer[l].name);
        }
    }
    for (size_t i = 0; i < n && !problem->set; i++) {
        if (list[i].param == NULL) {
            check_state(t, path, &list[i], problem);
        }
    }
    return tw_checkpoint_agreed(t, problem);
}

int tw_safetensors_read(tw_training_t *t, tw_problem_t *problem)
{
    tw_source_file_t file = {.path = t->options->import_from};
    size_t           n    = 0;
    tw_exported_t   *list = tw_exported_list(t, &n, problem);
    int              status;

    if (list != NULL && t->rank == 0 && tw_exported_order("--import", problem) == 0) {
        open_file(&file, list, n, problem);
    }
    status = tw_checkpoint_agreed(t, problem);
    if (status == 0 && read_data(t, &file, list, n, problem) == 0) {
        status = check_values(t, file.path, list, n, problem);
    }
    if (file.stream != NULL) {
        fclose(file.stream);
    }
    free(list);
    return problem->set ? -1 : status;
}
