/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/watched.c - a call that is watched for 1 s (command/watch.h). Argument: `stopped`: it
 * is over in less, not counting 1.5 s in which the process is stopped; `stuck`: it takes longer.
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command/watch.h"

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void until(double end)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (now() < end) {
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    const double start = now();
    pid_t        child = -1;

    setenv("THINWIRE_TIMEOUT", "0.1", 1);
    watch_begin("a test");
    if (argc > 1 && strcmp(argv[1], "stopped") == 0) {
        child = fork();
        if (child == 0) {
            until(start + 0.1);
            kill(getppid(), SIGSTOP);
            until(start + 1.6);
            kill(getppid(), SIGCONT);
            _exit(0);
        }
        until(start + 1.7);
        waitpid(child, NULL, 0);
    } else {
        until(start + 20.0);
    }
    watch_end();
    return 0;
}
