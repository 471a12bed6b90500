/* SPDX-License-Identifier: BSD-3-Clause
 * tools/run_settings.c - the settings of thinwire run: from options to variables, and whether they
 * make sense together with what the environment says already.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thinwire/codec.h>

#include "runtime/base/dtype.h"
#include "runtime/base/text.h"
#include "runtime/policy/rules.h"
#include "runtime/policy/taken.h"
#include "tools/preload.h"
#include "tools/run.h"

/* ---- values ---------------------------------------------------------------------------------- */

int run_check_values(run_t *run)
{
    size_t bytes;
    double error;

    if (run->threshold != NULL && !tw_text_bytes(run->threshold, &bytes)) {
        snprintf(run->why, sizeof(run->why),
                 "--threshold %.40s: not a size; accepted: bytes, such as 0, 4096, 64k, 1M, inf",
                 run->threshold);
        return -1;
    }
    if (run->max_error != NULL && !(tw_text_number(run->max_error, &error) && error > 0.0)) {
        snprintf(run->why, sizeof(run->why),
                 "--max-error %.40s: accepted: rms of the error over rms of the exact result, a "
                 "number above 0, such as 0.02",
                 run->max_error);
        return -1;
    }
    if (run->max_abs_error != NULL) {
        if (run->codec != NULL || run->max_error != NULL) {
            snprintf(run->why, sizeof(run->why),
                     "--max-abs-error %.40s names the codec abs:E, which keeps the bound by "
                     "itself; accepted: without --codec and --max-error",
                     run->max_abs_error);
            return -1;
        }
        snprintf(run->absolute, sizeof(run->absolute), "abs:%.40s", run->max_abs_error);
        run->codec = run->absolute;
    }
    if (run->bcast_root != NULL && strcmp(run->bcast_root, "same") != 0 &&
        strcmp(run->bcast_root, "exact") != 0) {
        snprintf(run->why, sizeof(run->why), "--bcast-root %.40s: accepted: same, exact",
                 run->bcast_root);
        return -1;
    }
    if (run->mpi != NULL && strcmp(run->mpi, preload_names[FAMILY_OPENMPI]) != 0 &&
        strcmp(run->mpi, preload_names[FAMILY_MPICH]) != 0) {
        snprintf(run->why, sizeof(run->why), "--mpi %.40s: accepted: openmpi, mpich", run->mpi);
        return -1;
    }
    return 0;
}

/* ---- settings -------------------------------------------------------------------------------- */

static void set_variable(run_t *run, const char *name, const char *value)
{
    if (value == NULL) {
        return;
    }
    if (setenv(name, value, 1) != 0) {
        snprintf(run->why, sizeof(run->why), "%s cannot be set: %s", name, strerror(errno));
        return;
    }
    run->changed[run->changes++] = name;
}

static void set_number(run_t *run, const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    set_variable(run, name, value >= 0 ? text : NULL);
}

/* The program may change its folder before the file is opened. */
static void set_file(run_t *run, const char *name, const char *file)
{
    char path[2 * PATH_MAX], folder[PATH_MAX];

    if (file != NULL && file[0] != '/' && getcwd(folder, sizeof(folder)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", strcmp(folder, "/") != 0 ? folder : "", file);
        file = path;
    }
    set_variable(run, name, file);
}

int run_set_variables(run_t *run)
{
    run->why[0] = '\0';
    set_variable(run, "THINWIRE_CODEC", run->codec);
    set_variable(run, "THINWIRE_THRESHOLD", run->threshold);
    set_variable(run, "THINWIRE_RULES", run->rules);
    set_file(run, "THINWIRE_RULES_FILE", run->rules_file);
    set_variable(run, "THINWIRE_TYPES", run->types);
    set_variable(run, "THINWIRE_DOUBLE", run->narrow ? "1" : NULL);
    set_variable(run, "THINWIRE_MAX_ERROR", run->max_error);
    set_number(run, "THINWIRE_VERIFY", run->verify);
    set_variable(run, "THINWIRE_ERROR_FEEDBACK", run->feedback ? "1" : NULL);
    set_variable(run, "THINWIRE_PCONTROL", run->pcontrol ? "1" : NULL);
    set_variable(run, "THINWIRE_BCAST_ROOT", run->bcast_root);
    set_file(run, "THINWIRE_REPORT", run->report);
    set_file(run, "THINWIRE_JSON", run->json);
    set_file(run, "THINWIRE_RECORD", run->record);
    set_variable(run, "THINWIRE_QUIET", run->quiet ? "1" : NULL);
    set_number(run, "THINWIRE_THREADS", run->threads);
    return run->why[0] == '\0' ? 0 : -1;
}

const char *run_setting(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? text : "";
}

/* The library logs what is wrong with a setting, on every rank: let one of them speak. */
static tw_context_t *create_context(const job_t *job)
{
    tw_context_t *ctx    = NULL;
    const int     errors = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);

    if (errors >= 0 && nowhere >= 0) {
        dup2(nowhere, STDERR_FILENO);
    }
    tw_context_create(&ctx);
    if (errors >= 0) {
        dup2(errors, STDERR_FILENO);
        close(errors);
    }
    if (nowhere >= 0) {
        close(nowhere);
    }
    if (ctx == NULL && job->rank == 0) {
        tw_context_create(&ctx);
    }
    return ctx;
}

