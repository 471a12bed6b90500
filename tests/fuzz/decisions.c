/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/decisions.c - files of what `auto` decided.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/policy/decisions.h"
#include "tests/fuzz/target.h"

#define VERSION "0.1.0"

static bool read_it(const char *text, size_t length, tw_decisions_file_t *file)
{
    char why[200] = "";

    if (tw_decisions_read(text, length, VERSION, file, why, sizeof(why))) {
        return true;
    }
    fuzz_check(why[0] != '\0' && file->count == 0, "a refusal says why and leaves nothing");
    return false;
}

static void look_up(const tw_decisions_file_t *file)
{
    for (size_t p = 0; p < file->count; p++) {
        for (size_t i = 0; i < file->parts[p].count; i++) {
            fuzz_check(tw_decisions_find(&file->parts[p], &file->parts[p].list[i].question) != NULL,
                       "a decision is found");
        }
    }
}

static bool run(const uint8_t *data, size_t size)
{
    tw_decisions_file_t file, again;
    size_t              length = size > 1 ? size - 1 : 0;
    char               *text   = malloc(length + 64), *written;
    bool                taken;

    fuzz_check(text != NULL, "there is memory");
    memcpy(text, data + (size > 1), length);
    if (size > 0 && data[0] % 2 != 0) { /* a right checksum */
        length += (size_t)snprintf(text + length, 64, "checksum %016" PRIx64 "\n",
                                   tw_fnv1a(TW_FNV_START, text, length));
    }
    taken = read_it(text, length, &file);
    if (taken) {
        look_up(&file);
        written = tw_decisions_write(&file, VERSION, &length);
        fuzz_check(written != NULL && read_it(written, length, &again),
                   "what was written can be read");
        fuzz_check(again.count == file.count, "and is the same");
        for (size_t p = 0; p < file.count; p++) {
            fuzz_check(tw_decisions_put(&again, &file.parts[p]), "a part can be put in");
        }
        free(written);
        tw_decisions_free(&again);
        tw_decisions_free(&file);
    }
    free(text);
    return taken;
}

static size_t seed(int index, uint8_t *data)
{
    static const char *const texts[] = {
        "\1thinwire decisions 1\nversion " VERSION "\ncommunicator 4 1 4 0 1\n"
        "allreduce float 3f947ae147ae147b plain 0 1048576 tree8:block=4096,split=0.45 two_pass "
        "65536\nbcast float 3f947ae147ae147b plain 0 4 mpi mpi 0\n",
        "\1thinwire decisions 1\nversion " VERSION "\ncommunicator 8 2 4 0 1\n"
        "alltoall double 3f947ae147ae147b feedback 0 16 fp32 pairwise 4096\n"
        "communicator 2 2 1 6 2\nallgather float 0 plain 0 5 bf16 pairwise 4\n"};

    return index < 2 ? fuzz_seed_text(data, texts[index]) : 0;
}

const fuzz_target_t fuzz_decisions = {"decisions", false, NULL, run, seed};
