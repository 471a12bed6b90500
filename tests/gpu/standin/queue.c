/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/queue.c - streams are queues of work, which is done as late as may be: when
 * somebody waits for it, and before it what it waits for; now and then something else is done as
 * well, drawn by lot. There is no thread.
 */
#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/core.h"

struct standin_record {
    unsigned            users;
    bool                done;
    struct CUstream_st *stream;
    double              time;
};

/* Those that are gone are kept elsewhere: their addresses never come again, so old handles are
 * seen. */
static struct CUstream_st *streams, *gone_streams;
static struct CUevent_st  *events, *gone_events;
static uint64_t            numbers;
static double              now; /* milliseconds */
static int                 diligence = 512;

void standin_diligence(int of_1024)
{
    diligence = of_1024;
}

static void record_drop(standin_record_t *record)
{
    if (record != NULL && --record->users == 0) {
        free(record);
    }
}

/* ---- streams -------------------------------------------------------------------------------- */

static struct CUstream_st *stream_new(bool blocking, bool legacy)
{
    struct CUstream_st *s = calloc(1, sizeof(*s));

    *s      = (struct CUstream_st){.next     = streams,
                                   .device   = standin_current,
                                   .live     = true,
                                   .blocking = blocking,
                                   .legacy   = legacy};
    s->last = &s->first;
    streams = s;
    return s;
}

static struct CUstream_st *stream_default(void)
{
    static struct CUstream_st *defaults[STANDIN_DEVICES];

    if (defaults[standin_current] == NULL) {
        defaults[standin_current] = stream_new(true, true);
    }
    return defaults[standin_current];
}

static struct CUstream_st *stream_of_thread(void)
{
    static _Thread_local struct CUstream_st *mine[STANDIN_DEVICES];

    if (mine[standin_current] == NULL) {
        mine[standin_current] = stream_new(true, false);
    }
    return mine[standin_current];
}

struct CUstream_st *standin_stream(cudaStream_t handle)
{
    if (handle == NULL || handle == cudaStreamLegacy) {
        return stream_default();
    }
    if (handle == cudaStreamPerThread) {
        return stream_of_thread();
    }
    for (struct CUstream_st *s = streams; s != NULL; s = s->next) {
        if (s == handle && s->live) {
            return s;
        }
    }
    standin_found("the stream %p does not exist", (void *)handle);
    return NULL;
}

struct CUstream_st *standin_stream_create(bool blocking)
{
    struct CUstream_st *stream = stream_new(blocking, false);

    stream->made = true;
    standin_count("streams", 1);
    return stream;
}

static void stream_bury(struct CUstream_st *stream)
{
    struct CUstream_st **at = &streams;

    while (*at != stream) {
        at = &(*at)->next;
    }
    *at          = stream->next;
    stream->next = gone_streams;
    gone_streams = stream;
}

/* What is left on it is still done. */
void standin_stream_destroy(struct CUstream_st *stream)
{
    stream->live = false;
    standin_count("streams", -1);
    if (stream->first == NULL) {
        stream_bury(stream);
    }
}

static standin_task_t *put(struct CUstream_st *stream)
{
    standin_task_t *task = calloc(1, sizeof(*task));

    task->call    = standin_call();
    task->number  = ++numbers;
    *stream->last = task;
    stream->last  = &task->next;
    return task;
}

static void add_piece(standin_capture_t *capture, int (*run)(void *arg, bool dead), const void *arg,
                      size_t bytes, const void *const *uses, size_t n)
{
    struct standin_piece *piece;

    capture->piece = realloc(capture->piece, ++capture->count * sizeof(*piece));
    piece          = &capture->piece[capture->count - 1];
    *piece         = (struct standin_piece){.call  = standin_call(),
                                            .run   = run,
                                            .arg   = malloc(bytes),
                                            .bytes = bytes,
                                            .fail  = standin_late()};
    memcpy(piece->arg, arg, bytes);
    for (size_t i = 0; i < n; i++) {
        piece->uses[i] = uses[i];
    }
}

static standin_task_t *put_work(struct CUstream_st *stream, int (*run)(void *arg, bool dead),
                                const void *arg, size_t bytes, const void *const *uses, size_t n)
{
    standin_task_t *task = put(stream);

    task->run = run;
    task->arg = malloc(bytes);
    memcpy(task->arg, arg, bytes);
    for (size_t i = 0; i < n; i++) {
        task->uses[i] = uses[i];
    }
    return task;
}

