/* SPDX-License-Identifier: BSD-3-Clause
 * input/memory.c - sources whose pixels are all in memory: MNIST, CIFAR-10, and what is drawn.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/input/readers.h"
#include "train/input/sources.h"

#define TW_DIGITS_ACCEPTED "digits[:train=N][,seed=S]"
#define TW_RANDOM_ACCEPTED "random:HxWxC,CLASSES[,n=N][,test=N][,seed=S]"
#define TW_DRAWN_MOST      10000000u           /* images of a set           */
#define TW_RANDOM_BYTES    (UINT64_C(1) << 32) /* of pixels, both sets  */

enum { MNIST_CLASSES = 10 };

static void set_shape(tw_data_t *data, tw_shape_t shape, size_t classes)
{
    data->shape   = shape;
    data->pixels  = tw_shape_size(shape);
    data->classes = classes;
}

static int load_mnist(tw_data_t *data, const char *spec, const char *folder, tw_problem_t *problem)
{
    static const char *const names[2][2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                                            {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}};
    char                     images[4096], labels[4096];
    tw_shape_t               shape[2];

    (void)spec;
    if (*folder == '\0' || strlen(folder) > 3000) {
        return tw_problem_set(problem, "--data mnist:DIR needs the folder of the four IDX files");
    }
    for (int k = 0; k < 2; k++) {
        snprintf(images, sizeof(images), "%s/%s", folder, names[k][0]);
        snprintf(labels, sizeof(labels), "%s/%s", folder, names[k][1]);
        if (tw_idx_read(k == 0 ? &data->train : &data->test, images, labels, 0, MNIST_CLASSES,
                        &shape[k], problem) != 0) {
            return -1;
        }
    }
    if (shape[0].h != shape[1].h || shape[0].w != shape[1].w) {
        return tw_problem_set(problem,
                              "'%s' holds images of %zux%zu, but the training images are %zux%zu",
                              images, shape[1].h, shape[1].w, shape[0].h, shape[0].w);
    }
    set_shape(data, shape[0], MNIST_CLASSES);
    return 0;
}

static int load_cifar10(tw_data_t *data, const char *spec, const char *folder,
                        tw_problem_t *problem)
{
    (void)spec;
    if (*folder == '\0') {
        return tw_problem_set(problem,
                              "--data cifar10:DIR needs the folder of data_batch_*.bin and "
                              "test_batch.bin, plain or .gz");
    }
    set_shape(data, (tw_shape_t){3, 32, 32}, 10);
    return tw_cifar_read(data, folder, problem);
}

