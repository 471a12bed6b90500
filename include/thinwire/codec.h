/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/codec.h - numbers to bytes and back, at a fixed rate.
 *
 * A codec is named by a short spec, the same in the API, on command lines, in the environment
 * and in files:
 *
 *     fp32                       as it is                                    4 bytes per float32
 *     bitpack:K[,round]          the K most significant bytes (K 1..4; 1..8 for double)        K
 *     bf16, fp16                 round to nearest even                                         2
 *     tree8[:block=N][,split=S]  8-bit dynamic tree, block maximum; S is 0.45 or 0.55    1 + 4/N
 *     int8[:block=N]             linear, block maximum / 127                             1 + 4/N
 *     static8[:offset=X]         8-bit static tree                                             1
 *     mantissa8[:offset=X]       8-bit decimal mantissa                                        1
 *     onebit[:block=N]           sign, two means per block                             1/8 + 8/N
 *     auto[:max_error]           in collectives: the fastest one whose error is at most max_error,
 *                                0..1 (default 0.02), or MPI's own collective where none pays; by
 *                                itself it encodes nothing: TW_ERR_UNSUPPORTED
 *
 * The encoded size depends on the count alone, and encoding is local to blocks: the bytes of a
 * vector are the bytes of its pieces put one after another, if every piece but the last is a
 * multiple of tw_codec_block() values. docs/wire-format.md gives every byte.
 *
 * Every codec has a scalar version, which is its definition; all others give the same bytes and
 * the same decoded bits (but for which NaN an addition of two NaNs gives). Entry points round to
 * nearest without flushing denormals whatever the caller's floating-point mode, and restore that
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

/* Element types. BF16 and F16 are reserved: every codec answers TW_ERR_UNSUPPORTED to them. */
typedef enum tw_dtype { TW_F32 = 0, TW_F64 = 1, TW_BF16 = 2, TW_F16 = 3 } tw_dtype_t;

/* What reductions (<thinwire/collective.h>) make of the values of all ranks. The largest and the
 * smallest are NaN where a value is. */
typedef enum tw_reduction {
    TW_SUM     = 0,
    TW_AVERAGE = 1,
    TW_MAX     = 2,
    TW_MIN     = 3,
    TW_PROD    = 4
} tw_reduction_t;

/** The name of a reduction (tw_reduction_t), "sum"; NULL: there is none of this number. Static. */
const char *tw_reduction_name(int reduction);

/** Bytes of one element; 0 for a type that is not supported. */
size_t tw_dtype_size(tw_dtype_t dtype);

/** Is a tensor too small for a lossy codec to be worth its while, and to matter little in bytes: of
 * fewer than 1024 elements, or of one axis (biases, parameters of normalisation) and fewer than
 * 65536?
 * @param [in] axes  1 also for a single value; 0: unknown, then the first alone counts. */
int tw_tensor_is_small(size_t elements, int axes);

typedef enum tw_memory { TW_MEMORY_HOST = 0, TW_MEMORY_CUDA = 1 } tw_memory_t;

/* Where and how a codec call runs. NULL means {TW_MEMORY_HOST, NULL, 0}.
 *
 * TW_MEMORY_CUDA: all buffers, elements and codes, are memory of the current device (cudaMalloc,
 * cudaMallocAsync) or managed memory. The work is put on `stream`, a stream of the current device
 * (NULL: its default stream), and not waited for: TW_OK says that it was started. Nothing is
 * allocated, and the codec may be destroyed before the work is done. Bytes, decoded bits and
 * residuals are those of host memory, at any alignment; buffers at multiples of 16 bytes are fast.
 * Statuses besides those of host memory:
 *   TW_ERR_UNSUPPORTED  thinwire was built without CUDA, or there is no driver, no device, or none
 *                       that it has kernels for
 *   TW_ERR_INVALID_ARG  a buffer is host memory, pinned or not, or another device's; the stream is
 *                       another device's
 *   TW_ERR_NO_MEMORY    the device had no memory for the kernels' code, at the first call
 *   TW_ERR_IO           the device failed, in this call or in work started earlier */
