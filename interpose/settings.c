/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/settings.c - the settings of this process: read from the environment, checked, compared
 * over all ranks.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interpose/choice.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include <thinwire/version.h>

#include "runtime/base/beside.h"
#include "runtime/base/bytes.h"
#include "runtime/base/file.h"
#include "runtime/library.h"

#define TW_START_LIMIT_S 60 /* how long the ranks wait for each other in MPI_Init */

/* All ranks have the same environment as a rule: only rank 0 speaks of it. */
static void tw_settings_mute(void *arg, tw_log_level_t level, int rank, const char *line)
{
    (void)arg;
    (void)level;
    (void)rank;
    (void)line;
}

#define TW_RULES_MAX ((size_t)1 << 20) /* bytes of a file of rules */

/* All of the stream, which may be a pipe, with a NUL behind it. */
static tw_status_t tw_settings_read_all(FILE *file, char **text_p, size_t *length_p)
{
    char  *text = malloc(TW_RULES_MAX + 2);
    size_t got;

    if (text == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    *length_p = 0;
    do {
        got = fread(text + *length_p, 1, TW_RULES_MAX + 1 - *length_p, file);
        *length_p += got;
    } while (got > 0 && *length_p <= TW_RULES_MAX);
    text[*length_p] = '\0';
    *text_p         = text;
    return ferror(file) ? TW_ERR_IO : TW_OK;
}

static tw_status_t tw_settings_read_rules(char **text_p)
{
    const char *name   = tw_state.config.rules_file;
    FILE       *file   = *name != '\0' ? fopen(name, "r") : NULL;
    size_t      length = 0;
    tw_status_t status;

    *text_p = NULL;
    if (*name == '\0') {
        return TW_OK;
    }
    status = file != NULL ? tw_settings_read_all(file, text_p, &length) : TW_ERR_IO;
    if (status == TW_ERR_IO) {
        tw_say("THINWIRE_RULES_FILE=%s cannot be read: %s", name, strerror(errno));
    } else if (status == TW_OK && length > TW_RULES_MAX) {
        tw_say("THINWIRE_RULES_FILE=%s: longer than 1 MiB, which is the most that is accepted",
               name);
        status = TW_ERR_RANGE;
    } else if (status == TW_OK && strlen(*text_p) < length) {
        tw_say("THINWIRE_RULES_FILE=%s: byte %zu is a NUL; accepted: a text file", name,
               strlen(*text_p) + 1);
        status = TW_ERR_SETTING;
    }
    if (file != NULL) {
        fclose(file);
    }
    return status;
}

static tw_status_t tw_settings_check_spec(const char *spec, const char *where)
{
    char        why[400] = "";
    tw_status_t status;

    if (strlen(spec) >= TW_RULE_SPEC_MAX) {
        tw_say("%s: the codec spec is longer than %d characters", where, TW_RULE_SPEC_MAX - 1);
        return TW_ERR_SPEC;
    }
    status = tw_choice_check(spec, why, sizeof(why));
    if (status != TW_OK) {
        tw_say("%s: %s", where, why);
    }
    return status;
}

static tw_status_t tw_settings_rules(void)
{
    char         why[512] = "", where[PATH_MAX + 64];
    tw_status_t  status = tw_rules_parse(&tw_state.rules, tw_state.config.rules, why, sizeof(why));
    const size_t own    = tw_state.rules.count; /* the others stand in the file */

    if (status != TW_OK) {
        tw_say("THINWIRE_RULES: %s", why);
        return status;
    }
    status = tw_taken_parse(&tw_state.taken, tw_state.config.types, why, sizeof(why));
    if (status != TW_OK) {
        tw_say("THINWIRE_TYPES: %s", why);
        return status;
    }
    status = tw_settings_read_rules(&tw_state.rules_text);
    if (status == TW_OK && tw_state.rules_text != NULL) {
        status = tw_rules_parse(&tw_state.rules, tw_state.rules_text, why, sizeof(why));
        if (status != TW_OK) {
            tw_say("%s: %s", tw_state.config.rules_file, why);
        }
    }
    for (size_t i = 0; status == TW_OK && i < tw_state.rules.count; i++) {
        const tw_rule_t *rule = &tw_state.rules.rules[i];

        if (rule->spec[0] != '\0') {
            snprintf(where, sizeof(where), "%.*s, the codec of the rule in line %d", PATH_MAX,
                     i < own ? "THINWIRE_RULES" : tw_state.config.rules_file, rule->line);
            status          = tw_settings_check_spec(rule->spec, where);
            tw_state.codecs = true;
        }
    }
    return status;
}

/* What is written at the end: can it be? Rank 0 writes, and only it can tell. */
static tw_status_t tw_settings_output(const char *setting, const char *path)
{
    const int error = tw_state.rank == 0 && *path != '\0' ? tw_file_writable(path) : 0;

    if (error == 0) {
        return TW_OK;
    }
    tw_say("%s=%s cannot be written: %s", setting, path, strerror(error));
    return TW_ERR_IO;
}

/* The job of THINWIRE_RECORD takes the place of what is there, so that no half of it ever is. */
static tw_status_t tw_settings_record(const char *path)
{
    struct stat about;
    const bool  there = tw_state.rank == 0 && *path != '\0' && stat(path, &about) == 0;

    if (there && !S_ISREG(about.st_mode)) {
        tw_say("THINWIRE_RECORD=%s cannot be written: it is no regular file", path);
        return TW_ERR_IO;
    }
    if (tw_settings_output("THINWIRE_RECORD", path) != TW_OK) {
        return TW_ERR_IO;
    }
    if (tw_state.rank == 0 && *path != '\0' && tw_file_replaceable(path) != 0) {
        tw_say("THINWIRE_RECORD=%s cannot be written: %s", path,
               strerror(tw_file_replaceable(path)));
        return TW_ERR_IO;
    }
    return TW_OK;
}

/* What is written later would replace what was written before. */
static tw_status_t tw_settings_apart(void)
{
    const struct {
        const char *name, *path;
    } file[] = {{"THINWIRE_REPORT", tw_state.config.report},
                {"THINWIRE_JSON", tw_state.config.json},
                {"THINWIRE_RECORD", tw_state.config.record}};

    for (size_t i = 0; tw_state.rank == 0 && i < 3; i++) {
        for (size_t k = i + 1; k < 3; k++) {
            if (*file[i].path != '\0' && *file[k].path != '\0' &&
                tw_file_same(file[i].path, file[k].path)) {
                tw_say("%s and %s are the same file, %s", file[i].name, file[k].name, file[i].path);
                return TW_ERR_SETTING;
            }
        }
    }
    return TW_OK;
}

/* From the environment; what is wrong is said in one line by rank 0. */
static tw_status_t tw_settings_read(void)
{
    tw_log_t   *log = &tw_state.context.log;
    tw_status_t status;

    *log = (tw_log_t){.level = TW_LOG_WARN, .rank = tw_state.rank};
    if (tw_state.rank != 0) {
        log->fn = tw_settings_mute;
    }
    status = tw_settings_load(log, &tw_base_settings, &tw_state.context.config);
    if (status == TW_OK) {
        status = tw_library_check_environment(log);
    }
    if (status == TW_OK) {
        status = tw_settings_load(log, &tw_drop_in_settings, &tw_state.config);
    }
    if (status == TW_OK) {
        status = tw_settings_load(log, &tw_policy_settings, &tw_state.policy);
    }
    if (status == TW_OK && tw_state.config.codec[0] != '\0') {
        status          = tw_settings_check_spec(tw_state.config.codec, "THINWIRE_CODEC");
        tw_state.codecs = true;
    }
    if (status == TW_OK) {
        status = tw_settings_rules();
    }
    if (status == TW_OK && tw_state.config.max_error > 0.0 && !tw_state.codecs) {
        tw_say("THINWIRE_MAX_ERROR without a codec: name one by THINWIRE_CODEC or a rule");
        status = TW_ERR_SETTING;
    }
    if (status == TW_OK && tw_encode_always() && !tw_state.codecs) {
        tw_say("THINWIRE_ENCODE=always without a codec: name one by THINWIRE_CODEC or a rule");
        status = TW_ERR_SETTING;
    }
    if (status == TW_OK) {
        status = tw_settings_output("THINWIRE_REPORT", tw_state.config.report);
    }
    if (status == TW_OK) {
        status = tw_settings_output("THINWIRE_JSON", tw_state.config.json);
    }
    if (status == TW_OK) {
        status = tw_settings_record(tw_state.config.record);
    }
    if (status == TW_OK) {
        status = tw_settings_apart();
    }
    tw_state.exec = (tw_exec_t){.memory = TW_MEMORY_HOST};
    tw_state.exec.threads =
        tw_state.context.config.threads > 0 ? tw_state.context.config.threads : 1;
    if (status == TW_OK && tw_state.context.config.log_level > 0) {
        log->level = (tw_log_level_t)tw_state.context.config.log_level;
    }
    return status;
}

static uint64_t tw_settings_hash(const void *bytes, size_t size)
{
    return tw_fnv1a(TW_FNV_START, bytes, size);
}

static uint64_t tw_settings_hash_text(const char *text)
{
    return text != NULL ? tw_settings_hash(text, strlen(text)) : 0;
}

/* The time limit of the comparison, to which a rank that is not under thinwire never comes. What
 * waits is a blocking collective, so a thread counts, which ends with it. */
typedef struct tw_settings_limit {
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  over;
    bool            met, running;
} tw_settings_limit_t;

/* Second by second, so that the time in which the process is stopped counts as one. */
static void *tw_settings_watch(void *arg)
{
    tw_settings_limit_t *limit = arg;
    struct timespec      until;

    pthread_mutex_lock(&limit->lock);
    for (int s = 0; s < TW_START_LIMIT_S && !limit->met; s++) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        while (!limit->met && pthread_cond_timedwait(&limit->over, &limit->lock, &until) == 0) {
        }
    }
    if (!limit->met) {
        tw_complain("rank %d waited %d s in MPI_Init for the settings of the others: does every "
                    "rank run under thinwire?",
                    tw_state.rank, TW_START_LIMIT_S);
        _exit(1);
    }
    pthread_mutex_unlock(&limit->lock);
    return NULL;
}

