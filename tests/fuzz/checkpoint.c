/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/checkpoint.c - checkpoints of a small network, with residuals.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "tests/fuzz/target.h"
#include "tests/fuzz/training.h"
#include "train/changes.h"
#include "train/checkpoint/checkpoint.h"
#include "train/base/hash.h"

#define ORDER UINT64_C(0x0102030405060708) /* where the sum begins */

static const char model[] = "input = { channels = 1; height = 4; width = 4; };\nclasses = 3;\n"
                            "layers = ( { type = \"conv\"; channels = 2; kernel = 3; },\n"
                            "{ type = \"norm\"; }, { type = \"dense\"; } );\n";

static tw_training_t      training;
static tw_train_options_t options;

void fuzz_training(tw_train_options_t *o, tw_training_t *t)
{
    static char  name[]  = "/tmp/thinwire-fuzz.XXXXXX.cfg";
    static char *argv[]  = {"fuzz",    "--model", name,      "--data", "random:4x4x1,3,n=8,test=2",
                            "--codec", "onebit",  "--batch", "4",      "--epochs",
                            "2",       NULL};
    tw_problem_t problem = {0};
    const int    fd      = mkstemps(name, 4);
    int          made;

    fuzz_check(fd >= 0 && write(fd, model, sizeof(model) - 1) == sizeof(model) - 1, "a model");
    close(fd);
    made = tw_train_options_parse(o, 11, argv, &problem) == 0 &&
           tw_training_create(t, o, fuzz_context(), MPI_COMM_WORLD, &problem) == 0;
    unlink(name);
    if (!made) {
        fprintf(stderr, "%s\n", problem.text);
    }
    fuzz_check(made, "there is a training run");
}

static void begin(void)
{
    fuzz_training(&options, &training);
}

/* After three steps of two an epoch, and a test after each. */
static void set_progress(void)
{
    const tw_evaluation_t one = {1, 0.5, 0.5, 0.25, 1.0, 1.0, 1},
                          two = {3, 0.75, 0.5, 0.0, 0.5, 0.5, 2};
    tw_problem_t problem      = {0};

    training.epochs            = 1;
    training.step              = 3;
    training.seconds           = 1.0;
    training.record            = (tw_training_record_t){.images = 4.0, .seconds = 0.25};
    training.evaluations.count = 0;
    fuzz_check(tw_evaluations_add(&training.evaluations, &one, &problem) == 0 &&
                   tw_evaluations_add(&training.evaluations, &two, &problem) == 0,
               "memory");
}

/* What the rest of a run relies on. */
static void check_progress(void)
{
    const tw_evaluations_t *e    = &training.evaluations;
    uint64_t                last = 0;

    fuzz_check(training.step >= 1, "a checkpoint has steps");
    fuzz_check(training.step / training.steps == training.epochs, "its epochs are those steps");
    fuzz_check(training.epochs < training.room, "there is room for its epochs, and one more");
    for (size_t i = 0; i < e->count; i++) {
        fuzz_check(e->list[i].step > last && e->list[i].step <= tw_training_done(&training),
                   "steps of tests");
        fuzz_check(e->list[i].test_error >= 0.0 && e->list[i].test_error <= 1.0, "an error");
        last = e->list[i].step;
    }
}

static bool run(const uint8_t *data, size_t size)
{
    tw_problem_t problem = {0};
    uint8_t     *copy    = (uint8_t *)fuzz_text(data, size);
    bool         taken;

    if (size > 9 && data[size - 9] % 2 == 0) { /* a right sum */
        const uint64_t sum = tw_hash(ORDER, copy, size - 8);

        memcpy(copy + size - 8, &sum, sizeof(sum));
    }
    options.allowed = size > 10 && data[size - 10] % 2 == 0 ? TW_CHANGES_ALL : 0;
    taken           = tw_checkpoint_load(&training, fuzz_file(copy, size), &problem) == 0;
    fuzz_check(taken || problem.set, "a refusal says why");
    if (taken) {
        check_progress();
    }
    free(copy);
    return taken;
}

static size_t seed(int index, uint8_t *data)
{
    char         name[]  = "/tmp/thinwire-fuzz.XXXXXX";
    tw_problem_t problem = {0};
    const int    fd      = mkstemp(name);
    FILE        *file;
    size_t       size;

    set_progress();
    close(fd);
    if (index > 0 || tw_checkpoint_save(&training, name, &problem) != 0) {
        unlink(name);
        fuzz_check(index > 0, "a checkpoint can be written");
        return 0;
    }
    file = fopen(name, "rb");
    size = fread(data, 1, FUZZ_MOST, file);
    fclose(file);
    unlink(name);
    fuzz_check(size < FUZZ_MOST, "a seed fits");
    return size;
}

const fuzz_target_t fuzz_checkpoint = {"checkpoint", true, begin, run, seed};
