/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_sources.c - folders of image files: small ones made here, split in every way,
 * and bad ones.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/train/source_rig.h"

static tw_source_t  source;
static tw_problem_t problem;

#define COUNT(names) (sizeof(names) / sizeof((names)[0]))

static void has_classes(const char *const *names, size_t n)
{
    ck_assert_uint_eq(source.classes, n);
    ck_assert_uint_eq(source.shape.c + source.shape.h + source.shape.w, 0);
    for (size_t k = 0; k < n; k++) {
        ck_assert_str_eq(source.class_names[k], names[k]);
    }
}

/* ---- folders -------------------------------------------------------------------------------- */

/* Byte order; what is no image; links; parts that stand apart. */
START_TEST(folders_with_parts)
{
    static const char *const train_a[]      = {"b.JPG", "B.png", "a b,c.jpeg", "\xc3\xa9.PNG"};
    static const char *const one[]          = {"1.jpg"};
    static const char *const classes[]      = {"Z", "a", "linked", "z"};
    static const char *const train[]        = {"d/train/Z/1.jpg",        "d/train/a/B.png",
                                               "d/train/a/a b,c.jpeg",   "d/train/a/b.JPG",
                                               "d/train/a/\xc3\xa9.PNG", "d/train/linked/1.jpg",
                                               "d/train/z/1.jpg",        "d/train/z/2.jpg"};
    static const uint16_t    train_labels[] = {0, 1, 1, 1, 1, 2, 3, 3};
    static const char *const test[] = {"d/val/Z/1.jpg", "d/val/a/1.jpg", "d/val/linked/1.jpg",
                                       "d/val/z/1.jpg"};
    static const uint16_t    test_labels[] = {0, 1, 2, 3};
    uint64_t                 manifest;

    rig_images("d/train/a", train_a, COUNT(train_a));
    rig_images("d/train/Z", one, 1);
    rig_images("d/train/z", one, 1);
    rig_images("elsewhere/class", one, 1);
    rig_images("d/val/Z", one, 1);
    rig_images("d/val/a", one, 1);
    rig_images("d/val/linked", one, 1);
    rig_images("d/val/z", one, 1);
    ck_assert_int_eq(symlink(rig_path("elsewhere/class"), rig_path("d/train/linked")), 0);
    ck_assert_int_eq(symlink("1.jpg", rig_path("d/train/z/2.jpg")), 0);
    ck_assert_int_eq(symlink("nowhere", rig_path("d/train/z/broken.txt")), 0);
    rig_text("d/README.jpg", "no class");
    rig_text("d/train/names.txt", "no class");
    rig_text("d/train/a/notes.txt", "no image");
    rig_text("d/train/a/.hidden.jpg", "");
    rig_text("d/train/.hidden/1.jpg", "");
    rig_text("d/test/other/1.jpg", "passed over, as there is val");

    rig_opened(&source, "folder:%/d");
    has_classes(classes, COUNT(classes));
    rig_has(&source, TW_SUBSET_TRAIN, train, train_labels, COUNT(train));
    rig_has(&source, TW_SUBSET_TEST, test, test_labels, COUNT(test));
    manifest = source.manifest;
    tw_source_close(&source);

    /* Elsewhere it is the same; with another size it is not. */
    ck_assert_int_eq(rename(rig_path("d"), rig_path("e, f")), 0);
    rig_opened(&source, "folder:%/e, f");
    ck_assert_uint_eq(source.manifest, manifest);
    tw_source_close(&source);
    rig_text("e, f/train/a/b.JPG", "short");
    rig_opened(&source, "folder:%/e, f/");
    ck_assert_uint_ne(source.manifest, manifest);
    tw_source_close(&source);

    ck_assert_int_eq(rename(rig_path("e, f/val"), rig_path("e, f/validation")), 0);
    rig_opened(&source, "folder:%/e, f");
    tw_source_close(&source);
    rig_refused("folder:%/e, f,split=0.5", "e, f,split=0.5", "its own parts, train and validation");
    rig_refused("folder:%/e, f,seed=5", "e, f,seed=5", "accepted is folder:DIR");
}
END_TEST