/* A codec for one type of elements at least, of float and double: no other has more. Of a spec that
 * is wrong for several types the last one's reason is told: bitpack:9 is beyond the 8 bytes of a
 * double, not only beyond a float's 4. where: what names it. */
static int check_spec(run_t *run, tw_context_t *ctx, const char *spec, const char *where)
{
    tw_codec_t *codec = NULL;
    char        why[640];

    for (size_t t = 0; t < TW_DTYPE_ROWS && spec[0] != '\0'; t++) {
        tw_status_t status;

        if (tw_dtype_is_half(tw_dtypes[t])) {
            continue;
        }
        status = tw_codec_create(ctx, spec, tw_dtypes[t], &codec, why, sizeof(why));
        tw_codec_destroy(codec);
        if (status == TW_OK) {
            return 0;
        }
        if (t == 0 || status == TW_ERR_SPEC) {
            snprintf(run->why, sizeof(run->why), "%s: %s", where, why);
        }
    }
    return spec[0] == '\0' ? 0 : -1;
}

static int check_codec(run_t *run, tw_context_t *ctx)
{
    return check_spec(run, ctx, run_setting("THINWIRE_CODEC"),
                      run->max_abs_error != NULL ? "--max-abs-error"
                      : run->codec != NULL       ? "--codec"
                                                 : "THINWIRE_CODEC");
}

/* As the drop-in reads them in MPI_Init. */
static int check_rules(run_t *run, tw_context_t *ctx)
{
    const char *const name  = run->rules != NULL ? "--rule" : "THINWIRE_RULES";
    tw_rules_t        rules = {NULL, 0};
    char              why[512], text[TW_RULE_SPEC_MAX + 128], where[sizeof(text) + 32];
    int               status = 0;

    if (tw_rules_parse(&rules, run_setting("THINWIRE_RULES"), why, sizeof(why)) != TW_OK) {
        snprintf(run->why, sizeof(run->why), "%s: %s", name, why);
        status = -1;
    }
    for (size_t i = 0; i < rules.count && status == 0; i++) {
        tw_rule_text(&rules.rules[i], text, sizeof(text));
        snprintf(where, sizeof(where), "%s '%s'", name, text);
        status = check_spec(run, ctx, rules.rules[i].spec, where);
    }
    tw_rules_free(&rules);
    return status;
}

static int check_types(run_t *run)
{
    tw_taken_list_t taken = {.count = 0};
    char            why[512];

    if (tw_taken_parse(&taken, run_setting("THINWIRE_TYPES"), why, sizeof(why)) == TW_OK) {
        return 0;
    }
    snprintf(run->why, sizeof(run->why), "%s: %s",
             run->types != NULL ? "--types" : "THINWIRE_TYPES", why);
    return -1;
}

static int check_rules_file(run_t *run)
{
    const char *path = run_setting("THINWIRE_RULES_FILE");
    struct stat facts;
    int         fd, wrong;

    if (path[0] == '\0') {
        return 0;
    }
    fd    = open(path, O_RDONLY | O_CLOEXEC);
    wrong = fd < 0 || fstat(fd, &facts) != 0 ? errno : S_ISDIR(facts.st_mode) ? EISDIR : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (wrong != 0) {
        snprintf(run->why, sizeof(run->why), "%s %s: %s",
                 run->rules_file != NULL ? "--rules" : "THINWIRE_RULES_FILE", path,
                 strerror(wrong));
    }
    return wrong == 0 ? 0 : -1;
}

static int check_contradictions(run_t *run)
{
    if (run->verify == 0 && strtod(run_setting("THINWIRE_MAX_ERROR"), NULL) > 0.0) {
        snprintf(run->why, sizeof(run->why),
                 "--verify 0 contradicts the error contract (%s): it is kept by verifying calls; "
                 "accepted: --verify 1 or more",
                 run->max_error != NULL ? "--max-error" : "THINWIRE_MAX_ERROR");
        return -1;
    }
    if (run->max_error != NULL && run_setting("THINWIRE_CODEC")[0] == '\0' &&
        run_setting("THINWIRE_RULES")[0] == '\0' && run_setting("THINWIRE_RULES_FILE")[0] == '\0') {
        snprintf(
            run->why, sizeof(run->why),
            "--max-error without a codec: nothing would be compressed; accepted: with --codec, "
            "--rule or --rules");
        return -1;
    }
    return 0;
}

int run_check_settings(run_t *run, const job_t *job)
{
    tw_context_t *ctx = create_context(job);
    int           status;

    if (ctx == NULL) {
        return -1; /* it has been said why */
    }
    status = check_codec(run, ctx) != 0 || check_rules(run, ctx) != 0 || check_types(run) != 0 ||
                     check_rules_file(run) != 0
                 ? -1
                 : check_contradictions(run);
    tw_context_destroy(ctx);
    if (status != 0) {
        job_complain(job, "%s", run->why);
    }
    return status;
}
