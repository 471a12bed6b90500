/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/late.c - see late.h.
 */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/mpi/late.h"
#include "interpose/next.h"

#ifdef OPEN_MPI
const char *const tw_late_family = "Open MPI";
tw_late_t         tw_late;
#else
const char *const tw_late_family = "MPICH";
#endif

static void           *tw_late_library; /* where MPI was loaded privately */
static pthread_mutex_t tw_late_lock = PTHREAD_MUTEX_INITIALIZER;
static bool            tw_late_bound;

/* Names of the loaded objects. They are opened after the walk: the loader holds a lock during
 * it. */
typedef struct tw_late_names {
    char **name;
    size_t count, room;
} tw_late_names_t;

static int tw_late_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    tw_late_names_t *names = arg;
    char           **grown;

    (void)size;
    if (names->count == names->room) {
        grown = realloc(names->name, 2 * (names->room + 8) * sizeof(*grown));
        if (grown == NULL) {
            return 1;
        }
        names->name = grown;
        names->room = 2 * (names->room + 8);
    }
    names->name[names->count] = strdup(info->dlpi_name != NULL ? info->dlpi_name : "");
    names->count += names->name[names->count] != NULL ? 1 : 0;
    return 0;
}

void tw_late_each(void (*look)(void *library, void *arg), void *arg)
{
    tw_late_names_t names = {NULL, 0, 0};

    dl_iterate_phdr(tw_late_name, &names);
    for (size_t i = 0; i < names.count; i++) {
        const char *name    = *names.name[i] != '\0' ? names.name[i] : NULL; /* the program */
        void       *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);

        if (library != NULL) {
            look(library, arg);
            dlclose(library);
        }
        free(names.name[i]);
    }
    free(names.name);
}

static int tw_late_loads(struct dl_phdr_info *info, size_t size, void *sum)
{
    (void)size;
    *(unsigned long long *)sum = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

unsigned long long tw_late_generation(void)
{
    unsigned long long sum = 0;

    dl_iterate_phdr(tw_late_loads, &sum);
    return sum;
}

/* What is looked for in other libraries than this one. */
typedef struct tw_late_look {
    const char *name;
    void       *address;
} tw_late_look_t;

/* The library that an address is in stays loaded. */
static void *tw_late_hold(const void *address)
{
    Dl_info info = {0};

    return address != NULL && dladdr(address, &info) != 0
               ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : NULL;
}

static bool tw_late_is_ours(const void *address)
{
    Dl_info ours = {0}, other = {0};

    return dladdr((const void *)&tw_late_library, &ours) != 0 && dladdr(address, &other) != 0 &&
           ours.dli_fbase == other.dli_fbase;
}

static void tw_late_look(void *library, void *arg)
{
    tw_late_look_t *look    = arg;
    void           *address = look->address == NULL ? dlsym(library, look->name) : NULL;

    if (address != NULL && !tw_late_is_ours(address)) {
        look->address = address;
    }
}

/* Where it was loaded privately nothing else has it. */
static void *tw_late_private(void *address, const char *name)
{
    return address == NULL && tw_late_library != NULL ? dlsym(tw_late_library, name) : address;
}

void *tw_late_symbol(const char *name)
{
    return tw_late_private(dlsym(RTLD_NEXT, name), name);
}

void *tw_late_once(void **slot, const char *name)
{
    void *address = __atomic_load_n(slot, __ATOMIC_RELAXED);

    if (address == NULL) {
        address = tw_late_symbol(name);
        __atomic_store_n(slot, address, __ATOMIC_RELAXED);
    }
    return address;
}

void *tw_late_fortran(void **slot, const char *name, const void *site)
{
    tw_late_look_t look = {name, tw_late_once(slot, name)};
    void          *caller;

    if (look.address != NULL) {
        return look.address;
    }
    caller = tw_late_hold(site);
    if (caller != NULL) {
        tw_late_look(caller, &look);
        dlclose(caller);
    }
    if (look.address == NULL) {
        tw_late_each(tw_late_look, &look);
    }
    tw_late_hold(look.address);
    __atomic_store_n(slot, look.address, __ATOMIC_RELAXED);
    return look.address;
}

void *tw_late_variable(const char *name)
{
    return tw_late_private(dlsym(RTLD_DEFAULT, name), name);
}

static void tw_late_handles(void)
{
#ifdef OPEN_MPI
#define X(name) tw_late.name = tw_late_variable(#name);
    TW_LATE_LIST(X)
#undef X
#endif
}

/* The objects that the functions behind us are in. Written once, before tw_late_bound. */
#define TW_LATE_OBJECTS 8
static const void *tw_late_objects[TW_LATE_OBJECTS];

static void tw_late_find_objects(void)
{
    void *functions[sizeof(tw_next) / sizeof(void *)];
    int   count = 0;

    memcpy(functions, &tw_next, sizeof(functions));
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        Dl_info info  = {0};
        bool    known = functions[i] == NULL || dladdr(functions[i], &info) == 0;

        for (int k = 0; k < count && !known; k++) {
            known = tw_late_objects[k] == info.dli_fbase;
        }
        if (!known && count < TW_LATE_OBJECTS) {
            tw_late_objects[count++] = info.dli_fbase;
        }
    }
}

bool tw_late_behind(const void *site)
{
    Dl_info info = {0};

    if (dladdr(site, &info) == 0) {
        return false;
    }
    for (int k = 0; k < TW_LATE_OBJECTS && tw_late_objects[k] != NULL; k++) {
        if (tw_late_objects[k] == info.dli_fbase) {
            return true;
        }
    }
    return false;
}

int tw_late_bind(void)
{
    bool bound;

    if (__atomic_load_n(&tw_late_bound, __ATOMIC_ACQUIRE)) {
        return 1;
    }
    pthread_mutex_lock(&tw_late_lock);
    if (!tw_late_bound) {
        static unsigned long long searched;
        const unsigned long long  now = tw_late_generation();

        if (dlsym(RTLD_NEXT, "MPI_Init") == NULL && searched != now) {
            tw_late_look_t look = {"PMPI_Init", NULL};

            tw_late_each(tw_late_look, &look);
            tw_late_library = tw_late_hold(look.address);
            searched        = now;
        }
        if (tw_late_symbol("MPI_Init") != NULL) {
            tw_next_bind();
            tw_late_find_objects();
            tw_late_handles();
            __atomic_store_n(&tw_late_bound, true, __ATOMIC_RELEASE);
        }
    }
    bound = tw_late_bound;
    pthread_mutex_unlock(&tw_late_lock);
    return bound;
}

int tw_late_fits(const char *version)
{
#ifdef OPEN_MPI
    return strncmp(version, "Open MPI", 8) == 0;
#else
    /* The libraries that share MPICH's ABI since 2016. */
    static const char *const families[] = {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH", NULL};

    for (int i = 0; families[i] != NULL; i++) {
        if (strstr(version, families[i]) != NULL) {
            return 1;
        }
    }
    return 0;
#endif
}
