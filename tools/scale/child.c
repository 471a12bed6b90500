/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/child.c - see child.h.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/program.h"
#include "tools/scale/child.h"

#define COMPLAINT "thinwire-player: "

_Noreturn static void become(char *const argv[], int out, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0) {
        execv(argv[0], argv);
    }
    _exit(127);
}

static void listen_to(int from, void (*line)(void *context, const char *text), void *context,
                      char *complaint, size_t size)
{
    FILE *file = fdopen(from, "r");
    char  text[4096];

    complaint[0] = '\0';
    while (file != NULL && fgets(text, sizeof(text), file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        if (strncmp(text, COMPLAINT, strlen(COMPLAINT)) == 0) {
            snprintf(complaint, size, "%.499s", text + strlen(COMPLAINT));
        } else {
            line(context, text);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

int child_run(char *const argv[], void (*line)(void *context, const char *text), void *context,
              tw_problem_t *problem)
{
    const pid_t parent = getpid();
    int         ends[2], status = 0;
    char        complaint[500];
    pid_t       child;

    if (pipe(ends) != 0) {
        return tw_problem_set(problem, "no pipe: %s", strerror(errno));
    }
    fflush(stdout);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        become(argv, ends[1], parent);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return tw_problem_set(problem, "no process could be started: %s", strerror(errno));
    }
    listen_to(ends[0], line, context, complaint, sizeof(complaint));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return 0;
    }
    if (complaint[0] != '\0') {
        return tw_problem_set(problem, "%s", complaint);
    }
    if (WIFSIGNALED(status)) {
        return tw_problem_set(problem, "%s was ended by signal %d", argv[0], WTERMSIG(status));
    }
    return tw_problem_set(problem, "%s ended with status %d", argv[0], WEXITSTATUS(status));
}

int child_find(const char *name, char *path, size_t size)
{
    char folder[PATH_MAX];
    int  n = -1;

    if (program_beside("libexec/thinwire", folder, sizeof(folder)) == 0) {
        n = snprintf(path, size, "%s/%s", folder, name);
    }
    if (n < 0 || access(path, R_OK) != 0) {
        snprintf(path, size, "%s/%s", TW_PLAYERS, name);
    }
    return access(path, R_OK);
}
