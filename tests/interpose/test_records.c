/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/test_records.c - the table of a process, and how records become one.
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/report/records.h"
#include "tests/suite.h"

static test_random_t random_numbers; /* set before the first test, so equal in all */

static uint64_t draw(uint64_t below)
{
    return test_next(&random_numbers) % below;
}

static tw_record_key_t key_of(int number)
{
    tw_record_key_t key;

    memset(&key, 0, sizeof(key));
    key.site = 1; /* in no object */
    key.op   = TW_RULE_ALLREDUCE;
    snprintf(key.comm, sizeof(key.comm), "communicator number %d", number);
    snprintf(key.type, sizeof(key.type), "float");
    return key;
}

static tw_record_t call_of(uint64_t asked)
{
    tw_record_t delta;

    memset(&delta, 0, sizeof(delta));
    delta.calls        = 1;
    delta.uncompressed = asked;
    return delta;
}

/* ---- the table ----------------------------------------------------------------------------- */

START_TEST(every_part_of_a_key_tells_records_apart)
{
    tw_record_key_t keys[9];
    tw_record_t    *records[9];

    for (int i = 0; i < 9; i++) {
        keys[i] = key_of(0);
    }
    keys[1].site                             = 2;
    keys[2].site                             = UINT64_C(1) << 63 | 1;
    keys[3].op                               = TW_RULE_BCAST;
    keys[4].nonblocking                      = 1;
    keys[5].form                             = 1;
    keys[6].type[4]                          = 's';
    keys[7].comm[sizeof(keys[7].comm) - 2]   = 'x';
    keys[8].codec[sizeof(keys[8].codec) - 2] = 'x';
    tw_records_lock();
    for (int i = 0; i < 9; i++) {
        records[i] = tw_records_find(&keys[i]);
        ck_assert_mem_eq(&records[i]->key, &keys[i], sizeof(keys[i]));
        for (int j = 0; j < i; j++) {
            ck_assert_ptr_ne(records[i], records[j]);
        }
    }
    for (int i = 0; i < 9; i++) {
        ck_assert_ptr_eq(tw_records_find(&keys[i]), records[i]);
    }
    tw_records_unlock();
}
END_TEST

START_TEST(records_never_move)
{
    enum { KEYS = 3000 };
    static tw_record_t *records[KEYS];
    tw_record_t        *copy;
    size_t              count;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEYS; i++) {
            const tw_record_key_t key = key_of(i);

            tw_records_lock();
            if (round == 0) {
                records[i] = tw_records_find(&key);
            } else {
                ck_assert_ptr_eq(tw_records_find(&key), records[i]);
            }
            records[i]->calls++;
            tw_records_unlock();
        }
    }
    copy = tw_records_copy(&count);
    ck_assert_uint_eq(count, KEYS);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(copy[i].calls, 2);
    }
    free(copy);
}
END_TEST

/* A program that names its communicators anew for ever must not use up the memory, and no call may
 * be lost. */
START_TEST(the_table_has_an_end_and_loses_nothing)
{
    enum { KEYS = 50000 };
    tw_record_t *copy;
    size_t       count;
    uint64_t     calls = 0, asked = 0, want = 0;

    for (int i = 0; i < KEYS; i++) {
        tw_record_key_t   key   = key_of(i);
        const tw_record_t delta = call_of((uint64_t)i);

        key.site = 1 + (uint64_t)(i % 7000) * 16;
        tw_records_add(&key, &delta);
        want += (uint64_t)i;
    }
    copy = tw_records_copy(&count);
    ck_assert_uint_lt(count, 10000);
    for (size_t i = 0; i < count; i++) {
        calls += copy[i].calls;
        asked += copy[i].uncompressed;
        ck_assert_uint_eq(copy[i].key.op, TW_RULE_ALLREDUCE);
    }
    ck_assert_uint_eq(calls, KEYS);
    ck_assert_uint_eq(asked, want);
    free(copy);
}
END_TEST

START_TEST(an_empty_table_gives_nothing)
{
    size_t count = 1;

    ck_assert_ptr_null(tw_records_copy(&count));
    ck_assert_uint_eq(count, 0);
}
END_TEST

