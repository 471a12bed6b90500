/* SPDX-License-Identifier: BSD-3-Clause
 * tools/preload.c - which library, where it is, and how the dynamic loader is told.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "tools/preload.h"

#define PRELOAD "libthinwire-preload-"

#ifdef OPEN_MPI
#define FAMILY_BUILT_WITH FAMILY_OPENMPI
#else
#define FAMILY_BUILT_WITH FAMILY_MPICH
#endif

const char *const preload_names[FAMILIES + 1]    = {"openmpi", "mpich", NULL};
const char *const preload_families[FAMILIES + 1] = {"Open MPI", "MPICH", NULL};

family_t preload_launcher(void)
{
    /* PMI_SIZE alone may come from Slurm, for either library; the others are hydra's. */
    const int openmpi = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
    const int mpich   = getenv("PMI_SIZE") != NULL &&
                      (getenv("HYDI_CONTROL_FD") != NULL || getenv("MPI_LOCALNRANKS") != NULL);

    if (openmpi == mpich) { /* neither, or a launcher within the other's job */
        return FAMILY_UNKNOWN;
    }
    return openmpi ? FAMILY_OPENMPI : FAMILY_MPICH;
}

family_t preload_choose(const program_t *program)
{
    const family_t launcher = preload_launcher();

    if (program->family != FAMILY_UNKNOWN) { /* it agrees with the launcher, or knows better */
        return program->family;
    }
    return launcher != FAMILY_UNKNOWN ? launcher : FAMILY_BUILT_WITH;
}

static int is_present(const char *folder, family_t family, char *path, size_t size)
{
    const int n = snprintf(path, size, "%s/" PRELOAD "%s.so", folder, preload_names[family]);

    return folder[0] != '\0' && n > 0 && (size_t)n < size && access(path, R_OK) == 0;
}

int preload_find(family_t family, char *path, size_t size, char *why, size_t why_size)
{
    char folder[PATH_MAX];
    char other[PATH_MAX];

    program_beside("lib", folder, sizeof(folder));
    if (is_present(folder, family, path, size) || is_present(TW_LIBDIR, family, path, size)) {
        return 0;
    }
    for (int f = 0; f < FAMILIES; f++) {
        if (is_present(folder, (family_t)f, other, sizeof(other)) ||
            is_present(TW_LIBDIR, (family_t)f, other, sizeof(other))) {
            snprintf(why, why_size,
                     "no " PRELOAD "%s.so in %s or " TW_LIBDIR ": this thinwire was not built for "
                     "programs over %s, but for %s (see --mpi)",
                     preload_names[family], folder, preload_families[family], preload_families[f]);
            return -1;
        }
    }
    snprintf(why, why_size,
             "no " PRELOAD "%s.so in %s or " TW_LIBDIR
             ": this thinwire was built without the drop-in",
             preload_names[family], folder);
    return -1;
}

/* Is this entry of LD_PRELOAD a library whose file name begins so? */
static int begins_with(const char *entry, const char *name)
{
    const char *slash = strrchr(entry, '/');

    return strncmp(slash != NULL ? slash + 1 : entry, name, strlen(name)) == 0;
}

/* The library goes before what is preloaded already, except for a sanitizer's runtime, which
 * insists on being first. A library of ours that is there already is left out. */
static int compose_preload(const char *library, char *text, size_t size)
{
    const char *before  = getenv("LD_PRELOAD");
    char       *copy    = strdup(before != NULL ? before : "");
    char       *runtime = calloc(1, size), *others = calloc(1, size), *rest = NULL;
    int         n = -1;

    if (copy != NULL && runtime != NULL && others != NULL) {
        for (char *entry = strtok_r(copy, ": ", &rest); entry != NULL;
             entry       = strtok_r(NULL, ": ", &rest)) {
            if (begins_with(entry, "libasan.so") || begins_with(entry, "libtsan.so")) {
                snprintf(runtime + strlen(runtime), size - strlen(runtime), "%s:", entry);
            } else if (!begins_with(entry, PRELOAD)) {
                snprintf(others + strlen(others), size - strlen(others), ":%s", entry);
            }
        }
        n = snprintf(text, size, "%s%s%s", runtime, library, others);
    }
    free(copy);
    free(runtime);
    free(others);
    return n > 0 && (size_t)n < size ? 0 : -1;
}

/* Names in LD_PRELOAD end at a blank: the loader then has to search for the library. */
static int add_library_path(const char *path, const char *name)
{
    const char  *before = getenv("LD_LIBRARY_PATH");
    const int    length = (int)(name - path) - 1;
    const int    set    = before != NULL && before[0] != '\0';
    const size_t size   = strlen(path) + (set ? strlen(before) : 0) + 2;
    char        *text   = malloc(size);
    int          result = -1;

    if (text != NULL) {
        snprintf(text, size, "%.*s%s%s", length, path, set ? ":" : "", set ? before : "");
        result = setenv("LD_LIBRARY_PATH", text, 1);
        free(text);
    }
    return result;
}

int preload_set(const char *path, char *why, size_t why_size)
{
    const char  *before = getenv("LD_PRELOAD");
    const char  *name   = strrchr(path, '/') + 1;
    const int    blank  = strpbrk(path, " \t\n") != NULL;
    const size_t size   = strlen(path) + (before != NULL ? strlen(before) : 0) + 4;
    char        *text;
    int          status;

    if (strchr(path, ':') != NULL || (blank && strchr(path, ';') != NULL)) {
        snprintf(why, why_size, "%s: LD_PRELOAD has no way to say a path with a colon", path);
        return -1;
    }
    text   = malloc(size);
    status = text == NULL || compose_preload(blank ? name : path, text, size) != 0 ||
                     setenv("LD_PRELOAD", text, 1) != 0 ||
                     (blank && add_library_path(path, name) != 0)
                 ? -1
                 : 0;
    free(text);
    if (status != 0) {
        snprintf(why, why_size, "out of memory");
    }
    return status;
}
