/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/model.c - model files.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"
#include "train/model/network.h"

static bool run(const uint8_t *data, size_t size)
{
    tw_problem_t problem = {0};
    tw_network_t net     = {0};
    char         source[256], *text = NULL;
    const bool   taken = tw_network_text(fuzz_file(data, size), &text, source, &problem) == 0 &&
                       tw_network_parse(&net, text, source, &problem) == 0;

    if (taken) {
        FILE *out = fopen("/dev/null", "w");

        fuzz_check(net.layers >= 1 && net.classes >= 2 && net.first_dense <= net.layers,
                   "a network has layers and classes");
        tw_network_describe(&net, 64, out);
        fclose(out);
    } else {
        fuzz_check(problem.set && problem.text[0] != '\0' && strchr(problem.text, '\n') == NULL,
                   "a refusal says why, in one line");
    }
    tw_network_destroy(&net);
    free(text);
    return taken;
}

/* The built-in models. */
static size_t seed(int index, uint8_t *data)
{
    static const char *const names[] = {"linear", "mlp",        "lenet",        "resnet-20",
                                        "vgg-a",  "alexnet-s4", "alexnet-2012", "googlenet"};
    tw_problem_t             problem = {0};
    char                     source[256], *text = NULL;
    size_t                   size;

    if (index >= (int)(sizeof(names) / sizeof(names[0]))) {
        return 0;
    }
    fuzz_check(tw_network_text(names[index], &text, source, &problem) == 0, "there is the model");
    size = fuzz_seed_text(data, text);
    free(text);
    return size;
}

const fuzz_target_t fuzz_model = {"model", false, NULL, run, seed};
