/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_device.c - a pipeline whose device is not the processor: its memory lies where
 * nobody may touch it, and copies are done late. Batches are the same ones, every image goes
 * through the eight steps of S2, slide 24, in their order, and nothing of the device is left
 * behind.
 */
#include "config.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/train/pipeline_rig.h"
#include "tests/transport/stub_device.h"

/* ---- what happened to an image ------------------------------------------------------------- */

enum { NOTES = 1 << 15 };

typedef enum stage { CLAIMED, READ, MOVED, RAN } stage_t;

typedef struct note {
    stage_t             stage;
    pthread_t           thread;
    uint32_t            image; /* READ, MOVED, RAN */
    const tw_staging_t *staging;
} note_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of notes and of the stub */
static note_t          notes[NOTES];
static size_t          noted;
static pthread_t       first;     /* the thread that posts and takes */
static int             comparing; /* and whether it now reads for itself */

static void note(stage_t stage, uint32_t image, const tw_staging_t *staging)
{
    ck_assert_uint_lt(noted, NOTES);
    notes[noted++] = (note_t){stage, pthread_self(), image, staging};
}

static void note_read(uint32_t image)
{
    if (!pthread_equal(pthread_self(), first) || !comparing) {
        pthread_mutex_lock(&lock);
        note(READ, image, NULL);
        pthread_mutex_unlock(&lock);
    }
}

/* ---- the device ---------------------------------------------------------------------------- */

static void *allocate(tw_device_memory_t kind, size_t bytes)
{
    void *p;

    ck_assert_int_eq(stub_device.allocate(kind, bytes, &p), TW_OK);
    return p;
}

static void *allocate_pinned(size_t bytes)
{
    void *p;

    pthread_mutex_lock(&lock);
    p = allocate(TW_DEVICE_PINNED, bytes);
    pthread_mutex_unlock(&lock);
    return p;
}

static void release_pinned(void *p)
{
    pthread_mutex_lock(&lock);
    stub_device.release(TW_DEVICE_PINNED, p);
    pthread_mutex_unlock(&lock);
}

static const tw_buffer_memory_t pinned = {.allocate = allocate_pinned, .release = release_pinned};

/* A device buffer with the stream of its work, and the event of the last copy to it. */
typedef struct device_place {
    void  *stream, *copied, *bytes;
    size_t room;
} device_place_t;

static device_place_t *place_of(tw_staging_t *staging)
{
    if (staging->device == NULL) {
        device_place_t *place = calloc(1, sizeof(*place));

        ck_assert_int_eq(stub_device.stream_create(&place->stream), TW_OK);
        ck_assert_int_eq(stub_device.event_create(&place->copied), TW_OK);
        staging->device = place;
    }
    return staging->device;
}

