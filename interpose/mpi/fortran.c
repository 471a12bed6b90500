/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/fortran.c - what is not generated: special addresses of Fortran; MPI_Pcontrol in
 * both languages, which has a variable list of arguments.
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>

#include "interpose/call.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/lifecycle.h"
#include "interpose/mpi/pending.h"
#include "interpose/mpi/wrap.h"

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

void tw_fortran_missing(const char *name, MPI_Fint *ierr)
{
    const int error = tw_missing(name);

    if (ierr != NULL) {
        *ierr = error;
    }
}

#ifdef OPEN_MPI

/* Where MPI_IN_PLACE and MPI_BOTTOM are, in every object that has them: a library that was loaded
 * privately has its own, and so may the MPI library, whose marks then nobody uses. Compilers spell
 * a common block's name in four ways. */
typedef struct tw_marks {
    unsigned long long loaded; /* tw_late_generation() by then */
    size_t             count;
    struct {
        const void *address;
        void       *means;
    } mark[256]; /* beyond, those that were loaded last are not known */
} tw_marks_t;

static tw_marks_t       tw_marks;
static pthread_rwlock_t tw_marks_lock = PTHREAD_RWLOCK_INITIALIZER;

static void tw_mark_add(tw_marks_t *marks, const void *address, void *means)
{
    for (size_t i = 0; i < marks->count && address != NULL; i++) {
        address = marks->mark[i].address != address ? address : NULL;
    }
    if (address != NULL && marks->count < sizeof(marks->mark) / sizeof(marks->mark[0])) {
        marks->mark[marks->count].address = address;
        marks->mark[marks->count++].means = means;
    }
}

static void tw_marks_of(void *library, void *arg)
{
    static const char *const in_place[4] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                            "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
    static const char *const bottom[4]   = {"mpi_fortran_bottom_", "mpi_fortran_bottom",
                                            "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"};

    for (size_t i = 0; i < 4; i++) {
        tw_mark_add(arg, dlsym(library, in_place[i]), MPI_IN_PLACE);
        tw_mark_add(arg, dlsym(library, bottom[i]), MPI_BOTTOM);
    }
}

void *tw_fortran_buffer(void *address)
{
    const unsigned long long loaded = tw_late_generation();
    void                    *means  = address;

    pthread_rwlock_rdlock(&tw_marks_lock);
    if (tw_marks.loaded != loaded) {
        tw_marks_t now = {.loaded = loaded};

        pthread_rwlock_unlock(&tw_marks_lock); /* a library that is being loaded may call MPI */
        tw_late_each(tw_marks_of, &now);
        pthread_rwlock_wrlock(&tw_marks_lock);
        tw_marks = now;
    }
    for (size_t i = 0; i < tw_marks.count; i++) {
        if (tw_marks.mark[i].address == address) {
            means = tw_marks.mark[i].means;
        }
    }
    pthread_rwlock_unlock(&tw_marks_lock);
    return means;
}

TW_EXPORT void mpi_pcontrol_(MPI_Fint *level);
TW_EXPORT void mpi_pcontrol_(MPI_Fint *level)
{
    MPI_Pcontrol((int)*level);
}
TW_ALIAS(mpi_pcontrol_f08_, mpi_pcontrol_, (MPI_Fint * level));

#else

TW_EXPORT void mpi_pcontrol_f08_(MPI_Fint *level);
TW_EXPORT void mpi_pcontrol_f08_(MPI_Fint *level)
{
    MPI_Pcontrol((int)*level);
}

#endif /* OPEN_MPI */
