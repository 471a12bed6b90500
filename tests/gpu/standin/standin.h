/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/standin.h - what tests can ask of the stand-in for CUDA, cuBLAS and cuDNN, and
 * tell it.
 *
 * The environment tells it, too, for programs that know nothing of it:
 *
 *   STANDIN_DEVICES=N   devices; 1
 *   STANDIN_SEED=N      of the order of execution; 1
 *   STANDIN_MEMORY=N    bytes of each device; 1 GiB
 *   STANDIN_FAIL=CALL:N:ERROR[:sticky|:late]   as standin_fail()
 *   STANDIN_LEAKS=1     what exists at the end is meant to
 *   STANDIN_CUDNN=N     the version that cudnnGetVersion() returns
 *   STANDIN_MAJOR=N     compute capability N.0 of each device; 8
 *   STANDIN_DRAWN=1     no algorithm of convolutions adds in a fixed order
 *   STANDIN_PEERS=0     no device reaches the memory of another one
 *
 * A finding is a use of the libraries that is wrong, whether or not they would notice it. Each is a
 * line on stderr. A process that has findings (and has not taken them), or objects that were never
 * released (unless a device is broken), ends with exit status 99.
 */
#ifndef TW_TESTS_GPU_STANDIN_H
#define TW_TESTS_GPU_STANDIN_H

#include <stddef.h>
#include <stdint.h>

void standin_seed(uint64_t seed);

/* Of 1024 questions whether an event or a stream is done, how many let the devices do something. At
 * first 512. */
void standin_diligence(int of_1024);

/* As if the process had begun on such a machine: GPUs, what CUDA_VISIBLE_DEVICES shows of them
 * (NULL: all; see machine.c), and the version of the driver (13000; 0: there is none). Nothing may
 * exist on any device. */
void standin_machine(int gpus, const char *visible, int driver);

typedef enum standin_mode {
    STANDIN_ONCE,   /* the call fails, the next one does not                                   */
    STANDIN_STICKY, /* and so does every later call on that device                             */
    STANDIN_LATE    /* the call succeeds; its work fails on the device, and then all is sticky */
} standin_mode_t;

/* The n-th call (1: the next) of a function, or of any if call is "*", fails with this number of
 * its library. Once more in the same way: another standin_fail(). STANDIN_LATE is for calls that
 * put work on a stream, and takes a number of CUDA's. call NULL: nothing fails. */
void standin_fail(const char *call, int n, int error, standin_mode_t mode);

/* Calls of a function, or of all if it is "*", so far. */
unsigned long standin_calls(const char *call);

/* How many findings since the last time; what the last one says. */
int         standin_findings(void);
const char *standin_finding(void);

/* Objects that exist: of all kinds; of one, by its name in the list of leaks ("streams"). */
int standin_objects(void);
int standin_objects_of(const char *kind);

/* Where the bytes at p really are: in device memory elsewhere, in other memory there. */
void *standin_real(const void *p);

/* A kind of kernels of the program: functions of one parameter of so many bytes with pointers at
 * these offsets, each NULL or memory of the device, 8 at most. run: all thread blocks. mine:
 * whether a kernel is of this kind; NULL: if it is of no other, and the next such kind takes the
 * place of this. */
typedef struct standin_kernels {
    size_t        bytes;
    const size_t *pointers;
    size_t        count;
    void (*run)(const void *kernel, unsigned blocks, unsigned threads, const void *parameter);
    int (*mine)(const void *kernel);
} standin_kernels_t;

void standin_kernels_set(const standin_kernels_t *kernels);

#endif /* TW_TESTS_GPU_STANDIN_H */
