/* SPDX-License-Identifier: BSD-3-Clause
 * tools/report.c - JSON files, checked early and written at once.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <thinwire/version.h>

#include "command/beside.h"
#include "runtime/base/beside.h"
#include "tools/report.h"

#define PATH_LENGTH 4096

/* Devices and pipes are written directly; anything else through a file beside it. */
static int is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* A file beside the one that path leads to: a link is followed, not replaced. -1 with errno. */
static int open_beside(const char *path, char *name)
{
    char     *target = realpath(path, NULL);
    const int fd     = tw_beside_open(target != NULL ? target : path, name, PATH_LENGTH);
    const int error  = errno;

    free(target);
    errno = error;
    return fd;
}

static int rename_to(const char *name, const char *path)
{
    char     *target = realpath(path, NULL);
    const int error  = rename(name, target != NULL ? target : path) != 0 ? errno : 0;

    free(target);
    return error;
}

/* Why a report cannot be written to path; 0 if it can. */
static int try_path(const char *path)
{
    char        name[PATH_LENGTH];
    struct stat st;
    int         fd;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return EISDIR;
    }
    if (is_special(path)) {
        return beside_try_special(path);
    }
    fd = open_beside(path, name);
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return unlink(name) != 0 ? errno : 0;
}

static void processor_name(char *text, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char  line[512];

    snprintf(text, size, "unknown");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            snprintf(text, size, "%s", colon + 1 + strspn(colon + 1, " "));
            text[strcspn(text, "\n")] = '\0';
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Facts about this machine: host, cpu, cores of the binding, memory. */
static json_t *machine_of(void)
{
    const long     pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    struct utsname system;
    char           cpu[256];
    cpu_set_t      set;
    int            cores = 1;

    processor_name(cpu, sizeof(cpu));
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        cores = CPU_COUNT(&set);
    }
    if (uname(&system) != 0) {
        memset(&system, 0, sizeof(system));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:I}", "host", system.nodename, "system",
                     system.sysname, "architecture", system.machine, "cpu", cpu, "cores", cores,
                     "memory_bytes", (json_int_t)pages * page);
}

static json_t *command_line(const job_t *job)
{
    json_t *line = json_string("thinwire");

    for (int i = 1; i < job->argc && line != NULL; i++) {
        json_t *longer = json_sprintf("%s %s", json_string_value(line), job->argv[i]);

        json_decref(line);
        line = longer;
    }
    /* Arguments that are not UTF-8 do not fit JSON. */
    return line != NULL ? line : json_string("thinwire");
}

int report_try(const job_t *job, const char *option, const char *path)
{
    char why[PATH_LENGTH + 128];
    int  error = 0;

    if (job->rank == 0 && path != NULL) {
        error = try_path(path);
        snprintf(why, sizeof(why), "%s %s: cannot be written: %s", option, path,
                 tw_file_error(error));
    }
    return job_agree(job, error == 0, error != 0 ? why : NULL);
}

int report_begin(report_t *report, const job_t *job, const char *path)
{
    *report = (report_t){.path = path};
    if (!report_try(job, "--json", path)) {
        return 0;
    }
    report->root = json_pack("{s:s, s:o, s:o}", "version", tw_version(), "command",
                             command_line(job), "machine", machine_of());
    report->rows = json_array();
    if (report->root == NULL || report->rows == NULL) {
        job_abort(job, "out of memory");
    }
    return 1;
}

void report_row(report_t *report, json_t *row)
{
    if (json_array_append_new(report->rows, row) != 0) { /* NULL, or no memory */
        fputs("thinwire: a row does not fit the JSON report\n", stderr);
        abort();
    }
}

json_t *report_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* 0, or errno. */
static int write_file(const report_t *report, FILE *file)
{
    int error;

    if (file == NULL) {
        return errno;
    }
    errno = 0;
    if (json_dumpf(report->root, file, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0 ||
        fputc('\n', file) == EOF || fflush(file) != 0) {
        error = errno != 0 ? errno : EIO;
        fclose(file);
        return error;
    }
    return fclose(file) != 0 ? errno : 0;
}

static int write_report(const report_t *report)
{
    char name[PATH_LENGTH];
    int  fd, error;

    if (is_special(report->path)) {
        return write_file(report, tw_file_open(report->path));
    }
    fd = open_beside(report->path, name);
    if (fd < 0) {
        return errno;
    }
    error = write_file(report, fdopen(fd, "w"));
    error = error == 0 ? rename_to(name, report->path) : error;
    if (error != 0) {
        unlink(name);
    }
    return error;
}

int report_end(report_t *report, const job_t *job, int well)
{
    int error = 0;

    if (json_array_size(report->rows) > 0) {
        json_object_set(report->root, "rows", report->rows);
    }
    if (well && job->rank == 0 && report->path != NULL) {
        error = write_report(report);
        if (error != 0) {
            job_complain(job, "--json %s: cannot be written: %s", report->path,
                         tw_file_error(error));
        }
    }
    json_decref(report->rows);
    json_decref(report->root);
    return well && error == 0 ? EXIT_OK : EXIT_FAILED;
}
