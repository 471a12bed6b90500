/* SPDX-License-Identifier: BSD-3-Clause
 * tools/mpi_library.c - library, fabric and CUDA awareness.
 *
 * Fabric: MPICH names its device in the version text. Open MPI does not say; but after MPI_Init the
 * control variables of those components that were not chosen are gone, so that the ones which are
 * left name the message layer (pml_<x>_...) and the byte transports (btl_<x>_...) that are loaded.
 */
#include "config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <mpi.h>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif

#include "tools/mpi_library.h"

#define PROBE_SECONDS 20

typedef struct found {
    char pml[32];  /* "ob1"          */
    char btl[128]; /* "self vader"   */
    char mtl[64];
} found_t;

/* "pml_ob1_priority" with layer "pml" gives "ob1"; not for the layer's own variables. */
static int is_component(const char *variable, const char *layer, char *name, size_t size)
{
    const size_t prefix = strlen(layer);
    size_t       length;

    if (strncmp(variable, layer, prefix) != 0 || variable[prefix] != '_') {
        return 0;
    }
    length = strcspn(variable + prefix + 1, "_");
    if (variable[prefix + 1 + length] == '\0' || length >= size ||
        strncmp(variable + prefix + 1, "base_", 5) == 0) {
        return 0;
    }
    memcpy(name, variable + prefix + 1, length);
    name[length] = '\0';
    return 1;
}

static void add_word(char *list, size_t size, const char *word)
{
    char padded[256], item[64];

    snprintf(padded, sizeof(padded), " %s ", list);
    snprintf(item, sizeof(item), " %s ", word);
    if (strstr(padded, item) == NULL) {
        const size_t used = strlen(list);

        snprintf(list + used, size - used, "%s%s", used > 0 ? " " : "", word);
    }
}

static void scan_variables(found_t *found)
{
    int count, provided;

    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        return;
    }
    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char         name[256], component[32];
        int          name_size = sizeof(name), verbosity, binding, scope, none = 0;
        MPI_Datatype type;
        MPI_T_enum   values;

        if (MPI_T_cvar_get_info(i, name, &name_size, &verbosity, &type, &values, NULL, &none,
                                &binding, &scope) != MPI_SUCCESS) {
            continue;
        }
        if (is_component(name, "pml", component, sizeof(component))) {
            add_word(found->pml, sizeof(found->pml), component);
        } else if (is_component(name, "btl", component, sizeof(component))) {
            add_word(found->btl, sizeof(found->btl), component);
        } else if (is_component(name, "mtl", component, sizeof(component))) {
            add_word(found->mtl, sizeof(found->mtl), component);
        }
    }
    MPI_T_finalize();
}

static void describe_open_mpi(const found_t *found, char *text, size_t size)
{
    const char *tls = getenv("UCX_TLS");

    if (strcmp(found->pml, "ob1") == 0 && found->btl[0] != '\0') {
        snprintf(text, size, "pml ob1, over one of the loaded btl per peer: %s", found->btl);
    } else if (strcmp(found->pml, "ucx") == 0) {
        snprintf(text, size, "pml ucx, which chooses its transports itself (UCX_TLS=%s)",
                 tls != NULL ? tls : "not set");
    } else if (strcmp(found->pml, "cm") == 0 && found->mtl[0] != '\0') {
        snprintf(text, size, "pml cm, over one of the loaded mtl: %s", found->mtl);
    } else if (found->pml[0] != '\0') {
        snprintf(text, size, "pml %s", found->pml);
    } else {
        snprintf(text, size, "unknown (Open MPI shows no pml among its control variables)");
    }
}

static void describe_fabric(const char *version, mpi_library_t *facts)
{
    static const char mark[] = "MPICH Device:";
    const char       *device = strstr(version, mark);
    found_t           found  = {"", "", ""};

    if (device != NULL) {
        device += sizeof(mark) - 1;
        device += strspn(device, " \t");
        snprintf(facts->fabric, sizeof(facts->fabric), "device %.*s", (int)strcspn(device, "\n"),
                 device);
    } else if (strncmp(version, "Open MPI", 8) == 0) {
        scan_variables(&found);
        describe_open_mpi(&found, facts->fabric, sizeof(facts->fabric));
    } else {
        snprintf(facts->fabric, sizeof(facts->fabric),
                 "unknown (thinwire does not know this MPI library)");
    }
}

static void describe_cuda(mpi_library_t *facts)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT) || defined(MPIX_GPU_SUPPORT_CUDA)
    snprintf(facts->cuda_aware, sizeof(facts->cuda_aware), "%s",
             MPIX_Query_cuda_support() ? "yes" : "no");
#else
    snprintf(facts->cuda_aware, sizeof(facts->cuda_aware), "unknown");
#endif
}

/* MPI is initialised. */
static void describe_mpi(mpi_library_t *facts)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int  length;

    MPI_Get_library_version(version, &length);
    describe_fabric(version, facts);
    describe_cuda(facts);
}

/* Child: start MPI as one rank, and send what it says through the pipe. */
static _Noreturn void probe_child(int out, mpi_library_t *facts)
{
    ssize_t written;

    if (freopen("/dev/null", "w", stderr) == NULL || freopen("/dev/null", "w", stdout) == NULL) {
        _exit(1);
    }
    MPI_Init(NULL, NULL);
    describe_mpi(facts);
    written = write(out, facts, sizeof(*facts));
    MPI_Finalize();
    _exit(written == (ssize_t)sizeof(*facts) ? 0 : 1);
}

static int read_answer(int in, mpi_library_t *facts)
{
    struct pollfd ready = {in, POLLIN, 0};

    return poll(&ready, 1, PROBE_SECONDS * 1000) == 1 &&
                   read(in, facts, sizeof(*facts)) == (ssize_t)sizeof(*facts)
               ? 0
               : -1;
}

static void probe_mpi(mpi_library_t *facts)
{
    mpi_library_t answer = *facts;
    int           ends[2], well;
    pid_t         child;

    if (pipe(ends) != 0) {
        return;
    }
    fflush(NULL);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        probe_child(ends[1], &answer);
    }
    close(ends[1]);
    well = child > 0 && read_answer(ends[0], &answer) == 0;
    close(ends[0]);
    if (child > 0) {
        if (!well) {
            kill(child, SIGKILL);
        }
        waitpid(child, NULL, 0);
    }
    if (well) {
        *facts = answer;
    }
}

void mpi_library_get(mpi_library_t *facts, const job_t *job)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int  length;

    MPI_Get_library_version(version, &length);
    snprintf(facts->library, sizeof(facts->library), "%.*s", (int)strcspn(version, "\n"), version);
    for (char *c = facts->library; *c != '\0'; c++) {
        *c = *c == '\t' ? ' ' : *c;
    }
    snprintf(facts->cuda_aware, sizeof(facts->cuda_aware), "unknown");
    snprintf(facts->fabric, sizeof(facts->fabric),
             "unknown (MPI does not start here without mpirun)");
    if (job->mpi) {
        describe_mpi(facts);
    } else {
        probe_mpi(facts);
    }
}
