/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/libraries.c - see libraries.h.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/compute/cuda/libraries.h"

typedef struct tw_symbol {
    const char *name;
    void       *at; /* of a pointer to the function */
} tw_symbol_t;

/* By its name where the loader looks, then in the folders where configure has found the headers. */
static void *load_name(const char *name, const char **why_p)
{
    const char *folder  = TW_NVIDIA_LIBS;
    void       *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    char        path[4096];

    *why_p = library == NULL ? dlerror() : NULL;
    while (library == NULL && *folder != '\0') {
        const int length = (int)strcspn(folder, ":");

        (void)snprintf(path, sizeof(path), "%.*s/%s", length, folder, name);
        if (access(path, R_OK) == 0) {
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            *why_p  = library == NULL ? dlerror() : NULL;
        }
        folder += length;
        folder += *folder == ':';
    }
    return library;
}

/* The first of the names that can be loaded. A library that needs others may be there without them:
 * the last reason is told. NULL with the problem set. */
static void *load(const char *what, const char *const *names, tw_problem_t *problem)
{
    void       *library = NULL;
    const char *why     = NULL;

    for (int i = 0; names[i] != NULL && library == NULL; i++) {
        library = load_name(names[i], &why);
    }
    if (library == NULL) {
        (void)tw_problem_machine(problem, "%s cannot be loaded: %s", what,
                                 why != NULL ? why : "unknown reason");
    }
    return library;
}

static int libraries_find(const char *what, void *library, const tw_symbol_t *symbol, size_t count,
                          tw_problem_t *problem)
{
    for (size_t i = 0; i < count; i++) {
        void *const function = dlsym(library, symbol[i].name);

        if (function == NULL) {
            return tw_problem_machine(problem, "%s has no %s", what, symbol[i].name);
        }
        memcpy(symbol[i].at, &function, sizeof(function));
    }
    return 0;
}

#define TW_CUDNN_SYMBOL(name)        {#name, &libraries->dnn.name},
#define TW_CUBLAS_SYMBOL(call, name) {#name, &libraries->blas.call},

static int load_dnn(tw_libraries_t *libraries, tw_problem_t *problem)
{
    static const char *const names[] = {"libcudnn.so.9", NULL};
    const tw_symbol_t        all[]   = {TW_CUDNN_FUNCTIONS(TW_CUDNN_SYMBOL)};
    void *const              library = load("cuDNN 9", names, problem);

    if (library == NULL || libraries_find("libcudnn.so.9", library, all, 1, problem) != 0) {
        return -1;
    }
    libraries->dnn_version = libraries->dnn.cudnnGetVersion();
    if (libraries->dnn_version / 10000 != CUDNN_MAJOR) {
        return tw_problem_machine(problem, "libcudnn.so.9 is of version %zu, not of cuDNN %d",
                                  libraries->dnn_version, CUDNN_MAJOR);
    }
    return libraries_find("libcudnn.so.9", library, all, sizeof(all) / sizeof(all[0]), problem);
}

static int load_blas(tw_libraries_t *libraries, tw_problem_t *problem)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", NULL};
    const tw_symbol_t        all[]   = {TW_CUBLAS_FUNCTIONS(TW_CUBLAS_SYMBOL)};
    void *const              library = load("cuBLAS 13 or 12", names, problem);

    return library == NULL
               ? -1
               : libraries_find("libcublas", library, all, sizeof(all) / sizeof(all[0]), problem);
}

int tw_libraries_load(tw_libraries_t *libraries, tw_problem_t *problem)
{
    return load_dnn(libraries, problem) == 0 ? load_blas(libraries, problem) : -1;
}
