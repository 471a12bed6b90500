/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/main.c - feeds one target.
 *
 *     fuzz                                   prints the names of the targets
 *     fuzz TARGET seconds=N [FILE...]        the files if there are any, else the seeds, then
 *                                            random mutations of them for N seconds
 *
 * THINWIRE_SEED repeats a run. An input at which a target fails goes to crash-TARGET in TW_FUZZ_OUT
 * (or here). Where libFuzzer is built in, this is its command line with the target in
 * TW_FUZZ_TARGET, and the seeds are written into TW_FUZZ_SEEDS, a folder, first.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "tests/fuzz/target.h"

static const fuzz_target_t *const targets[] = {
    &fuzz_checkpoint, &fuzz_cifar,       &fuzz_codec, &fuzz_decisions, &fuzz_facts, &fuzz_feedback,
    &fuzz_idx,        &fuzz_jpeg,        &fuzz_job,   &fuzz_model,     &fuzz_png,   &fuzz_record,
    &fuzz_rules,      &fuzz_safetensors, &fuzz_spec,  &fuzz_wire,      &fuzz_xml};

static const fuzz_target_t *target; /* of this process */

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};

/* A child that reads a topology first may die of it, and nobody keeps what it read. */
static void in_child(void)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        signal(signals[i], SIG_DFL);
    }
}

static void begin(const char *name)
{
    pthread_atfork(NULL, NULL, in_child);
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        target = name != NULL && strcmp(targets[i]->name, name) == 0 ? targets[i] : target;
    }
    if (target == NULL) {
        fprintf(stderr, "no target '%s'\n", name != NULL ? name : "");
        exit(2);
    }
    if (target->mpi) {
        MPI_Init(NULL, NULL);
    }
    if (target->begin != NULL) {
        target->begin();
    }
}

#ifdef TW_LIBFUZZER

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char    *folder = getenv("TW_FUZZ_SEEDS");
    static uint8_t data[FUZZ_MOST];
    size_t         size;

    (void)argc;
    (void)argv;
    begin(getenv("TW_FUZZ_TARGET"));
    for (int i = 0; folder != NULL && (size = target->seed(i, data)) > 0; i++) {
        char  name[4096];
        FILE *file;

        snprintf(name, sizeof(name), "%s/seed-%d", folder, i);
        file = fopen(name, "wb");
        fuzz_check(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0,
                   "a seed can be written");
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->run(data, size);
    return 0;
}

#else

#define SEEDS   128
#define SECONDS 20 /* that a run may take */

static uint8_t  input[FUZZ_MOST];
static size_t   input_size;
static uint8_t *seeds[SEEDS];
static size_t   sizes[SEEDS];
static int      seed_count;

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static size_t below(uint64_t *state, size_t bound)
{
    *state += UINT64_C(0xd1342543de82ef95);
    return bound > 0 ? (size_t)(mix(*state) % bound) : 0;
}

/* Keeps the input, and ends as the signal would have. */
static void on_crash(int number)
{
    const char *folder = getenv("TW_FUZZ_OUT");
    char        name[4096], line[4200];
    int         n, fd;

    snprintf(name, sizeof(name), "%s/crash-%s", folder != NULL ? folder : ".", target->name);
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    n  = snprintf(line, sizeof(line), "%s: signal %d; the input is %s (%zu bytes)\n", target->name,
                  number, fd >= 0 ? name : "lost", input_size);
    if (write(fd, input, input_size) < 0 || write(STDOUT_FILENO, line, (size_t)n) < 0) {
        _exit(99);
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* What ASan finds ends in abort(), so that it comes here. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "abort_on_error=1";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:print_stacktrace=1";
}

static void watch_out(void)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        signal(signals[i], on_crash);
    }
}

static bool run_input(void)
{
    uint8_t *exact = malloc(input_size > 0 ? input_size : 1); /* a step beside it is found */
    bool     taken;

    fuzz_check(exact != NULL, "there is memory");
    memcpy(exact, input, input_size);
    alarm(SECONDS);
    taken = target->run(exact, input_size);
    alarm(0);
    free(exact);
    return taken;
}

