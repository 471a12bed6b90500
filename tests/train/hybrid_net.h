/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/hybrid_net.h - what the tests of whole hybrid runs share: a small network with
 * convolutions, batch normalisation, dropout and dense layers, the last one split by input, as a
 * file.
 */
#ifndef TW_TESTS_HYBRID_NET_H
#define TW_TESTS_HYBRID_NET_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/mpi/harness.h"
#include "train/options.h"

/* Units divide by no number of ranks. With HYBRID_CODED channels the weights of conv2, and nothing
 * else that every rank has, are enough to travel with the codec of gradients; with HYBRID_SMALL
 * they are not, and all is float32. */
enum { HYBRID_SMALL = 7, HYBRID_CODED = 21 };

static const char hybrid_net_text[] =
    "name = \"small\";\n"
    "input = { channels = 1; height = 12; width = 10; scale = 0.00784; mean = 127.5; };\n"
    "classes = 5;\n"
    "%s"
    "training = { optimizer = \"sgd\"; rate = 0.05; momentum = 0.9; decay = 0.01; batch = 28; };\n"
    "layers = (\n"
    "  { type = \"conv\"; name = \"conv1\"; channels = 6; kernel = 3; pad = 1; activation = "
    "\"relu\"; },\n"
    "  { type = \"pool\"; name = \"pool1\"; pooling = \"max\"; kernel = 2; stride = 2; },\n"
    "  { type = \"conv\"; name = \"conv2\"; channels = %d; kernel = 3; pad = 1; bias = false; },\n"
    "  { type = \"norm\"; name = \"norm2\"; activation = \"relu\"; },\n"
    "  { type = \"dense\"; name = \"fc3\"; units = 33; activation = \"relu\"; },\n"
    "  { type = \"dropout\"; name = \"drop3\"; rate = 0.5; },\n"
    "  { type = \"dense\"; name = \"fc4\"; units = 21; activation = \"logistic\"; },\n"
    "  { type = \"dropout\"; name = \"drop4\"; rate = 0.3; },\n"
    "  { type = \"dense\"; name = \"fc5\"; split = \"input\"; }\n"
    ");\n";

/* A path in the scratch folder. */
static inline void hybrid_path(char *path, size_t size, const char *name)
{
    const char *folder = getenv("TW_SCRATCH");

    snprintf(path, size, "%s/%s", folder == NULL ? "/tmp" : folder, name);
}

/* Are the ranks of this test whole groups of as many as share split layers? */
static inline int hybrid_fits(const char *scheme)
{
    const char *split = strstr(scheme, ":split=");
    const int   n     = split == NULL ? 1 : atoi(split + 7);

    return n >= t_size || t_size % n == 0;
}

/* A model's file, by rank 0. */
static inline void hybrid_write(char *path, size_t size, const char *name, const char *text)
{
    hybrid_path(path, size, name);
    if (t_rank == 0) {
        FILE *file = fopen(path, "w");

        T_CHECK(file != NULL, "cannot write %s", path);
        fputs(text, file);
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The model's file, with so many channels in conv2 and more settings at its top, by rank 0. */
static inline void hybrid_net_write(char *path, size_t size, int channels, const char *more)
{
    char text[sizeof(hybrid_net_text) + 256];

    snprintf(text, sizeof(text), hybrid_net_text, more, channels);
    hybrid_write(path, size, "small.cfg", text);
}

/* A run of a model on images of that shape, with batch statistics of all ranks. */
static inline tw_train_options_t hybrid_options(const char *model, const char *scheme,
                                                uint64_t batch)
{
    tw_train_options_t options;
    tw_problem_t       problem = {0};
    char               count[32];
    const char        *words[] = {"x",        "--model", model,
                                  "--scheme", scheme,    "--batch",
                                  count,      "--data",  "random:12x10x1,5,n=97,test=41",
                                  "--bn",     "global"};

    snprintf(count, sizeof(count), "%d", (int)batch);
    tw_train_options_parse(&options, sizeof(words) / sizeof(words[0]), (char **)(uintptr_t)words,
                           &problem);
    T_CHECK(!problem.set, "%s", problem.text);
    return options;
}

#endif /* TW_TESTS_HYBRID_NET_H */
