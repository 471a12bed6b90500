/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_model_mixed.c - model files that were cut, mixed up or made to harm are refused
 * with a line, or read and then hold what was promised, and never crash. TW_SEED=N repeats a run.
 */
#include "config.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"
#include "train/model/network.h"

static uint64_t random_state;

static size_t below(size_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return n == 0 ? 0 : (size_t)(random_state >> 33) % n;
}

static const char *const snippets[] = {"0",
                                       "-1",
                                       "2147483647",
                                       "4294967296",
                                       "1e308",
                                       "-1e-320",
                                       "0x7fffffff",
                                       "65536",
                                       "1048576",
                                       "{",
                                       "}",
                                       "(",
                                       ")",
                                       "[",
                                       "]",
                                       ";",
                                       ",",
                                       "=",
                                       "\"",
                                       "\\",
                                       "/*",
                                       "*/",
                                       "#",
                                       "//",
                                       "\n",
                                       "@include \"x\"",
                                       "true",
                                       "[1, 1]",
                                       "[1.5]",
                                       "( )",
                                       "\"image\"",
                                       "\"conv1\"",
                                       "\"add\"",
                                       "\"dense\"",
                                       "\"pool\"",
                                       "with = \"image\";",
                                       "global = true;",
                                       "ceil = true;",
                                       "input = \"image\";",
                                       "with = [\"image\", \"conv1\"];",
                                       "\"concat\"",
                                       "groups = 2;",
                                       "pad = 1023;",
                                       "kernel = 1024;",
                                       "stride = 1024;",
                                       "\xff\xfe",
                                       "%s%n",
                                       "type = \"norm\";"};

/* Replace `length` bytes at `at` by a text; all within room. */
static void splice(char *text, size_t room, size_t at, size_t length, const char *with, size_t n)
{
    const size_t size = strlen(text);

    if (at + length <= size && size - length + n < room) {
        memmove(text + at + n, text + at + length, size - at - length + 1);
        memcpy(text + at, with, n);
    }
}

static void mutate(char *text, size_t room)
{
    const size_t size = strlen(text), at = below(size);
    const char  *snippet = snippets[below(sizeof(snippets) / sizeof(snippets[0]))];
    char         piece[256];
    size_t       n;

    switch (below(6)) {
    case 0: /* another byte */
        text[at] = (char)(1 + below(255));
        break;
    case 1: /* a cut */
        text[below(8) == 0 ? at : size] = '\0';
        break;
    case 2: /* less */
        splice(text, room, at, below(40), "", 0);
        break;
    case 3: /* a piece once more */
        n = below(sizeof(piece) < size - at ? sizeof(piece) : size - at);
        memcpy(piece, text + at, n);
        splice(text, room, below(size), 0, piece, n);
        break;
    case 4: /* another word or number */
        n = strcspn(text + at, "0123456789\"");
        splice(text, room, at + n, strspn(text + at + n, "0123456789."), snippet, strlen(snippet));
        break;
    default:
        splice(text, room, at, 0, snippet, strlen(snippet));
    }
}

/* A network that was accepted holds what was promised. */
static void check_accepted(tw_network_t *net)
{
    FILE *out = fopen("/dev/null", "w");

    ck_assert_uint_ge(net->layers, 1);
    ck_assert_int_eq(net->layer[net->layers - 1].kind, TW_DENSE);
    ck_assert_uint_eq(net->layer[net->layers - 1].out.c, net->classes);
    ck_assert_uint_le(tw_network_parameters(net), (size_t)1 << 34);
    for (size_t l = 0; l < net->layers; l++) {
        ck_assert_uint_ge(tw_shape_size(net->layer[l].out), 1);
        ck_assert_uint_le(tw_shape_size(net->layer[l].out), (size_t)1 << 31);
        for (size_t i = 0; i < TW_LAYER_INPUTS; i++) {
            ck_assert_int_lt(net->layer[l].input[i], (int)l);
        }
    }
    tw_network_describe(net, 1, out);
    fclose(out);
}

START_TEST(mixed_up_files_do_not_crash)
{
    const char  *given = getenv("TW_SEED");
    const size_t room  = 40000;
    char        *text, source[256], *mixed = malloc(room);
    size_t       accepted = 0;
    tw_problem_t problem  = {0};

    random_state =
        given != NULL ? strtoull(given, NULL, 10) : (uint64_t)getpid() * 1000 + (uint64_t)_i;
    printf("# %s: TW_SEED=%" PRIu64 "\n", tw_network_builtin((size_t)_i), random_state);
    fflush(stdout);
    ck_assert_int_eq(tw_network_text(tw_network_builtin((size_t)_i), &text, source, &problem), 0);
    for (int round = 0; round < 1500; round++) {
        tw_network_t net;

        snprintf(mixed, room, "%s", text);
        for (size_t n = 1 + below(4); n > 0; n--) {
            mutate(mixed, room);
        }
        problem = (tw_problem_t){0};
        if (tw_network_parse(&net, mixed, "x.cfg", &problem) == 0) {
            check_accepted(&net);
            tw_network_destroy(&net);
            accepted++;
        } else {
            ck_assert_msg(strncmp(problem.text, "x.cfg:", 6) == 0 && problem.text[6] >= '1' &&
                              problem.text[6] <= '9',
                          "'%s' names no line", problem.text);
        }
    }
    ck_assert_uint_gt(accepted, 10); /* else nothing but the form is tried */
    ck_assert_uint_lt(accepted, 1490);
    free(text);
    free(mixed);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("train/model_mixed");
    TCase *tc     = tcase_create("mixed");
    int    models = 0;

    while (tw_network_builtin((size_t)models) != NULL) {
        models++;
    }
    tcase_add_loop_test(tc, mixed_up_files_do_not_crash, 0, models);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
