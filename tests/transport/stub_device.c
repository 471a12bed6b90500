/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/stub_device.c - queues of things to do.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/transport/stub_memory.h"

#define STREAMS 64
#define DEVICES 4

uint64_t stub_seed;
int      stub_diligence = 512;
int      stub_calls_left;
int      stub_shares; /* never */

static unsigned lot(unsigned below)
{
    stub_seed = stub_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(stub_seed >> 33) % below;
}

static tw_status_t call(void)
{
    return stub_calls_left > 0 && --stub_calls_left == 0 ? TW_ERR_IO : TW_OK;
}

/* ---- streams and events --------------------------------------------------------------------- */

typedef struct event {
    uint64_t recorded, done;
} event_t;

typedef enum verb {
    COPY,
    ZERO,
    RECORD,
    FOLLOW,
    ENCODE,
    DECODE,
    ADD,
    FEED,
    DIVIDE,
    EMPTY,
    SQUARES
} verb_t;

typedef struct task {
    struct task      *next;
    verb_t            verb;
    const tw_codec_t *codec;
    const void       *src;
    void             *dst, *residual;
    size_t            n, element; /* bytes of COPY and ZERO, values of the others */
    int               divisor;
    event_t          *event;
    uint64_t          number;
} task_t;

typedef struct stream {
    task_t *first, **last;
    int     device;
} stream_t;

static stream_t *streams[STREAMS]; /* [0 .. DEVICES): the devices' default streams */

static stream_t *stream_of(void *stream)
{
    const int mine = stub_current % DEVICES;

    if (stream != NULL) {
        return stream;
    }
    if (streams[mine] == NULL) {
        streams[mine]         = calloc(1, sizeof(*streams[mine]));
        streams[mine]->last   = &streams[mine]->first;
        streams[mine]->device = stub_current;
    }
    return streams[mine];
}

static tw_status_t stub_stream_create(void **stream_p)
{
    stream_t   *stream = calloc(1, sizeof(*stream));
    tw_status_t status = call();

    stream->last   = &stream->first;
    stream->device = stub_current;
    for (int i = DEVICES; i < STREAMS && status == TW_OK; i++) {
        if (streams[i] == NULL) {
            streams[i] = stream;
            stub_objects++;
            *stream_p = stream;
            return TW_OK;
        }
    }
    free(stream);
    return status != TW_OK ? status : TW_ERR_NO_MEMORY;
}

static void stub_stream_destroy(void *p)
{
    stream_t *stream = p;

    if (stream->first != NULL) {
        stub_die("a stream is destroyed with work left on it");
    }
    for (int i = DEVICES; i < STREAMS; i++) {
        streams[i] = streams[i] == stream ? NULL : streams[i];
    }
    free(stream);
    stub_objects--;
}

static tw_status_t stub_event_create(void **event_p)
{
    *event_p = calloc(1, sizeof(event_t));
    stub_objects++;
    return TW_OK;
}

static void stub_event_destroy(void *p)
{
    const event_t *event = p;

    if (event->done != event->recorded) {
        stub_die("an event is destroyed before it is done");
    }
    free(p);
    stub_objects--;
}

static tw_status_t put(void *stream, const task_t *what)
{
    task_t           *task   = malloc(sizeof(*task));
    stream_t         *to     = stream_of(stream);
    const tw_status_t status = to->device == stub_current ? call() : TW_ERR_INVALID_ARG;

    if (status != TW_OK) {
        free(task);
        return status;
    }
    *task      = *what;
    task->next = NULL;
    *to->last  = task;
    to->last   = &task->next;
    return TW_OK;
}

static void divide(uint8_t *at, const task_t *task)
{
    for (size_t i = 0; i < task->n; i++) {
        float  f;
        double d;

        if (task->element == sizeof(d)) {
            memcpy(&d, at + i * sizeof(d), sizeof(d));
            d /= task->divisor;
            memcpy(at + i * sizeof(d), &d, sizeof(d));
        } else {
            memcpy(&f, at + i * sizeof(f), sizeof(f));
            f /= (float)task->divisor;
            memcpy(at + i * sizeof(f), &f, sizeof(f));
        }
    }
}

