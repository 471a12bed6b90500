/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_records.c - images in a database: records and headers taken apart, and databases
 * that are cut, damaged or another program's.
 */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/train/source_rig.h"
#include "train/input/record.h"
#include "train/pack/pack.h"

static tw_source_t  source;
static tw_problem_t problem;

/* ---- bytes ---------------------------------------------------------------------------------- */

START_TEST(keys_are_ordered)
{
    static const uint32_t index[] = {0, 1, 255, 256, 65535, 65536, 0x7ffffffe, 0x7fffffff};
    uint8_t               last[TW_STORED_KEY] = {0}, key[TW_STORED_KEY];

    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        for (size_t k = 0; k < sizeof(index) / sizeof(index[0]); k++) {
            tw_stored_key(part, index[k], key);
            ck_assert(part + k == 0 || memcmp(last, key, sizeof(key)) < 0);
            memcpy(last, key, sizeof(key));
        }
    }
    ck_assert_uint_le(tw_stored_stamp_key, 0); /* and it is shorter */
    ck_assert_uint_gt(tw_stored_header_key, last[0]);
}
END_TEST

/* Put in front of the n bytes of a record; taken apart again. @return what is wrong. */
static const char *taken(tw_image_record_t *record, uint16_t label, uint8_t *bytes,
                         uint16_t *label_p)
{
    tw_stored_put(record, label, bytes);
    memset(bytes + TW_STORED_RECORD, 0x5a, record->n);
    return tw_stored_take(bytes, TW_STORED_RECORD + record->n, record, label_p);
}

START_TEST(records_are_taken_apart)
{
    static uint8_t    bytes[200];
    tw_image_record_t record = {.shape = {3, 5, 7}, .n = 105}, was = {.n = 3};
    uint16_t          label = 0, before = 77;

    ck_assert_ptr_null(taken(&record, 65535, bytes, &label));
    ck_assert_uint_eq(label, 65535);
    ck_assert_int_eq(record.file, 0);
    ck_assert_uint_eq(record.shape.c, 3);
    ck_assert_uint_eq(record.shape.h, 5);
    ck_assert_uint_eq(record.shape.w, 7);
    ck_assert_uint_eq(record.n, 105);
    ck_assert_ptr_eq(record.bytes, bytes + TW_STORED_RECORD);
    for (size_t n = 0; n < 180; n++) {
        if (n != TW_STORED_RECORD + 105) {
            ck_assert_ptr_nonnull(tw_stored_take(bytes, n, &was, &before));
        }
    }
    for (size_t i = 0; i < TW_STORED_RECORD; i++) { /* all but the label matters */
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            ck_assert_int_eq(tw_stored_take(bytes, TW_STORED_RECORD + 105, &was, &before) == NULL,
                             i == 6 || i == 7);
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
    ck_assert_uint_eq(was.n, 105); /* of changed labels */
    record = (tw_image_record_t){.file = 1, .shape = {9, 9, 9}, .n = 11};
    ck_assert_ptr_null(taken(&record, 5, bytes, &label));
    ck_assert_int_eq(record.file, 1);
    ck_assert_uint_eq(record.shape.c + record.shape.h + record.shape.w, 0);
    ck_assert_uint_eq(record.n, 11);
    record = (tw_image_record_t){.file = 1, .n = 0};
    ck_assert_ptr_nonnull(taken(&record, 5, bytes, &label));
    /* Products that are 105 in 32 or 64 bits only. */
    record = (tw_image_record_t){.shape = {0x80000001u, 105, 2}, .n = 105};
    ck_assert_ptr_nonnull(taken(&record, 5, bytes, &label));
    record = (tw_image_record_t){.shape = {1, 0xffffffffu, 0xffffffffu}, .n = 1};
    ck_assert_ptr_nonnull(taken(&record, 5, bytes, &label));
    record = (tw_image_record_t){.shape = {1561988, 3161593, 3735391}, .n = 28};
    ck_assert_ptr_nonnull(taken(&record, 5, bytes, &label));
}
END_TEST

START_TEST(records_fit_the_header)
{
    static const struct {
        tw_shape_t        all;
        tw_image_record_t record;
        int               fits;
    } row[] = {{{0, 0, 0}, {.file = 1}, 1},          {{0, 0, 0}, {.shape = {3, 2, 1}}, 0},
               {{3, 0, 0}, {.shape = {3, 2, 1}}, 1}, {{3, 0, 0}, {.shape = {1, 2, 1}}, 0},
               {{3, 0, 0}, {.file = 1}, 0},          {{3, 2, 1}, {.shape = {3, 2, 1}}, 1},
               {{3, 2, 1}, {.shape = {3, 1, 2}}, 0}, {{3, 2, 1}, {.file = 1}, 0}};

    for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
        ck_assert_int_eq(tw_stored_fits(row[k].all, &row[k].record), row[k].fits);
    }
}
END_TEST

