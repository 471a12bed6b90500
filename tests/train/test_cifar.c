/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_cifar.c - folders of CIFAR-10 files: small ones made here, good, damaged and
 * hostile, and the real one where it is at hand.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/suite.h"
#include "train/input/data.h"
#include "train/base/random.h"

enum { PIXELS = 3072, RECORD = 1 + PIXELS, TRAIN = 5, TEST = 2 };

static const char *const names[] = {
    "data_batch_1.bin",    "data_batch_1.bin.gz",    "data_batch_2.bin", "data_batch_2.bin.gz",
    "test_batch_some.bin", "test_batch_some.bin.gz", "batches.meta.txt", "data_batch_1.bin.bak"};

static char         folder[64], spec[96];
static tw_problem_t problem;
static tw_data_t    data;
static uint8_t      train[TRAIN * RECORD], test[TEST * RECORD];

static const char *path_of(const char *name)
{
    static char path[160];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(path_of(name), "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void write_zipped(const char *name, const void *bytes, size_t n)
{
    gzFile file = gzopen(path_of(name), "wb");

    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)n), (int)n);
    ck_assert_int_eq(gzclose(file), Z_OK);
}

static void make_records(uint8_t *bytes, size_t n, uint64_t key)
{
    for (size_t i = 0; i < n * RECORD; i++) {
        bytes[i] = (uint8_t)tw_random_bits(key, i);
        if (i % RECORD == 0) {
            bytes[i] = (uint8_t)(9 - i / RECORD);
        }
    }
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/thinwire-cifar.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(spec, sizeof(spec), "cifar10:%s", folder);
    make_records(train, TRAIN, 1);
    make_records(test, TEST, 2);
    write_bytes("data_batch_1.bin", train, sizeof(train));
    write_bytes("test_batch_some.bin", test, sizeof(test));
}

static void clear_folder(void)
{
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        unlink(path_of(names[k]));
    }
}

static void remove_folder(void)
{
    clear_folder();
    rmdir(folder);
}

/* Load the folder; the text of the problem, "" if there is none. */
static const char *load(void)
{
    int status;

    problem = (tw_problem_t){0};
    status  = tw_data_load(&data, spec, &problem);
    ck_assert_int_eq(status, problem.set ? -1 : 0);
    ck_assert(status == 0 || (data.train.pixels == NULL && data.test.labels == NULL));
    ck_assert_ptr_null(strchr(problem.text, '\n'));
    return problem.text;
}

static void refused(const char *name, const char *fragment)
{
    const char *text = load();

    if (strstr(text, name) == NULL || strstr(text, fragment) == NULL) {
        ck_abort_msg("wanted '%s' and '%s', got '%s'", name, fragment, text);
    }
}

static void same_records(const tw_set_t *set, size_t first, const uint8_t *records, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(set->labels[first + i], records[i * RECORD]);
        ck_assert_mem_eq(set->pixels + (first + i) * PIXELS, records + i * RECORD + 1, PIXELS);
    }
}

START_TEST(good_folders_are_read)
{
    /* Names that are no data, a gzipped twin, and two files in the order of their names. */
    write_bytes("batches.meta.txt", "airplane\n", 9);
    write_bytes("data_batch_1.bin.bak", "x", 1);
    write_zipped("data_batch_1.bin.gz", train, RECORD);
    write_zipped("data_batch_2.bin.gz", test, sizeof(test));
    ck_assert_str_eq(load(), "");
    ck_assert_uint_eq(data.shape.c, 3);
    ck_assert_uint_eq(data.shape.h, 32);
    ck_assert_uint_eq(data.shape.w, 32);
    ck_assert_uint_eq(data.pixels, PIXELS);
    ck_assert_uint_eq(data.classes, 10);
    ck_assert_uint_eq(data.train.n, TRAIN + TEST);
    ck_assert_uint_eq(data.test.n, TEST);
    same_records(&data.train, 0, train, TRAIN);
    same_records(&data.train, TRAIN, test, TEST);
    same_records(&data.test, 0, test, TEST);
    tw_data_destroy(&data);

    unlink(path_of("data_batch_1.bin"));
    ck_assert_str_eq(load(), "");
    ck_assert_uint_eq(data.train.n, 1 + TEST);
    same_records(&data.train, 1, test, TEST);
    tw_data_destroy(&data);
}
END_TEST

