/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/stub_device.c - memory mapped twice, and queues of things to do.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/transport/stub_device.h"

#define STREAMS 64

uint64_t stub_seed;
int      stub_current   = 1;
int      stub_diligence = 512;
int      stub_calls_left;
int      stub_objects;

static void die(const char *what)
{
    fprintf(stderr, "stub device: %s\n", what);
    abort();
}

static unsigned lot(unsigned below)
{
    stub_seed = stub_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(stub_seed >> 33) % below;
}

static tw_status_t call(void)
{
    return stub_calls_left > 0 && --stub_calls_left == 0 ? TW_ERR_IO : TW_OK;
}

/* ---- memory --------------------------------------------------------------------------------- */

typedef struct memory {
    struct memory *next;
    uint8_t       *shown, *real; /* what is handed out, and where the bytes are */
    size_t         bytes, mapped;
    int            device; /* whose; 0: pinned */
} memory_t;

static memory_t *memories;

static memory_t *memory_of(const void *p)
{
    for (memory_t *m = memories; m != NULL; m = m->next) {
        if ((const uint8_t *)p >= m->shown && (const uint8_t *)p < m->shown + m->mapped) {
            return m;
        }
    }
    return NULL;
}

void *stub_real(const void *p)
{
    const memory_t *m = memory_of(p);

    return m != NULL ? m->real + ((const uint8_t *)p - m->shown) : (void *)(uintptr_t)p;
}

/* The same of `bytes` bytes, which must all be there; device memory, if so. */
static uint8_t *region(const void *p, size_t bytes, bool device)
{
    const memory_t *m = memory_of(p);

    if ((device && (m == NULL || m->device == 0)) ||
        (m != NULL && (const uint8_t *)p + bytes > m->shown + m->bytes)) {
        die("a region is not in the device's memory");
    }
    return stub_real(p);
}

static bool stub_owns(const void *p)
{
    const memory_t *m = p != NULL ? memory_of(p) : NULL;

    return m != NULL && m->device != 0;
}

static tw_status_t stub_check(const void *p)
{
    const memory_t *m = memory_of(p);

    return m != NULL && m->device != 0 && m->device == stub_current ? TW_OK : TW_ERR_INVALID_ARG;
}

static tw_status_t stub_allocate(tw_device_memory_t kind, size_t bytes, void **p)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memory_t    *m    = calloc(1, sizeof(*m));
    const int    file = memfd_create("stub", 0);

    m->bytes  = bytes;
    m->mapped = (bytes / page + 1) * page;
    m->device = kind == TW_DEVICE_MEMORY ? stub_current : 0;
    if (file < 0 || ftruncate(file, (off_t)m->mapped) != 0) {
        die("no memory");
    }
    m->real  = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    m->shown = m->device == 0 ? m->real : mmap(NULL, m->mapped, PROT_NONE, MAP_SHARED, file, 0);
    close(file);
    if (m->real == MAP_FAILED || m->shown == MAP_FAILED) {
        die("no memory");
    }
    memset(m->real, 0xd7, m->mapped);
    m->next  = memories;
    memories = m;
    stub_objects++;
    *p = m->shown;
    return TW_OK;
}

static void stub_release(tw_device_memory_t kind, void *p)
{
    memory_t **at = &memories, *m;

    while (*at != NULL && (*at)->shown != p) {
        at = &(*at)->next;
    }
    m = *at;
    if (m == NULL || (m->device == 0) != (kind == TW_DEVICE_PINNED)) {
        die("memory is released that is none");
    }
    *at = m->next;
    munmap(m->real, m->mapped);
    if (m->shown != m->real) {
        munmap(m->shown, m->mapped);
    }
    free(m);
    stub_objects--;
}

/* ---- streams and events --------------------------------------------------------------------- */

typedef struct event {
    uint64_t recorded, done;
} event_t;

typedef enum verb { COPY, ZERO, RECORD, FOLLOW, ENCODE, DECODE, ADD, FEED, DIVIDE } verb_t;

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
} stream_t;

static stream_t *streams[STREAMS]; /* [0] is the default stream */

static stream_t *stream_of(void *stream)
{
    if (stream != NULL) {
        return stream;
    }
    if (streams[0] == NULL) {
        streams[0]       = calloc(1, sizeof(*streams[0]));
        streams[0]->last = &streams[0]->first;
    }
    return streams[0];
}

static tw_status_t stub_stream_create(void **stream_p)
{
    stream_t *stream = calloc(1, sizeof(*stream));

    stream->last = &stream->first;
    for (int i = 1; i < STREAMS; i++) {
        if (streams[i] == NULL) {
            streams[i] = stream;
            stub_objects++;
            *stream_p = stream;
            return TW_OK;
        }
    }
    free(stream);
    return TW_ERR_NO_MEMORY;
}

static void stub_stream_destroy(void *p)
{
    stream_t *stream = p;

    if (stream->first != NULL) {
        die("a stream is destroyed with work left on it");
    }
    for (int i = 1; i < STREAMS; i++) {
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
        die("an event is destroyed before it is done");
    }
    free(p);
    stub_objects--;
}

static tw_status_t put(void *stream, const task_t *what)
{
    task_t           *task   = malloc(sizeof(*task));
    stream_t         *to     = stream_of(stream);
    const tw_status_t status = call();

    if (status != TW_OK) {
        free(task);
        return status;
    }
    *task       = *what;
    task->next  = NULL;
    *to->last   = task;
    to->last    = &task->next;
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
    const tw_exec_t serial = {.threads = 1};
    const bool      encodes = task->verb == ENCODE || task->verb == FEED;
    const size_t    codes = codes_of(task), values = values_of(task);
    const uint8_t  *src = region(task->src, encodes ? values : codes, true);
    uint8_t        *dst = region(task->dst, encodes ? codes : values, true);
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
                                          region(task->residual, values, true), dst);
        break;
    }
    if (status != TW_OK) {
        die("a codec fails");
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
        memcpy(region(task->dst, task->n, false), region(task->src, task->n, false), task->n);
        break;
    case ZERO:
        memset(region(task->dst, task->n, true), 0, task->n);
        break;
    case RECORD:
        task->event->done = task->number > task->event->done ? task->number : task->event->done;
        break;
    case FOLLOW:
        break;
    case DIVIDE:
        divide(region(task->dst, task->n * task->element, true), task);
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
            die("streams wait for one another");
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
        die("a codec is told that device memory is host memory");
    }
    if (n == 0) {
        return TW_OK;
    }
    return put(exec->stream, &(task_t){.verb     = verb,
                                       .codec    = codec,
                                       .src      = src,
                                       .dst      = dst,
                                       .residual = residual,
                                       .n        = n});
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
    return put(stream, &(task_t){.verb    = DIVIDE,
                                 .dst     = values,
                                 .n       = n,
                                 .element = element,
                                 .divisor = divisor});
}

static tw_status_t stub_current_device(int *device_p)
{
    *device_p = stub_current;
    return stub_current != 0 ? TW_OK : TW_ERR_UNSUPPORTED;
}

/* The stub's threads all have the same current device. */
static tw_status_t stub_use(int device)
{
    return device == stub_current ? TW_OK : TW_ERR_INVALID_ARG;
}

const tw_device_ops_t stub_device = {
    .name            = "stub",
    .current         = stub_current_device,
    .use             = stub_use,
    .owns            = stub_owns,
    .check           = stub_check,
    .allocate        = stub_allocate,
    .release         = stub_release,
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
};
