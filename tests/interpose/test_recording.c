/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/test_recording.c - recorded sequences: what is folded is the same when it is
 * unfolded, whatever it was; and the jobs that are made of them, as thinwire scale reads them.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/record/fold.h"
#include "interpose/report/records.h"
#include "interpose/record/recording_text.h"
#include "interpose/record/recording_words.h"
#include "scaling/workload.h"
#include "tests/suite.h"

enum { MOST = 1 << 17, RUNS = 300 };

static test_random_t random_numbers;

/* A sequence beside its fold. */
typedef struct both {
    tw_fold_t fold;
    uint32_t *id;
    size_t    count, room;
    double    compute, fixed;
} both_t;

static void begin(both_t *b, size_t most)
{
    *b    = (both_t){.room = 4096};
    b->id = malloc(b->room * sizeof(*b->id));
    ck_assert(tw_fold_init(&b->fold, most));
}

static void end(both_t *b)
{
    tw_fold_fini(&b->fold);
    free(b->id);
}

/* False: the fold is full. */
static bool put(both_t *b, uint32_t id)
{
    const double compute = 1e-9 * test_below(&random_numbers, 1000000),
                 fixed   = 1e-9 * test_below(&random_numbers, 1000);

    if (!tw_fold_add(&b->fold, id, compute, fixed)) {
        return false;
    }
    if (b->count == b->room) {
        b->room *= 2;
        b->id = realloc(b->id, b->room * sizeof(*b->id));
    }
    b->id[b->count++] = id;
    b->compute += compute;
    b->fixed += fixed;
    return true;
}

/* Check's own assertions take a microsecond each even where they hold. */
#define HOLDS(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            ck_abort_msg("not so: %s", #what);                                                     \
        }                                                                                          \
    } while (0)

/* ---- unfolding ----------------------------------------------------------------------------- */

/* Walks through `nodes` as a program would, comparing; map: NULL, or other numbers of ids. */
static void walk(const tw_fold_node_t *nodes, size_t length, const both_t *b, const uint32_t *map,
                 size_t *at, int depth)
{
    HOLDS(depth <= TW_FOLD_DEPTH);
    for (size_t i = 0; i < length; i++) {
        if (nodes[i].length == 0) {
            HOLDS(*at < b->count);
            HOLDS(nodes[i].id == (map != NULL ? map[b->id[*at]] : b->id[*at]));
            ++*at;
            continue;
        }
        HOLDS(nodes[i].times > 1);
        for (uint64_t k = 0; k < nodes[i].times; k++) {
            walk(nodes[i].body, nodes[i].length, b, map, at, depth + 1);
        }
    }
}

typedef struct folded {
    double   compute, fixed;
    uint64_t runs;
} folded_t;

static void add_up(void *arg, tw_fold_node_t *leaf)
{
    folded_t *sums = arg;

    sums->compute += leaf->compute;
    sums->fixed += leaf->fixed;
    sums->runs += leaf->runs;
}

/* Every leaf ran as often as the loops around it say. */
static size_t nodes_of(const tw_fold_node_t *nodes, size_t length, uint64_t times)
{
    size_t sum = 0;

    for (size_t i = 0; i < length; i++) {
        sum++;
        if (nodes[i].length > 0) {
            sum += nodes_of(nodes[i].body, nodes[i].length, times * nodes[i].times);
        } else {
            HOLDS(nodes[i].runs == times);
        }
    }
    return sum;
}

static void is_the_same(tw_fold_t *fold, const both_t *b, const uint32_t *map)
{
    folded_t sums = {0};
    size_t   at   = 0;

    walk(fold->top, fold->length, b, map, &at, 0);
    ck_assert_uint_eq(at, b->count);
    tw_fold_each(fold, add_up, &sums);
    ck_assert_uint_eq(sums.runs, b->count);
    ck_assert_double_eq_tol(sums.compute, b->compute, 1e-9 * b->compute + 1e-12);
    ck_assert_double_eq_tol(sums.fixed, b->fixed, 1e-9 * b->fixed + 1e-12);
    ck_assert_uint_eq(nodes_of(fold->top, fold->length, 1), fold->nodes);
}

