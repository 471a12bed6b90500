/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_pieces.c - options, shares, orders, hashes, and files that are whole or not
 * there.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/file.h"
#include "tests/suite.h"
#include "train/base/agree.h"
#include "train/feed/feed.h"
#include "train/base/hash.h"
#include "train/loop.h"
#include "train/options.h"
#include "train/base/random.h"
#include "train/step/step.h"

/* ---- options ------------------------------------------------------------------------------- */

static int parse(tw_train_options_t *options, tw_problem_t *problem, const char *line)
{
    static char text[512];
    char       *argv[32] = {"thinwire-train"};
    int         argc     = 1;

    *problem = (tw_problem_t){0};
    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return tw_train_options_parse(options, argc, argv, problem);
}

START_TEST(options_are_understood)
{
    tw_train_options_t o;
    tw_problem_t       problem;

    ck_assert_int_eq(parse(&o, &problem, ""), 0);
    ck_assert_str_eq(o.codec, "fp32");
    ck_assert_str_eq(o.data, "digits");
    ck_assert_uint_eq(o.batch, 0); /* the model's */
    ck_assert_int_eq(parse(&o, &problem,
                           "--model linear --data mnist:/x --epochs 7 --batch=100 --lr 0.01 "
                           "--codec tree8:block=512 --seed 9223372036854775807 --threads 2 "
                           "--checkpoint c --resume --json=j --until error<=3.5%"),
                     0);
    ck_assert_str_eq(o.model, "linear");
    ck_assert_str_eq(o.data, "mnist:/x");
    ck_assert_uint_eq(o.epochs, 7);
    ck_assert_uint_eq(o.batch, 100);
    ck_assert_double_eq(o.rate, 0.01);
    ck_assert_str_eq(o.codec, "tree8:block=512");
    ck_assert_uint_eq(o.seed, INT64_MAX);
    ck_assert_uint_eq(o.threads, 2);
    ck_assert_str_eq(o.checkpoint, "c");
    ck_assert_int_eq(o.resume, 1);
    ck_assert_str_eq(o.json, "j");
    ck_assert_double_eq_tol(o.until, 0.035, 1e-15);
    ck_assert_int_eq(parse(&o, &problem, "--until error<=0.02"), 0);
    ck_assert(o.until == 0.02 && !o.until_five);
    ck_assert_int_eq(parse(&o, &problem, "--until top5<=15%"), 0);
    ck_assert(o.until == 0.15 && o.until_five);
    ck_assert_int_eq(parse(&o, &problem, "--until top5<=0 --eval-every 4000"), 0);
    ck_assert(o.until == 0.0 && o.until_five && o.eval_every == 4000);
    ck_assert_int_eq(parse(&o, &problem, "--until error<=1"), 0);
    ck_assert(o.until == 1.0 && !o.until_five);
}
END_TEST

