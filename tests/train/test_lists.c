/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_lists.c - lists of image files: small ones made here, a real one, and bad ones.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/train/source_rig.h"

static tw_source_t  source;
static tw_problem_t problem;

START_TEST(lists_are_read)
{
    static const char *const images[]       = {"a.jpg", "b c.png", "d.bin"};
    static const char *const train[]        = {"i/b c.png", "i/a.jpg", "i/d.bin"};
    static const char *const test[]         = {"i/a.jpg"};
    static const uint16_t    train_labels[] = {3, 0, 7}, test_labels[] = {9};

    rig_images("i", images, 2);
    rig_text("i/d.bin", "any name will do");
    rig_text("train.txt", "# PATH LABEL\n\n  \t\ni/b c.png 3\n\ti/a.jpg\t 000\r\n  #x 7\r\n"
                          "i/d.bin   7  ");
    rig_text("test.txt", "i/a.jpg 9\n");
    rig_opened(&source, "list:%/train.txt,test=%/test.txt");
    ck_assert_uint_eq(source.classes, 10);
    ck_assert_ptr_null(source.class_names);
    rig_has(&source, TW_SUBSET_TRAIN, train, train_labels, 3);
    rig_has(&source, TW_SUBSET_TEST, test, test_labels, 1);
    tw_source_close(&source);
    rig_opened(&source, "list:%/train.txt,classes=65536,split=0.5");
    ck_assert_uint_eq(source.classes, 65536);
    ck_assert_uint_eq(source.part[TW_SUBSET_TRAIN].n, 2); /* a single image of each class */
    tw_source_close(&source);

    /* Another root, one with commas, and absolute paths. */
    ck_assert_int_eq(rename(rig_path("i"), rig_path("i,j")), 0);
    rig_text("x/y/list.txt", "a.jpg 0\nb c.png 0\n");
    rig_opened(&source, "list:%/x/y/list.txt,root=%/i,j,seed=3");
    ck_assert_uint_eq(source.classes, 1);
    tw_source_close(&source);
    rig_text("x/y/list.txt", rig_path("i,j/a.jpg 0\n"));
    rig_text("x/y/tests.txt", rig_path("i,j/b c.png 1"));
    rig_opened(&source, "list:%/x/y/list.txt,test=%/x/y/tests.txt");
    ck_assert_str_eq(rig_name(&source, TW_SUBSET_TEST, 0), "i,j/b c.png");
    tw_source_close(&source);
    ck_assert_int_eq(chdir(rig_path("x/y")), 0);
    rig_opened(&source, "list:list.txt,test=tests.txt");
    tw_source_close(&source);
}
END_TEST

static const struct {
    const char *line, *why;
} bad_lines[] = {{"a.jpg", "'a.jpg' has no label; accepted is PATH LABEL"},
                 {"a.jpg ", "'a.jpg' has no label"},
                 {"7", "'7' has no label"},
                 {"a.jpg -1", "'-1' is no label; accepted is PATH LABEL with a whole number"},
                 {"a.jpg +1", "'+1' is no label"},
                 {"a.jpg 1.0", "'1.0' is no label"},
                 {"a.jpg x", "'x' is no label"},
                 {"a.jpg 65536", "'65536' is no label; accepted is PATH LABEL with a whole number "
                                 "from 0 to 65535"},
                 {"a.jpg 18446744073709551616", "is no label"},
                 {"a.jpg 0x1", "'0x1' is no label"},
                 {"none.jpg 1", "none.jpg': No such file"},
                 {"i 1", "/i': Is a directory"}};

START_TEST(bad_lines_are_refused)
{
    char text[256];

    rig_many(".", 1);
    rig_folder("i");
    ck_assert_int_eq(rename(rig_path("00000.png"), rig_path("a.jpg")), 0);
    snprintf(text, sizeof(text), "a.jpg 1\n# comment\n%s\na.jpg 1\n", bad_lines[_i].line);
    rig_text("list", text);
    rig_refused("list:%/list", "/list:3: ", bad_lines[_i].why);
}
END_TEST