/* ---- sequences ----------------------------------------------------------------------------- */

/* A random program of loops in loops; ids below `ids`. False: full. */
static bool program(both_t *b, int depth, int ids, test_random_t *shape)
{
    const int items = 1 + test_below(shape, 4);

    for (int i = 0; i < items; i++) {
        if (depth > 0 && test_below(shape, 2) == 0) {
            const int           rounds = 1 + test_below(shape, 6);
            const test_random_t body   = *shape;

            for (int k = 0; k < rounds; k++) {
                *shape = body; /* every round is alike */
                if (!program(b, depth - 1, ids, shape)) {
                    return false;
                }
            }
        } else if (!put(b, (uint32_t)test_below(shape, ids))) {
            return false;
        }
        if (b->count > 20000) {
            return true;
        }
    }
    return true;
}

START_TEST(loops_unfold_to_what_they_were)
{
    for (int run = 0; run < RUNS; run++) {
        test_random_t shape = {test_next(&random_numbers)};
        both_t        b;

        begin(&b, MOST);
        ck_assert(program(&b, 1 + run % 6, 1 + run % 9, &shape));
        is_the_same(&b.fold, &b, NULL);
        end(&b);
    }
}
END_TEST

START_TEST(random_sequences_unfold_to_what_they_were)
{
    for (int run = 0; run < RUNS; run++) {
        const int count = test_below(&random_numbers, 3000), ids = 1 + run % 12;
        both_t    b;

        begin(&b, MOST);
        for (int i = 0; i < count; i++) {
            HOLDS(put(&b, (uint32_t)test_below(&random_numbers, ids)));
        }
        is_the_same(&b.fold, &b, NULL);
        end(&b);
    }
}
END_TEST

/* Loops of loops of loops with something between them: as many nodes as the program has lines. */
START_TEST(a_million_events_of_loops_are_few_nodes)
{
    both_t b;

    begin(&b, 100);
    for (int i = 0; i < 100; i++) {
        put(&b, 1);
        for (int j = 0; j < 100; j++) {
            put(&b, 2);
            put(&b, 3);
            for (int k = 0; k < 49; k++) {
                put(&b, 4);
                put(&b, 2);
            }
        }
        put(&b, 5);
    }
    ck_assert_uint_eq(b.count, 100 * (2 + 100 * 100));
    ck_assert_uint_le(b.fold.nodes, 24);
    is_the_same(&b.fold, &b, NULL);
    end(&b);
}
END_TEST

/* A body of 10,000 different elements. */
START_TEST(long_rounds_are_found)
{
    both_t b;

    begin(&b, MOST);
    for (int i = 0; i < 20; i++) {
        for (uint32_t k = 0; k < 10000; k++) {
            HOLDS(put(&b, k));
        }
    }
    ck_assert_uint_le(b.fold.nodes, 10002);
    is_the_same(&b.fold, &b, NULL);
    end(&b);
}
END_TEST

START_TEST(loops_are_nested_eight_deep_and_no_deeper)
{
    both_t b;

    begin(&b, MOST);
    for (uint32_t i = 0; i < 1 << 12; i++) { /* the ruler: 0 1 0 2 0 1 0 3 ... */
        for (uint32_t k = 0; i >> k & 1; k++) {
            HOLDS(put(&b, k + 1));
        }
        HOLDS(put(&b, 0));
    }
    is_the_same(&b.fold, &b, NULL);
    end(&b);
}
END_TEST

START_TEST(what_is_full_stays_as_it_is)
{
    both_t b;

    begin(&b, 1000);
    while (put(&b, (uint32_t)test_next(&random_numbers))) {
        HOLDS(b.count <= 1000);
    }
    ck_assert_uint_ge(b.count, 999);
    ck_assert(!put(&b, 7));
    is_the_same(&b.fold, &b, NULL);
    end(&b);
}
END_TEST