/* Classes may be called train and test. */
START_TEST(folders_called_train)
{
    static const char *const images[]  = {"1.jpg", "2.jpg"};
    static const char *const classes[] = {"test", "train"};

    rig_images("d/train", images, 2);
    rig_images("d/test", images, 2);
    rig_opened(&source, "folder:%/d");
    has_classes(classes, 2);
    ck_assert_uint_eq(source.part[TW_SUBSET_TRAIN].n, 2);
    tw_source_close(&source);
    ck_assert_int_eq(rename(rig_path("d/train"), rig_path("d/a")), 0);
    rig_opened(&source, "folder:%/d");
    ck_assert_str_eq(source.class_names[1], "test");
    tw_source_close(&source);
}
END_TEST

/* Whether each image of a folder is for training, by its name. */
typedef struct where {
    size_t n, train;
    char   name[256][40];
    int    part[256];
} where_t;

static void note(where_t *where, const char *spec)
{
    *where = (where_t){.n = 0};
    rig_opened(&source, spec);
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        for (uint32_t i = 0; i < source.part[part].n; i++) {
            snprintf(where->name[where->n], sizeof(where->name[0]), "%.39s",
                     rig_name(&source, part, i));
            where->part[where->n++] = (int)part;
        }
        where->train = part == TW_SUBSET_TRAIN ? where->n : where->train;
    }
    tw_source_close(&source);
}

static int part_in(const where_t *where, const char *name)
{
    for (size_t i = 0; i < where->n; i++) {
        if (strcmp(where->name[i], name) == 0) {
            return where->part[i];
        }
    }
    return -1;
}

/* Images of both that changed their part. */
static size_t moved(const where_t *a, const where_t *b)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++) {
        const int other = part_in(b, a->name[i]);

        n += other >= 0 && other != a->part[i];
    }
    return n;
}

START_TEST(folders_are_split)
{
    static where_t           a, b;
    static const char *const more[] = {"more.jpg"};

    rig_many("d/many", 100);
    rig_many("d/ten", 10);
    rig_many("d/two", 2);
    rig_many("d/one", 1);
    note(&a, "folder:%/d");
    ck_assert_uint_eq(a.n, 113);
    ck_assert_uint_eq(a.train, 90 + 9 + 1 + 1);
    for (size_t i = 0; i < a.n; i++) { /* each once */
        for (size_t k = i + 1; k < a.n; k++) {
            ck_assert_str_ne(a.name[i], a.name[k]);
        }
    }
    ck_assert_int_eq(part_in(&a, "d/one/00000.png"), TW_SUBSET_TRAIN);
    note(&b, "folder:%/d,seed=1,split=0.9");
    ck_assert_uint_eq(moved(&a, &b), 0);
    note(&b, "folder:%/d,seed=2");
    ck_assert_uint_eq(b.train, a.train);
    ck_assert_uint_gt(moved(&a, &b), 8);
    note(&b, "folder:%/d,split=0.5");
    ck_assert_uint_eq(b.train, 50 + 5 + 1 + 1);
    ck_assert_uint_eq(moved(&a, &b), a.train - b.train); /* those for training stay, or go */
    note(&b, "folder:%/d,split=0.001");
    ck_assert_uint_eq(b.train, 4);
    note(&b, "folder:%/d,split=.999");
    ck_assert_uint_eq(b.train, 99 + 9 + 1 + 1);
    note(&b, "folder:%/d,split=0.447"); /* rounded to nearest */
    ck_assert_uint_eq(b.train, 45 + 4 + 1 + 1);

    /* Others move nothing, or one. */
    note(&a, "folder:%/d");
    rig_many("d/another", 7);
    note(&b, "folder:%/d");
    ck_assert_uint_eq(moved(&a, &b), 0);
    rig_images("d/many", more, 1);
    note(&b, "folder:%/d");
    ck_assert_uint_le(moved(&a, &b), 1);
    ck_assert_int_eq(rename(rig_path("d"), rig_path("e")), 0);
}
END_TEST

