/* SPDX-License-Identifier: BSD-3-Clause
 * input/data.c - from the name of a data set to its images.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/hash.h"
#include "train/input/data.h"

#define TW_DIGITS_TRAIN 12000u
#define TW_DIGITS_MOST  10000000u

int tw_set_create(tw_set_t *set, size_t n, size_t pixels, tw_problem_t *problem)
{
    set->n      = n;
    set->pixels = malloc(n * pixels);
    set->labels = malloc(n);
    if (set->pixels == NULL || set->labels == NULL) {
        tw_set_destroy(set);
        return tw_problem_set(problem, "out of memory for %zu images", n);
    }
    return 0;
}

void tw_set_destroy(tw_set_t *set)
{
    free(set->pixels);
    free(set->labels);
    *set = (tw_set_t){.n = 0};
}

static int load_mnist(tw_data_t *data, const char *folder, size_t classes, tw_problem_t *problem)
{
    static const char *const names[2][2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                                            {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};
    char                     images[4096], labels[4096];

    if (*folder == '\0' || strlen(folder) > 3000) {
        return tw_problem_set(problem, "--data mnist:DIR needs the folder of the four IDX files");
    }
    for (int k = 0; k < 2; k++) {
        snprintf(images, sizeof(images), "%s/%s", folder, names[k][0]);
        snprintf(labels, sizeof(labels), "%s/%s", folder, names[k][1]);
        if (tw_idx_read(k == 0 ? &data->train : &data->test, images, labels, data->pixels, classes,
                        problem) != 0) {
            return -1;
        }
    }
    return 0;
}

/* "train=N" or "seed=S", one after another with commas. */
static int parse_digits(const char *options, uint64_t *train_p, uint64_t *seed_p,
                        tw_problem_t *problem)
{
    const char *at = options;

    while (*at != '\0') {
        const int train = strncmp(at, "train=", 6) == 0;
        const int seed  = strncmp(at, "seed=", 5) == 0;
        char     *end;
        uint64_t  value;

        at += train ? 6 : seed ? 5 : 0;
        if (!(train || seed) || *at < '0' || *at > '9') {
            return tw_problem_set(
                problem, "--data digits:%s: accepted is digits[:train=N][,seed=S]", options);
        }
        errno = 0;
        value = strtoull(at, &end, 10);
        if (errno != 0 || (*end != '\0' && (*end != ',' || end[1] == '\0'))) {
            return tw_problem_set(problem, "--data digits:%s: '%s' is not a number", options, at);
        }
        if (train && (value < 1 || value > TW_DIGITS_MOST)) {
            return tw_problem_set(problem, "--data digits:%s: train is accepted from 1 to %u",
                                  options, TW_DIGITS_MOST);
        }
        *(train ? train_p : seed_p) = value;
        at                          = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static int load_digits(tw_data_t *data, const char *options, tw_problem_t *problem)
{
    uint64_t train = TW_DIGITS_TRAIN, seed = 1;

    if (data->pixels != 784) {
        return tw_problem_set(problem, "--data digits has 784 pixels; the model takes %zu",
                              data->pixels);
    }
    if (parse_digits(options, &train, &seed, problem) != 0 ||
        tw_set_create(&data->train, train, data->pixels, problem) != 0 ||
        tw_set_create(&data->test, train < 6 ? 1 : train / 6, data->pixels, problem) != 0) {
        return -1;
    }
    tw_digits_draw(&data->train, seed, 0);
    tw_digits_draw(&data->test, seed, 1);
    return 0;
}

int tw_data_load(tw_data_t *data, const char *spec, size_t pixels, size_t classes,
                 tw_problem_t *problem)
{
    int status;

    *data = (tw_data_t){.pixels = pixels};
    if (strncmp(spec, "mnist:", 6) == 0) {
        status = load_mnist(data, spec + 6, classes, problem);
    } else if (strcmp(spec, "digits") == 0 || strncmp(spec, "digits:", 7) == 0) {
        if (spec[6] == ':' && spec[7] == '\0') {
            return tw_problem_set(problem, "--data '%s' ends after the colon; accepted are %s", spec,
                                  TW_DATA_ACCEPTED);
        }
        status = load_digits(data, spec[6] == ':' ? spec + 7 : spec + 6, problem);
    } else {
        status = tw_problem_set(problem, "--data '%s' is no data set; accepted are %s", spec,
                                TW_DATA_ACCEPTED);
    }
    if (status != 0) {
        tw_data_destroy(data);
    }
    return status;
}

void tw_data_destroy(tw_data_t *data)
{
    tw_set_destroy(&data->train);
    tw_set_destroy(&data->test);
}

uint64_t tw_data_hash(const tw_data_t *data)
{
    uint64_t hash = data->pixels;

    hash = tw_hash(hash, data->train.pixels, data->train.n * data->pixels);
    hash = tw_hash(hash, data->train.labels, data->train.n);
    hash = tw_hash(hash, data->test.pixels, data->test.n * data->pixels);
    return tw_hash(hash, data->test.labels, data->test.n);
}