START_TEST(other_numbers_fold_more)
{
    for (int run = 0; run < RUNS; run++) {
        test_random_t shape = {test_next(&random_numbers)};
        uint32_t      map[16];
        tw_fold_t     to;
        both_t        b;
        size_t        nodes;

        for (int i = 0; i < 16; i++) {
            map[i] = (uint32_t)test_below(&random_numbers, 1 + run % 5);
        }
        begin(&b, MOST);
        ck_assert(program(&b, 1 + run % 7, 1 + run % 16, &shape));
        nodes = b.fold.nodes;
        ck_assert(tw_fold_init(&to, MOST));
        ck_assert(tw_fold_renumber(&b.fold, map, &to));
        is_the_same(&to, &b, map);
        ck_assert_uint_le(to.nodes, nodes);
        ck_assert_uint_eq(b.fold.length, 0);
        tw_fold_fini(&to);
        end(&b);
    }
}
END_TEST

START_TEST(structures_tell_sequences_apart)
{
    static const uint64_t words[4] = {11, 12, 13, 12};

    for (int run = 0; run < RUNS; run++) {
        const int count = 1 + test_below(&random_numbers, 300),
                  at    = test_below(&random_numbers, count);
        both_t a, b, c;

        begin(&a, MOST);
        begin(&b, MOST);
        begin(&c, MOST);
        for (int i = 0; i < count; i++) {
            const uint32_t id = (uint32_t)test_below(&random_numbers, 3);

            HOLDS(put(&a, id) && put(&b, id) && put(&c, i == at ? (id + 1) % 3 : id));
        }
        ck_assert_uint_eq(tw_fold_structure(&a.fold, words), tw_fold_structure(&b.fold, words));
        ck_assert_uint_ne(tw_fold_structure(&a.fold, words), tw_fold_structure(&c.fold, words));
        end(&a);
        end(&b);
        end(&c);
    }
}
END_TEST

/* Sums over the leaves of another fold, by visits. */
typedef struct laid {
    const double *mean;
    double       *sum;
    uint64_t     *runs;
    uint64_t      visits;
} laid_t;

static void lay(void *arg, uint32_t a, uint32_t b, uint64_t runs)
{
    laid_t *laid = arg;

    laid->sum[b] += (double)runs * laid->mean[a];
    laid->runs[b] += runs;
    laid->visits++;
}

typedef struct leaves {
    double   mean[40000];
    uint64_t runs[40000];
    uint32_t n;
} leaves_t;

static void note_leaf(void *arg, tw_fold_node_t *leaf)
{
    leaves_t *leaves = arg;

    leaves->mean[leaves->n]   = leaf->compute / (double)leaf->runs;
    leaves->runs[leaves->n++] = leaf->runs;
}

/* One sequence of three words, by ranks of which each tells some of their places apart: as a walk
 * through all of it, for each element. */
