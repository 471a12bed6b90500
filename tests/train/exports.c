/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/exports.c - weights that are exported and imported: the same on other ranks, by other
 * schemes and owners; the bytes where the header says; files that are not believed.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "tests/train/runs.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"

static char model[512], path[512], other[512];

static tw_train_options_t options_of(const char *more)
{
    hybrid_net_write(model, sizeof(model), HYBRID_CODED, "");
    hybrid_path(path, sizeof(path), "weights");
    hybrid_path(other, sizeof(other), "other");
    return options_from("x --model %s --data digits:train=120 --batch 30 --epochs 1 %s", model,
                        more);
}

/* Train, and export. */
static void begin(tw_training_t *t, const char *how)
{
    tw_train_options_t options = options_of(how);

    options.export_to = path;
    run(t, &options, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

typedef struct bytes {
    char    *data; /* on rank 0 */
    size_t   n;
    uint64_t header; /* its length */
} bytes_t;

static bytes_t read_bytes(const char *from)
{
    bytes_t b = {.data = NULL};
    FILE   *file;

    if (t_rank == 0) {
        file = fopen(from, "rb");
        fseek(file, 0, SEEK_END);
        b.n = (size_t)ftell(file);
        rewind(file);
        b.data = t_malloc(b.n + 1);
        T_CHECK(fread(b.data, 1, b.n, file) == b.n, "cannot read");
        fclose(file);
        memcpy(&b.header, b.data, sizeof(b.header));
    }
    return b;
}

/* ---- to others and back --------------------------------------------------------------------- */

static void ranks_schemes_and_owners(void)
{
    static const char *const from[] = {"--codec onebit", "--scheme c",
                                       "--update sharded --codec weight=bitpack:2",
                                       "--scheme a "
                                       "--update "
                                       "root"};
    static const char *const to[]   = {"--scheme b", "--update sharded", "", "--scheme group=2"};

    for (size_t k = 0; k < 4; k++) {
        tw_train_options_t options;
        tw_problem_t       problem = {0};
        tw_training_t      first, t;
        bytes_t            a, b;

        t_within("%s, then %s", from[k], to[k]);
        begin(&first, from[k]);
        options             = options_of(to[k]);
        options.import_from = path;
        options.export_to   = other;
        options.seed        = 9;
        T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0 &&
                    tw_training_hash(&t, &problem) == 0,
                "%s", problem.text);
        T_CHECK((t.hash == first.hash) == (k != 2), "k = 2 alone computes with copies");
        T_SAME(TW_F32, t.params.state, first.params.state, first.params.states);
        T_CHECK(tw_safetensors_write(&t, &problem) == 0, "%s", problem.text);
        MPI_Barrier(MPI_COMM_WORLD);
        a = read_bytes(path);
        b = read_bytes(other);
        T_CHECK(a.n == b.n && (t_rank != 0 || memcmp(a.data, b.data, a.n) == 0), "another file");
        T_CHECK(tw_training_run(&t, &problem) == 0, "%s", problem.text);
        free(a.data);
        free(b.data);
        tw_training_destroy(&t);
        tw_training_destroy(&first);
    }
}

/* ---- the format ----------------------------------------------------------------------------- */

/* A tensor of rank 0's file: as large as its shape says, with these values. */
static void check_tensor(const bytes_t *b, json_t *root, const char *name, const char *shape,
                         const float *values, size_t n)
{
    const json_t *tensor = json_object_get(root, name);
    char         *text   = json_dumps(json_object_get(tensor, "shape"), JSON_COMPACT);
    json_int_t    from = 0, to = 0;

    t_note("%s", name);
    T_CHECK(json_unpack((json_t *)(uintptr_t)tensor, "{s:[I,I]}", "data_offsets", &from, &to) == 0,
            "no offsets");
    T_CHECK(text != NULL && strcmp(text, shape) == 0, "shape %s", text);
    T_CHECK(strcmp(json_string_value(json_object_get(tensor, "dtype")), "F32") == 0, "type");
    T_CHECK((size_t)(to - from) == n * sizeof(float), "%d bytes", (int)(to - from));
    T_SAME(TW_F32, b->data + 8 + b->header + from, values, n);
    free(text);
}

/* A whole tensor as [unit][input], however it is stored. */
static float *in_file_order(const tw_params_t *params, const tw_param_t *p)
{
    float *values = t_malloc(p->count * sizeof(*values));

    for (size_t k = 0; k < p->count; k++) {
        const size_t to = p->turned ? k % p->per_unit * p->units_all + k / p->per_unit : k;

        values[to] = params->value[p->first + k];
    }
    return values;
}

static void names_shapes_and_places(void)
{
    tw_training_t t;
    bytes_t       b;
    json_t       *root;
    json_int_t    from = 0, to = 0;

    begin(&t, "");
    b = read_bytes(path);
    if (t_rank == 0) {
        static const struct {
            const char *name, *shape;
            size_t      layer;
            int         role;
        } of[] = {
            {"conv1.weight", "[6,1,3,3]", 0, TW_WEIGHT},  {"conv1.bias", "[6]", 0, TW_BIAS},
            {"conv2.weight", "[21,6,3,3]", 2, TW_WEIGHT}, {"norm2.weight", "[21]", 3, TW_GAMMA},
            {"norm2.bias", "[21]", 3, TW_BETA},           {"fc3.weight", "[33,4116]", 4, TW_WEIGHT},
            {"fc5.weight", "[10,21]", 8, TW_WEIGHT},      {"fc5.bias", "[10]", 8, TW_BIAS}};
        const size_t n = sizeof(of) / sizeof(of[0]);

        T_CHECK(b.header % 8 == 0 && b.data[8] == '{', "the header");
        root = json_loadb(b.data + 8, b.header, 0, NULL);
        T_CHECK(json_object_size(root) == 13 + 1, "%zu tensors", json_object_size(root));
        for (size_t k = 0; k < n; k++) {
            const tw_param_t *p = tw_params_find(&t.params, of[k].layer, of[k].role);

            float *values = in_file_order(&t.params, p);

            check_tensor(&b, root, of[k].name, of[k].shape, values, p->count);
            free(values);
        }
        check_tensor(&b, root, "norm2.running_mean", "[21]", t.params.state, 21);
        check_tensor(&b, root, "norm2.running_var", "[21]", t.params.state + 21, 21);
        T_CHECK(json_unpack(root, "{s:{s:[I,I]}}", "norm2.running_var", "data_offsets", &from,
                            &to) == 0 &&
                    (size_t)to + 8 + b.header == b.n,
                "the end");
        json_decref(root);
    }
    free(b.data);
    tw_training_destroy(&t);
}

/* ---- files that are not believed ------------------------------------------------------------ */

/* The file with one text of its header in place of another, and so many bytes less or more. */
static void write_changed(const bytes_t *b, const char *find, const char *put, int more)
{
    FILE *file;

    if (t_rank == 0) {
        char    *at = NULL, *header = b->data + 8;
        uint64_t length = b->header + strlen(put) - strlen(find);
        size_t   before, data = b->n - 8 - b->header;

        for (size_t k = 0; k + strlen(find) <= b->header && at == NULL; k++) {
            at = memcmp(header + k, find, strlen(find)) == 0 ? header + k : NULL;
        }
        T_CHECK(at != NULL, "no %s", find);
        before = (size_t)(at - header);
        file   = fopen(other, "wb");
        fwrite(&length, sizeof(length), 1, file);
        fwrite(header, 1, before, file);
        fputs(put, file);
        fwrite(at + strlen(find), 1, b->header - before - strlen(find), file);
        fwrite(header + b->header, 1, data - (size_t)(more < 0 ? -more : 0), file);
        for (int k = 0; k < more; k++) {
            fputc(0, file);
        }
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
    const char *find, *put;
    int         more;
    const char *fragment;
} bad[] = {
    {"fc5.bias", "fc6.bias", 0, "has no fc5.bias, which this model has"},
    {"[33,4116]", "[4116,33]", 0, "fc3.weight has the shape [4116, 33], in this model [33, 4116]"},
    {"[6,1,3,3]", "[6,9]", 0, "conv1.weight has the shape [6, 9], in this model [6, 1, 3, 3]"},
    {"[6,1,3,3]", "7", 0, "conv1.weight has the shape 7, in this model"},
    {"[6,1,3,3]", "[6,1,3,-3]", 0, "conv1.weight has the shape [6, 1, 3, -3]"},
    {"\"F32\"", "\"F16\"", 0, "conv1.weight is of type F16; accepted: F32"},
    {"\"F32\"", "32", 0, "conv1.weight is of type unknown; accepted: F32"},
    {"[0,216]", "[216,0]", 0, "conv1.weight does not lie inside the file"},
    {"[0,216]", "[-4,212]", 0, "conv1.weight has no data_offsets"},
    {"[0,216]", "[0,216,3]", 0, "conv1.weight has no data_offsets"},
    {"[0,216]", "[0.0,216]", 0, "conv1.weight has no data_offsets"},
    {"[0,216]", "[0,220]", 0, "conv1.weight has other bytes than its shape"},
    {"[0,216]", "[0,9223372036854775807]", 0, "conv1.weight does not lie inside the file"},
    {"[0,216]", "[0,99223372036854775807]", 0, "its header is no JSON object"},
    {"[0,216]", "[24,240]", 0, "its tensors overlap, or have gaps between them"},
    {"{\"__metadata__\"", "{\"x\":{\"data_offsets\":[0,0]},\"__metadata__\"", 0,
     "has x, which this model has not"},
    {"{\"__metadata__\"", "{\"norm2.num_batches_tracked\":{},\"__metadata__\"", 0,
     "norm2.num_batches_tracked has no data_offsets"},
    {"\"conv1.bias\"", "\"conv1.weight\"", 0, "is no JSON object, or has a name twice"},
    {"{\"__metadata__\"", "[\"__metadata__\"", 0, "its header is no JSON object"},
    {"{\"__metadata__\"", "{", 0, "its header is no JSON object"},
    {"\"F32\"", "\"F32\"", -4, "norm2.running_var does not lie inside the file"},
    {"\"F32\"", "\"F32\"", 4, "is longer than its tensors"},
};

/* A value, as bytes, in place of the first one of a tensor. */
static void write_value(bytes_t *b, size_t at, float value)
{
    if (t_rank == 0) {
        float was;

        memcpy(&was, b->data + 8 + b->header + at, sizeof(was));
        memcpy(b->data + 8 + b->header + at, &value, sizeof(value));
        write_changed(b, "F32", "F32", 0);
        memcpy(b->data + 8 + b->header + at, &was, sizeof(was));
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void cut(const bytes_t *b, size_t n)
{
    if (t_rank == 0) {
        FILE *file = fopen(other, "wb");

        fwrite(b->data, 1, n, file);
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bad_files_are_refused(void)
{
    tw_train_options_t options;
    tw_training_t      t;
    bytes_t            b;

    begin(&t, "--scheme c");
    tw_training_destroy(&t);
    b                   = read_bytes(path);
    options             = options_of("--scheme c");
    options.import_from = other;
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        t_within("%s", bad[k].put);
        write_changed(&b, bad[k].find, bad[k].put, bad[k].more);
        expect_refusal(&options, bad[k].fragment);
    }
    for (size_t n = 0; n <= 64; n = n == 0 ? 1 : 8 * n) {
        cut(&b, n);
        expect_refusal(&options, "is no safetensors file, or is cut off in its header");
    }
    write_value(&b, 0, NAN);
    expect_refusal(&options, "weights of layer conv1 are not finite");
    write_value(&b, t_rank == 0 ? b.n - 12 - b.header : 0, -1.0f);
    expect_refusal(&options, "norm2.running_var holds values that cannot be");
    options.import_from = "/nonexistent/weights";
    expect_refusal(&options, "--import /nonexistent/weights: cannot be read: No such file");
    free(b.data);
}

/* What PyTorch's normalisation has besides is left out. */
static void counters_are_ignored(void)
{
    tw_train_options_t options;
    tw_training_t      first, t;
    tw_problem_t       problem = {0};
    bytes_t            b;
    char               put[120];

    begin(&first, "");
    b = read_bytes(path);
    snprintf(
        put, sizeof(put),
        "{\"n.num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[%zu,%zu]},"
        "\"__metadata__\"",
        b.n - 8 - (size_t)b.header, b.n - (size_t)b.header);
    write_changed(&b, "{\"__metadata__\"", put, 8);
    options             = options_of("");
    options.import_from = other;
    T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0 &&
                tw_training_hash(&t, &problem) == 0,
            "%s", problem.text);
    T_CHECK(t.hash == first.hash, "other weights");
    free(b.data);
    tw_training_destroy(&t);
    tw_training_destroy(&first);
}

int main(int argc, char **argv)
{
    static const t_case_t cases[] = {
        {"ranks, schemes and owners", ranks_schemes_and_owners, 1},
        {"names, shapes and places", names_shapes_and_places, 1},
        {"bad files are refused", bad_files_are_refused, 1},
        {"counters are ignored", counters_are_ignored, 1},
    };

    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