static void empty(double *moments, size_t n)
{
    if (!(moments[0] > 0.0)) {
        memset(moments, 0, n * sizeof(*moments));
    }
}

static void squares(const task_t *task)
{
    const float *x   = (const float *)(const void *)stub_region(task->src, 4 * task->n, true);
    double       sum = 0.0;

    memset(stub_region(task->residual, TW_DEVICE_SQUARE_WORK * sizeof(double), true), 0x5a,
           TW_DEVICE_SQUARE_WORK * sizeof(double));
    for (size_t i = 0; i < task->n; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    memcpy(stub_region(task->dst, sizeof(sum), true), &sum, sizeof(sum));
}

static size_t codes_of(const task_t *task)
{
    size_t bytes = 0;

    tw_codec_size(task->codec, task->n, &bytes);
    return bytes;
}

static size_t values_of(const task_t *task)
{
    tw_codec_traits_t traits;

    tw_codec_traits(task->codec, &traits);
    return task->n * tw_dtype_size(traits.dtype);
}

static void code(const task_t *task)
{
    const tw_exec_t serial  = {.threads = 1};
    const bool      encodes = task->verb == ENCODE || task->verb == FEED;
    const size_t    codes = codes_of(task), values = values_of(task);
    const uint8_t  *src = stub_region(task->src, encodes ? values : codes, true);
    uint8_t        *dst = stub_region(task->dst, encodes ? codes : values, true);
    tw_status_t     status;

    switch (task->verb) {
    case ENCODE:
        status = tw_codec_encode(task->codec, &serial, src, task->n, dst);
        break;
    case DECODE:
        status = tw_codec_decode(task->codec, &serial, src, task->n, dst);
        break;
    case ADD:
        status = tw_codec_decode_add(task->codec, &serial, src, task->n, dst);
        break;
    default:
        status = tw_codec_encode_feedback(task->codec, &serial, src, task->n,
                                          stub_region(task->residual, values, true), dst);
        break;
    }
    if (status != TW_OK) {
        stub_die("a codec fails");
    }
}

/* The first thing on a stream, unless it has to wait. */
static bool work(stream_t *stream)
{
    task_t *task = stream->first;

    if (task == NULL || (task->verb == FOLLOW && task->event->done < task->number)) {
        return false;
    }
    switch (task->verb) {
    case COPY:
        memcpy(stub_region(task->dst, task->n, false), stub_region(task->src, task->n, false),
               task->n);
        break;
    case ZERO:
        memset(stub_region(task->dst, task->n, true), 0, task->n);
        break;
    case RECORD:
        task->event->done = task->number > task->event->done ? task->number : task->event->done;
        break;
    case FOLLOW:
        break;
    case EMPTY:
        empty((double *)(void *)stub_region(task->dst, task->n * sizeof(double), true), task->n);
        break;
    case SQUARES:
        squares(task);
        break;
    case DIVIDE:
        divide(stub_region(task->dst, task->n * task->element, true), task);
        break;
    default:
        code(task);
        break;
    }
    stream->first = task->next;
    if (stream->first == NULL) {
        stream->last = &stream->first;
    }
    free(task);
    return true;
}

/* Something on some stream, if anything can be done. */
static bool turn(void)
{
    const unsigned from = lot(STREAMS);

    for (unsigned i = 0; i < STREAMS; i++) {
        stream_t *stream = streams[(from + i) % STREAMS];

        if (stream != NULL && work(stream)) {
            return true;
        }
    }
    return false;
}

static tw_status_t stub_record(void *p, void *stream)
{
    event_t *event = p;

    event->recorded++;
    return put(stream, &(task_t){.verb = RECORD, .event = event, .number = event->recorded});
}

static tw_status_t stub_follow(void *stream, void *p)
{
    event_t *event = p;

    return put(stream, &(task_t){.verb = FOLLOW, .event = event, .number = event->recorded});
}

static tw_status_t stub_query(void *p, bool *done_p)
{
    const event_t *event = p;

    for (unsigned i = lot(6); (int)lot(1024) < stub_diligence && i > 0; i--) {
        turn();
    }
    *done_p = event->done == event->recorded;
    return call();
}

static tw_status_t stub_finish(void *stream)
{
    while (stream_of(stream)->first != NULL) {
        if (!turn()) {
            stub_die("streams wait for one another");
        }
    }
    return call();
}

static tw_status_t stub_copy(void *dst, const void *src, size_t bytes, void *stream)
{
    return put(stream, &(task_t){.verb = COPY, .src = src, .dst = dst, .n = bytes});
}

static tw_status_t stub_zero(void *dst, size_t bytes, void *stream)
{
    return put(stream, &(task_t){.verb = ZERO, .dst = dst, .n = bytes});
}

static tw_status_t coding(verb_t verb, const tw_codec_t *codec, const tw_exec_t *exec,
                          const void *src, size_t n, void *dst, void *residual)
{
    if (exec->memory != TW_MEMORY_CUDA) {
        stub_die("a codec is told that device memory is host memory");
    }
    if (n == 0) {
        return TW_OK;
    }
    return put(
        exec->stream,
        &(task_t){
            .verb = verb, .codec = codec, .src = src, .dst = dst, .residual = residual, .n = n});
}

static tw_status_t stub_encode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                               size_t n, void *dst)
{
    return coding(ENCODE, codec, exec, src, n, dst, NULL);
}

