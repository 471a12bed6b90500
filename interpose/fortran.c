/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/fortran.c - special addresses of Fortran, and MPI_Pcontrol in both languages (it has a
 * variable list of arguments, so it stands outside the table).
 */
#include "config.h"

#include "interpose/call.h"
#include "interpose/wrap.h"

static void tw_pcontrol_set(int level)
{
    if (tw_active) {
        __atomic_store_n(&tw_pcontrol_off, level == 0, __ATOMIC_RELAXED);
    }
}

TW_EXPORT int MPI_Pcontrol(const int level, ...);
TW_EXPORT int MPI_Pcontrol(const int level, ...)
{
    static int (*next)(const int, ...);

    tw_ready();
    tw_pcontrol_set(level);
    if (next == NULL) {
        *(void **)&next = tw_late_symbol("MPI_Pcontrol");
    }
    return next(level);
}

#ifdef OPEN_MPI

/* Compilers spell a common block's name in four ways; the library defines some of them. */
typedef struct tw_marks {
    void *in_place[4], *bottom[4];
    int   filled;
} tw_marks_t;

static const tw_marks_t *tw_fortran_marks(void)
{
    static const char *const in_place[4] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                            "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
    static const char *const bottom[4]   = {"mpi_fortran_bottom_", "mpi_fortran_bottom",
                                            "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"};
    static tw_marks_t        marks;

    if (!__atomic_load_n(&marks.filled, __ATOMIC_ACQUIRE)) {
        for (size_t i = 0; i < 4; i++) {
            marks.in_place[i] = tw_late_variable(in_place[i]);
            marks.bottom[i]   = tw_late_variable(bottom[i]);
        }
        __atomic_store_n(&marks.filled, 1, __ATOMIC_RELEASE);
    }
    return &marks;
}

void *tw_fortran_buffer(void *address)
{
    const tw_marks_t *marks = tw_fortran_marks();

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
TW_EXPORT void mpi_pcontrol_(MPI_Fint *level) { MPI_Pcontrol((int)*level); }
TW_ALIAS(mpi_pcontrol, mpi_pcontrol_, (MPI_Fint * level));
TW_ALIAS(mpi_pcontrol__, mpi_pcontrol_, (MPI_Fint * level));
TW_ALIAS(MPI_PCONTROL, mpi_pcontrol_, (MPI_Fint * level));
TW_ALIAS(mpi_pcontrol_f08_, mpi_pcontrol_, (MPI_Fint * level));

#endif /* OPEN_MPI */
