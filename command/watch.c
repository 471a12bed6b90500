/* SPDX-License-Identifier: BSD-3-Clause
 * command/watch.c - see watch.h. A timer and a signal: they also work where no thread may be.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <thinwire/context.h>

#include "command/watch.h"

#define TIMES 10.0 /* THINWIRE_TIMEOUT */
#define TICKS 80   /* until then; those in which the process was stopped are lost */

static char   line[256]; /* ready for the handler, which may do little more than write() */
static size_t length;

static volatile sig_atomic_t ticks; /* left */

static void tick(int number)
{
    (void)number;
    if (--ticks <= 0) {
        ssize_t written = write(STDERR_FILENO, line, length);

        (void)written;
        _exit(1);
    }
}

/* Seconds; 0: no limit. */
static double limit(void)
{
    static double seconds = -1.0;
    tw_setting_t  setting;

    for (size_t i = 0; seconds < 0.0 && i < tw_settings_count(); i++) {
        if (tw_settings_get(i, &setting) == TW_OK &&
            strcmp(setting.name, "THINWIRE_TIMEOUT") == 0) {
            seconds = TIMES * strtod(setting.value_text, NULL);
            if (seconds > 0.0) { /* else the signal is the program's own */
                signal(SIGALRM, tick);
            }
        }
    }
    return seconds;
}

/* 0: no timer. */
static void set_timer(double seconds)
{
    const double           each   = seconds / TICKS;
    const struct timeval   tick_s = {(time_t)each,
                                     (suseconds_t)((each - (double)(time_t)each) * 1e6)};
    const struct itimerval timer  = {.it_interval = tick_s, .it_value = tick_s};

    ticks = TICKS;
    setitimer(ITIMER_REAL, &timer, NULL);
}

void watch_begin(const char *what)
{
    const double seconds = limit();
    int          n;

    if (seconds <= 0.0) {
        return;
    }
    set_timer(0.0); /* the line is not to be seen half-written */
    n = snprintf(
        line, sizeof(line),
        "thinwire: %s did not end within %g s (%g times THINWIRE_TIMEOUT); this rank gives up\n",
        what, seconds, TIMES);
    length = n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1;
    set_timer(seconds);
}

void watch_end(void)
{
    if (limit() > 0.0) {
        set_timer(0.0);
    }
}