void standin_put(struct CUstream_st *stream, int (*run)(void *arg, bool dead), const void *arg,
                 size_t bytes, const void *const *uses, size_t n, bool host)
{
    if (stream->capture != NULL) {
        add_piece(stream->capture, run, arg, bytes, uses, n);
    } else {
        standin_task_t *task = put_work(stream, run, arg, bytes, uses, n);

        task->host = host;
        task->fail = standin_late();
    }
}

/* ---- captured work -------------------------------------------------------------------------- */

standin_capture_t *standin_capture_create(void)
{
    standin_capture_t *capture = calloc(1, sizeof(*capture));

    capture->users = 1;
    return capture;
}

void standin_capture_drop(standin_capture_t *capture)
{
    if (--capture->users > 0) {
        return;
    }
    for (size_t i = 0; i < capture->count; i++) {
        free(capture->piece[i].arg);
    }
    free(capture->piece);
    free(capture);
}

void standin_capture_put(standin_capture_t *capture, struct CUstream_st *stream)
{
    const char *const caller = standin_call();

    for (size_t i = 0; i < capture->count; i++) {
        struct standin_piece *piece = &capture->piece[i];
        standin_task_t       *task;

        standin_work_of(piece->call);
        task        = put_work(stream, piece->run, piece->arg, piece->bytes, piece->uses, 8);
        task->fail  = piece->fail;
        piece->fail = 0;
    }
    standin_work_of(caller);
}

bool standin_not_captured(const struct CUstream_st *stream)
{
    if (stream->capture != NULL) {
        standin_found("the stream is captured");
        stream->capture->broken = true;
    }
    return stream->capture == NULL;
}

/* ---- execution ------------------------------------------------------------------------------ */

/* Work of another stream that has to come before the first of this one, by the rule of the default
 * stream: it waits for what was put on the device's other streams before, and they wait for it. */
static struct CUstream_st *before(const struct CUstream_st *stream)
{
    for (struct CUstream_st *s = streams; s != NULL && stream->blocking; s = s->next) {
        if (s != stream && s->device == stream->device && s->blocking &&
            s->legacy != stream->legacy && s->first != NULL &&
            s->first->number < stream->first->number) {
            return s;
        }
    }
    return NULL;
}

static bool ready(const struct CUstream_st *stream)
{
    const standin_task_t *task = stream->first;

    return task != NULL && !stream->busy && (task->wait == NULL || task->wait->done) &&
           before(stream) == NULL;
}

static void run_host(struct CUstream_st *stream, standin_task_t *task)
{
    const int mine = standin_current;

    stream->busy = true;
    standin_unlock();
    standin_in_host_function = true;
    task->run(task->arg, false);
    standin_in_host_function = false;
    standin_lock();
    standin_current = mine;
    stream->busy    = false;
}

static void run(struct CUstream_st *stream)
{
    standin_task_t   *task   = stream->first;
    const char *const caller = standin_call();
    const bool        dead   = standin_broken[stream->device] != 0;
    int               error  = 0;

    standin_work_of(task->call);
    now += (1 + standin_lot(1000)) / 1000.0;
    if (task->record != NULL) {
        task->record->done = true;
        task->record->time = now;
    } else if (task->host && !dead) {
        run_host(stream, task);
    } else if (task->run != NULL && !task->host) {
        error = task->run(task->arg, dead || task->fail != 0);
    }
    error = task->fail != 0 ? task->fail : error;
    if (error != 0 && !dead) {
        standin_break(stream->device, error);
    }
    standin_work_of(caller);
    stream->first = task->next;
    stream->last  = stream->first != NULL ? stream->last : &stream->first;
    record_drop(task->record);
    record_drop(task->wait);
    free(task->arg);
    free(task);
    if (stream->first == NULL && !stream->live) {
        stream_bury(stream);
    }
}

/* Something on some stream, if anything can be done. */
static bool turn(void)
{
    unsigned able = 0, which;

    for (struct CUstream_st *s = streams; s != NULL; s = s->next) {
        able += ready(s);
    }
    which = able > 0 ? standin_lot(able) : 0;
    for (struct CUstream_st *s = streams; s != NULL && able > 0; s = s->next) {
        if (ready(s) && which-- == 0) {
            run(s);
            return true;
        }
    }
    return false;
}

/* The first of a stream, or of one for which it waits. Work that is waited for was put there
 * before, so this ends. */
