/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/policy.c - policy WORD...: a program that calls what its arguments say, and says
 * how the results differ from those of native MPI. It knows nothing of thinwire.
 *
 *     [i]OP[,WHAT...]    a collective: allreduce, ibcast, alltoallv ...; WHAT in any order:
 *                        float (default), double, complex, dcomplex, int;
 *                        the number of items (16384); x3: three times; root=1; uneven: counts of
 *                        the v-forms; data=huge, data=tiny, data=inf;
 *                        world (default), dup, other and halo (duplicates of it; the last has that
 *                        name for MPI too), again (of other), pair (ranks 0 and 1)
 *     pcontrol=0         MPI_Pcontrol
 *     info=SPEC[@COMM]   MPI_Comm_set_info with the key thinwire_codec; SPEC/SPEC: of rank 0 and
 *                        of the others; -: without the key
 *     dupinfo=SPEC       the communicator "dup" comes from MPI_Comm_dup_with_info
 *
 * For each call rank 0 prints one line: what was called, and "exact" or "rms R max M", where R is
 * rms(error) / rms(exact) over all ranks (the root of a broadcast left out) and M the largest
 * error. Or the first word is one of policy_more.c.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "tests/interpose/policy.h"

const char *const op_names[OPS] = {
    "allreduce", "bcast",      "reduce",   "reduce_scatter", "reduce_scatter_block",
    "allgather", "allgatherv", "alltoall", "alltoallv"};

/* ---- words --------------------------------------------------------------------------------- */

static struct {
    char     name[16];
    MPI_Comm comm;
} comms[8];

static MPI_Comm comm_make(const char *name)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int      rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(name, "dup") == 0 || strcmp(name, "halo") == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    } else if (strcmp(name, "other") == 0) {
        MPI_Request request;

        MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (strcmp(name, "again") == 0) {
        MPI_Comm_dup(comm_named("other"), &comm);
    } else if (strcmp(name, "pair") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &comm);
    }
    if (strcmp(name, "halo") == 0) {
        MPI_Comm_set_name(comm, "halo");
    }
    return comm;
}

static MPI_Comm *comm_slot(const char *name)
{
    size_t i = 0;

    while (comms[i].name[0] != '\0' && strcmp(comms[i].name, name) != 0) {
        i++;
    }
    if (comms[i].name[0] == '\0') {
        snprintf(comms[i].name, sizeof(comms[i].name), "%s", name);
        comms[i].comm = MPI_COMM_NULL;
    }
    return &comms[i].comm;
}

MPI_Comm comm_named(const char *name)
{
    MPI_Comm *slot;

    if (strcmp(name, "world") == 0) {
        return MPI_COMM_WORLD;
    }
    if (strlen(name) >= sizeof(comms[0].name)) {
        return MPI_COMM_NULL;
    }
    slot = comm_slot(name);
    if (*slot == MPI_COMM_NULL) {
        *slot = comm_make(name);
    }
    return *slot;
}

static bool read_type(const char *text, call_t *call)
{
    const struct {
        const char  *name;
        MPI_Datatype type;
        size_t       width;
        int          values;
    } types[] = {{"float", MPI_FLOAT, 4, 1},
                 {"double", MPI_DOUBLE, 8, 1},
                 {"complex", MPI_C_FLOAT_COMPLEX, 4, 2},
                 {"dcomplex", MPI_C_DOUBLE_COMPLEX, 8, 2},
                 {"int", MPI_INT, 4, 1}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(text, types[i].name) == 0) {
            call->type_name = types[i].name;
            call->type      = types[i].type;
            call->width     = types[i].width;
            call->values    = types[i].values;
            call->whole     = strcmp(text, "int") == 0;
            return true;
        }
    }
    return false;
}

static bool read_what(char *text, call_t *call)
{
    if (read_type(text, call)) {
        return true;
    }
    if (strcmp(text, "uneven") == 0) {
        call->uneven = true;
        return true;
    }
    if (text[0] >= '0' && text[0] <= '9') {
        call->count = atoi(text);
    } else if (text[0] == 'x') {
        call->times = atoi(text + 1);
    } else if (strncmp(text, "root=", 5) == 0) {
        call->root = atoi(text + 5);
    } else if (strncmp(text, "data=", 5) == 0) {
        call->data = text + 5;
    } else {
        call->comm_name = text;
        call->comm      = comm_named(text);
    }
    return call->comm != MPI_COMM_NULL;
}

