/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/core.h - what the stand-ins of the three libraries share; it is in the one of
 * the driver (libcuda.so.1). Everything but standin_enter() is called between it and
 * standin_leave().
 */
#ifndef TW_TESTS_GPU_STANDIN_CORE_H
#define TW_TESTS_GPU_STANDIN_CORE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "tests/gpu/standin/standin.h"

#define STANDIN_DEVICES 16

/* ---- calls ---------------------------------------------------------------------------------- */

/* The beginning of every function of the libraries: takes the lock, counts the call, and says how
 * it has to end before it has begun: 0 (go on), what standin_fail() wants, or, where the current
 * device is broken, `broken` (0: that does not matter; -1: the device's own error). */
int standin_enter(const char *call, int broken);
/* The end of it: returns the error. */
int standin_leave(int error);

/* The error with which the work of this call has to fail on the device, if it has to; only asked
 * once. */
int standin_late(void);

/* While a function of the program runs. */
void                      standin_unlock(void);
void                      standin_lock(void);
extern _Thread_local bool standin_in_host_function;

/* A number of the drawn order, below this one. */
unsigned standin_lot(unsigned below);

/* A finding; `call` of the current function is put before it. */
void standin_found(const char *format, ...) __attribute__((format(printf, 1, 2)));

void standin_found_by_signal(const char *text);

/* The function whose work is done now, and whose was. */
void        standin_work_of(const char *call);
const char *standin_call(void);

/* One more, or one less, of a kind of objects. */
void standin_count(const char *kind, int by);

/* ---- devices -------------------------------------------------------------------------------- */

extern int                standin_devices;
extern size_t             standin_memory; /* bytes of a device */
extern int                standin_major;  /* of the compute capability */
extern size_t             standin_used[STANDIN_DEVICES];
extern int                standin_broken[STANDIN_DEVICES]; /* the sticky error */
extern bool               standin_started[STANDIN_DEVICES];
extern _Thread_local int  standin_current;
extern _Thread_local bool standin_bound; /* a call of the thread has made a context current to it */

/* The kind of a kernel; NULL: of none. */
const standin_kernels_t *standin_kernels_of(const void *kernel);

void standin_break(int device, int error);

extern int standin_gpu[STANDIN_DEVICES]; /* of the machine, by device */
extern int standin_driver;               /* its version; 0: there is none */

/* Which of a machine's GPUs the text of CUDA_VISIBLE_DEVICES (NULL: all) shows, in its order;
 * returns how many. */
int standin_visible(int gpus, const char *visible);

/* ---- memory --------------------------------------------------------------------------------- */

typedef enum standin_kind {
    STANDIN_DEVICE,
    STANDIN_PINNED,
    STANDIN_MANAGED,
    STANDIN_REGISTERED, /* the caller's, as if pinned */
    STANDIN_OPENED,     /* device memory of another process (shared.c) */
    STANDIN_FREED       /* what was device or pinned memory; nobody may touch it */
} standin_kind_t;

typedef struct standin_memory {
    uint8_t *shown, *real; /* what is handed out, and where the bytes are */
    size_t   bytes;
    uint64_t id;                 /* of no other one */
    uint8_t *pages, *real_pages; /* the mappings, with a page that nobody may touch on both sides */
    size_t   mapped;
    int      device;
    standin_kind_t kind;
    unsigned      *readers, *writers; /* pinned: pending copies that use the whole of a page */
    struct standin_shared *shared; /* of memory that other processes may open, and there; or NULL */
} standin_memory_t;

/* NULL: none left. registered: where the caller's memory is. */
standin_memory_t *standin_allocate(standin_kind_t kind, size_t bytes, void *registered);
void              standin_release(standin_memory_t *memory);
void              standin_release_all(int device);
standin_memory_t *standin_memory_of(const void *p); /* freed or not; NULL: of nobody here */

/* Where n bytes at p really are, if they are memory that the device may use, pinned memory of the
 * host included if `host`. NULL, and a finding about `what`, if they are not. */
uint8_t *standin_bytes(const char *what, const void *p, size_t n, size_t align, int device,
                       bool host);

/* For shared.c: a region of its own making; what belongs to one that was shared, before it goes. */
void   standin_memory_add(standin_memory_t *memory);
size_t standin_page(void);
void   standin_shared_end(standin_memory_t *memory);
bool   standin_shared_gone(const standin_memory_t *memory); /* its process has released it */
/* As cudaPointerGetAttributes() has it: which device, the documents do not say of opened memory. */
int standin_shared_device(const standin_memory_t *memory);

/* May a device's kernels touch the memory of another one? cudaDeviceEnablePeerAccess(). */
extern bool standin_peers_possible;
extern bool standin_peers[STANDIN_DEVICES][STANDIN_DEVICES];