START_TEST(other_loops_of_one_sequence_lie_beside_each_other)
{
    static const uint64_t words[9] = {11, 12, 13, 11, 12, 13, 11, 12, 13};
    static leaves_t       of_a, of_b;
    int                   other = 0;

    for (int run = 0; run < RUNS; run++) {
        test_random_t    shape = {test_next(&random_numbers)};
        both_t           whole, a, b;
        tw_fold_shape_t *in_a, *in_b;
        laid_t           laid = {of_a.mean, NULL, NULL, 0};
        double           sum  = 0.0;

        begin(&whole, MOST);
        begin(&a, MOST);
        begin(&b, MOST);
        HOLDS(program(&whole, 1 + run % 5, 3, &shape) && whole.count < 30000);
        for (size_t i = 0; i < whole.count; i++) { /* a has them from other places */
            const uint32_t apart =
                (uint32_t)(i % 7 == 0 || run % 3 == 0 ? test_below(&shape, 3) : 0);

            HOLDS(put(&a, whole.id[i] + 3 * (i < 9 || run % 2 == 0 ? apart : 0)) &&
                  put(&b, whole.id[i]));
        }
        ck_assert_uint_eq(tw_fold_sequence(&a.fold, words), tw_fold_sequence(&b.fold, words));
        other += tw_fold_structure(&a.fold, words) != tw_fold_structure(&b.fold, words);
        of_a.n = of_b.n = 0;
        tw_fold_each(&a.fold, note_leaf, &of_a);
        tw_fold_each(&b.fold, note_leaf, &of_b);
        in_a      = calloc(a.fold.nodes, sizeof(*in_a));
        in_b      = calloc(b.fold.nodes + 1, sizeof(*in_b));
        laid.sum  = calloc(of_b.n, sizeof(*laid.sum));
        laid.runs = calloc(of_b.n, sizeof(*laid.runs));
        tw_fold_shape(&a.fold, words, in_a);
        tw_fold_shape(&b.fold, words, in_b);
        ck_assert(tw_fold_beside(in_a, a.fold.nodes, in_b, b.fold.nodes, lay, &laid));
        for (uint32_t i = 0; i < of_b.n; i++) {
            HOLDS(laid.runs[i] == of_b.runs[i]);
            sum += laid.sum[i];
        }
        ck_assert_double_eq_tol(sum, a.compute, 1e-9 * a.compute + 1e-12);
        /* One more, or another one: not the same. */
        in_b[b.fold.nodes] = (tw_fold_shape_t){11, 1, 0};
        ck_assert(!tw_fold_beside(in_a, a.fold.nodes, in_b, b.fold.nodes + 1, lay, &laid));
        put(&b, (whole.id[0] + 1) % 3);
        ck_assert_uint_ne(tw_fold_sequence(&a.fold, words), tw_fold_sequence(&b.fold, words));
        free(in_a);
        free(in_b);
        free(laid.sum);
        free(laid.runs);
        end(&whole);
        end(&a);
        end(&b);
    }
    ck_assert_int_gt(other, RUNS / 10);
}
END_TEST

/* 10^15 calls are as many steps as there are loops of one element. */
START_TEST(long_loops_are_one_step)
{
    static const uint64_t words[2] = {11, 11};
    const uint64_t        most     = 1000000000000000;
    const double          mean[2]  = {1.0, 2.0};
    double                sum[1]   = {0.0};
    uint64_t              runs[1]  = {0};
    laid_t                laid     = {mean, sum, runs, 0};
    tw_fold_t             a, b;
    tw_fold_shape_t       in_a[4], in_b[2];

    ck_assert(tw_fold_init(&a, 9) && tw_fold_init(&b, 9));
    ck_assert(tw_fold_add_runs(&a, 0, 0.0, 0.0, most) && tw_fold_add_runs(&a, 1, 0.0, 0.0, most));
    ck_assert(tw_fold_add_runs(&b, 0, 0.0, 0.0, 2 * most));
    ck_assert_uint_eq(tw_fold_sequence(&a, words), tw_fold_sequence(&b, words));
    tw_fold_shape(&a, words, in_a);
    tw_fold_shape(&b, words, in_b);
    ck_assert(tw_fold_beside(in_a, 4, in_b, 2, lay, &laid));
    ck_assert_uint_eq(laid.visits, 2);
    ck_assert_uint_eq(runs[0], 2 * most);
    ck_assert_double_eq_tol(sum[0], 3e15, 1.0);
    tw_fold_fini(&a);
    tw_fold_fini(&b);
}
END_TEST

/* ---- words --------------------------------------------------------------------------------- */

