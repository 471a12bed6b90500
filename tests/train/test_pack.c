/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_pack.c - databases packed from any source: what comes out again, and what is
 * refused.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/train/decode_files.h"
#include "tests/train/pack_rig.h"
#include "train/input/decode.h"

/* ---- what comes out ------------------------------------------------------------------------- */

START_TEST(files_come_out_again)
{
    tw_pack_config_t config;
    char             spec[256];

    config = pack_config(pack_folder());
    pack_good(&config);
    ck_assert_uint_eq(rig.result.images, 19);
    ck_assert_uint_eq(rig.result.skipped + rig.result.continued, 0);
    pack_same("folder:%/d");
    rig_opened(&rig.packed, "lmdb:%/out.lmdb/data.mdb");
    ck_assert_str_eq(rig.packed.class_names[2], "cow");
    ck_assert_uint_eq(rig.packed.shape.c + rig.packed.shape.h + rig.packed.shape.w, 0);
    rig_says(rig_name(&rig.packed, TW_SUBSET_TEST, 1), "test image 1 of '", "/out.lmdb/data.mdb'");
    tw_source_close(&rig.packed);

    /* A database is a source too: here its own. */
    snprintf(spec, sizeof(spec), "lmdb:%s", config.out);
    config.source  = spec;
    config.threads = 3;
    pack_good(&config);
    pack_same("folder:%/d");
}
END_TEST

/* kB of files that are mapped into this process and in its memory; those of a tmpfs count as
 * shared. */
static long mapped_kb(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char  line[200];
    long  files = -1, shared = 0;

    ck_assert_ptr_nonnull(status);
    while (fgets(line, sizeof(line), status) != NULL) {
        sscanf(line, "RssFile: %ld", &files);
        sscanf(line, "RssShmem: %ld", &shared);
    }
    fclose(status);
    ck_assert_int_ge(files, 0);
    return files + shared;
}

/* Of 400 MB, all of which are read, by two readers in turns. */
START_TEST(a_large_database_does_not_fill_the_memory)
{
    enum { IMAGES = 500, EACH = 3 * 512 * 512 };
    tw_pack_config_t   config    = pack_config("random:512x512x3,2,n=500,test=2");
    tw_source_reader_t reader[2] = {{.buffer = {.bytes = NULL}}};
    tw_image_record_t  record;
    uint64_t           sum = 0, first = 0;
    long               most = 0, before;

    pack_good(&config);
    rig_opened(&rig.packed, "lmdb:%/out.lmdb");
    before = mapped_kb();
    for (uint32_t i = 0; i <= IMAGES; i++) {
        ck_assert_int_eq(rig.packed.ops->read(&rig.packed, TW_SUBSET_TRAIN, i % IMAGES,
                                              &reader[i % 2], &record, &rig.problem),
                         0);
        ck_assert_uint_eq(record.n, EACH);
        sum = 0;
        for (size_t k = 0; k < EACH; k++) {
            sum = 31 * sum + record.bytes[k];
        }
        first = i == 0 ? sum : first;
        most  = mapped_kb() > most ? mapped_kb() : most;
    }
    ck_assert_uint_eq(sum, first); /* what was let go comes again */
    ck_assert_int_lt(most - before, 150 * 1024);
    tw_reader_destroy(&reader[0]);
    tw_reader_destroy(&reader[1]);
    tw_source_close(&rig.packed);
}
END_TEST

