/* SPDX-License-Identifier: BSD-3-Clause
 * tools/run.c - thinwire run: start a program with the drop-in between it and its MPI.
 *
 * Every rank does this for itself, before MPI exists: options become THINWIRE_ variables, the
 * library for the program's MPI goes into LD_PRELOAD, and the program takes this process over. What
 * can be wrong is found here as far as possible, alike on every rank; the one that the launcher
 * calls 0 says it. A file of rules is read by the drop-in itself, when the program calls MPI_Init.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "command/options.h"
#include "tools/preload.h"
#include "tools/program.h"
#include "tools/run.h"

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 }; /* as of a shell */

#define SPEAKING_US 500000 /* until rank 0 has said what is wrong */

#define USAGE "thinwire run [OPTION...] [--] PROGRAM [ARG...]"

/* The rank that a launcher says this process has; 0 where none does. */
static int launcher_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);

        if (text != NULL && isdigit((unsigned char)text[0])) {
            return atoi(text);
        }
    }
    return 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

static int is_option(const option_t *option, const char *text)
{
    const size_t length = strcspn(text, "=");

    return strlen(option->name) == length && strncmp(option->name, text, length) == 0;
}

static int add_rule(run_t *run, const char *rule)
{
    const size_t before = run->rules != NULL ? strlen(run->rules) + 1 : 0;
    char        *rules;

    if (strpbrk(rule, "#;\n") != NULL) {
        snprintf(
            run->why, sizeof(run->why),
            "--rule '%.80s': accepted: one rule; several, and comments, go into a file (--rules)",
            rule);
        return -1;
    }
    rules = realloc(run->rules, before + strlen(rule) + 1);
    if (rules == NULL) {
        snprintf(run->why, sizeof(run->why), "out of memory");
        return -1;
    }
    if (before > 0) {
        rules[before - 1] = ';';
    }
    strcpy(rules + before, rule);
    run->rules = rules;
    return 0;
}

/* One of our options was met; `value` is NULL where there is none. */
static int take_option(run_t *run, const option_t *option, const char *value, int *seen)
{
    if (value != NULL && strcmp(value, "--") == 0) {
        snprintf(run->why, sizeof(run->why), "%s needs a value: %s %s%s", option->name,
                 option->name, option->arg,
                 option->value == &run->rule ? "; in a shell, > and < in it need quotes" : "");
        return -1;
    }
    if (option->value == &run->rule) {
        return value == NULL ? 0 : add_rule(run, value);
    }
    if ((*seen)++ > 0) {
        snprintf(run->why, sizeof(run->why), "%s is given twice", option->name);
        return -1;
    }
    return 0;
}

/* The number of leading arguments that are ours, "--" not counted; 0 if one is wrong: argv[0]
 * always is one. What stands behind the program's name belongs to the program. */
static int own_arguments(run_t *run, const option_t *options, int argc, char **argv)
{
    int seen[32] = {0};
    int i        = 1;

    for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        for (int o = 0; options[o].name != NULL; o++) {
            const char *value = strchr(argv[i], '=');

            if (!is_option(&options[o], argv[i])) {
                continue;
            }
            value = value != NULL ? value + 1 : NULL;
            if (options[o].type != OPTION_FLAG && value == NULL && i + 1 < argc) {
                value = argv[++i];
            }
            if (take_option(run, &options[o], value, &seen[o]) != 0) {
                return 0;
            }
            break;
        }
    }
    return i;
}

/* ---- the library and the program ------------------------------------------------------------- */

