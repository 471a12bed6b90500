/* SPDX-License-Identifier: BSD-3-Clause
 * tools/report.c - JSON files, checked early and written at once.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/file.h"
#include "command/json.h"
#include "tools/report.h"

int report_try(const job_t *job, const char *option, const char *path)
{
    tw_problem_t problem = {.set = 0};
    const int    well = job->rank > 0 || path == NULL || tw_file_try(option, path, &problem) == 0;

    return job_agree(job, well, well ? NULL : problem.text);
}

int report_begin(report_t *report, const job_t *job, const char *path)
{
    *report = (report_t){.path = path};
    if (report_try(job, "--json", path) != 0) {
        return -1;
    }
    report->root = tw_json_begin("thinwire", job->argc, job->argv);
    report->rows = json_array();
    if (report->root == NULL || report->rows == NULL) {
        job_abort(job, "out of memory");
    }
    return 0;
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

int report_end(report_t *report, const job_t *job, int well)
{
    tw_problem_t problem = {.set = 0};

    if (json_array_size(report->rows) > 0) {
        json_object_set(report->root, "rows", report->rows);
    }
    json_decref(report->rows);
    if (!well || job->rank > 0 || report->path == NULL) {
        json_decref(report->root);
    } else if (tw_json_end(report->root, report->path, &problem) != 0) {
        job_complain(job, "%s", problem.text);
        well = 0;
    }
    return well ? EXIT_OK : EXIT_FAILED;
}