static const char *const bad_options[][2] = {
    {"--batches 3", "unknown option '--batches'; did you mean --batch?"},
    {"digits", "unexpected argument 'digits'"},
    {"--batch", "--batch needs a value"},
    {"--batch 0", "--batch '0': accepted: a whole number, 1 to"},
    {"--batch 12x", "--batch '12x'"},
    {"--batch -1", "--batch '-1'"},
    {"--batch= ", "--batch ''"},
    {"--epochs 1000001", "--epochs '1000001'"},
    {"--seed 18446744073709551616", "--seed '18446744073709551616'"},
    {"--threads 0", "--threads '0'"},
    {"--lr 0", "--lr '0': accepted: a number, 1e-12 to 1000"},
    {"--lr nan", "--lr 'nan'"},
    {"--lr 1000.5", "--lr '1000.5'"},
    {"--until error<3", "--until 'error<3': accepted: error<=X"},
    {"--until error<=", "--until 'error<='"},
    {"--until error<=101%", "--until 'error<=101%'"},
    {"--until error<=%", "--until 'error<=%'"},
    {"--until error<=3%%", "--until 'error<=3%%'"},
    {"--until top5<=1.01", "--until 'top5<=1.01': accepted: error<=X or top5<=X, X from 0 to 1"},
    {"--until top5<=nan", "--until 'top5<=nan'"},
    {"--until top4<=0.1", "--until 'top4<=0.1'"},
    {"--until top5=0.1", "--until 'top5=0.1'"},
    {"--until top5", "--until 'top5'"},
    {"--until 0.1", "--until '0.1'"},
    {"--until=", "--until"},
    {"--until error<=-1", "--until"},
    {"--resume", "--resume needs --checkpoint"},
    {"--allow-change batch", "it goes only with --resume"},
    {"--evaluate-only", "--evaluate-only tests the weights of a file"},
    {"--resume --checkpoint c --import w", "--resume and --import both have the weights"},
    {"--import w --no-train", "--import and --export are about weights"},
    {"--export w --show-images i", "--import and --export are about weights"},
    {"--export w --json ./w", "--json and --export are the same file"},
    {"--resume --checkpoint c --allow-change batch,model",
     "--allow-change: 'model' is nothing that may differ; accepted, with commas between them, are "
     "rate,codec,scheme,update-period,batch,bn,data,seed"},
    {"--resume --checkpoint c --allow-change batch,", "--allow-change: '' is nothing"},
    {"--resume=yes --checkpoint c", "--resume takes no value"},
    {"--json=", "--json needs a FILE that is not empty"},
    {"--scheme d", "--scheme 'd': accepted are data, a, b, c and group=G"},
    {"--scheme group=0", "--scheme 'group=0'"},
    {"--scheme group=2x", "--scheme 'group=2x'"},
    {"--scheme c:split=1", "--scheme 'c:split=1'"},
    {"--scheme data:split=2", "the last four also with :split=N or :split=node"},
    {"--update-period 1", "--update-period needs split layers"},
    {"--bn none", "--bn 'none': accepted are local, global and adaptive"},
    {"--lr-scale square", "--lr-scale 'square': accepted are none, linear"},
    {"--momentum 1", "--momentum '1': accepted: a number from 0, below 1"},
    {"--steps 3 --checkpoint c", "--steps measures, without tests: --checkpoint and --until go"},
    {"--steps 3 --until error<=1%", "only beside --eval-every N"},
    {"--eval-every 0", "--eval-every '0': accepted: a whole number, 1 to"},
    {"--eval-every 2.5", "--eval-every '2.5'"},
    {"--bucket 5", "--bucket '5'"},
};

enum { BAD_OPTIONS = sizeof(bad_options) / sizeof(bad_options[0]) };

START_TEST(bad_options_are_named)
{
    tw_train_options_t o;
    tw_problem_t       problem;

    ck_assert_int_eq(parse(&o, &problem, bad_options[_i][0]), -1);
    if (strstr(problem.text, bad_options[_i][1]) == NULL) {
        ck_abort_msg("'%s' gave '%s'", bad_options[_i][0], problem.text);
    }
    ck_assert_ptr_null(strchr(problem.text, '\n'));
}
END_TEST

START_TEST(a_problem_is_one_line)
{
    tw_problem_t problem = {.set = 0};

    tw_problem_set(&problem, "%s", "a\x1b[31m\nb");
    ck_assert_str_eq(problem.text, "a [31m b");
}
END_TEST

START_TEST(schemes_are_understood)
{
    tw_train_options_t o;
    tw_problem_t       problem;

    ck_assert_int_eq(parse(&o, &problem, ""), 0);
    ck_assert_int_eq(o.division.kind, SCHEME_DATA);
    ck_assert_int_eq(parse(&o, &problem, "--scheme c --update-period 2"), 0);
    ck_assert_int_eq(o.division.kind, SCHEME_C);
    ck_assert_int_eq(parse(&o, &problem, "--scheme group=3"), 0);
    ck_assert_int_eq(o.division.kind, SCHEME_GROUP);
    ck_assert_int_eq(o.division.group, 3);
    ck_assert_int_eq(parse(&o, &problem, "--scheme group=3:split=node"), 0);
    ck_assert_int_eq(o.division.kind, SCHEME_GROUP);
    ck_assert_int_eq(o.division.split, SCHEME_NODE);
}
END_TEST