/* More than the reader takes at once, and than it first has room for. */
START_TEST(long_files_are_read)
{
    const size_t n     = 2500;
    uint8_t     *bytes = malloc(n * RECORD);

    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < n * RECORD; i++) {
        bytes[i] = (uint8_t)(i % RECORD == 0 ? i / RECORD % 10 : i >> 4 ^ i);
    }
    write_bytes("data_batch_1.bin", bytes, n * RECORD);
    ck_assert_str_eq(load(), "");
    ck_assert_uint_eq(data.train.n, n);
    same_records(&data.train, 0, bytes, n);
    tw_data_destroy(&data);
    free(bytes);
}
END_TEST

START_TEST(bad_folders_are_refused)
{
    static const size_t sizes[] = {0, 1, RECORD - 1, RECORD + 1, 3 * RECORD - 1, 5 * RECORD - 3072};

    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        write_bytes("data_batch_1.bin", train, sizes[k]);
        refused("data_batch_1.bin'", "accepted are records of 3073 bytes");
        write_zipped("data_batch_2.bin.gz", train, sizes[k]);
        write_bytes("data_batch_1.bin", train, sizeof(train));
        refused("data_batch_2.bin.gz'", "accepted are records of 3073 bytes");
        unlink(path_of("data_batch_2.bin.gz"));
    }
    for (unsigned label = 10; label < 256; label += 49) {
        train[3 * RECORD] = (uint8_t)label;
        write_bytes("data_batch_1.bin", train, sizeof(train));
        refused("data_batch_1.bin': label", "of record 3; accepted are");
    }
    unlink(path_of("data_batch_1.bin"));
    refused(folder, "no file data_batch*.bin");
    mkdir(path_of("data_batch_1.bin"), 0700);
    refused("data_batch_1.bin'", "not a regular file");
    rmdir(path_of("data_batch_1.bin"));
    write_bytes("data_batch_1.bin", test, sizeof(test));
    unlink(path_of("test_batch_some.bin"));
    refused(folder, "no file test_batch*.bin");
    clear_folder();
    refused(folder, "accepted is the folder of");
    strcat(spec, "/none");
    refused("/none", "No such file");
    strcpy(spec, "cifar10:");
    refused("cifar10:DIR", "needs the folder");
}
END_TEST

/* A gzip file cut or changed anywhere is refused or, where the change does not matter, read whole.
 */
START_TEST(damaged_gzip_is_refused)
{
    static uint8_t zipped[TEST * RECORD + 200];
    FILE          *file;
    size_t         n;
    int            read = 0;

    memset(test + 1, 7, PIXELS); /* shorter, with real codes to damage */
    memset(test + RECORD + 500, 9, PIXELS - 500);
    write_zipped("test_batch_some.bin.gz", test, sizeof(test));
    file = fopen(path_of("test_batch_some.bin.gz"), "rb");
    n    = fread(zipped, 1, sizeof(zipped), file);
    fclose(file);
    unlink(path_of("test_batch_some.bin"));
    for (size_t cut = 0; cut < n; cut++) {
        write_bytes("test_batch_some.bin.gz", zipped, cut);
        refused("test_batch_some.bin.gz'", "");
    }
    for (size_t i = 0; i < n; i++) {
        zipped[i] ^= 0x55;
        write_bytes("test_batch_some.bin.gz", zipped, n);
        zipped[i] ^= 0x55;
        if (*load() == '\0') {
            ck_assert_uint_eq(data.test.n, TEST);
            same_records(&data.test, 0, test, TEST);
            tw_data_destroy(&data);
            read++;
        }
    }
    ck_assert_int_lt(read, 12); /* name, time and system in the gzip header do not matter */
}
END_TEST

