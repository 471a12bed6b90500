/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/fortran.c - what is not generated: special addresses of Fortran; MPI_Pcontrol in both
 * languages, which has a variable list of arguments.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>

#include "interpose/call.h"
#include "interpose/comms.h"
#include "interpose/lifecycle.h"
#include "interpose/pending.h"
#include "interpose/wrap.h"
#include "runtime/base/bytes.h"

static void tw_pcontrol_set(int level)
{
    if (tw_active && tw_state.config.pcontrol) {
        __atomic_store_n(&tw_pcontrol_off, level == 0, __ATOMIC_RELAXED);
    }
}

TW_EXPORT int MPI_Pcontrol(const int level, ...);
TW_EXPORT int MPI_Pcontrol(const int level, ...)
{
    static void *found;
    int (*next)(const int, ...);
    va_list rest;
    void   *words[4]; /* more than that no tool takes */

    tw_ready();
    tw_pcontrol_set(level);
    *(void **)&next = tw_late_once(&found, "MPI_Pcontrol");
    va_start(rest, level);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        words[i] = va_arg(rest, void *);
    }
    va_end(rest);
    return next(level, words[0], words[1], words[2], words[3]);
}

#ifdef OPEN_MPI

/* Addresses of the marks as one object sees them: a Fortran library that was loaded privately has
 * its own. Compilers spell a common block's name in four ways; objects have some of them. */
typedef struct tw_marks {
    struct tw_marks *next;
    void            *base; /* of the object */
    void            *in_place[4], *bottom[4];
} tw_marks_t;

#define TW_MARKS_BITS 8 /* 256 places of calls whose object is remembered */

static tw_marks_t     *tw_marks_list; /* they stay: read without the lock once found */
static pthread_mutex_t tw_marks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const void       *site;
    const tw_marks_t *marks;
} tw_marks_of_site[1 << TW_MARKS_BITS];

static void tw_marks_fill(tw_marks_t *marks, const Dl_info *info)
{
    static const char *const in_place[4] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                            "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
    static const char *const bottom[4]   = {"mpi_fortran_bottom_", "mpi_fortran_bottom",
                                            "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"};
    void                    *object =
        info->dli_fname != NULL ? dlopen(info->dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;

    for (size_t i = 0; i < 4; i++) {
        /* What all objects share comes before the object's own, as for the loader. */
        marks->in_place[i] = dlsym(RTLD_DEFAULT, in_place[i]);
        marks->bottom[i]   = dlsym(RTLD_DEFAULT, bottom[i]);
        if (marks->in_place[i] == NULL && object != NULL) {
            marks->in_place[i] = dlsym(object, in_place[i]);
        }
        if (marks->bottom[i] == NULL && object != NULL) {
            marks->bottom[i] = dlsym(object, bottom[i]);
        }
    }
    marks->base = info->dli_fbase; /* the object stays loaded: its handle is kept */
}

static const tw_marks_t *tw_marks_find(const void *site)
{
    tw_marks_t *found;
    Dl_info     info = {0};

    dladdr((void *)(uintptr_t)site, &info);
    pthread_mutex_lock(&tw_marks_lock);
    found = tw_marks_list;
    while (found != NULL && found->base != info.dli_fbase) {
        found = found->next;
    }
    if (found == NULL) {
        found = calloc(1, sizeof(*found));
        if (found == NULL) {
            tw_give_up(MPI_COMM_WORLD, "no memory for the marks of a Fortran library");
        }
        tw_marks_fill(found, &info);
        found->next   = tw_marks_list;
        tw_marks_list = found;
    }
    pthread_mutex_unlock(&tw_marks_lock);
    return found;
}

void *tw_fortran_buffer(const void *site, void *address)
{
    const size_t      slot  = tw_hash_word((uintptr_t)site, TW_MARKS_BITS);
    const tw_marks_t *marks = NULL;

    pthread_mutex_lock(&tw_marks_lock);
    marks = tw_marks_of_site[slot].site == site ? tw_marks_of_site[slot].marks : NULL;
    pthread_mutex_unlock(&tw_marks_lock);
    if (marks == NULL) {
        marks = tw_marks_find(site);
        pthread_mutex_lock(&tw_marks_lock);
        tw_marks_of_site[slot].site  = site;
        tw_marks_of_site[slot].marks = marks;
        pthread_mutex_unlock(&tw_marks_lock);
    }
    for (size_t i = 0; i < 4 && address != NULL; i++) {
        if (address == marks->in_place[i]) {
            return MPI_IN_PLACE;
        }
        if (address == marks->bottom[i]) {
            return MPI_BOTTOM;
        }
    }
    return address;
}

TW_EXPORT void mpi_pcontrol_(MPI_Fint *level);
TW_EXPORT void mpi_pcontrol_(MPI_Fint *level)
{
    MPI_Pcontrol((int)*level);
}
TW_ALIAS(mpi_pcontrol, mpi_pcontrol_, (MPI_Fint * level));
TW_ALIAS(mpi_pcontrol__, mpi_pcontrol_, (MPI_Fint * level));
TW_ALIAS(MPI_PCONTROL, mpi_pcontrol_, (MPI_Fint * level));
TW_ALIAS(mpi_pcontrol_f08_, mpi_pcontrol_, (MPI_Fint * level));

#else

TW_EXPORT void mpi_pcontrol_f08_(MPI_Fint *level);
TW_EXPORT void mpi_pcontrol_f08_(MPI_Fint *level)
{
    MPI_Pcontrol((int)*level);
}

#endif /* OPEN_MPI */
