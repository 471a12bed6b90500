/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/images.c - the device of a pipeline (input/device.h): images move by a stream of their own
 * from page-locked memory, and the operations behind the transfer are one kernel for each batch, on
 * the backend's stream, in front of the layers.
 *
 * Claims and moves come from many threads, which share the copy stream; each staging has the event
 * of the last copy to it. That kernels have read a staging is one event for each batch, of a few
 * that are used in turns: one that has been recorded again is later, so to wait for it is not
 * wrong.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/compute/cuda/cuda.h"
#include "train/compute/cuda/images.h"
#include "train/input/device.h"
#include "train/input/fold.h"

_Static_assert(TW_IMAGE_STEPS == TW_FOLD_STEPS && TW_IMAGE_PLANES == TW_FOLD_PLANES, "room");

enum { USES = 4, MEANS = TW_SUBSETS };

/* What the device has for a staging. */
typedef struct tw_gpu_place {
    void       *bytes;
    size_t      room;
    cudaEvent_t copied;
    cudaEvent_t used; /* one of the batches'; NULL: nobody has read it */
} tw_gpu_place_t;

struct tw_gpu_images {
    tw_input_device_t base;
    tw_gpu_t         *gpu;
    cudaStream_t      copies;
    cudaEvent_t       arrived, used[USES];
    unsigned          batches;
    size_t            rows;
    tw_image_work_t  *work, *on_device; /* [rows] */
    struct {
        const float *host;
        void        *device;
    } mean[MEANS]; /* of pixels, that lists have */
};

typedef struct tw_gpu_images tw_gpu_images_t;

static tw_gpu_images_t *images_of(const tw_input_device_t *device)
{
    return (tw_gpu_images_t *)device; /* it is the first member of one that is no constant */
}

/* ---- page-locked memory ---- */