/* Let kernels touch the memory at p where it is shown, and no longer. */
void standin_open(const void *p);
void standin_close(const void *p);

/* ---- host memory that a pending copy uses
 * ----------------------------------------------------- */

typedef struct standin_hold standin_hold_t;

/* The copy writes to (or reads from) n bytes of host memory at p later. */
standin_hold_t *standin_hold(void *p, size_t n, bool writes);
/* Now: whoever has used them meanwhile is found. Once for each. */
void standin_unhold(standin_hold_t *hold);

/* ---- streams -------------------------------------------------------------------------------- */

typedef struct standin_record standin_record_t;

typedef struct standin_task {
    struct standin_task *next;
    const char          *call;
    uint64_t             number;
    int (*run)(void *arg, bool dead); /* 0, or CUDA's error; dead: only let go of what arg holds */
    void             *arg;
    bool              host; /* run without the lock: it is the program's function */
    int               fail; /* instead of running */
    standin_record_t *record, *wait;
    const void       *uses[8]; /* memory */
} standin_task_t;

/* Work that a stream is told while it is captured (cudart_graphs.c). */
typedef struct standin_capture {
    unsigned users;  /* its graph, and what can be executed of it */
    bool     broken; /* by something that cannot be captured */
    size_t   count;
    struct standin_piece {
        const char *call;
        int (*run)(void *arg, bool dead);
        void       *arg;
        size_t      bytes;
        int         fail; /* the next time */
        const void *uses[8];
    } * piece;
} standin_capture_t;

standin_capture_t *standin_capture_create(void);
void               standin_capture_drop(standin_capture_t *capture); /* one user less */
/* All of it on a stream, now. */
void standin_capture_put(standin_capture_t *capture, struct CUstream_st *stream);
/* A finding if the stream is captured: what this call does cannot be. */
bool standin_not_captured(const struct CUstream_st *stream);

struct CUgraph_st {
    standin_capture_t *capture;
};
struct CUgraphExec_st {
    standin_capture_t *capture;
    int                device;
};

struct CUstream_st {
    struct CUstream_st *next;
    standin_capture_t  *capture; /* NULL: it is not captured */
    int                 device;
    bool                live, blocking, legacy, busy, made; /* made: by the program */
    standin_task_t     *first, **last;
};

/* What a handle names, of the current device for the default streams. NULL, and a finding:
 * nothing. */
struct CUstream_st *standin_stream(cudaStream_t handle);
struct CUstream_st *standin_stream_create(bool blocking);
void                standin_stream_destroy(struct CUstream_st *stream);

/* Put work on a stream: run(a copy of the bytes at arg), which uses memory at uses[0 .. n), n <= 8;
 * host: it is a function of the program. Where the stream is captured it becomes a piece of that,
 * and may run any number of times, also never. */
void standin_put(struct CUstream_st *stream, int (*run)(void *arg, bool dead), const void *arg,
                 size_t bytes, const void *const *uses, size_t n, bool host);

/* Those of a device that the program has made, and its events. */
void standin_streams_destroy_all(int device);

/* Until nothing is left on it; until nothing on any stream uses the memory; until nothing is left
 * on the device. */
void standin_finish(struct CUstream_st *stream);
void standin_finish_uses(const standin_memory_t *memory);
void standin_finish_device(int device);
/* Is something left? First, perhaps, something is done. */
bool standin_busy(const struct CUstream_st *stream);
/* Does anything left use the memory? */
bool standin_uses(const standin_memory_t *memory);

/* ---- events --------------------------------------------------------------------------------- */

struct CUevent_st {
    struct CUevent_st *next;
    int                device;
    bool               timing;
    standin_record_t  *record;
};

struct CUevent_st *standin_event(cudaEvent_t handle); /* NULL, and a finding: none */
struct CUevent_st *standin_event_create(bool timing);
void               standin_event_destroy(struct CUevent_st *event);
void               standin_event_record(struct CUevent_st *event, struct CUstream_st *stream);
void               standin_event_follow(struct CUstream_st *stream, struct CUevent_st *event);
bool               standin_event_done(const struct CUevent_st *event); /* perhaps after some work */
void               standin_event_finish(const struct CUevent_st *event);
bool               standin_event_recorded(const struct CUevent_st *event);
double             standin_event_time(const struct CUevent_st *event); /* milliseconds */

/* ---- handles and descriptors
 * ------------------------------------------------------------------ */

/* Zeros. kind: of the list of leaks; always the same string. */
void *standin_object_create(const char *kind, size_t bytes);
/* false, and a finding: it is not one that exists. */
bool standin_object_is(const char *kind, const void *p);
bool standin_object_destroy(const char *kind, void *p);

#endif /* TW_TESTS_GPU_STANDIN_CORE_H */
