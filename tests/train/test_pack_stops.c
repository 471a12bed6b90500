/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_pack_stops.c - packing that is stopped, killed, or runs out of disk: what was
 * done is gone on with, and an older database is whole until the new one is.
 */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/train/pack_rig.h"

/* Stop it again and again, at places of all kinds. */
START_TEST(stopped_packers_go_on)
{
    tw_pack_config_t config = pack_config(PACK_MANY);
    uint8_t         *whole, *pieces;
    size_t           n, m;
    int              stops = 0;

    rig_folder("out.lmdb");
    rig_text("out.lmdb/data.mdb", "an old one");
    for (rig.stop_at = 1; *pack_run(&config) != '\0'; rig.stop_at = rig.stop_at * 3 / 2 + 1) {
        rig_says(rig.problem.text, "stopped after", "of 2800 images: the same command goes on");
        rig_refused("lmdb:%/out.lmdb", "/data.mdb'", "it ends too early"); /* the old one */
        rig_refused("lmdb:%/out.lmdb/data.mdb.part", "/data.mdb.part'", "not completed");
        stops++;
    }
    rig.stop_at = 0;
    ck_assert_int_gt(stops, 5);
    ck_assert_uint_gt(rig.result.continued, 100);
    pack_same(PACK_MANY);
    pieces = rig_read("out.lmdb/data.mdb", &m);

    config.out = rig_path("whole.lmdb");
    ck_assert_str_eq(pack_run(&config), "");
    ck_assert_uint_eq(rig.result.continued, 0);
    whole = rig_read("whole.lmdb/data.mdb", &n);
    ck_assert_uint_lt(n, m + m / 4);
    ck_assert_uint_lt(m, n + n / 4);
    free(whole);
    free(pieces);
}
END_TEST

/* Of other settings, or another source, nothing is taken over. */
START_TEST(other_packers_begin_anew)
{
    tw_pack_config_t config = pack_config(PACK_MANY);

    rig.stop_at = 20;
    rig_says(pack_run(&config), "stopped", "");
    rig.stop_at   = 0;
    config.source = "random:32x32x3,10,n=2500,test=300,seed=2";
    pack_good(&config);
    ck_assert_uint_eq(rig.result.continued, 0);
    pack_same(config.source);

    rig.stop_at = 20;
    rig_says(pack_run(&config), "stopped", "");
    rig.stop_at   = 0;
    config.resize = 16;
    pack_good(&config);
    ck_assert_uint_eq(rig.result.continued, 0);
    config.resize = 0;

    /* Nor of what is damaged. */
    for (int k = 0; k < 3; k++) {
        rig.stop_at = 20;
        rig_says(pack_run(&config), "stopped", "");
        rig.stop_at = 0;
        if (k < 2) {
            ck_assert_int_eq(truncate(rig_path("out.lmdb/data.mdb.part"), k == 0 ? 100000 : 100),
                             0);
        } else {
            rig_text("out.lmdb/data.mdb.part", "something else");
        }
        pack_good(&config);
        ck_assert_uint_eq(rig.result.continued, 0);
        pack_same(config.source);
    }
}
END_TEST

/* Nor of a part with a page that is none: LMDB, which would write to it, is not given it. */
START_TEST(damaged_parts_are_begun_anew)
{
    static const size_t at[]   = {0, 10, 12, 14, 16, 18};
    tw_pack_config_t    config = pack_config("random:8x8x3,5,n=400,test=40");
    uint8_t            *bytes;
    size_t              n;

    rig.stop_at = 60;
    rig_says(pack_run(&config), "stopped", "");
    bytes = rig_read("out.lmdb/data.mdb.part", &n);
    ck_assert_uint_gt(n, 5 * 4096);
    for (size_t page = 8192; page < n; page += 4096) {
        for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
            uint8_t *word = bytes + page + at[k], was[2] = {word[0], word[1]};

            memset(word, 0xf0, 2);
            rig_write("out.lmdb/data.mdb.part", bytes, n);
            memcpy(word, was, 2);
            rig.stop_at = 0;
            pack_good(&config);
        }
    }
    rig_write("out.lmdb/data.mdb.part", bytes, n);
    pack_good(&config);
    ck_assert_uint_gt(rig.result.continued, 0);
    pack_same(config.source);
    free(bytes);
}
END_TEST

static int die(void *arg)
{
    (void)arg;
    if (++rig.asked == rig.stop_at) {
        raise(SIGKILL);
    }
    return 0;
}

/* Killed without warning: what batches it had committed are there. */
START_TEST(killed_packers_go_on)
{
    tw_pack_config_t config = pack_config(PACK_MANY);

    for (int k = 0; k < 3; k++) {
        const pid_t child = fork();
        int         status;

        ck_assert_int_ge(child, 0);
        if (child == 0) {
            config.cancelled = die;
            rig.stop_at      = 260 - 100 * (uint64_t)k; /* four images each */
            tw_pack(&config, &rig.result, &rig.problem);
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status));
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    }
    pack_good(&config);
    ck_assert_uint_eq(rig.result.continued, 1000);
    pack_same(PACK_MANY);
}
END_TEST