enum { TRAIN = 4, TEST = 2 };

static const uint16_t labels[] = {0, 1, 2, 2, 1, 0};

static tw_stored_t stored_one(void)
{
    return (tw_stored_t){.classes  = 3,
                         .n        = {TRAIN, TEST},
                         .shape    = {3, 2, 1},
                         .manifest = 0x123456789abcdef0,
                         .bytes    = 36,
                         .resize   = 2,
                         .quality  = 9,
                         .note     = "a note",
                         .note_n   = 6,
                         .names    = "ant\0bee\0cow",
                         .names_n  = 12};
}

static size_t put_header(const tw_stored_t *stored, uint8_t *bytes)
{
    uint8_t *at = tw_stored_put_header(stored, bytes);

    at = tw_stored_put_labels(labels, TRAIN, at);
    at = tw_stored_put_labels(labels + TRAIN, TEST, at);
    ck_assert_uint_eq((size_t)(at - bytes), tw_stored_header_size(stored));
    return (size_t)(at - bytes);
}

START_TEST(headers_are_taken_apart)
{
    static uint8_t bytes[300];
    tw_stored_t    stored = stored_one(), is;
    const size_t   n      = put_header(&stored, bytes);
    uint64_t       hash;

    ck_assert_ptr_null(tw_stored_take_header(bytes, n, &is));
    ck_assert_uint_eq(is.classes, 3);
    ck_assert_uint_eq(is.n[0], TRAIN);
    ck_assert_uint_eq(is.n[1], TEST);
    ck_assert_uint_eq(is.shape.c, 3);
    ck_assert_uint_eq(is.shape.h, 2);
    ck_assert_uint_eq(is.shape.w, 1);
    ck_assert(is.manifest == stored.manifest);
    ck_assert_uint_eq(is.bytes, 36);
    ck_assert_uint_eq(is.resize, 2);
    ck_assert_uint_eq(is.quality, 9);
    ck_assert_uint_eq(is.note_n, 6);
    ck_assert_mem_eq(is.note, "a note", 6);
    ck_assert_uint_eq(is.names_n, 12);
    ck_assert_mem_eq(is.names, "ant\0bee\0cow", 12);
    for (size_t i = 0; i < TRAIN + TEST; i++) {
        ck_assert_uint_eq(tw_stored_label(&is, i < TRAIN ? 0 : 1, i < TRAIN ? i : i - TRAIN),
                          labels[i]);
    }
    hash        = tw_stored_hash(&is);
    is.note     = "b note";
    is.manifest = hash;
    ck_assert_uint_ne(tw_stored_hash(&is), hash);

    for (unsigned k = 0; k < 8; k++) { /* pixels of different sizes, files */
        stored.shape = (tw_shape_t){k & 1, k & 2, k & 4};
        put_header(&stored, bytes);
        ck_assert_int_eq(tw_stored_take_header(bytes, n, &is) == NULL, k == 0 || k == 1 || k == 7);
    }
    for (size_t k = 0; k < sizeof(bytes); k++) {
        ck_assert_int_eq(tw_stored_take_header(bytes, k, &is) == NULL, k == n);
    }
    for (size_t i = 0; i < n; i++) { /* promises are kept whatever it is */
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            if (tw_stored_take_header(bytes, n, &is) == NULL) {
                ck_assert_uint_eq(tw_stored_header_size(&is), n);
                ck_assert(is.n[0] > 0 && is.n[1] > 0);
                for (size_t k = 0; k < is.n[0]; k++) {
                    ck_assert_uint_lt(tw_stored_label(&is, 0, k), is.classes);
                }
                ck_assert(i >= 12);
            }
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
}
END_TEST

static const struct bad_header {
    size_t      at;
    uint8_t     byte;
    const char *why;
} bad_headers[] = {{0, 'x', "none of thinwire-train"},
                   {8, 2, "of a version"},
                   {11, 1, "of a version"},
                   {12, 0, "its counts"},         /* no class                 */
                   {14, 2, "its counts"},         /* too many                 */
                   {12, 2, "its names"},          /* fewer than names         */
                   {12, 4, "its names"},          /* more                     */
                   {16, 0, "its counts"},         /* no image for training    */
                   {16, 5, "its counts"},         /* not as long as that      */
                   {23, 0x80, "its counts"},      /* 2^63 images              */
                   {24, 0, "its counts"},         /* none for tests           */
                   {31, 0xff, "its counts"},      /*                          */
                   {35, 1, "its counts"},         /* 2^24 planes              */
                   {36, 0, "its counts"},         /* no rows, but columns     */
                   {48, 101, "its counts"},       /* no quality               */
                   {60, 1, "its counts"},         /* not used                 */
                   {91, 0, "its names"},          /* four                     */
                   {86, 0, "its names"},          /* an empty one             */
                   {86, '\n', "its names"},       /*                          */
                   {97, 'x', "its names"},        /* the last one has no end  */
                   {98, 3, "a label is beyond"},  /* of training              */
                   {107, 1, "a label is beyond"}, /* of tests                 */
                   {108, 3, "a label is beyond"}};

START_TEST(bad_headers_are_refused)
{
    static uint8_t           bytes[300];
    const struct bad_header *bad    = &bad_headers[_i];
    const tw_stored_t        stored = stored_one();
    tw_stored_t              is     = {.classes = 88};
    const size_t             n      = put_header(&stored, bytes);

    bytes[bad->at] = bad->byte;
    rig_says(tw_stored_take_header(bytes, n, &is), bad->why, "");
    ck_assert_uint_eq(is.classes, 88);
}
END_TEST

/* ---- databases ------------------------------------------------------------------------------ */

#define FEW "random:40x40x3,5,n=30,test=6"

static void pack(const char *spec)
{
    const tw_pack_config_t config = {.source = spec, .out = rig_path("out.lmdb"), .threads = 1};
    tw_pack_result_t       result;

    if (tw_pack(&config, &result, &problem) != 0) {
        ck_abort_msg("%s", problem.text);
    }
}

static void make_database(void)
{
    rig_create();
    pack(FEW);
}

/* Change a database by LMDB itself: one value becomes another; of no bytes: goes. */
static void change(const void *key, size_t key_n, const void *bytes, size_t n)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi  dbi;
    MDB_val  k = {.mv_size = key_n, .mv_data = (void *)(uintptr_t)key};
    MDB_val  v = {.mv_size = n, .mv_data = (void *)(uintptr_t)bytes};

    rig_folder("out.lmdb");
    ck_assert_int_eq(mdb_env_create(&env), 0);
    ck_assert_int_eq(mdb_env_set_mapsize(env, 1 << 24), 0);
    ck_assert_int_eq(
        mdb_env_open(env, rig_path("out.lmdb/data.mdb"), MDB_NOSUBDIR | MDB_NOLOCK, 0600), 0);
    ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
    ck_assert_int_eq(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    ck_assert_int_eq(n > 0 ? mdb_put(txn, dbi, &k, &v, 0) : mdb_del(txn, dbi, &k, NULL), 0);
    ck_assert_int_eq(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

/* Another record in the place of test image 2; the line about it. The others are as they were. */
static const char *line_about(const void *bytes, size_t n)
{
    tw_source_reader_t reader = {.buffer = {.bytes = NULL}};
    tw_image_record_t  record;
    uint8_t            key[TW_STORED_KEY];

    tw_stored_key(TW_SUBSET_TEST, 2, key);
    change(key, sizeof(key), bytes, n);
    rig_opened(&source, "lmdb:%/out.lmdb");
    for (uint32_t i = 0; i < 6; i++) {
        problem = (tw_problem_t){0};
        if (i != 2) {
            ck_assert_int_eq(
                source.ops->read(&source, TW_SUBSET_TEST, i, &reader, &record, &problem), 0);
        }
    }
    ck_assert_int_eq(source.ops->read(&source, TW_SUBSET_TEST, 2, &reader, &record, &problem), -1);
    tw_reader_destroy(&reader);
    tw_source_close(&source);
    rig_says(problem.text, "cannot read test image 2 of '", "/out.lmdb/data.mdb': ");
    return problem.text;
}

START_TEST(bad_records_are_refused)
{
    static uint8_t    bytes[TW_STORED_RECORD + 4800];
    tw_image_record_t record = {.shape = {3, 40, 40}, .n = 4800};
    uint16_t          label;

    rig_opened(&source, "lmdb:%/out.lmdb");
    label = source.part[TW_SUBSET_TEST].labels[2];
    tw_source_close(&source);
    tw_stored_put(&record, label, bytes);
    rig_says(line_about(bytes, sizeof(bytes) - 1), "shorter or longer", "");
    rig_says(line_about("x", 1), "no record of thinwire-train", "");
    bytes[3]++;
    rig_says(line_about(bytes, sizeof(bytes)), "kind or version", "");
    tw_stored_put(&record, (uint16_t)(label + 1), bytes);
    rig_says(line_about(bytes, sizeof(bytes)), "its label is not that of the header", "");
    record.shape = (tw_shape_t){3, 20, 80};
    tw_stored_put(&record, label, bytes);
    rig_says(line_about(bytes, sizeof(bytes)), "its shape is not that of the header", "");
    record.file = 1;
    tw_stored_put(&record, label, bytes);
    rig_says(line_about(bytes, sizeof(bytes)), "its shape is not that of the header", "");
}
END_TEST

START_TEST(bad_contents_are_refused)
{
    uint8_t key[TW_STORED_KEY];

    change("\x01", 1, "more", 4);
    rig_refused("lmdb:%/out.lmdb", "/data.mdb': its header: ", "counts other images");
    change("\x01", 1, "", 0);
    rig_opened(&source, "lmdb:%/out.lmdb");
    tw_source_close(&source);
    tw_stored_key(TW_SUBSET_TRAIN, 29, key);
    change(key, sizeof(key), "", 0);
    rig_refused("lmdb:%/out.lmdb", "/data.mdb': its header: ", "counts other images");
    change("\x01", 1, "more", 4); /* as many, but others */
    rig_opened(&source, "lmdb:%/out.lmdb");
    {
        tw_source_reader_t reader = {.buffer = {.bytes = NULL}};
        tw_image_record_t  record;

        ck_assert_int_eq(source.ops->read(&source, TW_SUBSET_TRAIN, 29, &reader, &record, &problem),
                         -1);
        rig_says(problem.text, "training image 29 of", "the database has no such image");
        tw_reader_destroy(&reader);
    }
    tw_source_close(&source);
    change(&tw_stored_header_key, 1, "twimages", 8);
    rig_refused("lmdb:%/out.lmdb", "/data.mdb': its header: ", "none of thinwire-train");
    change(&tw_stored_header_key, 1, "", 0);
    rig_refused("lmdb:%/out.lmdb", "/data.mdb': it holds no header", "thinwire-train pack");
    change(&tw_stored_stamp_key, 1, "x", 1);
    rig_refused("lmdb:%/out.lmdb", "/data.mdb': its packing was not completed", "");
}
END_TEST

/* As Caffe has them: keys of digits and names, values of its own. */
START_TEST(foreign_databases_are_refused)
{
    unlink(rig_path("out.lmdb/data.mdb"));
    change("00000000_n01440764/a.JPEG", 25, "\x08\x03\x10\x20\x18\x20", 6);
    change("00000001_n01440764/b.JPEG", 25, "\x08\x03\x10\x20\x18\x20", 6);
    rig_refused("lmdb:%/out.lmdb", "/data.mdb': it holds no header", "accepted is what");
    rig_refused("lmdb:%/out.lmdb/data.mdb", "/data.mdb': it holds no header", "");
    change("\xff", 1, "something", 9);
    rig_refused("lmdb:%/out.lmdb", "/data.mdb': its header: ", "none of thinwire-train");
}
END_TEST

START_TEST(bad_files_are_refused)
{
    uint8_t *bytes;
    size_t   n;

    rig_refused("lmdb:", "--data lmdb:", "accepted is lmdb:DIR");
    rig_refused("lmdb", "--data lmdb:", "accepted is lmdb:DIR");
    rig_refused("lmdb:%/none", "/none'", "No such file");
    rig_folder("empty");
    rig_refused("lmdb:%/empty", "/empty/data.mdb'", "No such file");
    rig_text("empty/data.mdb.part", "x");
    rig_refused("lmdb:%/empty", "/empty/data.mdb.part'", "not completed: the same thinwire-train");
    rig_folder("empty/data.mdb");
    rig_refused("lmdb:%/empty", "/empty/data.mdb'", "not a regular file");
    bytes = rig_read("out.lmdb/data.mdb", &n);
    ck_assert_uint_eq(n % 4096, 0);
    for (size_t cut = 0; cut < n; cut += cut < 9000 ? 61 : 1021) {
        rig_write("cut", bytes, cut);
        rig_refused("lmdb:%/cut", "/cut': it ends too early", "");
    }
    rig_write("cut", bytes, n - 1);
    rig_refused("lmdb:%/cut", "/cut': it ends too early", "");
    memset(bytes, 0, n);
    rig_write("cut", bytes, n);
    rig_refused("lmdb:%/cut", "/cut': it is no LMDB database", "");

    /* The other meta page is the newer one after one more change. */
    change("\x01", 1, bytes, n < 50000 ? n : 50000);
    free(bytes);
    bytes = rig_read("out.lmdb/data.mdb", &n);
    rig_write("cut", bytes, n - 1);
    rig_refused("lmdb:%/cut", "/cut': it ends too early", "");
    rig_write("cut", bytes, n);
    rig_refused("lmdb:%/cut", "/cut': its header: ", "counts other images");
    free(bytes);
}
END_TEST

/* Whatever the magic, page size, last page and transaction are; the first page header does not
 * matter. */
START_TEST(bad_meta_pages_do_no_harm)
{
    static const size_t fields[][2] = {{16, 24}, {40, 44}, {136, 152}};
    uint8_t            *bytes;
    size_t              n;

    bytes = rig_read("out.lmdb/data.mdb", &n);
    for (size_t page = 0; page < 8192; page += 4096) {
        for (size_t f = 0; f < 3; f++) {
            for (size_t i = fields[f][0]; i < fields[f][1]; i++) {
                for (unsigned bit = 0; bit < 8; bit++) {
                    const char *text;

                    bytes[page + i] ^= (uint8_t)(1 << bit);
                    rig_write("damaged", bytes, n);
                    text = rig_open(&source, "lmdb:%/damaged");
                    if (*text != '\0') {
                        rig_says(text, "/damaged': ", "");
                    } else {
                        tw_source_close(&source);
                    }
                    bytes[page + i] ^= (uint8_t)(1 << bit);
                }
            }
        }
    }
    free(bytes);
}
END_TEST

/* Open what was damaged and read all of it: a line is all that comes of it. @return the images that
 * could be read, 0 where it was refused. */
static unsigned read_damaged(const uint8_t *bytes, size_t n)
{
    tw_source_reader_t reader = {.buffer = {.bytes = NULL}};
    tw_image_record_t  record;
    unsigned           good = 0;
    const char        *text;

    rig_write("damaged", bytes, n);
    text = rig_open(&source, "lmdb:%/damaged");
    if (*text != '\0') {
        rig_says(text, "/damaged': ", "");
        return 0;
    }
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        for (uint32_t i = 0; i < source.part[part].n; i++) {
            problem = (tw_problem_t){0};
            if (source.ops->read(&source, part, i, &reader, &record, &problem) == 0) {
                good += record.bytes[0] + record.bytes[record.n - 1] < 512;
            } else {
                rig_says(problem.text, "cannot read t", "/damaged': ");
            }
        }
    }
    tw_reader_destroy(&reader);
    tw_source_close(&source);
    return good;
}

/* Every page behind the meta pages: of one byte throughout, and with each of the first words of its
 * header, of its first pointers and of its last nodes as another number. */
START_TEST(bad_pages_do_no_harm)
{
    static const uint16_t word[] = {0, 1, 17, 4080, 4096, 0xfff0};
    uint8_t              *bytes, was[4096];
    size_t                n;

    pack("random:8x8x3,5,n=300,test=30"); /* two levels, images inside the leaves */
    for (int small = 0; small < 2; small++) {
        bytes = rig_read("out.lmdb/data.mdb", &n);
        ck_assert_uint_eq(read_damaged(bytes, n), small == 0 ? 330 : 6);
        for (size_t page = 8192; page < n; page += 4096) {
            memcpy(was, bytes + page, 4096);
            memset(bytes + page, 0xff, 4096);
            ck_assert_uint_le(read_damaged(bytes, n), 330);
            memset(bytes + page, 0, 4096);
            ck_assert_uint_le(read_damaged(bytes, n), 330);
            memcpy(bytes + page, was, 4096);
            for (size_t at = 0; at < 4096; at += at == 30 ? 4034 : 2) {
                for (size_t k = 0; k < sizeof(word) / sizeof(word[0]); k++) {
                    if (page < 16384 || page + 8192 > n) {
                        memcpy(bytes + page + at, &word[k], 2);
                        (void)read_damaged(bytes, n);
                    }
                }
                memcpy(bytes + page, was, 4096);
            }
        }
        free(bytes);
        unlink(rig_path("out.lmdb/data.mdb"));
        pack("random:70x70x3,2,n=4,test=2"); /* one leaf, images on pages of their own */
    }
}
END_TEST

/* Branches that are their own children. */
START_TEST(circles_of_pages_end)
{
    uint8_t *bytes;
    size_t   n, changed = 0;

    pack("random:8x8x3,5,n=300,test=30");
    bytes = rig_read("out.lmdb/data.mdb", &n);
    for (size_t page = 8192; page < n; page += 4096) {
        const uint16_t number = (uint16_t)(page / 4096);
        uint16_t       flags, at;

        memcpy(&flags, bytes + page + 10, 2);
        for (size_t k = 16; (flags & 1) != 0 && k < 22; k += 2, changed++) {
            memcpy(&at, bytes + page + k, 2);
            memcpy(bytes + page + at, &number, 2);
        }
    }
    ck_assert_uint_ge(changed, 3);
    ck_assert_uint_lt(read_damaged(bytes, n), 330);
    free(bytes);
}
END_TEST

/* Two readers at a time, and one for many images: records stay where they are. */
START_TEST(records_stay)
{
    tw_source_reader_t reader[2] = {{.buffer = {.bytes = NULL}}};
    tw_image_record_t  first, again, other;

    rig_opened(&source, "lmdb:%/out.lmdb");
    ck_assert_int_eq(source.ops->read(&source, 0, 0, &reader[0], &first, &problem), 0);
    for (uint32_t i = 0; i < 30; i++) {
        ck_assert_int_eq(source.ops->read(&source, 0, i, &reader[1], &other, &problem), 0);
        ck_assert_uint_eq(other.n, 4800);
    }
    ck_assert_int_eq(source.ops->read(&source, 0, 0, &reader[0], &again, &problem), 0);
    ck_assert_ptr_eq(first.bytes, again.bytes);
    ck_assert_ptr_null(reader[0].buffer.bytes);
    tw_reader_destroy(&reader[0]);
    tw_reader_destroy(&reader[1]);
    tw_source_close(&source);
}
END_TEST

int main(void)
{
    Suite *suite     = suite_create("train/records");
    TCase *parsers   = test_case(suite, "bytes");
    TCase *databases = test_case_within(suite, "databases", 60);

    tcase_add_test(parsers, keys_are_ordered);
    tcase_add_test(parsers, records_are_taken_apart);
    tcase_add_test(parsers, records_fit_the_header);
    tcase_add_test(parsers, headers_are_taken_apart);
    TEST_EACH(parsers, bad_headers_are_refused, bad_headers);
    tcase_add_checked_fixture(databases, make_database, rig_remove);
    tcase_add_test(databases, bad_records_are_refused);
    tcase_add_test(databases, bad_contents_are_refused);
    tcase_add_test(databases, foreign_databases_are_refused);
    tcase_add_test(databases, bad_files_are_refused);
    tcase_add_test(databases, bad_meta_pages_do_no_harm);
    tcase_add_test(databases, bad_pages_do_no_harm);
    tcase_add_test(databases, circles_of_pages_end);
    tcase_add_test(databases, records_stay);
    return test_main(suite);
}
