/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/codec.h - fixed-rate codecs: arrays of numbers to bytes and back.
 *
 * A short spec names a codec, the same in the API, on command lines, in the environment and in
 * files:
 *
 *     fp32                       unchanged                                    4 bytes per float32
 *     bitpack:K[,round]          the K most significant bytes (K 1..4; 1..8 for double)        K
 *     bf16, fp16                 round to nearest even                                         2
 *     tree8[:block=N][,split=S]  8-bit dynamic tree, block maximum; S is 0.45 or 0.55    1 + 4/N
 *     int8[:block=N]             linear, block maximum / 127                             1 + 4/N
 *     static8[:offset=X]         8-bit static tree                                             1
 *     mantissa8[:offset=X]       8-bit decimal mantissa                                        1
 *     onebit[:block=N]           sign, two means per block                             1/8 + 8/N
 *     auto[:max_error]           in collectives: the fastest codec whose error is at most
 *                                max_error, 0..1 (default 0.02), or MPI's own collective where no
 *                                codec is faster. It encodes nothing itself: TW_ERR_UNSUPPORTED
 *     abs:E                      in blocking collectives: every value of the result within E of the
 *                                exact one, in units of the data, in every call (float32, double;
 *                                sum, average, movements); else lossless. Encodes nothing itself
 *
 * The encoded size depends only on the count, and each block is encoded independently: the bytes of
 * a vector are the concatenated bytes of its pieces, if every piece but the last is a multiple of
 * tw_codec_block() values. docs/wire-format.md defines every byte.
 *
 * The scalar version of a codec is its definition; all other versions give the same bytes and the
 * same decoded bits (except for which NaN an addition of two NaNs returns). All functions round to
 * nearest without flushing denormals, whatever the caller's floating-point mode, and restore that
 * mode. */
#ifndef THINWIRE_CODEC_H
#define THINWIRE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/context.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

typedef struct tw_codec tw_codec_t;

/* Element types: float, double, and two of 16 bits, bfloat16 (the upper half of a float32) and IEEE
 * 754 binary16.
 *
 * Elements of 16 bits are converted to float32 (which holds every one), encoded as these, and what
 * is decoded is rounded to an element once, half to even: the codes are those of the float32 codec
 * of the same spec. Accepted are `bf16` for TW_BF16 and `fp16` for TW_F16, which leave the elements
 * as they are, and specs with less than 2 bytes per value whose blocks have at most 16384 values.
 * Their sums and residuals are float32, in the calls below and in collectives, and only the result
 * is rounded; a sum beyond the largest binary16 becomes Inf. In host memory only. */
typedef enum tw_dtype {
    TW_F32  = 0,
    TW_F64  = 1,
    TW_BF16 = 2,
    TW_F16  = 3,
    TW_BYTE = 255 /* one byte of anything: of tw_codec_bytes() alone */
} tw_dtype_t;

/* Reductions of the values of all ranks (<thinwire/collective.h>). The maximum and the minimum are
 * NaN if a value is NaN. */
typedef enum tw_reduction {
    TW_SUM     = 0,
    TW_AVERAGE = 1,
    TW_MAX     = 2,
    TW_MIN     = 3,
    TW_PROD    = 4
} tw_reduction_t;

/** Name of a tw_reduction_t, such as "sum"; NULL: no such reduction. The string is static. */
const char *tw_reduction_name(int reduction);

/** Bytes of one element; 0 for an unsupported type. */
size_t tw_dtype_size(tw_dtype_t dtype);

/** Is a tensor too small to gain from a lossy codec? True for fewer than 1024 elements, and for
 * fewer than 65536 elements on one axis (biases, parameters of normalisation).
 * @param [in] axes  number of axes; 1 also for a single value; 0: unknown, only the first limit
 *                   applies. */
int tw_tensor_is_small(size_t elements, int axes);

typedef enum tw_memory { TW_MEMORY_HOST = 0, TW_MEMORY_CUDA = 1 } tw_memory_t;

/* Where and how a codec call runs. NULL means {TW_MEMORY_HOST, NULL, 0}.
 *
 * TW_MEMORY_CUDA: all buffers, elements and codes, are memory of the current device (cudaMalloc,
 * cudaMallocAsync) or managed memory. The call enqueues the work on `stream`, a stream of the
 * current device (NULL: its default stream), and does not wait: TW_OK means that the work was
 * enqueued. Nothing is allocated, and the codec may be destroyed before the work completes. Bytes,
 * decoded bits and residuals equal those of host memory, at any alignment; 16-byte aligned buffers
 * are fast. Additional statuses:
 *   TW_ERR_UNSUPPORTED  thinwire was built without CUDA, or there is no driver, no device, or no
 *                       device that the kernels support
 *   TW_ERR_INVALID_ARG  a buffer is host memory, pinned or not, or memory of another device; the
 *                       stream belongs to another device
 *   TW_ERR_NO_MEMORY    no device memory for the kernels' code, at the first call
 *   TW_ERR_IO           the device failed, in this call or in work enqueued earlier */