/* Files with broken ones among them, in batches that the map becomes too small for. */
static void make_large_files(void)
{
    static uint8_t bytes[8192];
    uint8_t       *image;
    size_t         n;
    char           name[64];

    rig_many("d/ant", 1);
    image = rig_read("d/ant/00000.png", &n);
    memcpy(bytes, image, n);
    free(image);
    for (int k = 0; k < 1300; k++) {
        snprintf(name, sizeof(name), "d/%s/%05d.png", k % 2 == 0 ? "ant" : "bee", k);
        bytes[sizeof(bytes) - 1] = (uint8_t)k;
        bytes[sizeof(bytes) - 2] = (uint8_t)(k >> 8);
        rig_write(name, k % 100 == 50 ? bytes + n : bytes, sizeof(bytes) - (k % 100 == 50 ? n : 0));
    }
}

static int is_broken(const char *name)
{
    return atoi(strrchr(name, '/') + 1) % 100 == 50;
}

/* The images of the source but for the broken ones. */
static void has_others(void)
{
    tw_source_reader_t reader[2] = {{.buffer = {.bytes = NULL}}};
    tw_image_record_t  was, is;

    rig_opened(&rig.source, "folder:%/d");
    rig_opened(&rig.packed, "lmdb:%/out.lmdb");
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        uint32_t k = 0;

        for (uint32_t i = 0; i < rig.source.part[part].n; i++) {
            if (is_broken(rig_name(&rig.source, part, i))) {
                continue;
            }
            rig.source.ops->read(&rig.source, part, i, &reader[0], &was, &rig.problem);
            rig.packed.ops->read(&rig.packed, part, k, &reader[1], &is, &rig.problem);
            ck_assert(!rig.problem.set);
            ck_assert_uint_eq(is.n, was.n);
            ck_assert_mem_eq(is.bytes, was.bytes, is.n);
            ck_assert_uint_eq(rig.source.part[part].labels[i], rig.packed.part[part].labels[k]);
            k++;
        }
        ck_assert_uint_eq(rig.packed.part[part].n, k);
    }
    tw_reader_destroy(&reader[0]);
    tw_reader_destroy(&reader[1]);
    tw_source_close(&rig.packed);
    tw_source_close(&rig.source);
}

/* What is left out is told once in a run, and stays out. */
START_TEST(left_out_once)
{
    tw_pack_config_t config;
    char             spec[128];
    uint64_t         stops = 0;

    make_large_files();
    snprintf(spec, sizeof(spec), "folder:%s", rig_path("d"));
    config      = pack_config(spec);
    config.skip = 1;
    pack_good(&config);
    ck_assert_uint_eq(rig.result.images, 1287);
    ck_assert_uint_eq(rig.result.skipped, 13);
    ck_assert_uint_eq(rig.skips, 13);
    has_others();

    rig.skips = 0;
    for (rig.stop_at = 30; *pack_run(&config) != '\0'; stops++) {
        rig_says(rig.problem.text, "stopped", "");
    }
    ck_assert_uint_gt(rig.result.continued, 0);
    ck_assert_uint_eq(rig.result.skipped, 13);
    /* A batch that the map was too small for may be stopped before where it was. */
    ck_assert_uint_ge(rig.skips, 13);
    ck_assert_uint_le(rig.skips, 13 + stops);
    has_others();
}
END_TEST

START_TEST(two_packers_do_not_meet)
{
    tw_pack_config_t config = pack_config(PACK_MANY);
    int              fd;

    rig_folder("out.lmdb");
    fd = open(rig_path("out.lmdb/data.mdb.part"), O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flock(fd, LOCK_SH), 0);
    rig_says(pack_run(&config), "/out.lmdb/data.mdb.part'",
             "another thinwire-train pack writes it");
    close(fd);
    pack_good(&config);
}
END_TEST

/* A limit on the length of files stands for a full disk. */
START_TEST(full_disks_keep_the_old)
{
    const tw_pack_config_t small = pack_config("random:4x4x1,2,n=20,test=4");
    const tw_pack_config_t large = pack_config(PACK_MANY);
    struct rlimit          limit;

    pack_good(&small);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 1 << 13; bytes < (rlim_t)8 << 20; bytes = bytes * 3 + 4096) {
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE,
                                   &(struct rlimit){.rlim_cur = bytes, .rlim_max = limit.rlim_max}),
                         0);
        pack_run(&large);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        rig_says(rig.problem.text,
                 "/out.lmdb/data.mdb.part': ", "/out.lmdb/data.mdb' is as it was");
        pack_same("random:4x4x1,2,n=20,test=4");
    }
    pack_good(&large);
    ck_assert_uint_gt(rig.result.continued, 0);
    pack_same(PACK_MANY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/pack_stops");
    TCase *stops = test_case_within(suite, "stops", 60);

    tcase_add_checked_fixture(stops, rig_create, rig_remove);
    tcase_add_test(stops, stopped_packers_go_on);
    tcase_add_test(stops, other_packers_begin_anew);
    tcase_add_test(stops, damaged_parts_are_begun_anew);
    tcase_add_test(stops, killed_packers_go_on);
    tcase_add_test(stops, left_out_once);
    tcase_add_test(stops, two_packers_do_not_meet);
    tcase_add_test(stops, full_disks_keep_the_old);
    return test_main(suite);
}