/* Classes of one image each are split as one. */
START_TEST(single_images_are_split)
{
    char name[32];

    for (int k = 0; k < 20; k++) {
        snprintf(name, sizeof(name), "d/class-%d", k);
        rig_many(name, 1);
    }
    rig_opened(&source, "folder:%/d");
    ck_assert_uint_eq(source.part[TW_SUBSET_TRAIN].n, 18);
    ck_assert_uint_eq(source.part[TW_SUBSET_TEST].n, 2);
    tw_source_close(&source);
}
END_TEST

/* The line about each image of a part that cannot be read, in their order. */
static void unread(tw_subset_t part, const char *const *fragment, size_t n)
{
    tw_source_reader_t reader = {.buffer = {.bytes = NULL}};
    tw_image_record_t  record;
    tw_problem_t       why   = {0};
    size_t             found = 0;

    for (uint32_t i = 0; i < source.part[part].n; i++, why = (tw_problem_t){0}) {
        if (source.ops->read(&source, part, i, &reader, &record, &why) != 0) {
            ck_assert_uint_lt(found, n);
            rig_says(why.text, "cannot read '", fragment[found++]);
        }
    }
    ck_assert_uint_eq(found, n);
    tw_reader_destroy(&reader);
}

START_TEST(what_is_no_file_is_a_broken_image)
{
    static const char *const images[] = {"1.jpg", "2.jpg"};
    static const char *const want[]   = {"/3.jpg': Is a directory", "/4.jpg': No such file",
                                         "/5.jpg': Too many levels", "/6.jpg': it is not a regular",
                                         "/7.png': it is not a regular"};

    rig_images("d/train/a", images, 2);
    rig_images("d/val/a", images, 1);
    rig_folder("d/train/a/3.jpg");
    ck_assert_int_eq(symlink("nowhere", rig_path("d/train/a/4.jpg")), 0);
    ck_assert_int_eq(symlink("5.jpg", rig_path("d/train/a/5.jpg")), 0);
    ck_assert_int_eq(mkfifo(rig_path("d/train/a/6.jpg"), 0600), 0);
    ck_assert_int_eq(symlink("/dev/zero", rig_path("d/train/a/7.png")), 0);
    rig_refused("folder:%/d", "/train/a/3.jpg'", "Is a directory");
    rig_skip = 1;
    rig_opened(&source, "folder:%/d");
    ck_assert_uint_eq(source.part[TW_SUBSET_TRAIN].n, 7);
    unread(TW_SUBSET_TRAIN, want, 5);
    tw_source_close(&source);

    rig_text("d/list", "train/a/1.jpg 0\ntrain/a/4.jpg 1\ntrain/a 0\n");
    rig_text("d/other", "val/a/1.jpg 0\n");
    rig_opened(&source, "list:%/d/list,test=%/d/other");
    unread(TW_SUBSET_TRAIN, (const char *const[]){want[1], "/train/a': Is a directory"}, 2);
    tw_source_close(&source);
}
END_TEST

START_TEST(empty_classes_are_allowed)
{
    static const char *const images[] = {"1.jpg", "2.jpg", "3.png"};

    rig_images("d/b", images, 3);
    rig_folder("d/a");
    rig_refused("folder:%/d", "/d/a'", "with empty=allow it is a class without");
    rig_refused("folder:%/d,empty=yes", "empty=yes: accepted is allow", "");
    rig_opened(&source, "folder:%/d,empty=allow,split=0.6");
    ck_assert_uint_eq(source.classes, 2);
    ck_assert_uint_eq(source.part[TW_SUBSET_TRAIN].n, 2);
    ck_assert_uint_eq(source.part[TW_SUBSET_TRAIN].labels[0], 1);
    tw_source_close(&source);

    rig_images("e/train/a", images, 1);
    rig_images("e/train/b", images, 1);
    rig_images("e/val/b", images, 1);
    rig_folder("e/val/a");
    rig_refused("folder:%/e", "/e/val/a'", "empty=allow");
    rig_opened(&source, "folder:%/e,empty=allow");
    ck_assert_uint_eq(source.classes, 2);
    ck_assert_uint_eq(source.part[TW_SUBSET_TEST].labels[0], 1);
    tw_source_close(&source);
}
END_TEST