enum { THREADS = 4, ADDS = 300000 };

static pthread_barrier_t start;

static void *add_many(void *unused)
{
    const tw_record_key_t usual = key_of(0);
    const tw_record_t     delta = call_of(3);

    pthread_barrier_wait(&start);
    for (int i = 0; i < ADDS; i++) {
        if (i % 300 == 0) { /* now and then a new one */
            const tw_record_key_t other = key_of(i / 300 % 500);

            tw_records_add(&other, &delta);
        } else {
            tw_records_add(&usual, &delta);
        }
    }
    return unused;
}

START_TEST(threads_lose_no_calls)
{
    pthread_t    threads[THREADS];
    tw_record_t *copy;
    size_t       count;
    uint64_t     calls = 0, asked = 0;

    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    copy = tw_records_copy(&count);
    ck_assert_uint_eq(count, 500);
    for (size_t i = 0; i < count; i++) {
        calls += copy[i].calls;
        asked += copy[i].uncompressed;
    }
    ck_assert_uint_eq(calls, THREADS * ADDS);
    ck_assert_uint_eq(asked, 3 * THREADS * ADDS);
    free(copy);
}
END_TEST

static void *hold(void *unused)
{
    tw_records_lock();
    return unused;
}

/* MPI_Abort from a signal handler, while a thread is in the table. */
START_TEST(a_held_lock_does_not_keep_the_copy)
{
    const tw_record_key_t key   = key_of(0);
    const tw_record_t     delta = call_of(1);
    pthread_t             thread;
    tw_record_t          *copy;
    size_t                count;

    tw_records_add(&key, &delta);
    ck_assert_int_eq(pthread_create(&thread, NULL, hold, NULL), 0);
    pthread_join(thread, NULL);
    copy = tw_records_copy(&count);
    ck_assert_uint_eq(count, 1);
    free(copy);
}
END_TEST

/* ---- merging ------------------------------------------------------------------------------- */

/* All counters are 64 bits wide: each must be added, so that none is forgotten. */
START_TEST(every_counter_is_added)
{
    enum { START = sizeof(tw_record_key_t), COUNTERS = (sizeof(tw_record_t) - START) / 8 };
    const size_t worst = (offsetof(tw_record_t, worst) - START) / 8;
    const size_t rms   = (offsetof(tw_record_t, worst_rms) - START) / 8;
    const size_t bits  = (offsetof(tw_record_t, bits) - START) / 8; /* the most of all ranks */
    tw_record_t  a, b;
    uint64_t     values[COUNTERS];

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    for (size_t i = 0; i < COUNTERS; i++) {
        values[i] = i == worst || i == rms ? 0 : i + 1;
    }
    memcpy((char *)&b + START, values, sizeof(values));
    tw_record_merge(&a, &b);
    tw_record_merge(&a, &b);
    memcpy(values, (char *)&a + START, sizeof(values));
    for (size_t i = 0; i < COUNTERS; i++) {
        ck_assert_msg(values[i] == (i == worst || i == rms ? 0 : (i == bits ? 1 : 2) * (i + 1)),
                      "counter %zu is %llu", i, (unsigned long long)values[i]);
    }
}
END_TEST

START_TEST(the_larger_error_stays)
{
    tw_record_t a, b;

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    b.worst     = 2.0;
    b.worst_rms = 0.5;
    tw_record_merge(&a, &b);
    ck_assert_double_eq(a.worst, 2.0);
    ck_assert_double_eq(a.worst_rms, 0.5);
    b.worst     = 1.0;
    b.worst_rms = 0.75;
    tw_record_merge(&a, &b);
    ck_assert_double_eq(a.worst, 2.0);
    ck_assert_double_eq(a.worst_rms, 0.75);
    b.worst = (double)NAN;
    tw_record_merge(&a, &b);
    ck_assert(isnan(a.worst));
    b.worst = 3.0;
    tw_record_merge(&a, &b);
    ck_assert(isnan(a.worst));
}
END_TEST