bool call_read(char *word, call_t *call)
{
    char *part = strtok(word, ",");
    bool  fine = false;

    *call = (call_t){
        .count = 16384, .comm_name = "world", .comm = MPI_COMM_WORLD, .times = 1, .data = "normal"};
    read_type("float", call);
    for (int op = 0; op < OPS && part != NULL; op++) {
        const bool nonblocking = part[0] == 'i';

        if (strcmp(part + nonblocking, op_names[op]) == 0) {
            call->op          = (enum op)op;
            call->nonblocking = nonblocking;
            fine              = true;
        }
    }
    while (fine && (part = strtok(NULL, ",")) != NULL) {
        fine = read_what(part, call);
    }
    if (!fine) {
        printf("not understood: %s\n", part != NULL ? part : word);
    }
    return fine;
}

/* ---- words that are no calls --------------------------------------------------------------- */

/* SPEC or SPEC/SPEC. */
static MPI_Info make_info(const char *text)
{
    const char *second = strchr(text, '/');
    MPI_Info    info;
    char        spec[160];
    int         rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (second != NULL && rank > 0) {
        snprintf(spec, sizeof(spec), "%s", second + 1);
    } else {
        snprintf(spec, sizeof(spec), "%.*s", (int)strcspn(text, "/"), text);
    }
    MPI_Info_create(&info);
    if (strcmp(spec, "-") != 0) {
        MPI_Info_set(info, "thinwire_codec", spec);
    }
    return info;
}

static void set_info(const char *text)
{
    const char *at = strchr(text, '@');
    char        spec[160];
    MPI_Info    info;

    snprintf(spec, sizeof(spec), "%.*s", (int)strcspn(text, "@"), text);
    info = make_info(spec);
    MPI_Comm_set_info(comm_named(at != NULL ? at + 1 : "world"), info);
    MPI_Info_free(&info);
}

static void duplicate_with_info(const char *text)
{
    MPI_Info info = make_info(text);

    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, comm_slot("dup"));
    MPI_Info_free(&info);
}

static bool word(char *text)
{
    call_t call;

    if (strncmp(text, "pcontrol=", 9) == 0) {
        MPI_Pcontrol(atoi(text + 9));
    } else if (strncmp(text, "info=", 5) == 0) {
        set_info(text + 5);
    } else if (strncmp(text, "dupinfo=", 8) == 0) {
        duplicate_with_info(text + 8);
    } else if (call_read(text, &call)) {
        for (int i = 0; i < call.times; i++) {
            job_compare(&call);
        }
    } else {
        return false;
    }
    return true;
}

static int words(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!word(argv[i])) {
            return 1;
        }
    }
    for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
        if (comms[i].comm != MPI_COMM_NULL && comms[i].name[0] != '\0') {
            MPI_Comm_free(&comms[i].comm);
        }
    }
    return 0;
}

/* A program is asked for by its name: the ranks and the settings are the launcher's. */
static int program(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "means") == 0) {
        return means(argc - 2, argv + 2);
    }
    if (strcmp(name, "memory") == 0) {
        return memory(argc - 2, argv + 2);
    }
    if (strcmp(name, "threads") == 0) {
        return threads();
    }
    if (strcmp(name, "sites") == 0) {
        return sites();
    }
    if (strcmp(name, "leave") == 0) {
        return leave(argc - 2, argv + 2);
    }
    if (strcmp(name, "no-collectives") == 0) {
        return no_collectives();
    }
    if (strcmp(name, "in-place") == 0) {
        return in_place(argc - 2, argv + 2);
    }
    if (strcmp(name, "algorithms") == 0) {
        return algorithms();
    }
    if (strcmp(name, "every") == 0) {
        return every();
    }
    if (strcmp(name, "messages") == 0) {
        return messages();
    }
    if (strcmp(name, "roots") == 0) {
        return roots();
    }
    return words(argc, argv);
}

int main(int argc, char **argv)
{
    const bool threaded = argc > 1 && strcmp(argv[1], "threads") == 0;
    int        level, size, code = 1;

    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (threaded && level < MPI_THREAD_MULTIPLE) {
        printf("this MPI library has no MPI_THREAD_MULTIPLE\n");
        code = 77;
    } else if (size <= RANKS_MAX) {
        code = program(argc, argv);
    }
#if defined(__SANITIZE_ADDRESS__)
    __lsan_do_leak_check(); /* at exit the MPI library's components are unloaded, and so unnamed */
#endif
    MPI_Finalize();
    return code;
}