static int claim(const tw_input_device_t *device, tw_staging_t *staging, tw_problem_t *why)
{
    device_place_t *place;
    bool            done = false;

    (void)device;
    (void)why;
    pthread_mutex_lock(&lock);
    place = place_of(staging);
    while (!done) {
        ck_assert_int_eq(stub_device.query(place->copied, &done), TW_OK);
    }
    note(CLAIMED, 0, staging);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int move(const tw_input_device_t *device, tw_staging_t *staging, tw_image_t *image,
                const tw_pixels_t *loops, size_t *bytes_p, tw_problem_t *why)
{
    const tw_input_row_t *row =
        (const void *)((const char *)staging - offsetof(tw_input_row_t, staging));
    device_place_t *place;

    (void)device;
    (void)why;
    *bytes_p = tw_image_move(image, loops, &staging->host);
    pthread_mutex_lock(&lock);
    place = place_of(staging);
    if (*bytes_p > place->room) {
        ck_assert_int_eq(stub_device.finish(place->stream), TW_OK);
        if (place->bytes != NULL) {
            stub_device.release(TW_DEVICE_MEMORY, place->bytes);
        }
        place->bytes = allocate(TW_DEVICE_MEMORY, *bytes_p);
        place->room  = *bytes_p;
    }
    ck_assert_int_eq(stub_device.copy(place->bytes, image->data, *bytes_p, place->stream), TW_OK);
    ck_assert_int_eq(stub_device.record(place->copied, place->stream), TW_OK);
    image->data = place->bytes;
    note(MOVED, row->prepared.index, staging);
    pthread_mutex_unlock(&lock);
    return 0;
}

/* By the processor, on copies of what is on the device by then. */
static int run(const tw_input_device_t *device, const tw_input_batch_t *batch, tw_problem_t *why)
{
    static float made[OUT];

    (void)device;
    for (size_t i = 0; i < batch->n; i++) {
        tw_input_row_t *row   = &batch->row[i];
        tw_planned_t   *plan  = &row->prepared.planned;
        device_place_t *place = row->staging.device;
        const size_t    bytes = tw_image_bytes(&plan->image);
        void           *seen  = malloc(bytes + 64);

        pthread_mutex_lock(&lock);
        ck_assert_ptr_eq(plan->image.data, place->bytes);
        ck_assert_int_eq(plan->ready, 1);
        ck_assert_int_eq(stub_device.copy(seen, place->bytes, bytes, place->stream), TW_OK);
        ck_assert_int_eq(stub_device.finish(place->stream), TW_OK);
        plan->image.data = seen;
        ck_assert_int_eq(tw_transforms_run(batch->how->list, batch->transfer, batch->how->list->n,
                                           plan, &batch->state->work, NULL, why),
                         0);
        tw_image_floats(&plan->image, batch->state->work.pixels, made);
        ck_assert_int_eq(
            stub_device.copy(batch->out + i * batch->values, made, sizeof(made), place->stream),
            TW_OK);
        ck_assert_int_eq(stub_device.finish(place->stream), TW_OK);
        note(RAN, row->prepared.index, &row->staging);
        pthread_mutex_unlock(&lock);
        free(seen);
    }
    return 0;
}

static void release(const tw_input_device_t *device, tw_staging_t *staging)
{
    device_place_t *place = staging->device;

    (void)device;
    if (place == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    ck_assert_int_eq(stub_device.finish(place->stream), TW_OK);
    if (place->bytes != NULL) {
        stub_device.release(TW_DEVICE_MEMORY, place->bytes);
    }
    stub_device.event_destroy(place->copied);
    stub_device.stream_destroy(place->stream);
    pthread_mutex_unlock(&lock);
    free(place);
}

static const tw_input_device_t late = {.name    = "late",
                                       .memory  = &pinned,
                                       .claim   = claim,
                                       .move    = move,
                                       .run     = run,
                                       .release = release};

/* ---- batches ------------------------------------------------------------------------------- */

/* Of every image that moved: what its thread did before is step 2, for the same staging, and step
 * 3; what happens next with the staging is step 8, or in a batch that is thrown away step 2. Copies
 * start behind step 4, else what arrives would not be what that has made.
 * @return images that have gone all the way. */
static size_t check_order(void)
{
    size_t images = 0;

    for (size_t i = 0; i < noted; i++) {
        const note_t *moved  = &notes[i];
        const note_t *before = NULL, *claimed = NULL, *after = NULL;

        if (moved->stage != MOVED) {
            continue;
        }
        for (size_t k = i; k-- > 0 && claimed == NULL;) {
            if (pthread_equal(notes[k].thread, moved->thread) && notes[k].stage != RAN) {
                claimed = before != NULL ? &notes[k] : NULL;
                before  = before != NULL ? before : &notes[k];
            }
        }
        ck_assert(before != NULL && before->stage == READ && before->image == moved->image);
        ck_assert(claimed != NULL && claimed->stage == CLAIMED &&
                  claimed->staging == moved->staging);
        for (size_t k = i + 1; k < noted && after == NULL; k++) {
            after = notes[k].staging == moved->staging ? &notes[k] : NULL;
        }
        if (after != NULL && after->stage == RAN) {
            ck_assert_uint_eq(after->image, moved->image);
            images++;
        } else {
            ck_assert(after == NULL || after->stage == CLAIMED);
        }
    }
    return images;
}

START_TEST(images_take_the_eight_steps)
{
    enum { BATCHES = 60 };
    static float  want[ROWS * OUT];
    test_random_t r       = {test_seed() + (uint64_t)_i};
    const int     objects = stub_objects;
    uint64_t      posted  = 0;
    size_t        taken   = 0;
    float        *out     = allocate(TW_DEVICE_MEMORY, sizeof(want));
    const void   *real    = stub_real(out); /* while no other thread uses the stub */

    stub_seed      = test_next(&r);
    noted          = 0;
    first          = pthread_self();
    when_read      = note_read;
    config.device  = &late;
    config.threads = _i;
    open_pipeline();
    for (uint64_t b = 0; b < BATCHES; b++) {
        while (posted < BATCHES && tw_pipeline_posted(pipeline) < TW_PIPELINE_DEPTH) {
            post(posted++, test_below(&r, (int)list.n + 1));
        }
        ck_assert_msg(tw_pipeline_take(pipeline, b % 9 == 8 ? NULL : out, &problem) == 0, "%s",
                      problem.text);
        if (b % 9 != 8) {
            comparing = 1;
            plainly(b, want);
            comparing = 0;
            taken += rows_of(b);
            ck_assert_msg(memcmp(real, want, rows_of(b) * OUT * sizeof(*want)) == 0, "batch %d",
                          (int)b);
        }
    }
    tw_pipeline_destroy(pipeline);
    pipeline  = NULL;
    when_read = NULL;
    ck_assert_uint_eq(check_order(), taken);
    stub_device.release(TW_DEVICE_MEMORY, out);
    ck_assert_int_eq(stub_objects, objects);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/device");
    TCase *tcase = test_case_within(suite, "device", 60.0);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, images_take_the_eight_steps, 0, 4);
    return test_main(suite);
}
