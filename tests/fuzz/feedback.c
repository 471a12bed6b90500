/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/feedback.c - streams of residuals.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include <thinwire/feedback.h>

#include "runtime/base/bytes.h"
#include "tests/fuzz/target.h"

#define COUNT 40

static tw_comm_t     *comm;
static tw_feedback_t *feedback;

static void begin(void)
{
    fuzz_check(tw_comm_create(fuzz_context(), MPI_COMM_WORLD, &comm) == TW_OK &&
                   tw_feedback_create(comm, "fuzz", TW_F32, COUNT, &feedback) == TW_OK,
               "there is a feedback object");
}

static bool run(const uint8_t *data, size_t size)
{
    float       before[COUNT], after[COUNT];
    uint8_t    *copy = (uint8_t *)fuzz_text(data, size);
    FILE       *stream;
    tw_status_t status;

    if (size > 9 && data[size - 9] % 2 == 0) { /* a right checksum */
        tw_store_le64(copy + size - 8, tw_fnv1a(TW_FNV_START, copy, size - 8));
    }
    stream = fmemopen(copy, size > 0 ? size : 1, "rb");
    fuzz_check(stream != NULL, "there is a stream");
    tw_feedback_read(feedback, before);
    status = tw_feedback_restore(feedback, stream,
                                 size % 2 == 0 ? TW_FEEDBACK_SUM : TW_FEEDBACK_AVERAGE);
    fuzz_check(status == TW_OK || status == TW_ERR_FORMAT || status == TW_ERR_IO,
               "a stream is taken or refused");
    tw_feedback_read(feedback, after);
    fuzz_check(status == TW_OK || memcmp(before, after, sizeof(before)) == 0,
               "a refusal changes nothing");
    fclose(stream);
    free(copy);
    return status == TW_OK;
}

/* Of 1, 2 and 3 ranks. */
static size_t seed(int index, uint8_t *data)
{
    const uint32_t ranks = (uint32_t)index + 1;
    size_t         at    = 88;

    if (index > 2) {
        return 0;
    }
    memset(data, 0, FUZZ_MOST);
    memcpy(data, "TWFEEDB1", 8);
    tw_store_le32(data + 12, ranks);
    tw_store_le64(data + 16, COUNT);
    memcpy(data + 24, "fuzz", 4);
    for (uint32_t r = 0; r < ranks; r++) {
        tw_store_le64(data + at, 5 * r);
        tw_store_le64(data + at + 8, 5);
        at += 16 + 4 * (COUNT + 5);
    }
    tw_store_le64(data + at, tw_fnv1a(TW_FNV_START, data, at));
    return at + 8;
}

const fuzz_target_t fuzz_feedback = {"feedback", true, begin, run, seed};