static void tw_settings_limit_begin(tw_settings_limit_t *limit)
{
    sigset_t all, before;

    *limit =
        (tw_settings_limit_t){.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};
    sigfillset(&all); /* signals are the program's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    limit->running = pthread_create(&limit->thread, NULL, tw_settings_watch, limit) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void tw_settings_limit_end(tw_settings_limit_t *limit)
{
    if (limit->running) {
        pthread_mutex_lock(&limit->lock);
        limit->met = true;
        pthread_cond_signal(&limit->over);
        pthread_mutex_unlock(&limit->lock);
        pthread_join(limit->thread, NULL);
    }
}

/* The largest of all ranks, and of all complements, say whether all have the same: one blocking
 * collective and no more where they have, as MPICH's graph communicators hang now and then where
 * nonblocking ones were the first. Otherwise the first rank that has another value than rank 0 is
 * named. */
tw_status_t tw_state_settings(void)
{
    const tw_status_t          mine   = tw_settings_read();
    const tw_drop_in_config_t *config = &tw_state.config;
    const struct {
        const char *name;
        uint64_t    value;
    } compared[] = {
        {"version", tw_settings_hash_text(TW_VERSION)},
        {"THINWIRE_CODEC", tw_settings_hash_text(config->codec)},
        {"THINWIRE_THRESHOLD", config->threshold},
        {"THINWIRE_RULES", tw_settings_hash_text(config->rules)},
        {"rules file", tw_settings_hash_text(tw_state.rules_text)},
        {"THINWIRE_DOUBLE", (uint64_t)config->narrow},
        {"THINWIRE_TYPES", tw_settings_hash_text(config->types)},
        {"THINWIRE_VERIFY", (uint64_t)config->verify},
        {"THINWIRE_MAX_ERROR", tw_settings_hash(&config->max_error, sizeof(config->max_error))},
        {"THINWIRE_ERROR_FEEDBACK", (uint64_t)config->error_feedback},
        {"THINWIRE_FEEDBACK_MAX", config->feedback_max},
        {"THINWIRE_ALLREDUCE or THINWIRE_DIRECT_MAX",
         tw_settings_hash(&tw_state.policy, sizeof(tw_state.policy))},
        {"THINWIRE_ENCODE", (uint64_t)config->encode},
        {"THINWIRE_PCONTROL", (uint64_t)config->pcontrol},
        {"THINWIRE_RECORD", config->record != NULL && config->record[0] != '\0'},
        {"state of its settings", (uint64_t)(mine == TW_OK)},
    };
    enum { COUNT = sizeof(compared) / sizeof(compared[0]) };
    uint64_t            ours[2 * COUNT], most[2 * COUNT];
    int                 differs[2], worst[2] = {-COUNT, 0}; /* what, and minus the rank */
    bool                same = true;
    tw_settings_limit_t limit;

    for (int i = 0; i < COUNT; i++) {
        ours[i]         = compared[i].value;
        ours[COUNT + i] = ~compared[i].value;
    }
    tw_settings_limit_begin(&limit);
    if (tw_next.Allreduce(ours, most, 2 * COUNT, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD) !=
        MPI_SUCCESS) {
        tw_give_up(MPI_COMM_WORLD, "MPI_Allreduce fails in MPI_Init, on rank %d", tw_state.rank);
    }
    tw_settings_limit_end(&limit);
    for (int i = 0; i < COUNT; i++) {
        same = same && most[i] == ~most[COUNT + i];
    }
    if (!same) { /* all ranks know */
        uint64_t first[COUNT];

        memcpy(first, ours, sizeof(first));
        tw_next.Bcast(first, (int)sizeof(first), MPI_BYTE, 0, MPI_COMM_WORLD);
        differs[0] = COUNT;
        for (int i = COUNT - 1; i >= 0; i--) {
            differs[0] = compared[i].value != first[i] ? i : differs[0];
        }
        differs[0] = -differs[0];
        differs[1] = differs[0] > -COUNT ? -tw_state.rank : -tw_state.size;
        tw_next.Allreduce(differs, worst, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (worst[0] > -COUNT) {
        if (mine == TW_OK) { /* else rank 0 has said what is wrong with its own */
            tw_say("rank %d has another %s than rank 0; it must be the same on all ranks",
                   -worst[1], compared[-worst[0]].name);
        }
        return TW_ERR_MISMATCH;
    }
    return mine;
}