START_TEST(every_part_of_a_key_tells_words_apart)
{
    const tw_recording_key_t key = {
        .site = 1, .bytes = 4, .ranks = 2, .stride = 1, .kind = TW_RECORDING_CALL};
    tw_recording_key_t   keys[9];
    tw_recording_words_t words = {.count = 0};

    for (int i = 0; i < 9; i++) {
        keys[i] = key;
    }
    keys[1].site      = 2;
    keys[2].bytes     = 8;
    keys[3].ranks     = 3;
    keys[4].stride    = 2;
    keys[5].slot      = 1;
    keys[6].kind      = TW_RECORDING_START;
    keys[7].operation = 1;
    keys[8].type      = 1;
    for (uint32_t i = 0; i < 9; i++) {
        ck_assert_uint_eq(tw_recording_words_get(&words, &keys[i], 9), i);
        ck_assert_int_eq(tw_recording_word_print(&keys[i]) == tw_recording_word_print(&key),
                         i == 0 || i == 1 || i == 4 || i == 5);
    }
    for (uint32_t i = 0; i < 9; i++) {
        ck_assert_uint_eq(tw_recording_words_get(&words, &keys[i], 0), i);
    }
    keys[0].site = 77;
    ck_assert_uint_eq(tw_recording_words_get(&words, &keys[0], 9), TW_RECORDING_NO_ID);
    tw_recording_words_fini(&words);
}
END_TEST

START_TEST(coarser_words_keep_their_sums)
{
    tw_recording_words_t words = {.count = 0}, fewer;
    uint32_t             map[3000];
    double               bytes = 0.0;
    uint64_t             runs  = 0;

    for (uint64_t i = 0; i < 3000; i++) {
        const tw_recording_key_t key = {
            .site = 1 + i % 3, .bytes = i, .ranks = 2, .kind = TW_RECORDING_CALL};
        const uint32_t id = tw_recording_words_get(&words, &key, SIZE_MAX);

        words.word[id].runs  = 1 + i % 7;
        words.word[id].bytes = (double)(i * (1 + i % 7));
        bytes += words.word[id].bytes;
        runs += words.word[id].runs;
    }
    ck_assert(tw_recording_words_coarser(&words, TW_RECORDING_SIZES, &fewer, map));
    ck_assert_uint_eq(fewer.count, 3);
    for (uint32_t i = 0; i < 3000; i++) {
        ck_assert_uint_eq(map[i], i % 3);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(fewer.word[i].key.bytes, TW_RECORDING_VARIES);
        bytes -= fewer.word[i].bytes;
        runs -= fewer.word[i].runs;
    }
    ck_assert_uint_eq(runs, 0);
    ck_assert_double_eq_tol(bytes, 0.0, 1e-3);
    tw_recording_words_fini(&fewer);
    ck_assert(tw_recording_words_coarser(&words, TW_RECORDING_SITES, &fewer, map));
    ck_assert_uint_eq(fewer.count, 3000);
    tw_recording_words_fini(&fewer);
    tw_recording_words_fini(&words);
}
END_TEST

/* ---- jobs ---------------------------------------------------------------------------------- */

static char job_path[] = "/tmp/thinwire-test-recording.XXXXXX";

/* The text as thinwire scale reads it. */
static workload_t read_back(const char *text, size_t length)
{
    char         path[sizeof(job_path)];
    tw_problem_t problem = {.set = 0};
    workload_t   work;
    FILE        *file;

    strcpy(path, job_path);
    file = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    fclose(file);
    ck_assert_msg(workload_read(&work, path, &problem) == 0, "%s", problem.text);
    unlink(path);
    return work;
}

