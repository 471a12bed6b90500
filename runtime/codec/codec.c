/* SPDX-License-Identifier: BSD-3-Clause
 * codec/codec.c - the public entry points: check, set the floating-point mode, cut into pieces for
 * threads, call the codec.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/base/fpmode.h"
#include "runtime/codec/cuda/cuda.h"
#include "runtime/codec/device.h"
#include "runtime/codec/exec.h"
#include "runtime/codec/offers.h"

typedef enum tw_codec_verb {
    TW_ENCODE,
    TW_DECODE,
    TW_DECODE_ADD,
    TW_ENCODE_FEEDBACK
} tw_codec_verb_t;

typedef struct tw_job {
    const tw_codec_t *codec;
    tw_codec_verb_t   verb;
    const uint8_t    *src;      /* elements, or codes when decoding */
    uint8_t          *dst;      /* codes, or elements when decoding, or sums */
    uint8_t          *residual; /* of the type of sums; TW_ENCODE_FEEDBACK */
    size_t            n;
    bool              stream; /* stores may pass by the cache */
} tw_job_t;

const char *tw_codec_spec(const tw_codec_t *codec)
{
    return codec->spec;
}

bool tw_codec_has_device(const tw_codec_t *codec)
{
    return codec->cuda != TW_CUDA_NONE || codec->dtype == TW_BYTE;
}

size_t tw_codec_block(const tw_codec_t *codec)
{
    return codec->block;
}

