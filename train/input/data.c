/* SPDX-License-Identifier: BSD-3-Clause
 * input/data.c - from the name of a data set to its images.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/hash.h"
#include "train/input/readers.h"

#define TW_DIGITS_ACCEPTED "digits[:train=N][,seed=S]"
#define TW_RANDOM_ACCEPTED "random:HxWxC,CLASSES[,n=N][,test=N][,seed=S]"
#define TW_DRAWN_MOST      10000000u           /* images of a set           */
#define TW_RANDOM_BYTES    (UINT64_C(1) << 32) /* of pixels, both sets  */

int tw_set_create(tw_set_t *set, size_t n, size_t pixels, tw_problem_t *problem)
{
    set->n      = n;
    set->pixels = malloc(n * pixels);
    set->labels = malloc(n * sizeof(*set->labels));
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

/* What the model wants of a data set: 0 for any. */
typedef struct tw_wanted {
    size_t pixels, classes;
} tw_wanted_t;

/* Set what the images are; an error if the model takes others. */
static int set_shape(tw_data_t *data, const char *name, tw_shape_t shape, size_t classes,
                     tw_wanted_t want, tw_problem_t *problem)
{
    data->shape   = shape;
    data->pixels  = tw_shape_size(shape);
    data->classes = classes;
    if (want.pixels != 0 && want.pixels != data->pixels) {
        return tw_problem_set(problem, "--data %s has %zu pixels; the model takes %zu", name,
                              data->pixels, want.pixels);
    }
    if (want.classes != 0 && want.classes < classes) {
        return tw_problem_set(problem, "--data %s has %zu classes; the model has %zu", name,
                              classes, want.classes);
    }
    return 0;
}

static int load_mnist(tw_data_t *data, const char *folder, tw_wanted_t want, tw_problem_t *problem)
{
    static const char *const names[2][2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                                            {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};
    const size_t             classes     = want.classes == 0 ? 10 : want.classes;
    char                     images[4096], labels[4096];
    tw_shape_t               shape[2];

    if (*folder == '\0' || strlen(folder) > 3000) {
        return tw_problem_set(problem, "--data mnist:DIR needs the folder of the four IDX files");
    }
    for (int k = 0; k < 2; k++) {
        snprintf(images, sizeof(images), "%s/%s", folder, names[k][0]);
        snprintf(labels, sizeof(labels), "%s/%s", folder, names[k][1]);
        if (tw_idx_read(k == 0 ? &data->train : &data->test, images, labels, want.pixels, classes,
                        &shape[k], problem) != 0) {
            return -1;
        }
    }
    if (shape[0].h != shape[1].h || shape[0].w != shape[1].w) {
        return tw_problem_set(problem,
                              "'%s' holds images of %zux%zu, but the training images are %zux%zu",
                              images, shape[1].h, shape[1].w, shape[0].h, shape[0].w);
    }
    return set_shape(data, "mnist", shape[0], classes, want, problem);
}

static int load_cifar(tw_data_t *data, const char *folder, tw_wanted_t want, tw_problem_t *problem)
{
    if (*folder == '\0') {
        return tw_problem_set(problem,
                              "--data cifar10:DIR needs the folder of data_batch_*.bin and "
                              "test_batch.bin, plain or .gz");
    }
    return set_shape(data, "cifar10", (tw_shape_t){3, 32, 32}, 10, want, problem) == 0
               ? tw_cifar_read(data, folder, problem)
               : -1;
}

static int load_digits(tw_data_t *data, const char *spec, const char *options, tw_wanted_t want,
                       tw_problem_t *problem)
{
    uint64_t               train = 12000, seed = 1;
    const tw_data_option_t option[] = {{"train=", 1, TW_DRAWN_MOST, &train},
                                       {"seed=", 0, UINT64_MAX, &seed}};

    if (set_shape(data, "digits", (tw_shape_t){1, 28, 28}, 10, want, problem) != 0 ||
        tw_data_options(spec, options, TW_DIGITS_ACCEPTED, option, 2, problem) != 0 ||
        tw_set_create(&data->train, train, data->pixels, problem) != 0 ||
        tw_set_create(&data->test, train < 6 ? 1 : train / 6, data->pixels, problem) != 0) {
        return -1;
    }
    tw_digits_draw(&data->train, seed, 0);
    tw_digits_draw(&data->test, seed, 1);
    return 0;
}

/* "HxWxC,CLASSES" and what follows it, *rest_p; NULL if it is something else. */
static const char *parse_random(const char *at, size_t number[4])
{
    static const struct {
        char     after;
        uint64_t low, high;
    } part[4] = {{'x', 1, 65536}, {'x', 1, 65536}, {',', 1, 65536}, {',', 2, 65536}};

    for (int k = 0; k < 4; k++) {
        char    *end;
        uint64_t value;

        if (*at < '0' || *at > '9') {
            return NULL;
        }
        value = strtoull(at, &end, 10); /* beyond 64 bits: the largest, which is too large */
        if (value < part[k].low || value > part[k].high ||
            (*end != part[k].after && !(k == 3 && *end == '\0')) ||
            (*end == ',' && end[1] == '\0')) {
            return NULL;
        }
        number[k] = value;
        at        = *end == '\0' ? end : end + 1;
    }
    return at;
}

static int load_random(tw_data_t *data, const char *spec, tw_wanted_t want, tw_problem_t *problem)
{
    uint64_t               n = 512, test = 64, seed = 1;
    const tw_data_option_t option[] = {{"n=", 1, TW_DRAWN_MOST, &n},
                                       {"test=", 1, TW_DRAWN_MOST, &test},
                                       {"seed=", 0, UINT64_MAX, &seed}};
    size_t                 number[4]; /* H, W, C, classes */
    const char            *options = parse_random(spec + strlen("random:"), number);

    if (options == NULL) {
        return tw_problem_set(problem,
                              "--data %s: accepted is " TW_RANDOM_ACCEPTED
                              " with H, W and C from 1 and CLASSES from 2 to 65536",
                              spec);
    }
    if (set_shape(data, spec, (tw_shape_t){number[2], number[0], number[1]}, number[3], want,
                  problem) != 0 ||
        tw_data_options(spec, options, TW_RANDOM_ACCEPTED, option, 3, problem) != 0) {
        return -1;
    }
    if (data->pixels > TW_RANDOM_BYTES / (n + test)) {
        return tw_problem_set(problem,
                              "--data %s: %" PRIu64 " images of %zu bytes; accepted are up to "
                              "%" PRIu64 " bytes together",
                              spec, n + test, data->pixels, TW_RANDOM_BYTES);
    }
    if (tw_set_create(&data->train, n, data->pixels, problem) != 0 ||
        tw_set_create(&data->test, test, data->pixels, problem) != 0) {
        return -1;
    }
    tw_noise_draw(&data->train, data->pixels, data->classes, seed, 0);
    tw_noise_draw(&data->test, data->pixels, data->classes, seed, 1);
    return 0;
}

int tw_data_load(tw_data_t *data, const char *spec, size_t pixels, size_t classes,
                 tw_problem_t *problem)
{
    const tw_wanted_t want = {pixels, classes};
    int               status;

    *data = (tw_data_t){.pixels = 0};
    if (strncmp(spec, "mnist:", 6) == 0) {
        status = load_mnist(data, spec + 6, want, problem);
    } else if (strncmp(spec, "cifar10:", 8) == 0) {
        status = load_cifar(data, spec + 8, want, problem);
    } else if (strncmp(spec, "random:", 7) == 0) {
        status = load_random(data, spec, want, problem);
    } else if (strcmp(spec, "digits") == 0 || (strncmp(spec, "digits:", 7) == 0 && spec[7] != 0)) {
        status = load_digits(data, spec, spec[6] == ':' ? spec + 7 : spec + 6, want, problem);
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
    const uint64_t shape[4] = {data->shape.c, data->shape.h, data->shape.w, data->classes};
    uint64_t       hash     = tw_hash(data->pixels, shape, sizeof(shape));

    hash = tw_hash(hash, data->train.pixels, data->train.n * data->pixels);
    hash = tw_hash(hash, data->train.labels, data->train.n * sizeof(*data->train.labels));
    hash = tw_hash(hash, data->test.pixels, data->test.n * data->pixels);
    return tw_hash(hash, data->test.labels, data->test.n * sizeof(*data->test.labels));
}
