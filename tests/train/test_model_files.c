/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_model_files.c - what is wrong in a model file is named with its line;
 * thinwire-model(5) knows every key, and its example is a network.
 */
#include "config.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"
#include "train/model/network_keys.h"

/* ---- mistakes ------------------------------------------------------------------------------ */

#define HEAD "input = { channels = 1; height = 8; width = 8; };\nclasses = 10;\n"
#define FC   "{ type = \"dense\"; }"

/* Text, line of the mistake, and two parts of what is said. */
static const struct {
    const char *text;
    int         line;
    const char *says, *and;
} mistakes[] = {
    /* of the form */
    {"", 1, "needs 'input'", ""},
    {"classes = ;", 1, "syntax error", "thinwire-model(5)"},
    {HEAD "layers = (\n" FC "\n{ };\n);", 5, "syntax error", ""},
    {HEAD "classes = 12;", 3, "duplicate setting name", ""},
    {HEAD "\n# a comment\n@include \"/etc/passwd\"\n", 5, "@include is not accepted", "one file"},
    {HEAD "/* this\nhas no end", 3, "comment that begins here", ""},
    {HEAD "name = \"no end\n\";", 3, "text in quotes", ""},
    {HEAD "layers = ((((((((((((((((((", 3, "more than 16 deep", ""},
    {"classes = 4294967306;", 1, "2147483647", ""},
    {"classes = 0x10000000a;", 1, "2147483647", ""},
    {"classes = 99999999999999999999999999;", 1, "2147483647", ""},
    {HEAD "layers = (" FC ")", 0, "", ""}, /* right */
    /* of the sections */
    {HEAD "layer = ();", 3, "the file has no 'layer', nearest is layers",
     "training, defaults and layers"},
    {HEAD, 0, "needs 'layers'", ""},
    {HEAD "layers = {};", 3, "list of 1 to 1024", ""},
    {HEAD "layers = ();", 3, "list of 1 to 1024", ""},
    {HEAD "layers = ( 3 );", 3, "accepted are groups", ""},
    {"input = 3; classes = 10; layers = (" FC ");", 1, "input: accepted is a group", ""},
    {"input = {\nchannels = 1;\nheight = 0; };", 0, "needs 'classes'", ""},
    {"classes = 10; layers = (" FC ");\ninput = {\nchannels = 1;\nheight = 0; };", 4,
     "height: accepted are whole numbers from 1 to 16384", ""},
    {"classes = 10; layers = (" FC ");\ninput = { channels = 1; height = 1; };", 2,
     "input needs 'width'", ""},
    {"classes = 1; layers = (" FC ");", 1, "classes: accepted are whole numbers from 2", ""},
    {"classes = 10.0;", 1, "classes: accepted are whole numbers", ""},
    {"classes = \"10\";", 1, "classes: accepted are whole numbers", ""},
    {"name = \"a b\";", 1, "name: accepted are 1 to 63 letters", ""},
    {"help = \"\";", 1, "help: accepted are 1 to 127 printable", ""},
    {"loss = \"sofmax\";", 1, "loss 'sofmax' is unknown, nearest is softmax",
     "softmax and logistic"},
    {HEAD "layers = (" FC ");\ntraining = { rate = 0; };", 4, "rate: accepted are numbers from",
     ""},
    {HEAD "layers = (" FC ");\ntraining = { rate = 1e999; };", 4, "rate: accepted are", ""},
    {HEAD "layers = (" FC ");\ntraining = { momentum = 1; };", 4, "momentum: accepted are", ""},
    {HEAD "layers = (" FC ");\ntraining = { momentun = 1; };", 4, "nearest is momentum", ""},
    {HEAD "layers = (" FC ");\ntraining = { epochs = 0; };", 4, "epochs: accepted are", ""},
    {HEAD "layers = (" FC ");\ntraining = { schedule = 3; };", 4, "schedule: accepted", ""},
    {HEAD "layers = (" FC ");\ntraining = { schedule = \"steps:9\"; };", 4, "schedule 'steps:9'",
     "accepted"},
    {HEAD "layers = (" FC ");\ntraining = { optimizer = \"adam\"; };", 4, "sgd and rmsprop", ""},
    {HEAD "layers = (" FC ");\ndefaults = { cnv = { }; };", 4, "nearest is conv", ""},
    {HEAD "layers = (" FC ");\ndefaults = { conv = 3; };", 4, "defaults.conv: accepted is a group",
     ""},
    {HEAD "layers = (" FC ");\ndefaults = { pool = { name = \"x\"; }; };", 4,
     "defaults.pool has no 'name'", ""},
    {HEAD "layers = (" FC ");\ndefaults = { conv = {\n pad = -1; }; };", 5, "pad: accepted are",
     ""},
    /* of a layer's keys */
    {HEAD "layers = (\n{ kind = 3; }," FC ");", 4, "a layer needs 'type'", ""},
    {HEAD "layers = (\n{ type = \"cnv\"; }," FC ");", 4, "type 'cnv' is unknown, nearest is conv",
     "dropout and dense"},
    {HEAD "layers = (\n{ type = 3; }," FC ");", 4, "type '' is unknown", ""},
    {HEAD "layers = (\n{ type = \"\x1b[31m\xff\"; }," FC ");", 4, "type '?[31m?' is unknown", ""},
    {HEAD "layers = (\n{ type = \"conv\";\n kernl = 3; }," FC ");", 5,
     "a conv layer has no 'kernl', nearest is kernel", "stride"},
    {HEAD "layers = (\n{ type = \"conv\";\n channels = 3; }," FC ");", 4,
     "a conv layer needs 'kernel'", ""},
    {HEAD "layers = (\n{ type = \"lrn\"; units = 3; }," FC ");", 4, "an lrn layer has no 'units'",
     "size"},
    {HEAD "layers = (\n{ type = \"lrn\"; size = 4; }," FC ");", 4, "odd", ""},
    {HEAD "layers = (\n{ type = \"activation\"; activation = \"linear\"; }," FC ");", 4,
     "relu or logistic", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 3; kernel = [3, 0]; }," FC ");", 4,
     "kernel: accepted are whole numbers from 1 to 1024", "[height, width]"},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 3; kernel = [3, 3, 3]; }," FC ");", 4,
     "kernel: accepted", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 3; kernel = [\"3\", \"3\"]; }," FC ");", 4,
     "kernel: accepted", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 3; kernel = 3; bias = 1; }," FC ");", 4,
     "bias: accepted are true and false", ""},
    {HEAD "layers = (\n{ type = \"pool\"; pooling = \"max\"; }," FC ");", 4, "either 'kernel' or",
     ""},
    {HEAD "layers = (\n{ type = \"pool\"; pooling = \"max\"; kernel = 2; global = true; }," FC ");",
     4, "either 'kernel' or", ""},
    {HEAD "layers = (\n{ type = \"pool\"; pooling = \"max\"; pad = 1; global = true; }," FC ");", 4,
     "no 'pad'", ""},
    {HEAD "layers = (\n{ type = \"dropout\"; rate = 1; }," FC ");", 4, "rate: accepted are", ""},
    {HEAD "layers = (\n{ type = \"dense\";\n init = \"gaussian\"; });", 5, "init 'gaussian'",
     "gaussian:DEVIATION"},
    {HEAD "layers = (\n{ type = \"dense\";\n init = \"he:x\"; });", 5, "init 'he:x'", ""},
    {HEAD "layers = (\n{ type = \"dense\";\n init = \"he:\"; });", 5, "init 'he:'", ""},
    {HEAD "layers = (\n{ type = \"dense\";\n init = \"zero:1\"; });", 5, "init 'zero:1'", ""},
    {HEAD "layers = (\n{ type = \"dense\";\n init = \"gaussian:-1\"; });", 5, "init", ""},
    {HEAD "layers = (\n{ type = \"dense\";\n init = \"gaussian:nan\"; });", 5, "init", ""},
    {HEAD "layers = (\n{ type = \"dense\";\n codec = \"tree9\"; });", 5, "codec", "tree9"},
    {HEAD "layers = (\n{ type = \"dense\"; name = \"a\"; units = 4; },\n"
          "{ type = \"dense\"; name = \"a\"; });",
     5, "'a' is taken by the layer of line 4", ""},
    {HEAD "layers = (\n{ type = \"dense\"; name = \"image\"; });", 4, "network's input", ""},
    {HEAD "layers = (\n{ type = \"dense\"; input = \"b\"; });", 4, "input 'b' is no layer above",
     ""},
    /* of the network */
    {HEAD "layers = (\n{ type = \"conv\"; channels = 3;\n kernel = 9; },\n" FC ");", 4,
     "layer 'conv1': the kernel of 9x9 does not fit into its input of 8x8", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 3; kernel = 3; pad = 3; }," FC ");", 4,
     "pad 3x3: accepted is less than the kernel", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 3; kernel = 3; },\n{ type = \"add\";\n"
          "with = \"image\"; }," FC ");",
     5, "'image' of 1x8x8 cannot be added to 3x6x6", ""},
    {HEAD "layers = (\n{ type = \"dense\"; units = 9; groups = 3; },\n" FC ");", 4,
     "layer 'dense1': groups 3: accepted are divisors of its 9 units and of the 64 numbers of its "
     "input",
     ""},
    {HEAD "layers = (\n{ type = \"dense\"; groups = 4; });", 4, "divisors of its 10 units", ""},
    {HEAD "layers = (\n{ type = \"dense\"; units = 9; split = \"input\"; },\n" FC ");", 4,
     "layer 'dense1': split: accepted is output, as every rank has all inputs of the first", ""},
    {HEAD
     "layers = (\n{ type = \"dense\"; units = 9; },\n{ type = \"dense\"; units = 6; groups = 3;\n"
     "split = \"input\"; },\n" FC ");",
     5, "split: accepted is output with groups", ""},
    {HEAD "training = { max_norm = 2.0; };\nlayers = ( { type = \"dense\"; units = 9; },\n"
          "{ type = \"dense\"; units = 6; split = \"input\"; },\n" FC ");",
     5, "split: accepted is output with a max_norm", ""},
    {HEAD "layers = (\n{ type = \"dense\"; split = \"rows\"; });", 4,
     "split 'rows' is unknown; accepted are output and input", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 4; kernel = 3; groups = 2; }," FC ");", 4,
     "layer 'conv1': groups 2: accepted are divisors of its 4 channels and of the 1 of its input",
     ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 4; kernel = 3; },\n"
          "{ type = \"conv\"; channels = 6; kernel = 3; groups = 4; }," FC ");",
     5, "groups 4: accepted are divisors of its 6 channels", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 4; kernel = 3; groups = 0; }," FC ");", 4,
     "groups: accepted are whole numbers from 1", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 3; kernel = 3; },\n{ type = \"concat\";\n"
          "with = \"image\"; }," FC ");",
     5, "'image' of 1x8x8 cannot be joined to 3x6x6", "same height and width"},
    {HEAD "layers = (\n{ type = \"concat\"; }," FC ");", 4, "a concat layer needs 'with'", ""},
    {HEAD "layers = (\n{ type = \"concat\"; with = []; }," FC ");", 4,
     "with: accepted are 1 to 7 layers", ""},
    {HEAD "layers = (\n{ type = \"concat\"; with = [\"image\", \"image\", \"image\", \"image\",\n"
          "\"image\", \"image\", \"image\", \"image\"]; }," FC ");",
     4, "with: accepted are 1 to 7 layers", ""},
    {HEAD "layers = (\n{ type = \"concat\"; with = [\"image\", \"b\"]; }," FC ");", 4,
     "with 'b' is no layer above", ""},
    {HEAD "layers = (\n{ type = \"concat\"; with = [3]; }," FC ");", 4, "with '' is no layer", ""},
    {HEAD "layers = (\n{ type = \"add\"; with = [\"image\"]; }," FC ");", 4, "with '' is no layer",
     ""},
    {HEAD "layers = (\n" FC ",\n" FC ");", 4, "needs 'units'", ""},
    {HEAD "layers = (\n{ type = \"dense\"; units = 9; });", 4, "as many as classes, 10", ""},
    {HEAD "layers = (\n{ type = \"dense\"; activation = \"relu\"; });", 4, "accepted is linear",
     ""},
    {HEAD "layers = (\n{ type = \"norm\"; });", 4, "must be dense", ""},
    {HEAD "layers = (\n{ type = \"dense\"; units = 4; },\n{ type = \"norm\"; },\n" FC ");", 5,
     "only dense and dropout", ""},
    {HEAD
     "layers = (\n{ type = \"dense\"; units = 4; },\n{ type = \"dense\"; input = \"image\"; });",
     5, "takes the one above", ""},
    {HEAD "layers = (\n{ type = \"norm\"; },\n{ type = \"norm\"; input = \"image\"; },\n" FC ");",
     4, "layer 'norm1': no layer takes its output", ""},
    {HEAD "layers = (\n{ type = \"conv\"; channels = 65536; kernel = [1024, 1024]; pad = 1023; },\n"
          "{ type = \"conv\"; channels = 65536; kernel = 1024; pad = 1023; },\n" FC ");",
     4, "accepted are at most 2^3", ""},
    {"input = { channels = 1024; height = 16384; width = 16384; };\nclasses = 2;\nlayers = (\n"
     "{ type = \"dense\"; units = 1048576; },\n" FC ");",
     4, "accepted are at most 2^34", ""},
};

