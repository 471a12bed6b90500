/* SPDX-License-Identifier: BSD-3-Clause
 * codec/device.h - a device as its callers see it: memory, copies, streams, events, and the codecs
 * on buffers in its memory. A table of functions; codec/cuda fills it, and says "unsupported" in
 * all of them where thinwire is built without CUDA. Tests put a table of their own in its place.
 *
 * Work is put on a stream and not waited for; what is on one stream happens in order. An event
 * remembers what was on a stream when it was recorded last, and says whether that is done. Streams
 * and events are the device's own (cudaStream_t, cudaEvent_t); a NULL stream is its default stream.
 * Statuses are those of <thinwire/codec.h> for device memory.
 */
#ifndef TW_CODEC_DEVICE_H
#define TW_CODEC_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/codec.h>

/* Can it code buffers in the memory of a device? Bytes as they are, by copies alone. */
bool tw_codec_has_device(const tw_codec_t *codec);

typedef enum tw_device_memory {
    TW_DEVICE_MEMORY = 0, /* of the device                                  */
    TW_DEVICE_PINNED = 1  /* of the host, which the device copies by itself */
} tw_device_memory_t;

#define TW_DEVICE_SQUARE_WORK 1024

/* By which another process opens memory of a device. */
typedef struct tw_device_handle {
    unsigned char bytes[64];
} tw_device_handle_t;

/* What is shared goes out in pieces of so many bytes: of an allocation of a multiple of it, nothing
 * else. */
#define TW_DEVICE_SHARED ((size_t)2 << 20)

typedef struct tw_device_ops {
    const char *name; /* "CUDA" */

    /* How many devices this process has. TW_ERR_UNSUPPORTED (no driver, one that is too old, no
     * device) and others: why is a line without its end. */
    tw_status_t (*count)(int *count_p, char *why, size_t size);
    /* The PCI bus id of a device, "0000:3b:00.0". */
    tw_status_t (*bus)(int device, char *text, size_t size);
    /* Start a device; the current one stays. TW_ERR_BUSY: it is another process's; why is a line
     * without its end. */
    tw_status_t (*start)(int device, char *why, size_t size);
    /* The number of the current device. TW_ERR_UNSUPPORTED: there is none. */
    tw_status_t (*current)(int *device_p);
    /* Make a device the current one of this thread. *before_p, unless it is NULL: the one that
     * use() has to make current again afterwards; -1: none, as it was this one, or one that this
     * process has not started, which would start it. */
    tw_status_t (*use)(int device, int *before_p);
    /* Is p or q memory of some device that the host cannot read? Starts no device, and costs next
     * to nothing in a process that uses none. NULL: no. */
    bool (*owns)(const void *p, const void *q);
    /* The context that p is memory of, which the device may use from there alone.
     * TW_ERR_UNSUPPORTED: this driver cannot say; TW_ERR_IO. */
    tw_status_t (*context)(const void *p, void **context_p);
    /* Make a context the current one of this thread, until pop(). TW_ERR_UNSUPPORTED; TW_ERR_IO: it
     * is gone. These three are NULL where thinwire is built without CUDA. */
    tw_status_t (*push)(void *context);
    void (*pop)(void);
    /* May the current device work on p? Its own memory, or managed memory; else TW_ERR_INVALID_ARG.
     */
    tw_status_t (*check)(const void *p);

    tw_status_t (*allocate)(tw_device_memory_t kind, size_t bytes, void **p);
    void (*release)(tw_device_memory_t kind, void *p);

    /* Let other processes of this machine use device memory that allocate() gave: a handle for
     * it. */
    tw_status_t (*share)(void *p, tw_device_handle_t *handle);
    /* Memory that another process shares, as the current device sees it: for copy() and add(), and
     * for nothing else. What its process has seen to be done is there. All errors: it cannot be
     * had. */
    tw_status_t (*open)(const tw_device_handle_t *handle, void **p);
    /* Before its process releases it; no work that uses it is left. */
    void (*close)(void *p);

    /* Does not wait for the default stream. TW_ERR_UNSUPPORTED: the device is too old for the
     * codecs. */
    tw_status_t (*stream_create)(void **stream_p);
    void (*stream_destroy)(void *stream); /* with nothing left on it              */
    tw_status_t (*event_create)(void **event_p);
    void (*event_destroy)(void *event);
    tw_status_t (*record)(void *event, void *stream);
    tw_status_t (*follow)(void *stream,
                          void *event); /* later work on stream is done after the event */
    tw_status_t (*query)(void *event, bool *done_p); /* a new event is done */
    tw_status_t (*finish)(void *stream);             /* wait until nothing is left on it */

    /* Between any two kinds of memory. */
    tw_status_t (*copy)(void *dst, const void *src, size_t bytes, void *stream);
    tw_status_t (*zero)(void *dst, size_t bytes, void *stream);

    /* Those of <thinwire/codec.h>, with exec->memory TW_MEMORY_CUDA. */
    tw_status_t (*encode)(const tw_codec_t *, const tw_exec_t *, const void *src, size_t n,
                          void *dst);
    tw_status_t (*decode)(const tw_codec_t *, const tw_exec_t *, const void *src, size_t n,
                          void *dst);
    tw_status_t (*decode_add)(const tw_codec_t *, const tw_exec_t *, const void *src, size_t n,
                              void *acc);
    tw_status_t (*encode_feedback)(const tw_codec_t *, const tw_exec_t *, const void *src, size_t n,
                                   void *residual, void *dst);
    /* values[i] = fl(values[i] + from[i]), n elements of 4 or 8 bytes; from: memory of the device,
     * or what open() gave. */
    tw_status_t (*add)(void *values, const void *from, size_t n, size_t element, void *stream);
    /* values[i] = fl(values[i] / divisor), n elements of 4 or 8 bytes. */
    tw_status_t (*divide)(void *values, size_t n, size_t element, int divisor, void *stream);
    /* n doubles, 1 or more, become 0 unless the first is above 0: moments (thinwire/statistics.h)
     * of no values. */
    tw_status_t (*moments_empty)(double *moments, size_t n, void *stream);
    /* *sum = the sum of the squares of n float32, 1 or more, in double, in an order that is the
     * same in every run, if not the host's; sum, and TW_DEVICE_SQUARE_WORK doubles that are
     * overwritten, are memory of the device. */
    tw_status_t (*square_sum)(const float *src, size_t n, double *work, double *sum, void *stream);
} tw_device_ops_t;

/* CUDA, or its absence. */
extern const tw_device_ops_t tw_device_cuda;

#endif /* TW_CODEC_DEVICE_H */