tw_status_t tw_codec_traits(const tw_codec_t *codec, tw_codec_traits_t *traits)
{
    if (codec == NULL || traits == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    *traits = (tw_codec_traits_t){.name      = codec->ops->name,
                                  .isa       = tw_cpu_name(codec->isa),
                                  .id        = codec->ops->id,
                                  .dtype     = codec->dtype,
                                  .block     = codec->block,
                                  .bytes     = codec->bytes_per_value,
                                  .lossless  = codec->lossless,
                                  .identity  = codec->identity,
                                  .chooses   = codec->kernels == NULL,
                                  .max_error = codec->bound,
                                  .feedback  = codec->feedback,
                                  .finer     = tw_codec_finer(codec)};
    return TW_OK;
}

static size_t tw_codes_of(const tw_codec_t *codec, size_t n)
{
    return codec->wide->ops->size(codec->wide, n);
}

tw_status_t tw_codec_size(const tw_codec_t *codec, size_t n, size_t *bytes_p)
{
    size_t most;

    if (codec == NULL || bytes_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (codec->kernels == NULL) { /* a wish */
        return TW_ERR_UNSUPPORTED;
    }
    /* No codec takes more than 8 bytes a value and a header a block. */
    if (!tw_size_mul(n, 16, &most)) {
        return TW_ERR_RANGE;
    }
    *bytes_p = n > 0 ? tw_codes_of(codec, n) : 0;
    return TW_OK;
}

/* Values [first, first + n) of the job; first is a multiple of the block. */
static void tw_job_piece(const tw_job_t *job, size_t first, size_t n)
{
    const tw_codec_t *codec    = job->codec;
    const size_t      codes    = first > 0 ? tw_codes_of(codec, first) : 0;
    const size_t      elements = first * codec->element, sums = first * codec->wide->element;

    switch (job->verb) {
    case TW_ENCODE:
        codec->kernels->encode(codec, job->src + elements, n, job->dst + codes, job->stream);
        break;
    case TW_DECODE:
        codec->kernels->decode(codec, job->src + codes, n, job->dst + elements, job->stream);
        break;
    case TW_DECODE_ADD:
        codec->kernels->decode_add(codec, job->src + codes, n, job->dst + sums);
        break;
    case TW_ENCODE_FEEDBACK:
        codec->kernels->encode_feedback(codec, job->src + elements, n, job->residual + sums,
                                        job->dst + codes);
        break;
    }
}

/* Bytes at dst, which tw_job_piece() writes, or at src, which it reads. */
static size_t tw_job_bytes(const tw_job_t *job, bool of_src)
{
    const bool   decoding = job->verb == TW_DECODE || job->verb == TW_DECODE_ADD;
    const size_t element =
        job->verb == TW_DECODE_ADD ? job->codec->wide->element : job->codec->element;

    return decoding == of_src ? tw_codes_of(job->codec, job->n) : job->n * element;
}

static bool tw_overlap(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* Buffers that share bytes; only where codes are the elements themselves may they be the same ones.
 */
static bool tw_job_overlaps(const tw_job_t *job)
{
    const size_t in = tw_job_bytes(job, true), out = tw_job_bytes(job, false);
    const size_t kept = job->n * job->codec->wide->element;

    if (tw_overlap(job->src, in, job->dst, out) &&
        !(job->src == job->dst && job->codec->lossless && job->verb <= TW_DECODE)) {
        return true;
    }
    return job->verb == TW_ENCODE_FEEDBACK && (tw_overlap(job->residual, kept, job->src, in) ||
                                               tw_overlap(job->residual, kept, job->dst, out));
}

static void tw_job_run(const tw_job_t *job, const tw_exec_t *exec)
{
    const int    threads = tw_exec_threads(job->codec, exec, job->n);
    const size_t piece   = tw_exec_piece(job->codec, threads, job->n);
    tw_job_t     run     = *job;

    run.stream = tw_job_bytes(job, true) + tw_job_bytes(job, false) >= job->codec->stream;
    if (threads == 1) {
        const tw_fpmode_t mode = tw_fpmode_enter();

        tw_job_piece(&run, 0, job->n);
        tw_fpmode_leave(mode);
        return;
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
    for (int t = 0; t < threads; t++) {
        const size_t first = (size_t)t * piece;

        if (first < job->n) {
            const tw_fpmode_t mode = tw_fpmode_enter();

            tw_job_piece(&run, first, job->n - first < piece ? job->n - first : piece);
            tw_fpmode_leave(mode);
        }
    }
}

static tw_status_t tw_job_run_cuda(const tw_job_t *job, void *stream)
{
    switch (job->verb) {
    case TW_ENCODE:
        return tw_cuda_encode(job->codec, stream, job->src, job->n, job->dst);
    case TW_DECODE:
        return tw_cuda_decode(job->codec, stream, job->src, job->n, job->dst);
    case TW_DECODE_ADD:
        return tw_cuda_decode_add(job->codec, stream, job->src, job->n, job->dst);
    case TW_ENCODE_FEEDBACK:
        return tw_cuda_encode_feedback(job->codec, stream, job->src, job->n, job->residual,
                                       job->dst);
    }
    return TW_ERR_INVALID_ARG;
}

static tw_status_t tw_job_check_and_run(const tw_job_t *job, const tw_exec_t *exec)
{
    size_t most;

    if (job->codec == NULL ||
        (job->n > 0 && (job->src == NULL || job->dst == NULL ||
                        (job->verb == TW_ENCODE_FEEDBACK && job->residual == NULL)))) {
        return TW_ERR_INVALID_ARG;
    }
    if (job->codec->kernels == NULL || /* a wish */
        (job->codec->dtype == TW_BYTE && job->verb >= TW_DECODE_ADD)) {
        return TW_ERR_UNSUPPORTED;
    }
    if (!tw_size_mul(job->n, 16, &most)) {
        return TW_ERR_RANGE;
    }
    if (!tw_exec_valid(exec)) {
        return TW_ERR_INVALID_ARG;
    }
    if (job->n == 0) {
        return TW_OK;
    }
    if (tw_job_overlaps(job)) {
        return TW_ERR_INVALID_ARG;
    }
    if (exec != NULL && exec->memory == TW_MEMORY_CUDA) {
        if (job->codec->wide != job->codec) { /* the kernels there have no such elements */
            return TW_ERR_UNSUPPORTED;
        }
        return tw_job_run_cuda(job, exec->stream);
    }
    if (job->src != job->dst) { /* in place nothing changes */
        tw_job_run(job, exec);
    }
    return TW_OK;
}

tw_status_t tw_codec_encode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, void *dst)
{
    const tw_job_t job = {.codec = codec, .verb = TW_ENCODE, .src = src, .dst = dst, .n = n};

    return tw_job_check_and_run(&job, exec);
}

tw_status_t tw_codec_decode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, void *dst)
{
    const tw_job_t job = {.codec = codec, .verb = TW_DECODE, .src = src, .dst = dst, .n = n};

    return tw_job_check_and_run(&job, exec);
}

tw_status_t tw_codec_decode_add(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                size_t n, void *acc)
{
    const tw_job_t job = {.codec = codec, .verb = TW_DECODE_ADD, .src = src, .dst = acc, .n = n};

    return tw_job_check_and_run(&job, exec);
}

tw_status_t tw_codec_encode_feedback(const tw_codec_t *codec, const tw_exec_t *exec,
                                     const void *src, size_t n, void *residual, void *dst)
{
    const tw_job_t job = {.codec    = codec,
                          .verb     = TW_ENCODE_FEEDBACK,
                          .src      = src,
                          .dst      = dst,
                          .residual = residual,
                          .n        = n};

    return tw_job_check_and_run(&job, exec);
}