enum { MISTAKES = sizeof(mistakes) / sizeof(mistakes[0]) };

START_TEST(mistakes_are_named_with_their_line)
{
    tw_network_t net;
    tw_problem_t problem = {0};
    char         begin[32];
    const int    rc = tw_network_parse(&net, mistakes[_i].text, "x.cfg", &problem);

    if (mistakes[_i].says[0] == '\0') {
        ck_assert_msg(rc == 0, "%s", problem.text);
        tw_network_destroy(&net);
        return;
    }
    ck_assert_msg(rc == -1, "accepted: %s", mistakes[_i].text);
    ck_assert_ptr_null(net.layer);
    snprintf(begin, sizeof(begin), "x.cfg:%d: ", mistakes[_i].line);
    ck_assert_msg(mistakes[_i].line == 0 || strncmp(problem.text, begin, strlen(begin)) == 0,
                  "'%s' does not begin with '%s'", problem.text, begin);
    ck_assert_msg(strstr(problem.text, mistakes[_i].says) != NULL &&
                      strstr(problem.text, mistakes[_i].and) != NULL,
                  "'%s' has no '%s' or '%s'", problem.text, mistakes[_i].says, mistakes[_i].and);
}
END_TEST

START_TEST(files_that_cannot_be_read_are_named)
{
    static const char big[]  = "xxxxxxxxxxxxxxx\n";
    char              path[] = "/tmp/tw-model-XXXXXX";
    FILE             *file   = fdopen(mkstemp(path), "w");
    tw_network_t      net;
    tw_problem_t      problem = {0};

    ck_assert_int_eq(tw_network_load(&net, "/nowhere/a.cfg", &problem), -1);
    ck_assert_str_eq(problem.text, "/nowhere/a.cfg: No such file or directory");
    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_network_load(&net, "/tmp/", &problem), -1);
    ck_assert_str_eq(problem.text, "/tmp/: Is a directory");
    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_network_load(&net, "resnet20", &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "'resnet20' is unknown, nearest is resnet-20"));
    problem = (tw_problem_t){0};
    ck_assert_uint_eq(fwrite("a = 1;\nb = \0", 1, 12, file), 12);
    fflush(file);
    ck_assert_int_eq(tw_network_load(&net, path, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, ":2: a NUL byte"));
    rewind(file);
    for (size_t n = 0; n <= TW_NETWORK_TEXT_MAX; n += sizeof(big) - 1) {
        fputs(big, file);
    }
    fclose(file);
    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_network_load(&net, path, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "above 1 MiB"));
    unlink(path);
}
END_TEST