typedef struct tw_exec {
    tw_memory_t memory;  /* of the element buffers and the codes */
    void       *stream;  /* cudaStream_t for device memory; must be NULL for host memory */
    int         threads; /* at most this many; 0: THINWIRE_THREADS (see thinwire(7)), 1: none.
                            Use 1 if other ranks share this rank's cores */
} tw_exec_t;

/** Create a codec from its spec. Logs nothing.
 * @param [in]  ctx     supplies THINWIRE_CPU and the log; must outlive the codec.
 * @param [in]  spec    see above; lower-case letters.
 * @param [in]  dtype   TW_F32; TW_F64 (bitpack:1..8, int:B); TW_BF16 or TW_F16 (see there).
 * @param [out] codec_p set only on TW_OK; release it with tw_codec_destroy().
 * @param [out] why     if not NULL and why_size > 0: on failure one line that names the invalid
 *                      part of the spec and the accepted form; "" on success.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_SPEC, TW_ERR_UNSUPPORTED (dtype), TW_ERR_NO_MEMORY. */
tw_status_t tw_codec_create(tw_context_t *ctx, const char *spec, tw_dtype_t dtype,
                            tw_codec_t **codec_p, char *why, size_t why_size);

/** Elements of any type as they are: a codec whose values are single bytes, so that counts and
 * displacements of a call are in bytes. For the calls that move elements (bcast to gatherv in
 * <thinwire/collective.h>), by the algorithms and at the rate of `fp32`, of host or device memory.
 * Reductions, and decoding that adds or keeps a residual, answer TW_ERR_UNSUPPORTED. Static: no
 * spec names it, and tw_codec_destroy() leaves it. */
const tw_codec_t *tw_codec_bytes(void);

/** Release a codec; NULL is allowed. No outstanding operation may use the codec. */
void tw_codec_destroy(tw_codec_t *codec);

/** Full spec with every option, such as "tree8:block=4096,split=0.45"; tw_codec_create() accepts
 * it. Lives as long as the codec. */
const char *tw_codec_spec(const tw_codec_t *codec);

/** Properties of a codec. */
typedef struct tw_codec_traits {
    const char *name; /* first part of the spec: "tree8" */
    const char *isa;  /* of the kernels in use: "scalar", "avx2", "avx512", "neon", "vsx" */
    uint8_t     id;   /* number of the codec; never reused */
    tw_dtype_t  dtype;
    size_t      block;     /* values per block; 1: no blocks */
    double      bytes;     /* asymptotic bytes per value */
    int         lossless;  /* decode(encode(x)) equals x, bit for bit, for every x */
    int         feedback;  /* training needs error feedback with it (onebit) */
    double      max_error; /* of one encoding: bound of |x - x'| relative to the largest magnitude
                              in the value's block, or to the value itself if there are no blocks
                              (finite, not subnormal values; plus float32 rounding). Infinite: no
                              bound. For auto: the max_error of its spec */
    int         identity;  /* codes are the elements' own bytes: encoding is not needed */
    int         chooses;   /* auto, abs: encodes nothing itself; collectives choose a codec */
    const char *finer;     /* of elements of dtype, the spec of the next codec with more bytes and a
                          smaller error, to which an error contract goes; "": none, but elements
                          as they are. Lives as long as the codec */
} tw_codec_traits_t;

/** @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_codec_traits(const tw_codec_t *codec, tw_codec_traits_t *traits);

/** Values per block. All pieces of a vector except the last must be multiples of it. */
size_t tw_codec_block(const tw_codec_t *codec);

/** Exact encoded size of n values, in bytes.
 * @param [out] bytes_p  set only on TW_OK.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (the size or the values exceed SIZE_MAX),
 *         TW_ERR_UNSUPPORTED (auto). */
tw_status_t tw_codec_size(const tw_codec_t *codec, size_t n, size_t *bytes_p);