static int prepare_library(run_t *run, const job_t *job, const char *name, const program_t *program)
{
    const family_t launcher = preload_launcher();
    family_t       family   = preload_choose(program);
    char           path[PATH_MAX];

    if (run->mpi != NULL) {
        family = strcmp(run->mpi, preload_names[FAMILY_MPICH]) == 0 ? FAMILY_MPICH : FAMILY_OPENMPI;
    } else if (launcher != FAMILY_UNKNOWN && launcher != family) {
        job_complain(job, "warning: %s is linked with %s, but the launcher is that of %s", name,
                     preload_families[family], preload_families[launcher]);
    }
    if (preload_find(family, path, sizeof(path), run->why, sizeof(run->why)) != 0 ||
        preload_set(path, run->why, sizeof(run->why)) != 0) {
        job_complain(job, "%s", run->why);
        return -1;
    }
    run->changed[run->changes++] = "LD_PRELOAD";
    if (strpbrk(path, " \t\n") != NULL) {
        run->changed[run->changes++] = "LD_LIBRARY_PATH";
    }
    return 0;
}

/* As a line for a shell. */
static void print_variable(const char *name, const char *value)
{
    printf("export %s='", name);
    for (; *value != '\0'; value++) {
        if (*value == '\'') {
            fputs("'\\'", stdout); /* out of the quotes and in again */
        }
        putchar(*value);
    }
    printf("'\n");
}

static int print_variables(const run_t *run, const job_t *job)
{
    for (size_t i = 0; i < run->changes && job->rank == 0; i++) {
        print_variable(run->changed[i], run_setting(run->changed[i]));
    }
    if (fflush(stdout) != 0) {
        job_complain(job, "the variables cannot be written: %s", strerror(errno));
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

static int not_executed(const job_t *job, const char *name, int wrong)
{
    job_complain(job, "%s: %s", name, wrong == ENOENT ? "no such program" : strerror(wrong));
    return wrong == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Programs that start MPI programs: the drop-in belongs into what they start. */
static int is_launcher(const char *program)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun",
                                        "srun",   "aprun",   "jsrun"};
    const char *name = strrchr(program, '/') != NULL ? strrchr(program, '/') + 1 : program;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i]);

        if (strncmp(name, names[i], length) == 0 && (name[length] == '\0' || name[length] == '.')) {
            return 1;
        }
    }
    return 0;
}

/* argv[0] is the program; NULL where there is none. Returns only if it could not be started. */
static int start_program(run_t *run, const job_t *job, char **argv)
{
    program_t program = {.is_static = 0, .family = FAMILY_UNKNOWN};
    char      path[PATH_MAX], pid[24];

    if (argv[0] != NULL) {
        const int wrong = program_find(argv[0], path, sizeof(path));

        if (wrong != 0) {
            return not_executed(job, argv[0], wrong);
        }
        program = program_look(path);
    }
    if (prepare_library(run, job, argv[0], &program) != 0) {
        return EXIT_USAGE;
    }
    if (program.is_static) {
        job_complain(
            job, "warning: %s is linked statically: nothing can be intercepted, it runs as it is",
            argv[0]);
    }
    if (run->print) {
        return print_variables(run, job);
    }
    /* The preload library says at the end of this very process if no MPI call came by. */
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    setenv("_THINWIRE_RUN_PID", pid, 1);
    execvp(argv[0], argv);
    return not_executed(job, argv[0], errno);
}

