/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/cifar.c - folders of CIFAR-10 files.
 *
 * Input: the number of bytes of the training file (2 bytes), then it and the test file.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/target.h"
#include "tests/train/data_hash.h"
#include "train/input/readers.h"

enum { RECORD = 3073 };

static char folder[64], train[96], test[96];

static void clear(void)
{
    unlink(train);
    unlink(test);
    rmdir(folder);
}

static void begin(void)
{
    strcpy(folder, "/tmp/thinwire-fuzz.XXXXXX");
    fuzz_check(mkdtemp(folder) != NULL, "there is a folder");
    snprintf(train, sizeof(train), "%s/data_batch_1.bin", folder);
    snprintf(test, sizeof(test), "%s/test_batch.bin.gz", folder);
    atexit(clear);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
    FILE *file = fopen(name, "wb");

    fuzz_check(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0,
               "there is a file");
}

static bool run(const uint8_t *data, size_t size)
{
    fuzz_bytes_t from    = {data, size};
    const size_t wanted  = fuzz_word(&from);
    const size_t n       = wanted < from.left ? wanted : from.left;
    tw_problem_t problem = {0};
    tw_data_t    set     = {.classes = 10};
    bool         taken;

    put(train, from.data, n);
    put(test, from.data + n, from.left - n);
    taken = tw_cifar_read(&set, folder, &problem) == 0;
    if (taken) {
        fuzz_check(set.train.n == n / RECORD || n < RECORD || from.data[0] == 0x1f,
                   "every record is there");
        data_hash(&set);
    } else {
        fuzz_check(problem.set && problem.text[0] != '\0', "a refusal says why");
    }
    tw_data_destroy(&set); /* the caller's in both cases */
    return taken;
}

static size_t seed(int index, uint8_t *data)
{
    const size_t n = (size_t)(1 + index) * RECORD;

    if (index > 1) {
        return 0;
    }
    data[0] = (uint8_t)n;
    data[1] = (uint8_t)(n >> 8);
    for (size_t i = 0; i < n + RECORD; i++) {
        data[2 + i] = i % RECORD == 0 ? (uint8_t)(i / RECORD % 10) : (uint8_t)(i * 7);
    }
    return 2 + n + RECORD;
}

const fuzz_target_t fuzz_cifar = {"cifar", false, begin, run, seed};