/* As many nodes as a recorded program may have, with the longest lines that there are. */
START_TEST(the_longest_job_is_read)
{
    enum { NODES = 40000 };
    tw_recording_words_t words = {.count = 0};
    tw_fold_t            fold;
    double              *times = calloc(2 * NODES, sizeof(*times));
    tw_recording_job_t   job   = {.program = "a \"b\\\n", .ranks = 65536, .alike = 65536};
    workload_t           work;
    size_t               length;
    char                *text;

    ck_assert(tw_fold_init(&fold, NODES));
    for (uint32_t i = 0; i < NODES; i++) {
        const tw_recording_key_t key = {.bytes     = 400000000000 + 8 * (uint64_t)i,
                                        .ranks     = 65535,
                                        .stride    = 65535,
                                        .kind      = TW_RECORDING_CALL,
                                        .operation = TW_OPERATION_REDUCE_SCATTER,
                                        .type      = TW_ELEMENTS_f64};

        ck_assert(tw_fold_add(&fold, tw_recording_words_get(&words, &key, SIZE_MAX), 0.0, 0.0));
        times[i]         = 123456.123456789;
        times[NODES + i] = 12345.123456789;
    }
    job.words   = &words;
    job.fold    = &fold;
    job.total   = times;
    job.compute = times + NODES;
    text        = tw_recording_text(&job, &length);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_le(length, 10000000);
    work = read_back(text, length);
    ck_assert_uint_eq(work.items, 4 * NODES);
    ck_assert_uint_eq(work.exchanges, NODES);
    ck_assert_int_eq(work.ranks, 65536);
    ck_assert_int_eq(work.fixed, 1);
    ck_assert_str_eq(work.name, "a__b__");
    ck_assert_double_eq_tol(work.item[0].seconds, 12345.123456789, 1e-6);
    ck_assert_double_eq_tol(work.item[1].seconds, 111111.0, 1e-6);
    ck_assert_double_eq_tol(work.exchange[7].count, 5e10 + 7, 0.5);
    ck_assert_int_eq(work.exchange[7].ranks, 65535);
    workload_free(&work);
    free(text);
    free(times);
    tw_fold_fini(&fold);
    tw_recording_words_fini(&words);
}
END_TEST

/* Loops, starts and waits, sizes that are no whole numbers. */
START_TEST(jobs_say_what_was_folded)
{
    const tw_recording_key_t start = {.bytes     = TW_RECORDING_VARIES,
                                      .ranks     = 2,
                                      .kind      = TW_RECORDING_START,
                                      .operation = TW_OPERATION_ALLTOALL},
                             other = {.bytes = 6,
                                      .ranks = 2,
                                      .slot  = 0,
                                      .kind  = TW_RECORDING_CALL,
                                      .type  = TW_ELEMENTS_OTHER};
    const double         times[6]  = {0.0, 0.5, 0.25, 0.0, 0.5, 0.125};
    tw_recording_key_t   wait      = start;
    tw_recording_words_t words     = {.count = 0};
    tw_fold_t            fold;
    tw_recording_job_t   job = {.program   = "p",
                                .ranks     = 2,
                                .alike     = 1,
                                .averaged  = true,
                                .unordered = true,
                                .others    = 3,
                                .threshold = SIZE_MAX};
    workload_t           work;
    size_t               length;
    char                *text;

    wait.kind = TW_RECORDING_WAIT;
    ck_assert(tw_fold_init(&fold, 100));
    tw_recording_words_get(&words, &start, 3);
    tw_recording_words_get(&words, &wait, 3);
    tw_recording_words_get(&words, &other, 3);
    words.word[0].runs  = 9;
    words.word[0].bytes = 4.0 * 3.0;
    for (int i = 0; i < 9; i++) {
        ck_assert(tw_fold_add(&fold, 2, 0.0, 0.0) && tw_fold_add(&fold, 0, 0.0, 0.0) &&
                  tw_fold_add(&fold, 1, 0.0, 0.0));
    }
    job.words   = &words;
    job.fold    = &fold;
    job.total   = times;
    job.compute = times + 3;
    text        = tw_recording_text(&job, &length);
    ck_assert_ptr_nonnull(strstr(text, "APPROXIMATE"));
    ck_assert_ptr_nonnull(strstr(text, "1 rank made other calls"));
    ck_assert_ptr_nonnull(strstr(text, "3 collectives of other threads"));
    work = read_back(text, length);
    ck_assert_uint_eq(work.items, 9);
    ck_assert_int_eq(work.item[0].kind, ITEM_REPEAT);
    ck_assert_uint_eq(work.item[0].times, 9);
    ck_assert_int_eq(work.item[1].kind, ITEM_START);
    ck_assert_int_eq(work.item[2].kind, ITEM_WAIT);
    ck_assert_int_eq(work.item[3].kind, ITEM_COMPUTE);
    ck_assert_int_eq(work.item[4].kind, ITEM_START);
    ck_assert_int_eq(work.item[5].kind, ITEM_COMPUTE);
    ck_assert_int_eq(work.item[6].kind, ITEM_IDLE);
    ck_assert(work.exchange[0].native && work.exchange[0].threshold == 1e15);
    ck_assert_int_eq(work.item[7].kind, ITEM_WAIT);
    workload_free(&work);
    free(text);
    tw_fold_fini(&fold);
    tw_recording_words_fini(&words);
}
END_TEST