/* As editors of other systems write it: a byte order mark, in front of a comment or a path. */
START_TEST(marks_are_passed_over)
{
    static const char *const texts[] = {"\xef\xbb\xbfi/00000.png 0\r\ni/00001.png 1\r\n",
                                        "\xef\xbb\xbf# comment\ni/00000.png 0\ni/00001.png 1\n",
                                        "\xef\xbb\xbf  i/00000.png 0\ni/00001.png 1\n"};

    rig_many("i", 2);
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        rig_text("list", texts[k]);
        rig_opened(&source, "list:%/list");
        ck_assert_uint_eq(source.part[0].n + source.part[1].n, 2);
        tw_source_close(&source);
    }
    rig_text("list", "i/00000.png 0\n\xef\xbb\xbfi/00001.png 1\n");
    rig_refused("list:%/list", "/list:2: ", "No such file");
}
END_TEST

START_TEST(bad_lists_are_refused)
{
    char *text = malloc(20000);

    ck_assert_ptr_nonnull(text);
    rig_many("i", 3);
    rig_refused("list:", "--data list:", "accepted is list:FILE");
    rig_refused("list:%/none", "/none'", "No such file");
    rig_refused("list:%/i", "/i'", "not a regular file");
    rig_text("list", "# nothing\n\n");
    rig_refused("list:%/list", "/list'", "names no image");
    rig_write("list", "i/00000.png\0 1\n", 15);
    rig_refused("list:%/list", "/list:1: ", "zero byte");
    memset(text, 'a', 20000);
    rig_write("list", text, 20000);
    rig_refused("list:%/list", "/list:1: ", "the line is too long");
    strcpy(text + 6000, " 1\n");
    rig_text("list", text);
    rig_refused("list:%/list", "/list:1: ", "the path is too long");
    rig_text("list", "i/00000.png 1\n");
    rig_refused("list:%/list", "0 images for tests", "accepted are 1 to");
    rig_text("list", "i/00000.png 1\ni/00001.png 4\n");
    rig_refused("list:%/list,classes=4", "/list:2: '4' is no label", "from 0 to 3");
    rig_refused("list:%/list,classes=0", "classes=0", "whole numbers from 1 to 65536");
    rig_refused("list:%/list,test=%/list,split=0.5", "test=FILE, or split=F and seed=S", "");
    rig_refused("list:%/list,test=%/none", "/none'", "No such file");
    rig_refused("list:%/list,root=%/none", "/none'", "No such file");
    rig_refused("list:%/list,root=", "''", "No such file");
    rig_opened(&source, "list:%/list");
    tw_source_close(&source);
    free(text);
}
END_TEST

static const char *photos(void)
{
    static char path[4096];
    const char *text = getenv("THINWIRE_DATA"), *top = getenv("top_srcdir");

    if (text != NULL && *text != '\0') {
        snprintf(path, sizeof(path), "%s/photos/cc0-photos/image_list.txt", text);
    } else {
        snprintf(path, sizeof(path), "%s/../shared/data/photos/cc0-photos/image_list.txt",
                 top != NULL ? top : ".");
    }
    return access(path, R_OK) == 0 ? path : NULL;
}

START_TEST(a_real_list)
{
    char               spec[5000];
    tw_source_reader_t reader = {.buffer = {.bytes = NULL}};
    tw_image_record_t  record;

    snprintf(spec, sizeof(spec), "list:%s", photos());
    rig_opened(&source, spec);
    ck_assert_uint_ge(source.part[0].n + source.part[1].n, 19);
    ck_assert_uint_gt(source.classes, 800);
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        for (uint32_t i = 0; i < source.part[part].n; i++) {
            if (source.ops->read(&source, part, i, &reader, &record, &problem) != 0) {
                ck_abort_msg("%s", problem.text);
            }
            ck_assert_mem_eq(record.bytes, "\xff\xd8\xff", 3);
        }
    }
    tw_reader_destroy(&reader);
    tw_source_close(&source);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/lists");
    TCase *lists = test_case(suite, "lists");
    TCase *real;

    tcase_add_checked_fixture(lists, rig_create, rig_remove);
    tcase_add_test(lists, lists_are_read);
    tcase_add_test(lists, marks_are_passed_over);
    tcase_add_test(lists, bad_lists_are_refused);
    TEST_EACH(lists, bad_lines_are_refused, bad_lines);
    if (photos() != NULL) {
        real = test_case(suite, "real");
        tcase_add_test(real, a_real_list);
    } else {
        printf("# SKIP a real list of photographs: none here (set THINWIRE_DATA)\n");
    }
    return test_main(suite);
}