typedef struct tw_exec {
    tw_memory_t memory; /* of the element buffers and the codes                                */
    void       *stream; /* cudaStream_t for device memory; must be NULL for host memory        */
    int threads; /* at most this many; 0 = THINWIRE_THREADS (see thinwire(7)), 1 = none. A rank
                         * that shares its cores with others should take 1, as tw_comm_t does   */
} tw_exec_t;

/** Make a codec from its spec.
 * @param [in]  ctx     reads THINWIRE_CPU and the log from it; must outlive the codec.
 * @param [in]  spec    see above; letters in lower case.
 * @param [in]  dtype   TW_F32 or TW_F64 (bitpack:1..8 only).
 * @param [out] codec_p set only on TW_OK; release it with tw_codec_destroy().
 * @param [out] why     if not NULL and why_size > 0: on failure one line that names the bad part
 *                      of the spec and the accepted form; "" on success.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_SPEC, TW_ERR_UNSUPPORTED (dtype), TW_ERR_NO_MEMORY.
 * Logs nothing: the caller decides where `why` goes. */
tw_status_t tw_codec_create(tw_context_t *ctx, const char *spec, tw_dtype_t dtype,
                            tw_codec_t **codec_p, char *why, size_t why_size);

/** Release a codec; NULL is allowed. No outstanding operation may use it. */
void tw_codec_destroy(tw_codec_t *codec);

/** The full spec with every option written out, such as "tree8:block=4096,split=0.45";
 * tw_codec_create() accepts it. Lives as long as the codec. */
const char *tw_codec_spec(const tw_codec_t *codec);

/** Facts about a codec. */
typedef struct tw_codec_traits {
    const char *name; /* what the spec begins with: "tree8"                                */
    const char *isa;  /* of the kernels in use: "scalar", "avx2", "avx512", "neon", "vsx"  */
    uint8_t     id;   /* never reused                                                      */
    tw_dtype_t  dtype;
    size_t      block;    /* values per block; 1 where there are no blocks                     */
    double      bytes;    /* asymptotic bytes per value                                        */
    int         lossless; /* decode(encode(x)) is x, bit for bit, for every x                  */
    int         feedback; /* training wants error feedback with it (onebit)                    */
    double max_error; /* of one encoding: |x - x'| is at most this part of the largest magnitude in
                              the value's block, or of the value itself where there are no blocks
                              (finite, not subnormal values; plus float32 rounding). Infinite: no
                              bound. Of auto: what was wished for */
    int    identity;  /* codes are the elements' own bytes: nothing needs to be encoded    */
    int    chooses;   /* auto: it encodes nothing itself; collectives choose a codec       */
} tw_codec_traits_t;

/** @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_codec_traits(const tw_codec_t *codec, tw_codec_traits_t *traits);

/** Values per block: pieces of a vector must be multiples of it, except the last. */
size_t tw_codec_block(const tw_codec_t *codec);

/** Exact number of bytes that n values take.
 * @param [out] bytes_p  set only on TW_OK.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE (the size or the values exceed SIZE_MAX). */
tw_status_t tw_codec_size(const tw_codec_t *codec, size_t n, size_t *bytes_p);

/** Encode n values.
 * @param [in]  exec  NULL for host memory and default threads.
 * @param [in]  src   n contiguous elements of the codec's dtype, any alignment; may be NULL if n is
 *                    0.
 * @param [out] dst   exactly tw_codec_size(codec, n) bytes, any alignment. Must not share bytes
 *                    with src; of a lossless codec it may be src itself, which then stays as it is.
 * @return TW_OK, TW_ERR_INVALID_ARG (buffers that overlap, too), TW_ERR_RANGE (n too large for its
 *         size to fit size_t), TW_ERR_UNSUPPORTED (memory).
 * Allocates nothing; safe from any thread; OpenMP above a measured size, serial inside a parallel
 * region; the bytes do not depend on the threads. */