/* Several batches, and a map that grows; threads change nothing. */
START_TEST(pixels_come_out_again)
{
    tw_pack_config_t config = pack_config(PACK_MANY);
    uint8_t         *one, *three;
    size_t           n, m;

    pack_good(&config);
    pack_same(PACK_MANY);
    rig_opened(&rig.packed, "lmdb:%/out.lmdb");
    ck_assert_uint_eq(rig.packed.shape.c, 3);
    ck_assert_uint_eq(rig.packed.shape.h, 32);
    ck_assert_ptr_null(rig.packed.class_names);
    ck_assert_uint_eq(rig.result.bytes, 2800 * 3072);
    tw_source_close(&rig.packed);
    one            = rig_read("out.lmdb/data.mdb", &n);
    config.threads = 3;
    pack_good(&config);
    three = rig_read("out.lmdb/data.mdb", &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(one, three, n);
    free(one);
    free(three);
}
END_TEST

/* The shorter side is what was asked for, and the other follows. */
START_TEST(images_are_resized)
{
    tw_pack_config_t   config;
    tw_source_reader_t reader[2] = {{.buffer = {.bytes = NULL}}};
    tw_image_record_t  record, was;
    tw_decoder_t      *decoder = tw_decoder_create(&tw_pixels_scalar);
    tw_file_facts_t    facts;

    rig_images("d/ant", (const char *const[]){"a.jpg", "b.jpg", "c.jpg"}, 3);
    config        = pack_config(pack_folder());
    config.resize = 4;
    pack_good(&config);
    rig_opened(&rig.source, "folder:%/d");
    rig_opened(&rig.packed, "lmdb:%/out.lmdb");
    ck_assert_uint_eq(rig.packed.shape.c, 3);
    ck_assert_uint_eq(rig.packed.shape.h + rig.packed.shape.w, 0);
    for (uint32_t i = 0; i < rig.source.part[0].n; i++) {
        ck_assert_int_eq(rig.source.ops->read(&rig.source, 0, i, &reader[0], &was, &rig.problem),
                         0);
        ck_assert_int_eq(rig.packed.ops->read(&rig.packed, 0, i, &reader[1], &record, &rig.problem),
                         0);
        ck_assert_int_eq(tw_decode_facts(decoder, was.bytes, was.n, 1 << 20, &facts, &rig.problem),
                         0);
        ck_assert_int_eq(record.file, 0);
        ck_assert_uint_eq(record.shape.c, 3);
        ck_assert_uint_eq(record.shape.h, facts.h < facts.w ? 4 : 4 * facts.h / facts.w);
        ck_assert_uint_eq(record.shape.w, facts.w < facts.h ? 4 : 4 * facts.w / facts.h);
        ck_assert_uint_eq(record.n, tw_shape_size(record.shape));
    }
    tw_reader_destroy(&reader[0]);
    tw_reader_destroy(&reader[1]);
    tw_source_close(&rig.source);
    tw_source_close(&rig.packed);
    tw_decoder_destroy(decoder);
}
END_TEST

/* Decode all images for training. @return the bytes of their files. */
static uint64_t decode_all(void)
{
    tw_source_reader_t reader  = {.buffer = {.bytes = NULL}};
    tw_decoder_t      *decoder = tw_decoder_create(&tw_pixels_scalar);
    tw_buffer_t        pixels  = {0};
    tw_image_record_t  record;
    tw_file_facts_t    facts;
    uint64_t           bytes = 0;

    rig_opened(&rig.packed, "lmdb:%/out.lmdb");
    for (uint32_t i = 0; i < rig.packed.part[0].n; i++) {
        ck_assert_int_eq(rig.packed.ops->read(&rig.packed, 0, i, &reader, &record, &rig.problem),
                         0);
        ck_assert_int_eq(
            tw_decode_facts(decoder, record.bytes, record.n, 1 << 20, &facts, &rig.problem), 0);
        ck_assert_int_eq(tw_decode_region(decoder, record.bytes, record.n, &facts, 3, 8,
                                          (tw_region_t){0, 0, facts.h, facts.w}, &pixels,
                                          &rig.problem),
                         0);
        bytes += record.n;
    }
    tw_buffer_destroy(&pixels);
    tw_reader_destroy(&reader);
    tw_source_close(&rig.packed);
    tw_decoder_destroy(decoder);
    return bytes;
}

/* Pixels that become JPEGs are about what they were. */
/* Turned as EXIF says, or not. */
START_TEST(orientations_may_stay)
{
    tw_pack_config_t config = pack_config(pack_folder());
    uint8_t          exif[64];
    static uint8_t   file[1 << 16];

    for (int k = 0; k < 2; k++) {
        rig_write(
            k == 0 ? "t/a/1.jpg" : "t/a/2.jpg", file,
            made_jpeg(&made_jpegs[0], 10, 20, exif, made_exif(6, 1, exif), file, sizeof(file)));
    }
    config.resize = 10;
    for (int stored = 0; stored < 2; stored++) {
        char spec[200];

        snprintf(spec, sizeof(spec), "folder:%s", rig_path("t"));
        config.source = spec;
        config.stored = stored;
        pack_good(&config);
        rig_opened(&rig.packed, "lmdb:%/out.lmdb");
        ck_assert_uint_eq(rig.packed.shape.h, stored ? 10 : 20);
        ck_assert_uint_eq(rig.packed.shape.w, stored ? 20 : 10);
        tw_source_close(&rig.packed);
    }
}
END_TEST

START_TEST(images_become_jpegs)
{
    static const char  spec[]    = "digits:train=60,seed=3";
    tw_pack_config_t   config    = pack_config(spec);
    tw_source_reader_t reader[2] = {{.buffer = {.bytes = NULL}}};
    tw_image_record_t  record, was;
    tw_decoder_t      *decoder = tw_decoder_create(&tw_pixels_scalar);
    tw_file_facts_t    facts;
    tw_buffer_t        pixels = {0};

    config.quality = 100;
    pack_good(&config);
    rig_opened(&rig.source, spec);
    rig_opened(&rig.packed, "lmdb:%/out.lmdb");
    for (uint32_t i = 0; i < 60; i++) {
        ck_assert_int_eq(rig.source.ops->read(&rig.source, 0, i, &reader[0], &was, &rig.problem),
                         0);
        ck_assert_int_eq(rig.packed.ops->read(&rig.packed, 0, i, &reader[1], &record, &rig.problem),
                         0);
        ck_assert_int_eq(record.file, 1);
        ck_assert_int_eq(
            tw_decode_facts(decoder, record.bytes, record.n, 1 << 20, &facts, &rig.problem), 0);
        ck_assert_uint_eq(facts.h, 28);
        ck_assert_uint_eq(facts.w, 28);
        ck_assert_int_eq(tw_decode_region(decoder, record.bytes, record.n, &facts, 1, 8,
                                          (tw_region_t){0, 0, 28, 28}, &pixels, &rig.problem),
                         0);
        for (size_t k = 0; k < 784; k++) {
            ck_assert_int_le(abs(((uint8_t *)pixels.bytes)[k] - was.bytes[k]), 4);
        }
    }
    tw_buffer_destroy(&pixels);
    tw_reader_destroy(&reader[0]);
    tw_reader_destroy(&reader[1]);
    tw_source_close(&rig.source);
    tw_source_close(&rig.packed);
    tw_decoder_destroy(decoder);

    /* Smaller and coarser. */
    config.quality = 20;
    config.resize  = 14;
    pack_good(&config);
    rig_opened(&rig.packed, "lmdb:%/out.lmdb");
    ck_assert_uint_eq(rig.packed.shape.h, 0);
    tw_source_close(&rig.packed);

    /* Of more bytes than there is room for at first. */
    config.source  = "random:256x256x3,3,n=2,test=1";
    config.quality = 100;
    config.resize  = 0;
    pack_good(&config);
    ck_assert_uint_gt(decode_all(), 2 * 80000);
    config.source = "random:8x8x2,3,n=5,test=5";
    rig_says(pack_run(&config), "", "2 planes, a JPEG 1 or 3");
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------------- */

/* Broken in every way; by name, or left out. */
START_TEST(broken_images)
{
    tw_pack_config_t config = pack_config(pack_folder());
    size_t           n;
    uint8_t         *bytes = rig_read("d/ant/00005.png", &n);

    for (int resize = 0; resize < 2; resize++) {
        config.resize = resize ? 4 : 0;
        rig_text("d/ant/00005.png", "no image");
        rig_says(pack_run(&config), "/d/ant/00005.png", "");
        rig_text("d/ant/00005.png", "");
        rig_says(pack_run(&config), "/d/ant/00005.png", "it is empty");
        rig_write("d/ant/00005.png", bytes, 20);
        rig_says(pack_run(&config), "/d/ant/00005.png", "");
    }
    rig_write("d/ant/00005.png", bytes, n - 30); /* only seen when it is decoded */
    config.skip = 1;
    for (int resize = 0; resize < 2; resize++) {
        config.resize = resize ? 4 : 0;
        config.skip   = 0;
        rig_says(pack_run(&config), "/d/ant/00005.png", "");
        config.skip = 1;
        rig.skips   = 0;
        pack_good(&config);
        ck_assert_uint_eq(rig.result.skipped, 1);
        ck_assert_uint_eq(rig.result.images, 18);
        ck_assert_uint_eq(rig.skips, 1);
        rig_says(rig.line, "/d/ant/00005.png", "");
        rig_opened(&rig.packed, "lmdb:%/out.lmdb");
        ck_assert_uint_eq(rig.packed.part[0].n + rig.packed.part[1].n, 18);
        tw_source_close(&rig.packed);
    }
    free(bytes);
}
END_TEST

/* A JPEG cut off inside its pixels, and what is no file at all, are left out. */
START_TEST(cut_jpegs_and_no_files)
{
    static const char *const images[] = {"1.jpg", "2.jpg"};
    tw_pack_config_t         config   = pack_config(pack_folder());
    size_t                   n;
    uint8_t                 *bytes;

    rig_images("d/ant", images, 2);
    bytes = rig_read("d/ant/2.jpg", &n);
    rig_write("d/ant/2.jpg", bytes, n - 20);
    free(bytes);
    rig_says(pack_run(&config), "/d/ant/2.jpg: JPEG file is damaged", "");
    ck_assert_int_eq(symlink("nowhere", rig_path("d/bee/gone.jpg")), 0);
    rig_says(pack_run(&config), "/d/bee/gone.jpg'", "No such file");
    config.skip = 1;
    pack_good(&config);
    ck_assert_uint_eq(rig.result.images, 20);
    ck_assert_uint_eq(rig.result.skipped, 2);
}
END_TEST

START_TEST(only_broken_images)
{
    tw_pack_config_t config;
    char             spec[128], name[32];

    for (int k = 0; k < 12; k++) {
        snprintf(name, sizeof(name), "e/x/%d.png", k);
        rig_text(name, "no image");
    }
    snprintf(spec, sizeof(spec), "folder:%s", rig_path("e"));
    config         = pack_config(spec);
    config.skip    = 1;
    config.skipped = NULL;
    rig_says(pack_run(&config), "no image for training is left", "12 were broken");
}
END_TEST

START_TEST(bad_calls_are_refused)
{
    tw_pack_config_t config = pack_config("random:4x4x1,2,n=20,test=4");
    char             name[5000];

    config.quality = 101;
    rig_says(pack_run(&config), "quality of 101", "1 to 100");
    config.quality = 0;
    config.resize  = TW_PACK_RESIZE_MAX + 1;
    rig_says(pack_run(&config), "resize to 16385", "1 to 16384");
    config.resize = 9000;
    rig_says(pack_run(&config), "4x4 pixels, resized", "would be more than");
    config.resize = 0;
    config.source = "folder:/none";
    rig_says(pack_run(&config), "'/none'", "No such file");
    ck_assert_int_ne(access(rig_path("out.lmdb"), F_OK) == 0 &&
                         access(rig_path("out.lmdb/data.mdb"), F_OK) == 0,
                     1);
    config.source = "random:4x4x1,2,n=20,test=4";
    config.out    = rig_path("none/out.lmdb");
    rig_says(pack_run(&config), "/none/out.lmdb'", "No such file");
    config.out = "";
    rig_says(pack_run(&config), "''", "cannot be the folder");
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    config.out             = name;
    rig_says(pack_run(&config), "'aaa", "cannot be the folder");
    rig_text("file", "x");
    config.out = rig_path("file");
    rig_says(pack_run(&config), "/file'", "it is a file");
    config.out = rig_path("out.lmdb");
    unlink(rig_path("out.lmdb/data.mdb.part")); /* of the images that became too large */
    rig_folder("out.lmdb/data.mdb.part");
    rig_says(pack_run(&config), "/data.mdb.part'", "Is a directory");
    rmdir(rig_path("out.lmdb/data.mdb.part"));
    rig_folder("out.lmdb/data.mdb");
    rig_says(pack_run(&config), "/data.mdb.part'", "Is a directory");
    rmdir(rig_path("out.lmdb/data.mdb"));
    pack_good(&config);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/pack");
    TCase *out   = test_case_within(suite, "what comes out", 60);
    TCase *bad   = test_case_within(suite, "refusals", 60);

    tcase_add_checked_fixture(out, rig_create, rig_remove);
    tcase_add_test(out, files_come_out_again);
    tcase_add_test(out, pixels_come_out_again);
    tcase_add_test(out, a_large_database_does_not_fill_the_memory);
    tcase_add_test(out, images_are_resized);
    tcase_add_test(out, orientations_may_stay);
    tcase_add_test(out, images_become_jpegs);
    tcase_add_checked_fixture(bad, rig_create, rig_remove);
    tcase_add_test(bad, broken_images);
    tcase_add_test(bad, cut_jpegs_and_no_files);
    tcase_add_test(bad, only_broken_images);
    tcase_add_test(bad, bad_calls_are_refused);
    return test_main(suite);
}