static void *allocate_pinned(size_t bytes)
{
    void *p = NULL;

    if (cudaMallocHost(&p, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return NULL;
    }
    return p;
}

static void release_pinned(void *p)
{
    (void)cudaFreeHost(p);
}

static const tw_buffer_memory_t pinned = {.allocate = allocate_pinned, .release = release_pinned};

/* ---- an image moves ---- */

static int make_place(const tw_gpu_images_t *images, tw_staging_t *staging, tw_problem_t *problem)
{
    tw_gpu_place_t *place = calloc(1, sizeof(*place));

    if (place == NULL) {
        return tw_problem_machine(problem, "out of memory for an image");
    }
    if (tw_gpu_cuda(images->gpu, cudaEventCreateWithFlags(&place->copied, cudaEventDisableTiming),
                    "an event", problem) != 0) {
        free(place);
        return -1;
    }
    staging->device = place;
    return 0;
}

/* Any thread may come: the device becomes its current one. */
static int claim(const tw_input_device_t *device, tw_staging_t *staging, tw_problem_t *problem)
{
    const tw_gpu_images_t *images = images_of(device);
    const tw_gpu_place_t  *place  = staging->device;

    if (tw_gpu_cuda(images->gpu, cudaSetDevice(images->gpu->device), "a loader thread", problem) !=
        0) {
        return -1;
    }
    return place == NULL ? make_place(images, staging, problem)
                         : tw_gpu_cuda(images->gpu, cudaEventSynchronize(place->copied),
                                       "a copy of an image", problem);
}

/* Room for more; what is read or written there must be done first. */
static int grow(const tw_gpu_images_t *images, tw_gpu_place_t *place, size_t bytes,
                tw_problem_t *problem)
{
    const tw_gpu_t *gpu = images->gpu;

    if (bytes <= place->room) {
        return 0;
    }
    if (place->used != NULL &&
        tw_gpu_cuda(gpu, cudaEventSynchronize(place->used), "an image", problem) != 0) {
        return -1;
    }
    (void)cudaFree(place->bytes);
    place->bytes = NULL;
    place->room  = 0;
    bytes += bytes / 4;
    if (tw_gpu_cuda(gpu, cudaMalloc(&place->bytes, bytes), "memory for an image", problem) != 0) {
        place->bytes = NULL;
        return -1;
    }
    place->room = bytes;
    return 0;
}

static int move(const tw_input_device_t *device, tw_staging_t *staging, tw_image_t *image,
                const tw_pixels_t *pixels, size_t *bytes_p, tw_problem_t *problem)
{
    const tw_gpu_images_t *images = images_of(device);
    const tw_gpu_t        *gpu    = images->gpu;
    tw_gpu_place_t        *place  = staging->device;
    const size_t           bytes  = tw_image_move(image, pixels, &staging->host);

    if (bytes == SIZE_MAX) {
        return tw_problem_machine(problem, "out of page-locked memory for an image");
    }
    *bytes_p = bytes;
    if (grow(images, place, bytes > 0 ? bytes : 1, problem) != 0 ||
        (place->used != NULL &&
         tw_gpu_cuda(gpu, cudaStreamWaitEvent(images->copies, place->used, 0), "an image",
                     problem) != 0) ||
        (bytes > 0 && tw_gpu_cuda(gpu,
                                  cudaMemcpyAsync(place->bytes, image->data, bytes,
                                                  cudaMemcpyHostToDevice, images->copies),
                                  "a copy of an image", problem) != 0) ||
        tw_gpu_cuda(gpu, cudaEventRecord(place->copied, images->copies), "a copy of an image",
                    problem) != 0) {
        return -1;
    }
    image->data = place->bytes;
    return 0;
}

static void images_release(const tw_input_device_t *device, tw_staging_t *staging)
{
    const tw_gpu_images_t *images = images_of(device);
    tw_gpu_place_t        *place  = staging->device;

    if (place != NULL) {
        (void)cudaSetDevice(images->gpu->device);
        (void)cudaStreamSynchronize(images->copies);
        (void)cudaStreamSynchronize(images->gpu->stream);
        (void)cudaFree(place->bytes);
        (void)cudaEventDestroy(place->copied);
        free(place);
        staging->device = NULL;
    }
}

/* ---- a batch ---- */

static tw_image_work_t work_of(const tw_folded_t *fold, const void *moved)
{
    const tw_image_t *image  = &fold->image;
    const int         floats = image->type == TW_IMAGE_FLOATS;
    const size_t      first  = (size_t)((const char *)image->data - (const char *)moved);
    tw_image_work_t   work   = {.moved        = moved,
                                .c            = (uint32_t)image->shape.c,
                                .h            = (uint32_t)image->shape.h,
                                .w            = (uint32_t)image->shape.w,
                                .top          = (uint32_t)image->present.top,
                                .left         = (uint32_t)image->present.left,
                                .present_h    = (uint32_t)image->present.h,
                                .present_w    = (uint32_t)image->present.w,
                                .row          = (uint32_t)image->row,
                                .mirrored     = (uint32_t)image->mirrored,
                                .floats       = (uint32_t)floats,
                                .steps        = (uint32_t)fold->steps,
                                .first        = floats ? first / sizeof(float) : first,
                                .plane        = image->plane,
                                .pixel_first  = fold->pixel_first,
                                .pixel_row    = fold->pixel_row,
                                .pixel_column = fold->pixel_column,
                                .pixel_plane  = fold->pixel_plane};

    for (size_t k = 0; k < fold->steps; k++) {
        memcpy(work.mean[k], fold->step[k].mean, sizeof(work.mean[k]));
        memcpy(work.scale[k], fold->step[k].scale, sizeof(work.scale[k]));
    }
    return work;
}

/* A mean of pixels on the device: there are no more than lists. */
static int find_mean(tw_gpu_images_t *images, const tw_folded_t *fold, const void **mean_p,
                     tw_problem_t *problem)
{
    const size_t bytes = fold->pixels * sizeof(float);
    int          k     = 0;

    *mean_p = NULL;
    if (fold->pixel == NULL) {
        return 0;
    }
    while (k + 1 < MEANS && images->mean[k].host != NULL && images->mean[k].host != fold->pixel) {
        k++;
    }
    if (images->mean[k].host != fold->pixel) {
        if (tw_backend_allocate(&images->gpu->base, bytes, &images->mean[k].device, problem) != 0 ||
            tw_backend_put(&images->gpu->base, images->mean[k].device, fold->pixel, bytes,
                           problem) != 0) {
            return -1;
        }
        images->mean[k].host = fold->pixel;
    }
    *mean_p = images->mean[k].device;
    return 0;
}

#define ROWS_EACH 4 /* rows of a plane that a warp takes */

/* All images, each of as many values in as many rows. */
static int start(tw_gpu_images_t *images, const tw_input_batch_t *batch, const void *mean,
                 tw_problem_t *problem)
{
    const size_t    rows  = (size_t)images->work[0].c * images->work[0].h;
    const size_t    each  = ROWS_EACH * TW_TASK_THREADS / TW_TASK_WARP;
    const size_t    share = (rows + each - 1) / each;
    const tw_task_t task  = {
         .from = {images->on_device, mean}, .to = {batch->out}, .n = {share, batch->values}};

    return tw_gpu_start_blocks(images->gpu, tw_task_images(), &task, share * batch->n, problem);
}

/* What each image is to become. */
static int describe(tw_gpu_images_t *images, const tw_input_batch_t *batch, const void **mean_p,
                    tw_problem_t *problem)
{
    *mean_p = NULL;
    for (size_t i = 0; i < batch->n; i++) {
        const tw_input_row_t *row   = &batch->row[i];
        const tw_gpu_place_t *place = row->staging.device;
        tw_folded_t           fold;

        tw_fold_make(batch->how->list, batch->transfer, &row->prepared.planned, &fold);
        images->work[i] = work_of(&fold, place->bytes);
        if (i == 0 && find_mean(images, &fold, mean_p, problem) != 0) {
            return -1;
        }
    }
    return tw_backend_put(&images->gpu->base, images->on_device, images->work,
                          batch->n * sizeof(*images->work), problem);
}

static int images_run(const tw_input_device_t *device, const tw_input_batch_t *batch,
                      tw_problem_t *problem)
{
    tw_gpu_images_t  *images = images_of(device);
    const tw_gpu_t   *gpu    = images->gpu;
    const cudaEvent_t used   = images->used[images->batches++ % USES];
    const void       *mean;

    if (batch->n == 0) {
        return 0;
    }
    if (describe(images, batch, &mean, problem) != 0 ||
        tw_gpu_cuda(gpu, cudaEventRecord(images->arrived, images->copies), "images", problem) !=
            0 ||
        tw_gpu_cuda(gpu, cudaStreamWaitEvent(gpu->stream, images->arrived, 0), "images", problem) !=
            0 ||
        start(images, batch, mean, problem) != 0 ||
        tw_gpu_cuda(gpu, cudaEventRecord(used, gpu->stream), "images", problem) != 0) {
        return -1;
    }
    for (size_t i = 0; i < batch->n; i++) {
        ((tw_gpu_place_t *)batch->row[i].staging.device)->used = used;
    }
    return 0;
}

/* ---- made and taken down ---- */

void tw_gpu_images_destroy(tw_gpu_t *gpu)
{
    tw_gpu_images_t *images = gpu->images;

    if (images == NULL) {
        return;
    }
    for (int k = 0; k < MEANS; k++) {
        tw_backend_release(&gpu->base, images->mean[k].device);
    }
    tw_backend_release(&gpu->base, images->on_device);
    for (int k = 0; k < USES; k++) {
        if (images->used[k] != NULL) {
            (void)cudaEventDestroy(images->used[k]);
        }
    }
    if (images->arrived != NULL) {
        (void)cudaEventDestroy(images->arrived);
    }
    if (images->copies != NULL) {
        (void)cudaStreamDestroy(images->copies);
    }
    free(images->work);
    free(images);
    gpu->images = NULL;
}

static int images_make(tw_gpu_images_t *images, tw_problem_t *problem)
{
    const tw_gpu_t *gpu = images->gpu;

    images->work = malloc(images->rows * sizeof(*images->work));
    if (images->work == NULL) {
        return tw_problem_machine(problem, "out of memory for batches of %zu images", images->rows);
    }
    if (tw_gpu_cuda(gpu, cudaStreamCreateWithFlags(&images->copies, cudaStreamNonBlocking),
                    "a stream", problem) != 0) {
        images->copies = NULL;
        return -1;
    }
    for (int k = 0; k <= USES; k++) {
        cudaEvent_t *const event = k < USES ? &images->used[k] : &images->arrived;

        if (tw_gpu_cuda(gpu, cudaEventCreateWithFlags(event, cudaEventDisableTiming), "an event",
                        problem) != 0) {
            *event = NULL;
            return -1;
        }
    }
    return tw_backend_allocate(&images->gpu->base, images->rows * sizeof(*images->work),
                               (void **)&images->on_device, problem);
}

int tw_gpu_images(tw_backend_t *backend, size_t rows, const tw_input_device_t **device_p,
                  tw_problem_t *problem)
{
    tw_gpu_t        *gpu    = (tw_gpu_t *)backend;
    tw_gpu_images_t *images = calloc(1, sizeof(*images));

    if (images == NULL) {
        return tw_problem_machine(problem, "out of memory");
    }
    gpu->images  = images;
    images->gpu  = gpu;
    images->rows = rows;
    images->base = (tw_input_device_t){.name    = "cuda",
                                       .memory  = &pinned,
                                       .claim   = claim,
                                       .move    = move,
                                       .run     = images_run,
                                       .release = images_release};
    *device_p    = &images->base;
    return images_make(images, problem);
}