/** Encode n values. Allocates nothing; safe from any thread. Uses OpenMP above a measured size,
 * and runs serially inside a parallel region. The bytes do not depend on the number of threads.
 * @param [in]  exec  NULL for host memory and default threads.
 * @param [in]  src   n contiguous elements of the codec's dtype, any alignment; may be NULL if n is
 *                    0.
 * @param [out] dst   exactly tw_codec_size(codec, n) bytes, any alignment. Must not overlap src;
 *                    for a lossless codec it may equal src, which then keeps its contents.
 * @return TW_OK, TW_ERR_INVALID_ARG (also for overlapping buffers), TW_ERR_RANGE (the size of n
 *         values exceeds size_t), TW_ERR_UNSUPPORTED (memory). */
tw_status_t tw_codec_encode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, void *dst);

/** Decode n values. src may hold arbitrary bytes: they give some numbers, never a crash.
 * @param [in]  src  tw_codec_size(codec, n) bytes, any alignment.
 * @param [out] dst  n elements; overlap and errors as in tw_codec_encode(). */
tw_status_t tw_codec_decode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, void *dst);

/** acc[i] = fl(acc[i] + decoded[i]), in the codec's dtype, or float32 for 16-bit elements. acc must
 * not overlap src.
 * Errors as tw_codec_encode(). */
tw_status_t tw_codec_decode_add(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                size_t n, void *acc);

/** Error-feedback encode (Seide et al. 2014; S1 section 4.5): v = src + residual; dst = encode(v);
 * residual = v - decode(dst). Where v or its reconstruction is not finite, the residual keeps its
 * value: for codecs with blocks in the whole block (which is sent as poison), for others in that
 * value.
 * @param [in]     src       n elements.
 * @param [in,out] residual  n elements, or float32 for 16-bit elements; zeros at first. Must not
 *                           overlap src or dst.
 * Errors as tw_codec_encode(). */
tw_status_t tw_codec_encode_feedback(const tw_codec_t *codec, const tw_exec_t *exec,
                                     const void *src, size_t n, void *residual, void *dst);

/** The largest |x| of n values, with the codec's kernels, at memory bandwidth: the scale of a block
 * in 8-bit codecs. Use it before sending to choose the offset of static8, or to detect an overflow.
 * @param [in]  src      n float32, any alignment; may be NULL if n is 0.
 * @param [out] largest  0 if n is 0; NaN if a value is NaN, else Inf if a value is infinite. Set
 *                       only on TW_OK.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_UNSUPPORTED (memory; other types).
 * Threads as in tw_codec_encode(). */
tw_status_t tw_codec_absmax(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, float *largest);

/** The sum of squares of n values (the square of the l2 norm), in double, with the codec's kernels.
 * The same bits for any number of threads and any instruction set: pieces of 65536 values, of which
 * the last may be shorter, are added in order; within a piece value i is added to lane i mod 32,
 * and then for h = 16, 8, 4, 2, 1 lane j + h is added to lane j for j < h. The relative error is at
 * most (2053 + n / 65536) 2^-53; finite values do not overflow.
 * @param [in]  src  n float32, any alignment; may be NULL if n is 0.
 * @param [out] sum  0 if n is 0; NaN if a value is NaN, else Inf if a value is infinite. Set only
 *                   on TW_OK.
 * @return as tw_codec_absmax(). Threads as in tw_codec_encode(). */
tw_status_t tw_codec_square_sum(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                size_t n, double *sum);

/** Number of codecs. */
size_t tw_codec_count(void);

/** Name, accepted form and one-line description of the index-th codec. The strings are static;
 * NULL outputs are skipped.
 * @return TW_OK, TW_ERR_RANGE. */
tw_status_t tw_codec_describe(size_t index, const char **name, const char **form,
                              const char **help);

/** Next spec of a list such as "tree8:block=512,split=0.55,onebit". A comma starts a new spec if
 * and only if a codec name follows it.
 * @param [in]     list    the list.
 * @param [in,out] cursor  0 at first; advanced.
 * @param [out]    spec    the next spec, NUL-terminated.
 * @return TW_OK; TW_ERR_RANGE at the end of the list; TW_ERR_SPEC if a spec is empty or longer than
 *         spec_size - 1. */
tw_status_t tw_codec_list_next(const char *list, size_t *cursor, char *spec, size_t spec_size);

/** The highest instruction set that new codecs may use, limited by THINWIRE_CPU: "scalar", "avx2",
 * "avx512", "neon" or "vsx". A codec without kernels for it uses the next lower one: see
 * tw_codec_traits_t.isa. The string is static. */
const char *tw_cpu_level(const tw_context_t *ctx);

TW_END_DECLS

#endif /* THINWIRE_CODEC_H */