/* What is shown of a model is what is read of it. */
START_TEST(shown_models_can_be_read)
{
    for (size_t i = 0; tw_network_builtin(i) != NULL; i++) {
        char        *text, source[256], path[] = "/tmp/tw-model-XXXXXX.cfg";
        FILE        *file    = fdopen(mkstemps(path, 4), "w");
        tw_problem_t problem = {0};
        tw_network_t a, b;

        ck_assert_int_eq(tw_network_text(tw_network_builtin(i), &text, source, &problem), 0);
        ck_assert_str_eq(source, "built in");
        ck_assert_int_eq(strncmp(text, "# SPDX", 6), 0);
        fputs(text, file);
        fclose(file);
        ck_assert_int_eq(tw_network_load(&a, path, &problem), 0);
        ck_assert_int_eq(tw_network_load(&b, tw_network_builtin(i), &problem), 0);
        ck_assert_str_eq(a.source, path);
        ck_assert_str_eq(a.name, b.name);
        ck_assert_uint_eq(tw_network_parameters(&a), tw_network_parameters(&b));
        unlink(path);
        free(text);
        tw_network_destroy(&a);
        tw_network_destroy(&b);
    }
}
END_TEST

/* ---- the manual page ----------------------------------------------------------------------- */

static char *read_page(void)
{
    const char *top = getenv("top_srcdir");
    char        path[1000];
    char       *page = calloc(1, 100000);
    FILE       *file;

    snprintf(path, sizeof(path), "%s/docs/thinwire-model.5.md", top != NULL ? top : ".");
    file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s cannot be read", path);
    ck_assert_uint_lt(fread(page, 1, 99999, file), 99999);
    fclose(file);
    return page;
}