int run_main(job_t *job, int argc, char **argv)
{
    run_t          run       = {.verify = -1, .threads = -1};
    const option_t options[] = {
        {"--codec", "SPEC",
         "Codec of all that is eligible, see thinwire(7). Without codec and rules\n"
         "calls are only watched.",
         OPTION_TEXT, &run.codec, 0, 0},
        {"--threshold", "BYTES", "Shorter vectors are left as they are: 0, 4096, 64k, 1M, inf.",
         OPTION_TEXT, &run.threshold, 0, 0},
        {"--rule", "RULE",
         "A rule, such as 'allreduce:float:>=1M=tree8', 'comm=world:off'; may be\n"
         "repeated, the first match wins.",
         OPTION_TEXT, &run.rule, 0, 0},
        {"--rules", "FILE", "Rules from a file, after those of --rule.", OPTION_TEXT,
         &run.rules_file, 0, 0},
        {"--types", "LIST",
         "Integers that are 16-bit floats of the program, such as MPI_UINT16_T=bfloat16;\n"
         "with :sum, its own operations (MPI_Op_create) add them.",
         OPTION_TEXT, &run.types, 0, 0},
        {"--double", NULL, "Doubles, too, where a codec is named for no type.", OPTION_FLAG,
         &run.narrow, 0, 0},
        {"--max-error", "REL", "Error contract: rms of the error over rms of the exact result.",
         OPTION_TEXT, &run.max_error, 0, 0},
        {"--max-abs-error", "E",
         "The codec abs:E: results within E of the exact ones, in every call.", OPTION_TEXT,
         &run.max_abs_error, 0, 0},
        {"--verify", "N", "Verify one call in N; 0: none.", OPTION_COUNT, &run.verify, 0,
         1000000000},
        {"--error-feedback", NULL, "Add to each Allreduce what the one before of its shape lost.",
         OPTION_FLAG, &run.feedback, 0, 0},
        {"--pcontrol", NULL, "MPI_Pcontrol(0) and (1), called by all ranks, switch compression.",
         OPTION_FLAG, &run.pcontrol, 0, 0},
        {"--bcast-root", "WHAT",
         "What the root of a compressed broadcast goes on with: same, the values\n"
         "that the others have (default); exact, its own.",
         OPTION_TEXT, &run.bcast_root, 0, 0},
        {"--report", "FILE", "The report goes into FILE.", OPTION_TEXT, &run.report, 0, 0},
        {"--json", "FILE", "All that was counted, as one JSON object.", OPTION_TEXT, &run.json, 0,
         0},
        {"--record", "JOB",
         "Record the program's collectives, and what it computes between them, as a\n"
         "job for thinwire scale, thinwire-job(5).",
         OPTION_TEXT, &run.record, 0, 0},
        {"--quiet", NULL, "No report on the standard error.", OPTION_FLAG, &run.quiet, 0, 0},
        {"--threads", "N", "Threads of the codecs (1).", OPTION_COUNT, &run.threads, 1, 1024},
        {"--mpi", "NAME", "openmpi or mpich, where that is not found out.", OPTION_TEXT, &run.mpi,
         0, 0},
        {"--print", NULL, "Print the variables that would be set, and start nothing.", OPTION_FLAG,
         &run.print, 0, 0},
        {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};
    const command_t command = {
        USAGE,
        "Start an MPI program with the drop-in between it and MPI: its collectives are "
        "watched,\nor compressed with --codec or rules, and a report says what that gave.",
        "Example: mpirun -n 64 thinwire run --codec tree8 -- ./app input\n"
        "The manual is thinwire-run(1).",
        .options = options};
    options_result_t result = OPTIONS_BAD;
    const int        own    = own_arguments(&run, options, argc, argv);
    int              code   = EXIT_USAGE;

    *job =
        (job_t){.rank = launcher_rank(), .size = 1, .local_ranks = 1, .argc = argc, .argv = argv};
    if (own > 0) {
        result = options_parse(&command, own, argv, run.why, sizeof(run.why));
    }
    argv += own < argc && strcmp(argv[own], "--") == 0 ? own + 1 : own;
    if (result == OPTIONS_HELP) {
        if (job->rank == 0) {
            options_help(&command);
        }
        code = EXIT_OK;
    } else if (result == OPTIONS_BAD || run_check_values(&run) != 0) {
        job_complain(job, "%s", run.why);
    } else if (argv[0] == NULL && !run.print) {
        job_complain(job, "a program is missing; accepted: " USAGE);
    } else if (argv[0] != NULL && is_launcher(argv[0])) {
        job_complain(job,
                     "%s is a launcher; accepted: it starts thinwire run, which starts the "
                     "program: mpirun -n 4 thinwire run [OPTION...] -- PROGRAM [ARG...]",
                     argv[0]);
    } else if (run_set_variables(&run) != 0) {
        job_complain(job, "%s", run.why);
    } else if (run_check_settings(&run, job) == 0) {
        code = start_program(&run, job, argv);
    }
    if (code != EXIT_OK && job->rank > 0) { /* launchers end the job at the first that fails */
        usleep(SPEAKING_US);
    }
    free(run.rules);
    return code;
}
