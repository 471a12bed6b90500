/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/safetensors.c - weights of a small network from another program.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/target.h"
#include "tests/fuzz/training.h"
#include "train/checkpoint/safetensors.h"

static tw_training_t      training;
static tw_train_options_t options;

static void begin(void)
{
    fuzz_training(&options, &training);
}

/* What the rest of a run relies on. */
static void check_weights(void)
{
    const tw_param_norm_t *norm = &training.params.norm[0];

    for (size_t i = 0; i < training.params.total; i++) {
        fuzz_check(isfinite(training.params.value[i]), "weights are finite");
    }
    for (size_t c = 0; c < norm->channels; c++) {
        fuzz_check(training.params.state[norm->first + norm->channels + c] >= 0.0f, "a variance");
    }
}

static bool run(const uint8_t *data, size_t size)
{
    tw_problem_t problem = {0};
    bool         taken;

    options.import_from = fuzz_file(data, size);
    taken               = tw_safetensors_read(&training, &problem) == 0;
    fuzz_check(taken != (problem.set != 0), "a refusal says why");
    if (taken) {
        check_weights();
    }
    return taken;
}

static size_t seed(int index, uint8_t *data)
{
    char         name[]  = "/tmp/thinwire-fuzz.XXXXXX";
    tw_problem_t problem = {0};
    const int    fd      = mkstemp(name);
    size_t       size    = 0;
    FILE        *file;

    close(fd);
    options.export_to = name;
    if (index == 0) {
        fuzz_check(tw_safetensors_write(&training, &problem) == 0, "weights can be written");
        file = fopen(name, "rb");
        size = fread(data, 1, FUZZ_MOST, file);
        fclose(file);
    }
    unlink(name);
    return size;
}

const fuzz_target_t fuzz_safetensors = {"safetensors", true, begin, run, seed};
