/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/addr2line.c - see addr2line.h.
 *
 * posix_spawn, not fork: it copies no pages of a large program, and no handler of MPI's runs in the
 * child. The child gets the program's environment without the preload.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interpose/report/addr2line.h"
#include "runtime/base/clock.h"

#define TW_BATCH   128                  /* addresses of one run                    */
#define TW_KILL_NS UINT64_C(1000000000) /* a killed process should be gone by then */
#define TW_FIXED   6                    /* arguments beside the addresses          */

extern char **environ;

/* ---- the child ----------------------------------------------------------------------------- */

static bool tw_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The environment without what would load us, or ask a server on the network for debug files. The
 * strings are the program's. */
static char **tw_child_environment(void)
{
    size_t n = 0, kept = 0;
    char **copy;

    while (environ != NULL && environ[n] != NULL) {
        n++;
    }
    copy = malloc((n + 1) * sizeof(*copy));
    if (copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (!tw_starts(environ[i], "LD_PRELOAD=") && !tw_starts(environ[i], "DEBUGINFOD_URLS=")) {
            copy[kept++] = environ[i];
        }
    }
    copy[kept] = NULL;
    return copy;
}

/* 0 if it runs, its stdout being `out`. The program's signal mask and ignored signals are not
 * passed on. */
static int tw_child_start(char **arguments, char **environment, int out, pid_t *pid_p)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t          attributes;
    sigset_t                   none, all;
    int                        error;

    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    error = posix_spawnp(pid_p, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Wait for the end, which is near; a handler of the program may have been quicker. A process that
 * does not even end when killed (a file system that hangs) is not waited for. */
static void tw_child_end(pid_t pid, uint64_t deadline)
{
    bool killed = false;

    for (;;) {
        const struct timespec pause = {.tv_nsec = 500000};
        const pid_t           ended = waitpid(pid, NULL, WNOHANG);

        if (ended == pid || (ended < 0 && errno != EINTR)) {
            return;
        }
        if (tw_clock_ns() >= deadline) {
            if (killed) {
                return;
            }
            kill(pid, SIGKILL);
            killed = true;
            deadline += TW_KILL_NS;
        }
        nanosleep(&pause, NULL);
    }
}

/* ---- its answers --------------------------------------------------------------------------- */

/* Without the arguments that C++ names end with, but "operator()" as it is. */
static void tw_answer_function(tw_answer_t *answer, const char *line)
{
    char  *text = answer->function;
    size_t n = strlen(line), depth = 0;

    if (tw_starts(line, "??")) {
        text[0] = '\0';
        return;
    }
    if (n > 6 && strcmp(line + n - 6, " const") == 0) {
        n -= 6;
    }
    if (n > 0 && line[n - 1] == ')') {
        size_t at = n;

        do {
            at--;
            depth += line[at] == ')';
            depth -= line[at] == '(';
        } while (at > 0 && depth > 0);
        if (at > 0 && !(at >= 8 && strncmp(line + at - 8, "operator", 8) == 0)) {
            n = at;
        }
    }
    snprintf(text, sizeof(answer->function), "%.*s", (int)(n < INT16_MAX ? n : INT16_MAX), line);
}

/* "/path/file.c:123 (discriminator 2)" gives "file.c:123". */
static void tw_answer_place(tw_answer_t *answer, const char *line)
{
    const char *colon = strrchr(line, ':');
    const char *name  = line;

    answer->place[0] = '\0';
    if (colon == NULL || colon[1] < '1' || colon[1] > '9' || tw_starts(line, "??")) {
        return;
    }
    for (const char *c = line; c < colon; c++) {
        name = *c == '/' ? c + 1 : name;
    }
    snprintf(answer->place, sizeof(answer->place), "%.*s",
             (int)(strcspn(colon, " ") + (size_t)(colon - name)), name);
}

typedef struct tw_lines_reader {
    tw_answer_t *answers;
    size_t       count, lines; /* lines read; two make an answer */
    size_t       used;
    char         line[1024]; /* the rest of a longer one is dropped */
} tw_lines_reader_t;

static void tw_reader_take(tw_lines_reader_t *reader, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && reader->lines < 2 * reader->count; i++) {
        if (bytes[i] != '\n') {
            if (reader->used + 1 < sizeof(reader->line)) {
                reader->line[reader->used++] = bytes[i];
            }
            continue;
        }
        reader->line[reader->used] = '\0';
        if (reader->lines % 2 == 0) {
            tw_answer_function(&reader->answers[reader->lines / 2], reader->line);
        } else {
            tw_answer_place(&reader->answers[reader->lines / 2], reader->line);
        }
        reader->lines++;
        reader->used = 0;
    }
}

/* Until the end of the output or the deadline. */
static void tw_reader_read(tw_lines_reader_t *reader, int in, uint64_t deadline)
{
    char bytes[4096];

    for (uint64_t now; (now = tw_clock_ns()) < deadline;) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        const int     n     = poll(&ready, 1, (int)((deadline - now) / 1000000 + 1));
        ssize_t       got;

        if (n == 0 || (n < 0 && errno == EINTR)) {
            continue;
        }
        got = n < 0 ? -1 : read(in, bytes, sizeof(bytes));
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
            return;
        }
        if (got > 0) {
            tw_reader_take(reader, bytes, (size_t)got);
        }
    }
}

/* ---- a run --------------------------------------------------------------------------------- */

static int tw_addr2line_batch(const char *path, const uint64_t *addresses, size_t count,
                              tw_answer_t *answers, uint64_t deadline, char **environment)
{
    char  texts[TW_BATCH][20];
    char *arguments[TW_FIXED + TW_BATCH] = {(char[]){"addr2line"}, (char[]){"-f"}, (char[]){"-C"},
                                            (char[]){"-e"}};
    tw_lines_reader_t reader             = {.answers = answers, .count = count};
    int               ends[2];
    pid_t             pid;

    arguments[4] = (char *)(uintptr_t)path;
    for (size_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof(texts[i]), "0x%llx", (unsigned long long)addresses[i]);
        arguments[5 + i] = texts[i];
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    if (tw_child_start(arguments, environment, ends[1], &pid) != 0) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    close(ends[1]);
    tw_reader_read(&reader, ends[0], deadline);
    close(ends[0]);
    tw_child_end(pid, deadline);
    return (int)(reader.lines / 2);
}

int tw_addr2line(const char *path, const uint64_t *addresses, size_t count, tw_answer_t *answers,
                 uint64_t limit_ns)
{
    const uint64_t deadline    = tw_clock_ns() + limit_ns;
    char         **environment = tw_child_environment();
    size_t         done        = 0;

    if (environment == NULL) {
        return -1;
    }
    while (done < count && tw_clock_ns() < deadline) {
        const size_t ask = count - done < TW_BATCH ? count - done : TW_BATCH;
        const int    got =
            tw_addr2line_batch(path, addresses + done, ask, answers + done, deadline, environment);

        if (got < (int)ask) {
            done = got < 0 && done == 0 ? SIZE_MAX : done + (size_t)(got > 0 ? got : 0);
            break;
        }
        done += ask;
    }
    free(environment);
    return done == SIZE_MAX ? -1 : (int)done;
}