/* The records of many ranks, in any order, give the same list: each key once, longest first. */
START_TEST(the_order_of_ranks_does_not_matter)
{
    enum { COUNT = 800, KEYS = 60 };
    static tw_record_t in[COUNT], one[COUNT], two[COUNT];
    uint64_t           times[KEYS] = {0};
    size_t             n;

    for (int i = 0; i < COUNT; i++) {
        const int number = (int)draw(KEYS);

        in[i]         = call_of(draw(3));
        in[i].key     = key_of(number);
        in[i].time_ns = draw(4);
        times[number] += in[i].time_ns;
    }
    memcpy(one, in, sizeof(in));
    for (int i = 0; i < COUNT; i++) { /* 7 and 800 have no common factor */
        two[(7 * i) % COUNT] = in[i];
    }
    n = tw_records_merge(one, COUNT);
    ck_assert_uint_eq(n, tw_records_merge(two, COUNT));
    ck_assert_uint_le(n, KEYS);
    ck_assert_mem_eq(one, two, n * sizeof(*one));
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(one[i].time_ns,
                          times[atoi(one[i].key.comm + strlen("communicator number "))]);
        if (i > 0) {
            ck_assert_uint_ge(one[i - 1].time_ns, one[i].time_ns);
        }
        for (size_t j = 0; j < i; j++) {
            ck_assert_int_ne(memcmp(&one[i].key, &one[j].key, sizeof(one[i].key)), 0);
        }
    }
    ck_assert_uint_eq(tw_records_merge(one, 0), 0);
}
END_TEST

/* Numbers are none of it; integers put into doubles are subnormal or NaN, and in the middle as
 * well. */
START_TEST(what_messages_hold)
{
    static const int64_t words[] = {3, -3, 70000};
    double               many[1000];
    float                few[5] = {0.0f, -3.0f, 16777215.0f, 4.0f, 1.0f};

    for (int i = 0; i < 1000; i++) {
        many[i] = 0.1 * i;
    }
    ck_assert_uint_eq(tw_census_of(many, 1000, TW_F64), 0);
    ck_assert_uint_eq(tw_census_of(many, 1, TW_F64), 0); /* 0 alone is no integer */
    ck_assert_uint_eq(tw_census_of(few, 5, TW_F32), 1u << TW_CENSUS_INTEGERS);
    few[1] = 0.5f;
    ck_assert_uint_eq(tw_census_of(few, 5, TW_F32), 0);
    few[1] = 1e-19f;
    ck_assert_uint_eq(tw_census_of(few, 5, TW_F32), 1u << TW_CENSUS_WIDE);
    few[1] = (float)INFINITY;
    ck_assert_uint_eq(tw_census_of(few, 5, TW_F32), 1u << TW_CENSUS_NOT_FINITE);
    memcpy(many + 998, &words[0], sizeof(double));
    ck_assert_uint_eq(tw_census_of(many, 1000, TW_F64), 1u << TW_CENSUS_SUBNORMAL);
    memcpy(many + 1, &words[1], sizeof(double));
    ck_assert_uint_eq(tw_census_of(many, 1000, TW_F64),
                      1u << TW_CENSUS_SUBNORMAL | 1u << TW_CENSUS_NOT_FINITE);
    ck_assert_uint_eq(tw_census_of(words, 3, TW_F64),
                      1u << TW_CENSUS_SUBNORMAL | 1u << TW_CENSUS_NOT_FINITE);
    ck_assert_uint_eq(tw_census_of(words, 0, TW_F64), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("records");
    TCase *table = test_case(suite, "table"), *merge = test_case(suite, "merge");

    random_numbers.state = test_seed();
    tcase_set_timeout(table, 60);
    tcase_set_timeout(merge, 60);
    tcase_add_test(table, what_messages_hold);
    tcase_add_test(table, every_part_of_a_key_tells_records_apart);
    tcase_add_test(table, records_never_move);
    tcase_add_test(table, the_table_has_an_end_and_loses_nothing);
    tcase_add_test(table, an_empty_table_gives_nothing);
    tcase_add_test(table, threads_lose_no_calls);
    tcase_add_test(table, a_held_lock_does_not_keep_the_copy);
    tcase_add_test(merge, every_counter_is_added);
    tcase_add_test(merge, the_larger_error_stays);
    tcase_add_test(merge, the_order_of_ranks_does_not_matter);
    return test_main(suite);
}
