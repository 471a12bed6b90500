/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/pack_rig.c - see pack_rig.h.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/train/pack_rig.h"

pack_rig_t rig;

static int stop(void *arg)
{
    (void)arg;
    return rig.stop_at != 0 && ++rig.asked >= rig.stop_at;
}

static void progress(void *arg, uint64_t done, uint64_t total, double seconds)
{
    (void)arg;
    ck_assert_uint_le(done, total);
    ck_assert(seconds >= 0);
    rig.reported = done;
}

static void skipped(void *arg, const char *text)
{
    (void)arg;
    ck_assert_ptr_null(strchr(text, '\n'));
    snprintf(rig.line, sizeof(rig.line), "%s", text);
    rig.skips++;
}

tw_pack_config_t pack_config(const char *spec)
{
    static char out[128];

    snprintf(out, sizeof(out), "%s", rig_path("out.lmdb"));
    return (tw_pack_config_t){.source    = spec,
                              .out       = out,
                              .threads   = 1,
                              .cancelled = stop,
                              .progress  = progress,
                              .skipped   = skipped};
}

const char *pack_run(const tw_pack_config_t *config)
{
    int status;

    rig.problem  = (tw_problem_t){0};
    rig.asked    = 0;
    rig.reported = 0;
    status       = tw_pack(config, &rig.result, &rig.problem);
    ck_assert_int_eq(status, rig.problem.set ? -1 : 0);
    return rig.problem.text;
}

void pack_good(const tw_pack_config_t *config)
{
    const char *text = pack_run(config);

    if (*text != '\0') {
        ck_abort_msg("%s", text);
    }
    ck_assert_int_ne(access(rig_path("out.lmdb/data.mdb.part"), F_OK), 0);
    ck_assert_uint_eq(rig.reported, rig.result.images + rig.result.skipped);
}

void pack_same(const char *spec)
{
    rig_opened(&rig.source, spec);
    rig_opened(&rig.packed, "lmdb:%/out.lmdb");
    rig_same(&rig.source, &rig.packed);
    ck_assert_uint_eq(rig.result.images, rig.source.part[0].n + rig.source.part[1].n);
    tw_source_close(&rig.packed);
    tw_source_close(&rig.source);
}

const char *pack_folder(void)
{
    static char spec[256];

    rig_many("d/ant", 12);
    rig_many("d/bee", 5);
    rig_many("d/cow", 2);
    snprintf(spec, sizeof(spec), "folder:%s", rig_path("d"));
    return spec;
}
