/* SPDX-License-Identifier: BSD-3-Clause
 * input/prepare.c - see prepare.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "runtime/base/clock.h"
#include "train/input/prepare.h"
#include "train/base/random.h"

/* ---- broken images ------------------------------------------------------------------------- */

void tw_broken_init(tw_broken_t *broken)
{
    *broken = (tw_broken_t){.n = 0};
    pthread_mutex_init(&broken->lock, NULL);
}

void tw_broken_destroy(tw_broken_t *broken)
{
    free(broken->image);
    pthread_mutex_destroy(&broken->lock);
}

static size_t place_of(const tw_broken_t *broken, uint64_t image)
{
    size_t low = 0, high = broken->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (broken->image[middle] < image) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Each once. Without memory it is not counted. */
static void add_broken(tw_broken_t *broken, uint64_t image)
{
    size_t at;

    pthread_mutex_lock(&broken->lock);
    at = place_of(broken, image);
    if (at == broken->n || broken->image[at] != image) {
        if (broken->n == broken->room) {
            const size_t room = 2 * broken->room + 16;
            void        *more = realloc(broken->image, room * sizeof(*broken->image));

            if (more == NULL) {
                pthread_mutex_unlock(&broken->lock);
                return;
            }
            broken->image = more;
            broken->room  = room;
        }
        memmove(broken->image + at + 1, broken->image + at,
                (broken->n - at) * sizeof(*broken->image));
        broken->image[at] = image;
        broken->n++;
    }
    pthread_mutex_unlock(&broken->lock);
}

void tw_broken_merge(tw_broken_t *broken, tw_broken_t *from)
{
    for (size_t i = 0; i < from->n; i++) {
        add_broken(broken, from->image[i]);
    }
    from->n = 0;
}

size_t tw_broken_list(const tw_broken_t *broken, uint64_t *image, size_t room)
{
    if (room > 0 && broken->n > 0) {
        memcpy(image, broken->image, (broken->n < room ? broken->n : room) * sizeof(*image));
    }
    return broken->n;
}

/* ---- threads ------------------------------------------------------------------------------- */

int tw_thread_state_create(tw_thread_state_t *state, const tw_compute_kernels_t *kernels,
                           uint64_t most)
{
    const tw_pixels_t *pixels = TW_KERNELS_OF(kernels, tw_pixels);

    *state = (tw_thread_state_t){
        .work = {.pixels = pixels, .decoder = tw_decoder_create(pixels), .most = most}};
    return state->work.decoder != NULL ? 0 : -1;
}

void tw_thread_state_destroy(tw_thread_state_t *state)
{
    tw_reader_destroy(&state->reader);
    tw_work_destroy(&state->work);
}

tw_thread_state_t *tw_thread_state_own(tw_thread_state_t *states)
{
#ifdef _OPENMP
    return &states[omp_get_thread_num()];
#else
    return states;
#endif
}

uint64_t tw_thread_state_grown(tw_thread_state_t *state)
{
    const uint64_t all = state->reader.buffer.grown + tw_work_grown(&state->work);
    const uint64_t new = all - state->told;

    state->told = all;
    return new;
}

/* ---- images -------------------------------------------------------------------------------- */

/* Read image prepared->index. */
static int read_image(const tw_prepare_t *how, tw_prepared_t *prepared, tw_thread_state_t *state,
                      tw_problem_t *problem)
{
    tw_image_record_t record;

    if (how->source->ops->read(how->source, how->part, prepared->index, &state->reader, &record,
                               problem) != 0) {
        return -1;
    }
    prepared->read = tw_clock_ns();
    prepared->planned.key =
        tw_random_key(how->seed, TW_RANDOM_AUGMENT, how->epoch, prepared->index);
    prepared->planned.image = tw_source_image(&record);
    prepared->planned.view  = how->view;
    prepared->planned.ready = 0;
    return 0;
}

/* The next image with the label of this one, first among those behind it; the same one if there is
 * no other. */
static uint32_t next_of_class(const tw_source_part_t *part, uint32_t index)
{
    uint32_t other = index;

    do {
        other = other + 1 < part->n ? other + 1 : 0;
    } while (part->labels[other] != part->labels[index]);
    return other;
}

/* Run operations first .. end - 1; what goes wrong names the image. */
static int prepare_run(const tw_prepare_t *how, size_t first, size_t end, tw_prepared_t *prepared,
                       tw_thread_state_t *state, tw_buffer_t *out, tw_problem_t *problem)
{
    tw_problem_t inner = {0};
    char         name[300];

    if (tw_transforms_run(how->list, first, end, &prepared->planned, &state->work, out, &inner) ==
        0) {
        return 0;
    }
    how->source->ops->name_of(how->source, how->part, prepared->index, name, sizeof(name));
    return inner.machine ? tw_problem_machine(problem, "%s: %.280s", name, inner.text)
                         : tw_problem_set(problem, "%s: %.280s", name, inner.text);
}

/* From prepared->index or one that takes its place to what `end` operations make of it. `failed`:
 * that one is broken already. */
static int prepare_make(const tw_prepare_t *how, tw_prepared_t *prepared, size_t end, int failed,
                        tw_thread_state_t *state, tw_buffer_t *out, tw_problem_t *problem)
{
    const uint32_t first = prepared->index;
    tw_problem_t   inner = {0};
    char           name[300];

    for (;;) {
        if (!failed && read_image(how, prepared, state, &inner) == 0 &&
            prepare_run(how, 0, end, prepared, state, out, &inner) == 0) {
            return 0;
        }
        if (!failed && (how->broken == NULL || inner.machine)) {
            *problem = inner;
            return -1;
        }
        add_broken(how->broken, (uint64_t)how->part << 32 | prepared->index);
        prepared->index = next_of_class(&how->source->part[how->part], prepared->index);
        if (prepared->index == first) {
            how->source->ops->name_of(how->source, how->part, first, name, sizeof(name));
            return tw_problem_set(problem, "%s: it is broken, and so are all images of its class",
                                  name);
        }
        inner  = (tw_problem_t){0};
        failed = 0;
    }
}

int tw_prepare_begin(const tw_prepare_t *how, tw_prepared_t *prepared, size_t transfer,
                     tw_thread_state_t *state, tw_buffer_t *out, tw_problem_t *problem)
{
    return prepare_make(how, prepared, transfer, 0, state, out, problem);
}

int tw_prepare_end(const tw_prepare_t *how, tw_prepared_t *prepared, size_t transfer,
                   tw_thread_state_t *state, float *out, tw_problem_t *problem)
{
    tw_problem_t inner = {0};

    if (prepare_run(how, transfer, how->list->n, prepared, state, NULL, &inner) != 0) {
        if (how->broken == NULL || inner.machine) {
            *problem = inner;
            return -1;
        }
        if (prepare_make(how, prepared, how->list->n, 1, state, NULL, problem) != 0) {
            return -1;
        }
    }
    tw_image_floats(&prepared->planned.image, state->work.pixels, out);
    return 0;
}