START_TEST(page_knows_every_key_and_model)
{
    const tw_keys_t *const tables[] = {&tw_keys_file, &tw_keys_input, &tw_keys_training,
                                       &tw_keys_layer};
    char                  *page     = read_page();

    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (size_t k = 0; k < tables[t]->n; k++) {
            char key[64];

            snprintf(key, sizeof(key), "**%s**", tables[t]->key[k].name);
            ck_assert_msg(strstr(page, key) != NULL, "%s is not in thinwire-model(5)", key);
        }
    }
    for (int kind = TW_CONV; kind <= TW_DENSE; kind++) {
        char title[64];

        snprintf(title, sizeof(title), "\n## %s", tw_kind_name((tw_layer_kind_t)kind));
        ck_assert_msg(strstr(page, title) != NULL, "%s is not in thinwire-model(5)", title);
    }
    for (size_t i = 0; tw_network_builtin(i) != NULL; i++) {
        char row[64];

        snprintf(row, sizeof(row), "\n| %s |", tw_network_builtin(i));
        ck_assert_msg(strstr(page, row) != NULL, "%s is not in thinwire-model(5)", row);
    }
    free(page);
}
END_TEST

START_TEST(example_of_the_page_is_a_network)
{
    char        *page = read_page(), *text = calloc(1, 100000);
    char        *at = strstr(page, "# EXAMPLE");
    tw_network_t net;
    tw_problem_t problem = {0};

    ck_assert_ptr_nonnull(at);
    for (char *line = strtok(at, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "    ", 4) == 0) {
            strcat(text, line);
            strcat(text, "\n");
        }
    }
    ck_assert_msg(tw_network_parse(&net, text, "example", &problem) == 0, "%s", problem.text);
    ck_assert_uint_eq(net.layers, 11);
    ck_assert_uint_eq(net.first_dense, 9);
    ck_assert_str_eq(net.layer[10].codec, "tree8");
    ck_assert_uint_eq(net.layer[7].stride[0], 2);
    ck_assert_int_eq(net.layer[0].w_init.how, TW_INIT_GAUSSIAN_HE);
    tw_network_destroy(&net);
    free(page);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/model_files");
    TCase *tc    = tcase_create("files");

    tcase_add_loop_test(tc, mistakes_are_named_with_their_line, 0, MISTAKES);
    tcase_add_test(tc, files_that_cannot_be_read_are_named);
    tcase_add_test(tc, shown_models_can_be_read);
    tcase_add_test(tc, page_knows_every_key_and_model);
    tcase_add_test(tc, example_of_the_page_is_a_network);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