static void advance(struct CUstream_st *stream)
{
    if (standin_lot(4) == 0) {
        turn();
    }
    while (stream->first != NULL && !ready(stream)) {
        struct CUstream_st *other = before(stream);

        if (stream->busy || (other != NULL && other->busy)) { /* in another thread */
            standin_unlock();
            sched_yield();
            standin_lock();
            return;
        }
        stream = other != NULL ? other : stream->first->wait->stream;
    }
    if (stream->first != NULL) {
        run(stream);
    }
}

void standin_finish(struct CUstream_st *stream)
{
    while (stream->first != NULL) {
        advance(stream);
    }
}

void standin_finish_device(int device)
{
    struct CUstream_st *s = streams;

    while (s != NULL) {
        if (s->device == device && s->first != NULL) {
            standin_finish(s);
            s = streams;
        } else {
            s = s->next;
        }
    }
}

static bool uses(const struct CUstream_st *stream, const standin_memory_t *memory)
{
    for (const standin_task_t *task = stream->first; task != NULL; task = task->next) {
        for (size_t i = 0; i < sizeof(task->uses) / sizeof(task->uses[0]); i++) {
            if (task->uses[i] != NULL && standin_memory_of(task->uses[i]) == memory) {
                return true;
            }
        }
    }
    return false;
}

bool standin_uses(const standin_memory_t *memory)
{
    for (const struct CUstream_st *s = streams; s != NULL; s = s->next) {
        if (uses(s, memory)) {
            return true;
        }
    }
    return false;
}

void standin_finish_uses(const standin_memory_t *memory)
{
    struct CUstream_st *s = streams;

    while (s != NULL) {
        if (uses(s, memory)) {
            advance(s);
            s = streams;
        } else {
            s = s->next;
        }
    }
}

static void perhaps(void)
{
    for (unsigned i = standin_lot(6); (int)standin_lot(1024) < diligence && i > 0; i--) {
        turn();
    }
}

bool standin_busy(const struct CUstream_st *stream)
{
    perhaps();
    return stream->first != NULL;
}

/* ---- events --------------------------------------------------------------------------------- */

struct CUevent_st *standin_event(cudaEvent_t handle)
{
    for (struct CUevent_st *e = events; e != NULL; e = e->next) {
        if (e == handle) {
            return e;
        }
    }
    standin_found("the event %p does not exist", (void *)handle);
    return NULL;
}

struct CUevent_st *standin_event_create(bool timing)
{
    struct CUevent_st *e = calloc(1, sizeof(*e));

    *e     = (struct CUevent_st){.next = events, .device = standin_current, .timing = timing};
    events = e;
    standin_count("events", 1);
    return e;
}

void standin_event_destroy(struct CUevent_st *event)
{
    struct CUevent_st **at = &events;

    while (*at != event) {
        at = &(*at)->next;
    }
    *at = event->next;
    record_drop(event->record);
    event->record = NULL;
    event->next   = gone_events;
    gone_events   = event;
    standin_count("events", -1);
}

void standin_streams_destroy_all(int device)
{
    struct CUstream_st *stream = streams;
    struct CUevent_st  *event  = events;

    while (stream != NULL) {
        struct CUstream_st *next = stream->next; /* of the list, before this one leaves it */

        if (stream->device == device && stream->made && stream->live) {
            standin_stream_destroy(stream);
        }
        stream = next;
    }
    while (event != NULL) {
        struct CUevent_st *next = event->next;

        if (event->device == device) {
            standin_event_destroy(event);
        }
        event = next;
    }
}

void standin_event_record(struct CUevent_st *event, struct CUstream_st *stream)
{
    standin_record_t *record = calloc(1, sizeof(*record));

    record_drop(event->record);
    *record             = (standin_record_t){.users = 2, .stream = stream};
    event->record       = record;
    put(stream)->record = record;
}

void standin_event_follow(struct CUstream_st *stream, struct CUevent_st *event)
{
    if (event->record != NULL && !event->record->done) {
        event->record->users++;
        put(stream)->wait = event->record;
    }
}

bool standin_event_recorded(const struct CUevent_st *event)
{
    return event->record != NULL;
}

bool standin_event_done(const struct CUevent_st *event)
{
    perhaps();
    return event->record == NULL || event->record->done;
}

void standin_event_finish(const struct CUevent_st *event)
{
    standin_record_t *record = event->record;

    if (record != NULL) { /* another thread may record it again meanwhile */
        record->users++;
        while (!record->done) {
            advance(record->stream);
        }
        record_drop(record);
    }
}

double standin_event_time(const struct CUevent_st *event)
{
    return event->record->time;
}