START_TEST(bad_folders_are_refused)
{
    static const char *const images[] = {"1.jpg", "2.jpg"};

    rig_refused("folder:", "--data folder:", "accepted is folder:DIR");
    rig_refused("folder", "--data folder:", "accepted is folder:DIR");
    rig_refused("folder:%/none", "/none'", "No such file");
    rig_refused("folder:%/no,ne,spilt=0.5", "/no,ne,spilt=0.5'", "No such file");
    rig_text("file", "x");
    rig_refused("folder:%/file", "/file'", "Not a directory");
    rig_folder("d");
    rig_refused("folder:%/d", "/d' has 0 class folders", "accepted is DIR/CLASS/IMAGE");
    rig_images("d", images, 2);
    rig_refused("folder:%/d", "/d' has 0 class folders", "accepted is DIR/CLASS/IMAGE");
    rig_folder("d/empty");
    rig_refused("folder:%/d", "/d/empty'", "no image (*.jpg, *.jpeg, *.png)");
    rig_text("d/empty/x.txt", "x");
    rig_refused("folder:%/d", "/d/empty'", "no image");
    rig_images("d/empty", images, 1);
    rig_refused("folder:%/d", "/d': 0 images for tests", "accepted are 1 to");
    rig_images("d/empty/below", images, 1);
    rig_refused("folder:%/d", "/d/empty/below'", "inside a class folder; accepted is DIR/CLASS/");

    rig_images("e/c", images, 2);
    rig_folder("e/c/3.jpg");
    rig_refused("folder:%/e", "/e/c/3.jpg'", "Is a directory");
    rmdir(rig_path("e/c/3.jpg"));
    ck_assert_int_eq(symlink("nowhere", rig_path("e/c/3.jpg")), 0);
    rig_refused("folder:%/e", "/e/c/3.jpg'", "No such file");
    unlink(rig_path("e/c/3.jpg"));
    ck_assert_int_eq(mkfifo(rig_path("e/c/3.jpg"), 0600), 0);
    rig_refused("folder:%/e", "/e/c/3.jpg'", "not a regular file");
    unlink(rig_path("e/c/3.jpg"));
    rig_text("e/c/new\nline.jpg", "x");
    rig_refused("folder:%/e", "'new...' in '", "line break");
    unlink(rig_path("e/c/new\nline.jpg"));
    rig_images("e/new\nline", images, 2);
    rig_refused("folder:%/e", "'new...' in '", "line break");

    rig_images("f/train/a", images, 1);
    rig_images("f/val", images, 1);
    rig_refused("folder:%/f", "/f/val' has no class folders", "/f/train' has");
    rig_images("f/val/b", images, 1);
    rig_refused("folder:%/f", "class 'a' of '", "/f/val'");
    rig_images("f/val/a", images, 1);
    rig_refused("folder:%/f", "class 'b' of '", "/f/train'");
    rig_images("f/train/b", images, 1);
    rig_images("f/train/c", images, 1);
    rig_refused("folder:%/f", "class 'c' of '", "/f/val'");
}
END_TEST

START_TEST(bad_options_are_refused)
{
    static const char *const shares[] = {"0",   "1",   "-0.5", "1.5",  "x",   "",
                                         "nan", "inf", "0,5",  "0.5x", " 0.5"};
    static const char *const seeds[]  = {"", "-1", "x", "1.5", "18446744073709551616", " 1"};
    char                     spec[128];

    rig_many("d/c", 4);
    for (size_t k = 0; k < COUNT(shares); k++) {
        snprintf(spec, sizeof(spec), "folder:%%/d,split=%s", shares[k]);
        rig_refused(spec, "split=", "accepted are numbers between 0 and 1");
    }
    for (size_t k = 0; k < COUNT(seeds); k++) {
        snprintf(spec, sizeof(spec), "folder:%%/d,seed=%s,split=0.5", seeds[k]);
        rig_refused(spec, "seed=", "accepted are the whole numbers from 0 to");
    }
    rig_opened(&source, "folder:%/d,seed=18446744073709551615,split=0.5");
    tw_source_close(&source);
    ck_assert_int_eq(rename(rig_path("d"), rig_path("d,e=1,f")), 0);
    rig_opened(&source, "folder:%/d,e=1,f,split=0.5");
    ck_assert_uint_eq(source.part[TW_SUBSET_TRAIN].n, 2);
    tw_source_close(&source);
}
END_TEST