/* One step of a mutation. */
static void change(uint64_t *state)
{
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, '0', '9', '-', '\n', ' '};
    const size_t         at = below(state, input_size), n = 1 + below(state, 16);
    const size_t         room = FUZZ_MOST - input_size;
    const size_t part = n < input_size - at ? n : input_size - at, more = n < room ? n : room;
    const int    other = (int)below(state, (size_t)seed_count);

    switch (below(state, 7)) {
    case 0:
        input[at] ^= (uint8_t)(1u << below(state, 8));
        break;
    case 1:
        input[at] = edges[below(state, sizeof(edges))];
        break;
    case 2:
        input[at] = (uint8_t)below(state, 256);
        break;
    case 3: /* bytes go */
        memmove(input + at, input + at + part, input_size - at - part);
        input_size -= part;
        break;
    case 4: /* bytes come, of what stands there */
        memmove(input + at + more, input + at, input_size - at);
        input_size += more;
        break;
    case 5: /* bytes of another seed */
        for (size_t i = 0; i < part; i++) {
            input[at + i] = sizes[other] > at + i ? seeds[other][at + i] : input[at + i];
        }
        break;
    default: /* the end goes */
        input_size = below(state, 8) == 0 ? at : input_size;
        break;
    }
}

static void mutate(uint64_t *state)
{
    const int    which = (int)below(state, (size_t)seed_count);
    const size_t steps = (size_t)1 << below(state, 6);

    memcpy(input, seeds[which], sizes[which]);
    input_size = sizes[which];
    for (size_t i = 0; i < steps; i++) {
        if (input_size == 0) {
            input[input_size++] = (uint8_t)below(state, 256);
        }
        change(state);
    }
}

static void take_seeds(void)
{
    size_t size;

    while (seed_count < SEEDS && (size = target->seed(seed_count, input)) > 0) {
        seeds[seed_count] = malloc(size);
        fuzz_check(seeds[seed_count] != NULL, "there is memory");
        memcpy(seeds[seed_count], input, size);
        sizes[seed_count++] = size;
        input_size          = size;
        fuzz_check(run_input(), "a seed is taken");
    }
    fuzz_check(seed_count < SEEDS, "all seeds have room");
}

static int run_files(char **names, int count)
{
    for (int i = 0; i < count; i++) {
        FILE *file = fopen(names[i], "rb");

        if (file == NULL) {
            perror(names[i]);
            return 1;
        }
        input_size = fread(input, 1, sizeof(input), file);
        fclose(file);
        run_input();
    }
    printf("%s: %d files\n", target->name, count);
    return 0;
}

static uint64_t draw_seed(void)
{
    const char *text = getenv("THINWIRE_SEED");
    uint64_t    seed = text != NULL ? strtoull(text, NULL, 10) : 0;

    return seed != 0 ? seed : mix((uint64_t)time(NULL) + (uint64_t)getpid()) % 2147483647u + 1;
}

static void run_random(double seconds)
{
    const uint64_t  seed  = draw_seed();
    uint64_t        state = mix(seed), runs = 0, taken = 0;
    struct timespec now, end;

    printf("%s: THINWIRE_SEED=%" PRIu64 "\n", target->name, seed);
    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &end);
    now = end;
    while ((double)(now.tv_sec - end.tv_sec) + 1e-9 * (double)(now.tv_nsec - end.tv_nsec) <
           seconds) {
        mutate(&state);
        taken += run_input();
        runs++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    printf("%s: %d seeds, %" PRIu64 " mutations, of which %" PRIu64 " were taken\n", target->name,
           seed_count, runs, taken);
}

int main(int argc, char **argv)
{
    double seconds = 0;
    int    result  = 0;

    if (argc < 3 || sscanf(argv[2], "seconds=%lf", &seconds) != 1) {
        for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
            printf("%s\n", targets[i]->name);
        }
        return argc == 1 ? 0 : 2;
    }
    begin(argv[1]);
    watch_out();
    if (argc > 3) {
        result = run_files(argv + 3, argc - 3);
    } else {
        take_seeds();
        run_random(seconds);
    }
    if (target->mpi) {
        MPI_Finalize();
    }
    return result;
}

#endif