tw_status_t tw_codec_encode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, void *dst);

/** Decode n values. src may hold arbitrary bytes: the result is then some numbers, never a crash.
 * @param [in]  src  tw_codec_size(codec, n) bytes, any alignment.
 * @param [out] dst  n elements; overlap and errors as in tw_codec_encode(). */
tw_status_t tw_codec_decode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, void *dst);

/** acc[i] = fl(acc[i] + decoded[i]), in the codec's dtype. acc must not share bytes with src.
 * Errors as tw_codec_encode(). */
tw_status_t tw_codec_decode_add(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                size_t n, void *acc);

/** Error-feedback encode (Seide et al. 2014; S1 section 4.5): v = src + residual; dst = encode(v);
 * residual = v - decode(dst). Where v or its reconstruction is not finite the residual stays as it
 * was: for codecs with blocks in the whole block (which is sent as poison), for others in that
 * value.
 * @param [in]     src       n elements.
 * @param [in,out] residual  n elements; zeros at first. No overlap with src or dst.
 * Errors as tw_codec_encode(). */
tw_status_t tw_codec_encode_feedback(const tw_codec_t *codec, const tw_exec_t *exec,
                                     const void *src, size_t n, void *residual, void *dst);

/** The largest |x| of n values, by the codec's kernels and at the speed of memory: what an 8-bit
 * codec scales a block by. Useful before sending: to choose the offset of static8, to notice an
 * overflow.
 * @param [in]  src      n float32, any alignment; may be NULL if n is 0.
 * @param [out] largest  0 if n is 0; Inf or NaN if one is among the values (NaN before Inf). Set
 *                       only on TW_OK.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_UNSUPPORTED (memory; a codec of TW_F64).
 * Threads as in tw_codec_encode(). */
tw_status_t tw_codec_absmax(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, float *largest);

/** The sum of the squares of n values, the square of their l2 norm, in double, by the codec's
 * kernels. The same bits for any number of threads and any instruction set: pieces of 65536 values,
 * the last may be smaller, are added in their order; within a piece value i goes into lane i mod
 * 32, and for h = 16, 8, 4, 2, 1, lane j gets lane j + h for j < h. The relative error is at most
 * (2053 + n / 65536) 2^-53; finite values do not overflow.
 * @param [in]  src  n float32, any alignment; may be NULL if n is 0.
 * @param [out] sum  0 if n is 0; Inf or NaN if one is among the values (NaN before Inf). Set only
 *                   on TW_OK.
 * @return as tw_codec_absmax(). Threads as in tw_codec_encode(). */
tw_status_t tw_codec_square_sum(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                size_t n, double *sum);

/** Number of codecs. */
size_t tw_codec_count(void);

/** Name, accepted form and one-line description of the index-th codec. Static strings;
 * NULL outputs are skipped.
 * @return TW_OK, TW_ERR_RANGE. */
tw_status_t tw_codec_describe(size_t index, const char **name, const char **form,
                              const char **help);

/** Split "tree8:block=512,split=0.55,onebit" into specs: a comma starts a new spec exactly where
 * a codec name follows it.
 * @param [in]     list    the list.
 * @param [in,out] cursor  0 at first; advanced.
 * @param [out]    spec    the next spec, NUL-terminated.
 * @return TW_OK; TW_ERR_RANGE when the list is at its end; TW_ERR_SPEC when a spec is empty or
 *         longer than spec_size - 1. */
tw_status_t tw_codec_list_next(const char *list, size_t *cursor, char *spec, size_t spec_size);

/** The highest instruction set that codecs created now may use, after THINWIRE_CPU: "scalar",
 * "avx2", "avx512", "neon" or "vsx". A codec without kernels for it uses the next lower one: see
 * tw_codec_traits_t.isa. Static. */
const char *tw_cpu_level(const tw_context_t *ctx);

TW_END_DECLS

#endif /* THINWIRE_CODEC_H */