static int load_digits(tw_data_t *data, const char *spec, const char *options,
                       tw_problem_t *problem)
{
    uint64_t               train = 12000, seed = 1;
    const tw_data_option_t option[] = {{"train=", 1, TW_DRAWN_MOST, &train},
                                       {"seed=", 0, UINT64_MAX, &seed}};

    set_shape(data, (tw_shape_t){1, 28, 28}, 10);
    if (*options == ':' && options[1] == '\0') {
        return tw_problem_set(problem, "--data %s: accepted is " TW_DIGITS_ACCEPTED, spec);
    }
    if (tw_data_options(spec, *options == ':' ? options + 1 : options, TW_DIGITS_ACCEPTED, option,
                        2, problem) != 0 ||
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

static int load_random(tw_data_t *data, const char *spec, const char *arguments,
                       tw_problem_t *problem)
{
    uint64_t               n = 512, test = 64, seed = 1;
    const tw_data_option_t option[] = {{"n=", 1, TW_DRAWN_MOST, &n},
                                       {"test=", 1, TW_DRAWN_MOST, &test},
                                       {"seed=", 0, UINT64_MAX, &seed}};
    size_t                 number[4]; /* H, W, C, classes */
    const char            *options = parse_random(arguments, number);

    if (options == NULL) {
        return tw_problem_set(problem,
                              "--data %s: accepted is " TW_RANDOM_ACCEPTED
                              " with H, W and C from 1 and CLASSES from 2 to 65536",
                              spec);
    }
    set_shape(data, (tw_shape_t){number[2], number[0], number[1]}, number[3]);
    if (tw_data_options(spec, options, TW_RANDOM_ACCEPTED, option, 3, problem) != 0) {
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

/* ---- by name ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*load)(tw_data_t *data, const char *spec, const char *arguments, tw_problem_t *problem);
} loads[] = {{"mnist:", load_mnist},
             {"cifar10:", load_cifar10},
             {"random:", load_random},
             {"digits", load_digits}};

int tw_data_load(tw_data_t *data, const char *spec, tw_problem_t *problem)
{
    int status = -1;

    *data = (tw_data_t){.pixels = 0};
    for (size_t k = 0; k < sizeof(loads) / sizeof(loads[0]); k++) {
        const size_t length = strlen(loads[k].name);

        if (strncmp(spec, loads[k].name, length) == 0) {
            status = loads[k].load(data, spec, spec + length, problem);
        }
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

/* ---- sources ------------------------------------------------------------------------------- */

/* The labels become the source's. */
static void adopt(tw_source_part_t *part, tw_set_t *set)
{
    *part       = (tw_source_part_t){.n = set->n, .labels = set->labels};
    set->labels = NULL;
}

static int open_memory(tw_source_t *source, const char *spec, const char *arguments,
                       tw_problem_t *problem)
{
    tw_data_t *data = calloc(1, sizeof(*data));

    source->state = data;
    if (data == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    if (tw_data_load(data, spec, problem) != 0) {
        return tw_problem_set(problem, "--data %s: '%s': accepted is %s", spec, arguments,
                              source->ops->form);
    }
    source->in_memory = 1;
    source->shape     = data->shape;
    source->classes   = data->classes;
    adopt(&source->part[TW_SUBSET_TRAIN], &data->train);
    adopt(&source->part[TW_SUBSET_TEST], &data->test);
    return 0;
}

static int read_memory(const tw_source_t *source, tw_subset_t part, uint32_t index,
                       tw_source_reader_t *reader, tw_image_record_t *record, tw_problem_t *problem)
{
    const tw_data_t *data = source->state;
    const tw_set_t  *set  = part == TW_SUBSET_TRAIN ? &data->train : &data->test;

    (void)reader;
    (void)problem;
    *record = (tw_image_record_t){
        .shape = data->shape, .bytes = set->pixels + index * data->pixels, .n = data->pixels};
    return 0;
}

static void name_of(const tw_source_t *source, tw_subset_t part, uint32_t index, char *name,
                    size_t size)
{
    snprintf(name, size, "%s %s image %" PRIu32, source->ops->name,
             part == TW_SUBSET_TRAIN ? "training" : "test", index);
}

static void close_memory(tw_source_t *source)
{
    if (source->state != NULL) {
        tw_data_destroy(source->state);
    }
    free(source->state);
}

#define TW_MEMORY_SOURCE(kind, form_, help_)                                                       \
    const tw_source_ops_t tw_source_##kind = {.name    = #kind,                                    \
                                              .form    = form_,                                    \
                                              .help    = help_,                                    \
                                              .open    = open_memory,                              \
                                              .read    = read_memory,                              \
                                              .name_of = name_of,                                  \
                                              .close   = close_memory};

TW_MEMORY_SOURCE(mnist, "mnist:DIR", "the four IDX files of MNIST, plain or .gz")
TW_MEMORY_SOURCE(cifar10, "cifar10:DIR",
                 "CIFAR-10, data_batch*.bin and test_batch*.bin, plain or .gz")
TW_MEMORY_SOURCE(digits, TW_DIGITS_ACCEPTED,
                 "drawn digits: N (12000) training, N/6 test images; S: other strokes")
TW_MEMORY_SOURCE(random, TW_RANDOM_ACCEPTED, "noise, for speed")
