/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/target.h - what reads bytes that others made, each as a function of any bytes.
 *
 * A target may do anything with its input but crash, read or write beside it, leak, hang, or break
 * a promise, which it then says through fuzz_check(). One program holds all targets: main.c feeds
 * them seeds and mutations of these; built by clang with --enable-sanitize=fuzzer, libFuzzer does.
 */
#ifndef TW_TESTS_FUZZ_TARGET_H
#define TW_TESTS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/context.h>

#define FUZZ_MOST 16384 /* bytes of an input */

typedef struct fuzz_target {
    const char *name;
    bool        mpi;     /* calls MPI, on one rank                                   */
    void (*begin)(void); /* once; or NULL                                            */
    bool (*run)(const uint8_t *data, size_t size); /* was it taken, or refused? */
    /* An input that is taken, at most FUZZ_MOST bytes; its length, or 0: there are no more. */
    size_t (*seed)(int index, uint8_t *data);
} fuzz_target_t;

extern const fuzz_target_t fuzz_checkpoint, fuzz_cifar, fuzz_codec, fuzz_decisions, fuzz_facts,
    fuzz_feedback, fuzz_idx, fuzz_jpeg, fuzz_job, fuzz_model, fuzz_png, fuzz_record, fuzz_rules,
    fuzz_safetensors, fuzz_spec, fuzz_wire, fuzz_xml;

/* A broken promise: says so and ends the process as a crash would. */
void fuzz_check(bool kept, const char *promise);

/* One context for all runs; its log goes nowhere. */
tw_context_t *fuzz_context(void);

/* The bytes as a file; its name until the next call. */
const char *fuzz_file(const void *data, size_t size);

/* A copy with a NUL at its end, to be freed. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Text as a seed. */
size_t fuzz_seed_text(uint8_t *data, const char *text);

/* Bytes taken from an input, one after another; zeros behind its end. */
typedef struct fuzz_bytes {
    const uint8_t *data;
    size_t         left;
} fuzz_bytes_t;

uint8_t  fuzz_byte(fuzz_bytes_t *from);
uint32_t fuzz_word(fuzz_bytes_t *from); /* 2 bytes */

/* `size` bytes: what there is, over and over; zeros where there is nothing. */
void fuzz_fill(const fuzz_bytes_t *from, void *to, size_t size);

#endif /* TW_TESTS_FUZZ_TARGET_H */