/* ---- reading -------------------------------------------------------------------------------- */

static void read_fails(const char *path, const char *why)
{
    tw_source_reader_t reader = {.buffer = {.bytes = NULL}};
    tw_image_record_t  record = {.n = 77};

    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        for (uint32_t i = 0; i < source.part[part].n; i++) {
            problem = (tw_problem_t){0};
            if (strcmp(rig_name(&source, part, i), path) == 0) {
                ck_assert_int_eq(source.ops->read(&source, part, i, &reader, &record, &problem),
                                 -1);
                rig_says(problem.text, path, why);
                ck_assert_uint_eq(record.n, 77);
            } else { /* the others go on */
                ck_assert_int_eq(source.ops->read(&source, part, i, &reader, &record, &problem), 0);
                record.n = 77;
            }
        }
    }
    tw_reader_destroy(&reader);
}

START_TEST(bad_files_are_refused)
{
    rig_many("d/c", 4);
    rig_opened(&source, "folder:%/d");
    ck_assert_int_eq(truncate(rig_path("d/c/00001.png"), 10000), 0);
    read_fails("d/c/00001.png", "its size has changed");
    ck_assert_int_eq(truncate(rig_path("d/c/00001.png"), 10), 0);
    read_fails("d/c/00001.png", "its size has changed");
    unlink(rig_path("d/c/00001.png"));
    read_fails("d/c/00001.png", "No such file");
    rig_folder("d/c/00001.png");
    read_fails("d/c/00001.png", "Is a directory");
    rmdir(rig_path("d/c/00001.png"));
    ck_assert_int_eq(mkfifo(rig_path("d/c/00001.png"), 0600), 0);
    read_fails("d/c/00001.png", "not a regular file"); /* at once */
    unlink(rig_path("d/c/00001.png"));
    tw_source_close(&source);

    rig_text("d/c/00001.png", "");
    rig_opened(&source, "folder:%/d");
    read_fails("d/c/00001.png", "it is empty");
    tw_source_close(&source);

    ck_assert_int_eq(truncate(rig_path("d/c/00001.png"), (off_t)TW_SOURCE_FILE_MAX + 1), 0);
    rig_opened(&source, "folder:%/d");
    read_fails("d/c/00001.png", "more than 256 MiB");
    tw_source_close(&source);
    ck_assert_int_eq(truncate(rig_path("d/c/00001.png"), ((off_t)1 << 32) + 100), 0);
    rig_opened(&source, "folder:%/d");
    read_fails("d/c/00001.png", "more than 256 MiB");
    tw_source_close(&source);
    rig_text("d/c/00001.png", "x");
    rig_opened(&source, "folder:%/d");
    ck_assert_int_eq(chmod(rig_path("d/c/00001.png"), 0), 0);
    if (access(rig_path("d/c/00001.png"), R_OK) != 0) {
        read_fails("d/c/00001.png", "Permission denied");
    } else {
        printf("# SKIP files that may not be read: this user may read all\n");
    }
    tw_source_close(&source);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/sources");
    TCase *files = test_case(suite, "files");

    tcase_add_checked_fixture(files, rig_create, rig_remove);
    tcase_add_test(files, folders_with_parts);
    tcase_add_test(files, folders_called_train);
    tcase_add_test(files, folders_are_split);
    tcase_add_test(files, single_images_are_split);
    tcase_add_test(files, what_is_no_file_is_a_broken_image);
    tcase_add_test(files, empty_classes_are_allowed);
    tcase_add_test(files, bad_folders_are_refused);
    tcase_add_test(files, bad_options_are_refused);
    tcase_add_test(files, bad_files_are_refused);
    return test_main(suite);
}