/* More rounds than an int holds, and calls in several slots, which the head counts together. */
START_TEST(long_loops_and_slots_are_written)
{
    tw_recording_key_t   key      = {.bytes = 8, .ranks = 2, .kind = TW_RECORDING_START};
    const double         times[4] = {0.0};
    tw_recording_words_t words    = {.count = 0};
    tw_fold_t            fold;
    tw_recording_job_t   job = {.program = "p", .ranks = 2, .alike = 2};
    workload_t           work;
    size_t               length;
    char                *text;

    ck_assert(tw_fold_init(&fold, 100));
    for (uint32_t i = 0; i < 4; i++) {
        key.slot = i / 2;
        key.kind = i % 2 == 0 ? TW_RECORDING_START : TW_RECORDING_WAIT;
        ck_assert_uint_eq(tw_recording_words_get(&words, &key, 4), i);
        words.word[i].runs = 5000000000;
        ck_assert(tw_fold_add_runs(&fold, i, 0.0, 0.0, 5000000000));
    }
    job.words   = &words;
    job.fold    = &fold;
    job.total   = times;
    job.compute = times;
    text        = tw_recording_text(&job, &length);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "#   allreduce 1: 10000000000 times, 2 ranks"));
    work = read_back(text, length);
    ck_assert_uint_eq(work.items, 12);
    ck_assert_uint_eq(work.item[0].times, 5000000000);
    workload_free(&work);
    free(text);
    tw_fold_fini(&fold);
    tw_recording_words_fini(&words);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recording");
    TCase *fold  = test_case_within(suite, "fold", 60);
    TCase *words = test_case(suite, "words");
    TCase *jobs  = test_case_within(suite, "jobs", 60);

    random_numbers.state = test_seed();
    tcase_add_test(fold, loops_unfold_to_what_they_were);
    tcase_add_test(fold, random_sequences_unfold_to_what_they_were);
    tcase_add_test(fold, a_million_events_of_loops_are_few_nodes);
    tcase_add_test(fold, long_rounds_are_found);
    tcase_add_test(fold, loops_are_nested_eight_deep_and_no_deeper);
    tcase_add_test(fold, what_is_full_stays_as_it_is);
    tcase_add_test(fold, other_numbers_fold_more);
    tcase_add_test(fold, structures_tell_sequences_apart);
    tcase_add_test(fold, other_loops_of_one_sequence_lie_beside_each_other);
    tcase_add_test(fold, long_loops_are_one_step);
    tcase_add_test(words, every_part_of_a_key_tells_words_apart);
    tcase_add_test(words, coarser_words_keep_their_sums);
    tcase_add_test(jobs, the_longest_job_is_read);
    tcase_add_test(jobs, jobs_say_what_was_folded);
    tcase_add_test(jobs, long_loops_and_slots_are_written);
    return test_main(suite);
}