/* ---- codecs -------------------------------------------------------------------------------- */

/* line, owners, split, force; the specs, or what the refusal says */
static const struct {
    const char *line;
    int         owners, split, force;
    const char *want;
} codec_lines[] = {
    {"fp32", 0, 0, 0, "fp32"},
    {"mpi", 0, 0, 0, "mpi"},
    {"tree8:block=64,split=0.55", 0, 0, 0, "tree8:block=64,split=0.55"},
    {"tree8", 0, 1, 0,
     "grad=tree8:block=4096,split=0.45,act=tree8:block=4096,split=0.45,back=tree8:block=4096,split="
     "0.45"},
    {"grad=onebit,act=tree8:block=64,split=0.55", 0, 1, 0,
     "grad=onebit:block=2048,act=tree8:block=64,split=0.55,back=tree8:block=64,split=0.55"},
    {"bf16,back=fp16", 0, 1, 0, "grad=bf16,act=bf16,back=fp16"},
    {"mpi,act=bf16", 0, 1, 0, "grad=mpi,act=bf16,back=bf16"},
    {"act=onebit", 0, 1, 1, "grad=fp32,act=onebit:block=2048,back=onebit:block=2048"},
    {"act=onebit", 0, 1, 0, "one bit is too coarse for activations"},
    {"onebit", 0, 1, 0, "one bit is too coarse"},
    {"grad=onebit,grad=fp32", 0, 0, 0, "two specs for grad"},
    {"grad=", 0, 0, 0, "is empty or too long"},
    {"act=tree9", 0, 1, 0, "codec 'tree9'"},
    {"act=tree8", 0, 0, 0,
     "act=tree8: activations travel only between split layers, with --scheme"},
    {"grad=bf16,back=bf16", 1, 0, 0, "back=bf16: activations travel only between split layers"},
    {"weight=onebit", 1, 0, 0, "weight=onebit:block=2048: one bit is too coarse for weights"},
    {"weight=onebit", 1, 0, 1, "weight=onebit:block=2048,grad=fp32"},
    {"gard=tree8", 0, 0, 0, "unknown class 'gard'"},
    {"fp32", 1, 0, 0, "weight=fp32,grad=fp32"},
    {"bf16", 1, 0, 0, "weight=fp32,grad=bf16"},
    {"weight=bitpack:2,round,grad=onebit", 1, 0, 0,
     "weight=bitpack:2,round,grad=onebit:block=2048"},
    {"weight=awp,grad=onebit,act=bf16", 1, 1, 0,
     "weight=awp:T=0.0001,interval=0,step=8,first=8,group=layer,byte=tree8,norm=master,grad=onebit:"
     "block=2048,"
     "act="
     "bf16,back=bf16"},
    {"weight=awp:T=-2e-3,interval=40,step=1,first=9,group=block,round,absolute,norm=packed,grad="
     "bf16",
     1, 0, 0,
     "weight=awp:T=-0.002,interval=40,step=1,first=9,group=block,round,byte=tree8,absolute,"
     "norm=packed,grad="
     "bf16"},
    {"weight=bitpack:2", 0, 0, 0, "only with --update root or --update sharded"},
    {"mpi", 1, 0, 0, "goes only with --update replicated"},
    {"weight=tree9", 1, 0, 0, "also accepted: awp[:OPTIONS]"},
    {"weight=awp:T=x", 1, 0, 0, "'T=x' is not understood; accepted are T=X, interval=N"},
    {"weight=awp:T=inf", 1, 0, 0, "'T=inf' is not understood"},
    {"weight=awp:interval=0", 1, 0, 0, "'interval=0' is not understood"},
    {"weight=awp:step=33", 1, 0, 0, "'step=33' is not understood"},
    {"weight=awp:first=0", 1, 0, 0, "'first=0' is not understood"},
    {"weight=awp:group=net", 1, 0, 0, "'group=net' is not understood"},
    {"weight=awp:norm=max", 1, 0, 0, "'norm=max' is not understood"},
    {"weight=awp:last=4", 1, 0, 0, "'last=4' is not understood"},
    {"weight=awp:rounded", 1, 0, 0, "'rounded' is not understood"},
    {"weight=awp:", 1, 0, 0, "an option is empty or too long"},
    {"weight=awpx", 1, 0, 0, "codec 'awpx'"},
    {"weight=awp:family=int,grad=onebit", 1, 0, 0,
     "weight=awp:T=0.0001,interval=0,step=4,first=8,group=layer,family=int,norm=master,grad=onebit:"
     "block=2048"},
    {"weight=awp:byte=tree8,step=8,family=int", 1, 0, 0,
     "weight=awp:T=0.0001,interval=0,step=8,first=8,group=layer,family=int,byte=tree8,norm=master,"
     "grad=fp32"},
    {"weight=awp:byte=int8", 1, 0, 0,
     "weight=awp:T=0.0001,interval=0,step=8,first=8,group=layer,byte=int8,norm=master,grad=fp32"},
    {"weight=awp:byte=int:4", 1, 0, 0, "awp:byte=int:4: takes 4"},
    {"weight=awp:family=abs", 1, 0, 0, "'family=abs' is not understood; accepted are T=X"},
    {"weight=awp:family=int,round", 1, 0, 0, "accepted: no 'round', and first=N up to 24"},
    {"weight=awp:first=25,family=int", 1, 0, 0, "accepted: no 'round', and first=N up to 24"},
};

