/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/player.c - the program that thinwire scale --simulate starts: plays a script, and
 * prints what its third step took.
 *
 * usage: thinwire-player [SCRIPT]; without one, on a platform of SimGrid: what that is
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <signal.h>

#include "simulation/play.h"
#include "simulation/world.h"

/* Settings that would mean this machine, or other clocks. */
static void set_settings(void)
{
    static const char *const settings[][2] = {
        {"THINWIRE_TRANSPORT", "mpi"}, {"THINWIRE_CHECK", "0"},   {"THINWIRE_PROGRESS", "none"},
        {"THINWIRE_TIMEOUT", "0"},     {"THINWIRE_THREADS", "1"}, {"THINWIRE_NODE_RANKS", "0"},
        {"THINWIRE_NODE_READ", "0"},   {"THINWIRE_BIND", "0"}};
    struct rlimit files;

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        setenv(settings[i][0], settings[i][1], 1);
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) { /* one for each rank's shared memory */
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* SimGrid finds it in a shared library. */
__attribute__((visibility("default"))) int main(int argc, char **argv)
{
    static script_t script; /* SimGrid calls this for each rank, in one process */
    FILE           *file;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing goes on without the command */
    if (argc == 1) {
        world_describe();
        return EXIT_SUCCESS;
    }
    if (script.ranks == 0) {
        file = fopen(argv[1], "rb");
        if (file == NULL || script_read(&script, file) != 0) {
            world_fail("no script of this version; thinwire scale --simulate starts this");
        }
        fclose(file);
        set_settings();
        play_open(&script);
    }
    if (world_run(&script, play_rank)) {
        play_print();
    }
    return EXIT_SUCCESS;
}