/* Whatever the bytes: a set that keeps its promises, or one line. */
START_TEST(hostile_bytes_do_no_harm)
{
    const uint64_t seed = test_seed();
    static uint8_t bytes[3 * RECORD];
    int            good = 0;

    for (uint64_t round = 0; round < 1500; round++) {
        const uint64_t key     = tw_random_key(seed, TW_RANDOM_IMAGES, round, 0);
        const size_t   records = tw_random_below(key, 0, 4);
        size_t         n       = records * RECORD;

        for (size_t i = 0; i < sizeof(bytes); i++) {
            bytes[i] = (uint8_t)tw_random_bits(key, 100 + i);
            if (i % RECORD == 0) { /* mostly good labels */
                bytes[i] = (uint8_t)tw_random_below(key, 10 + i, round % 3 == 0 ? 11 : 10);
            }
        }
        if (round % 4 == 0) {
            n = tw_random_below(key, 1, sizeof(bytes));
        }
        if (round % 5 == 0) { /* looks like gzip, and is not */
            memcpy(bytes, "\x1f\x8b\x08", 3);
        }
        write_bytes("test_batch_some.bin", bytes, n);
        if (*load() == '\0') {
            ck_assert_uint_eq(data.test.n * RECORD, n);
            same_records(&data.test, 0, bytes, data.test.n);
            for (size_t i = 0; i < data.test.n; i++) {
                ck_assert_uint_lt(data.test.labels[i], 10);
            }
            tw_data_destroy(&data);
            good++;
        } else {
            ck_assert_ptr_nonnull(strstr(problem.text, "test_batch_some.bin"));
        }
    }
    ck_assert_int_gt(good, 300);
}
END_TEST

static const char *real_folder(void)
{
    static char path[4096];
    const char *text = getenv("THINWIRE_DATA"), *source = getenv("top_srcdir");

    if (text != NULL && *text != '\0') {
        snprintf(path, sizeof(path), "%s/cifar10", text);
    } else {
        snprintf(path, sizeof(path), "%s/../shared/data/cifar10", source != NULL ? source : ".");
    }
    return access(path, R_OK) == 0 ? path : NULL;
}

/* The labels as published; the means of the planes as everybody knows them, of a part. */
START_TEST(the_real_one)
{
    static const uint16_t train_labels[] = {6, 9, 9, 4, 1, 1, 2, 7};
    static const uint16_t test_labels[]  = {3, 8, 8, 0, 6, 6, 1, 6};
    static const double   means[]        = {125.3, 123.0, 113.9};
    char                  real[5000];
    double                sum[3] = {0, 0, 0};

    snprintf(real, sizeof(real), "cifar10:%s", real_folder());
    if (tw_data_load(&data, real, &problem) != 0) {
        ck_abort_msg("%s", problem.text);
    }
    ck_assert_uint_ge(data.train.n, 1000);
    ck_assert_uint_ge(data.test.n, 100);
    ck_assert_mem_eq(data.train.labels, train_labels, sizeof(train_labels));
    ck_assert_mem_eq(data.test.labels, test_labels, sizeof(test_labels));
    for (size_t i = 0; i < data.train.n * PIXELS; i++) {
        sum[i % PIXELS / 1024] += data.train.pixels[i];
    }
    for (int c = 0; c < 3; c++) {
        ck_assert_double_eq_tol(sum[c] / (double)(data.train.n * 1024), means[c], 2.0);
    }
    tw_data_destroy(&data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/cifar");
    TCase *files = tcase_create("files");
    TCase *real;

    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, good_folders_are_read);
    tcase_add_test(files, long_files_are_read);
    tcase_add_test(files, bad_folders_are_refused);
    tcase_add_test(files, damaged_gzip_is_refused);
    tcase_add_test(files, hostile_bytes_do_no_harm);
    suite_add_tcase(suite, files);
    if (real_folder() != NULL) {
        real = tcase_create("real");
        tcase_add_test(real, the_real_one);
        suite_add_tcase(suite, real);
    } else {
        printf("# not on CIFAR-10 itself: none here (set THINWIRE_DATA)\n");
    }
    return test_main(suite);
}