START_TEST(codecs_of_classes)
{
    tw_context_t *ctx;
    tw_codecs_t   codecs;
    tw_problem_t  problem = {0};
    char          text[800];

    ck_assert_int_eq(tw_context_create(&ctx), TW_OK);
    if (tw_codecs_create(&codecs, ctx, codec_lines[_i].line, codec_lines[_i].owners,
                         codec_lines[_i].split, codec_lines[_i].force, &problem) == 0) {
        tw_codecs_text(&codecs, codec_lines[_i].owners, codec_lines[_i].split, text, sizeof(text));
    } else {
        snprintf(text, sizeof(text), "%s", problem.text);
    }
    if (problem.set ? strstr(text, codec_lines[_i].want) == NULL
                    : strcmp(text, codec_lines[_i].want) != 0) {
        ck_abort_msg("'%s' gave '%s'", codec_lines[_i].line, text);
    }
    tw_codecs_destroy(&codecs);
    tw_context_destroy(ctx);
}
END_TEST

/* ---- shares and orders --------------------------------------------------------------------- */

START_TEST(shares_cover_the_batch)
{
    for (size_t n = 0; n < 40; n++) {
        for (int size = 1; size < 9; size++) {
            size_t next = 0, first, count, least = SIZE_MAX, most = 0, before = SIZE_MAX;

            for (int rank = 0; rank < size; rank++) {
                tw_share(n, size, rank, &first, &count);
                ck_assert_uint_eq(first, next);
                ck_assert_uint_le(count, before);
                next   = first + count;
                before = count;
                least  = count < least ? count : least;
                most   = count > most ? count : most;
            }
            ck_assert_uint_eq(next, n);
            ck_assert_uint_le(most - least, 1);
        }
    }
}
END_TEST

START_TEST(orders_are_permutations)
{
    enum { N = 1000 };
    uint32_t order[N], other[N];
    char     seen[N] = {0};
    size_t   fixed   = 0;

    tw_order_draw(order, N, 1, 0);
    for (size_t i = 0; i < N; i++) {
        ck_assert_uint_lt(order[i], N);
        ck_assert_int_eq(seen[order[i]], 0);
        seen[order[i]] = 1;
        fixed += order[i] == i;
    }
    ck_assert_uint_lt(fixed, 8);
    tw_order_draw(other, N, 1, 0);
    ck_assert_mem_eq(order, other, sizeof(order));
    tw_order_draw(other, N, 1, 1);
    ck_assert(memcmp(order, other, sizeof(order)) != 0);
    tw_order_draw(other, N, 2, 0);
    ck_assert(memcmp(order, other, sizeof(order)) != 0);
}
END_TEST