static tw_status_t stub_decode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                               size_t n, void *dst)
{
    return coding(DECODE, codec, exec, src, n, dst, NULL);
}

static tw_status_t stub_decode_add(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                   size_t n, void *acc)
{
    return coding(ADD, codec, exec, src, n, acc, NULL);
}

static tw_status_t stub_encode_feedback(const tw_codec_t *codec, const tw_exec_t *exec,
                                        const void *src, size_t n, void *residual, void *dst)
{
    return coding(FEED, codec, exec, src, n, dst, residual);
}

static tw_status_t stub_divide(void *values, size_t n, size_t element, int divisor, void *stream)
{
    return put(
        stream,
        &(task_t){.verb = DIVIDE, .dst = values, .n = n, .element = element, .divisor = divisor});
}

static tw_status_t stub_moments_empty(double *moments, size_t n, void *stream)
{
    return put(stream, &(task_t){.verb = EMPTY, .dst = moments, .n = n});
}

static tw_status_t stub_square_sum(const float *src, size_t n, double *work, double *sum,
                                   void *stream)
{
    return put(stream,
               &(task_t){.verb = SQUARES, .src = src, .dst = sum, .residual = work, .n = n});
}

static tw_status_t stub_share(void *p, tw_device_handle_t *handle)
{
    (void)p;
    (void)handle;
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t stub_current_device(int *device_p)
{
    *device_p = stub_current;
    return stub_current != 0 ? TW_OK : TW_ERR_UNSUPPORTED;
}

/* The stub's threads all have the same current device. */
static tw_status_t stub_use(int device, int *before_p)
{
    if (before_p != NULL) {
        *before_p = device != stub_current ? stub_current : -1;
    }
    stub_current = device;
    return TW_OK;
}

const tw_device_ops_t stub_device = {
    .name            = "stub",
    .current         = stub_current_device,
    .use             = stub_use,
    .owns            = stub_owns,
    .check           = stub_check,
    .allocate        = stub_allocate,
    .release         = stub_release,
    .share           = stub_share,
    .stream_create   = stub_stream_create,
    .stream_destroy  = stub_stream_destroy,
    .event_create    = stub_event_create,
    .event_destroy   = stub_event_destroy,
    .record          = stub_record,
    .follow          = stub_follow,
    .query           = stub_query,
    .finish          = stub_finish,
    .copy            = stub_copy,
    .zero            = stub_zero,
    .encode          = stub_encode,
    .decode          = stub_decode,
    .decode_add      = stub_decode_add,
    .encode_feedback = stub_encode_feedback,
    .divide          = stub_divide,
    .moments_empty   = stub_moments_empty,
    .square_sum      = stub_square_sum,
};