/* ---- hashes -------------------------------------------------------------------------------- */

START_TEST(every_bit_changes_the_hash)
{
    uint8_t bytes[100];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        const uint64_t hash = tw_hash(1, bytes, n);

        ck_assert(hash != tw_hash(2, bytes, n));
        ck_assert(n == 0 || hash != tw_hash(1, bytes, n - 1));
        for (size_t bit = 0; bit < 8 * n; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            ck_assert(tw_hash(1, bytes, n) != hash);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}
END_TEST

START_TEST(comparison_names_rank_and_layer)
{
    uint64_t words[4][3] = {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}};
    int      rank        = -1;
    size_t   layer       = 9;

    ck_assert_int_eq(tw_compare_words(words[0], 4, 3, &rank, &layer), 0);
    words[3][0] = 0;
    words[2][1] = 7;
    words[2][2] = 8;
    ck_assert_int_eq(tw_compare_words(words[0], 4, 3, &rank, &layer), -1);
    ck_assert_int_eq(rank, 2);
    ck_assert_uint_eq(layer, 1);
}
END_TEST

/* ---- files --------------------------------------------------------------------------------- */

static char folder[64], path[128];

static void make_folder(void)
{
    strcpy(folder, "/tmp/thinwire-pieces.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/out", folder);
}

static void remove_folder(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else was left there */
}

START_TEST(files_are_whole_or_not_there)
{
    tw_problem_t problem = {0};
    tw_file_t    file;
    struct stat  info;

    ck_assert_int_eq(tw_file_try("--json", path, &problem), 0);
    ck_assert_int_ne(stat(path, &info), 0);
    ck_assert_int_eq(tw_file_begin(&file, "--json", path, &problem), 0);
    fputs("one", file.stream);
    ck_assert_int_ne(stat(path, &info), 0);
    ck_assert_int_eq(tw_file_end(&file, "--json", &problem), 0);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq((int)info.st_size, 3);
    ck_assert_int_eq(tw_file_begin(&file, "--json", path, &problem), 0);
    fputs("longer", file.stream);
    tw_file_drop(&file);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq((int)info.st_size, 3);
}
END_TEST

START_TEST(unwritable_files_are_named)
{
    static const char *const bad[]   = {"/nonexistent/x/y", "/tmp", "/dev/full"};
    tw_problem_t             problem = {0};

    ck_assert_int_eq(tw_file_try("--json", bad[_i], &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "--json /"));
    ck_assert_ptr_nonnull(strstr(problem.text, "cannot be written: "));
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("train/pieces");
    TCase *pieces = tcase_create("pieces");
    TCase *files  = tcase_create("files");

    tcase_add_test(pieces, options_are_understood);
    tcase_add_loop_test(pieces, bad_options_are_named, 0, BAD_OPTIONS);
    tcase_add_test(pieces, schemes_are_understood);
    tcase_add_test(pieces, a_problem_is_one_line);
    tcase_add_loop_test(pieces, codecs_of_classes, 0, sizeof(codec_lines) / sizeof(codec_lines[0]));
    tcase_add_test(pieces, shares_cover_the_batch);
    tcase_add_test(pieces, orders_are_permutations);
    tcase_add_test(pieces, every_bit_changes_the_hash);
    tcase_add_test(pieces, comparison_names_rank_and_layer);
    suite_add_tcase(suite, pieces);
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, files_are_whole_or_not_there);
    tcase_add_loop_test(files, unwritable_files_are_named, 0, 3);
    suite_add_tcase(suite, files);
    return test_main(suite);
}
