/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/late.h - MPI that is found when the program runs.
 *
 * The preload is compiled against the mpi.h of one family (its ABI) but linked with no MPI library:
 * it lives in programs that have none, or that load theirs late. Functions are looked up by name
 * (next.h). Open MPI's handles are addresses of variables in its library, so each use of one is
 * turned here into a look into a table that is filled when MPI is found; MPICH's are numbers.
 * Every file of the preload that sees mpi.h is compiled with this header included first.
 */
#ifndef TW_INTERPOSE_LATE_H
#define TW_INTERPOSE_LATE_H

#include <stdbool.h>

#include <mpi.h>

#ifdef OPEN_MPI

/* clang-format off */
/* The handles in use; a use of another one does not compile. */
#define TW_LATE_LIST(X)                                                                           \
    X(ompi_mpi_comm_null) X(ompi_mpi_comm_world) X(ompi_mpi_comm_self)                            \
    X(ompi_request_null) X(ompi_mpi_info_null)                             \
    X(ompi_mpi_datatype_null) X(ompi_mpi_op_null) X(ompi_mpi_op_sum) X(ompi_mpi_op_min)           \
    X(ompi_mpi_op_max) X(ompi_mpi_op_prod) X(ompi_mpi_op_land) X(ompi_mpi_op_band) X(ompi_mpi_op_lor)    \
    X(ompi_mpi_op_bor) X(ompi_mpi_op_lxor) X(ompi_mpi_op_bxor) X(ompi_mpi_op_minloc)             \
    X(ompi_mpi_op_maxloc) X(ompi_mpi_op_replace) X(ompi_mpi_op_no_op) X(ompi_mpi_errors_return)                                                  \
    X(ompi_mpi_short) X(ompi_mpi_unsigned_short) X(ompi_mpi_int16_t)                              \
    X(ompi_mpi_byte) X(ompi_mpi_int) X(ompi_mpi_uint16_t) X(ompi_mpi_uint64_t)                     \
    X(ompi_mpi_float) X(ompi_mpi_double) X(ompi_mpi_long_int) X(ompi_mpi_float_int) X(ompi_mpi_2real) X(ompi_mpi_2dblprec)                                                          \
    X(ompi_mpi_c_float_complex) X(ompi_mpi_c_double_complex)                                      \
    X(ompi_mpi_cxx_cplex) X(ompi_mpi_cxx_dblcplex)                                                \
    X(ompi_mpi_short_float)                                                                       \
    X(ompi_mpi_real) X(ompi_mpi_real4) X(ompi_mpi_real8) X(ompi_mpi_dblprec)                      \
    X(ompi_mpi_cplex) X(ompi_mpi_complex8) X(ompi_mpi_complex16) X(ompi_mpi_dblcplex)
/* clang-format on */

typedef struct tw_late {
#define X(name) void *name;
    TW_LATE_LIST(X)
#undef X
} tw_late_t;

extern tw_late_t tw_late;

#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)tw_late.global)

#endif /* OPEN_MPI */

/* The 16-bit floats of C, which are extensions: Open MPI 5 and MPICH have one, MPICH 4.3 both. */
#ifdef OPEN_MPI
#define TW_MPI_FLOAT16 OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_short_float)
#elif defined(MPIX_C_FLOAT16)
#define TW_MPI_FLOAT16 MPIX_C_FLOAT16
#else
#define TW_MPI_FLOAT16 MPI_DATATYPE_NULL
#endif
#ifdef MPIX_BFLOAT16
#define TW_MPI_BFLOAT16 MPIX_BFLOAT16
#else
#define TW_MPI_BFLOAT16 MPI_DATATYPE_NULL
#endif

/* Find the address of a name in the MPI library that the program uses: after this library in the
 * search order, so that another tool may stand between us and MPI, or, where a program has loaded
 * MPI privately (Python), in that library. NULL if there is none. */
void *tw_late_symbol(const char *name);

/* The same, asked once: *slot keeps the answer. Safe from any thread. */
void *tw_late_once(void **slot, const char *name);

/* The same for a function of Fortran's half, which may be private to the library that calls it from
 * `site` (f2py, plug-ins): there next, then in all that is loaded. */
void *tw_late_fortran(void **slot, const char *name, const void *site);

/* The same for a variable, which a program may hold a copy of that all libraries use instead. */
void *tw_late_variable(const char *name);

/* Look into every loaded object, of which `look` gets a handle (dlopen) for as long as it runs. */
void tw_late_each(void (*look)(void *library, void *arg), void *arg);

/* How often objects have been loaded and unloaded so far: nothing new can be found while it
 * stays. */
unsigned long long tw_late_generation(void);

/* Fill the tables of functions (next.h) and handles. Returns 0 if there is no MPI in the process.
 * Safe from any thread; quick once done. */
int tw_late_bind(void);

/* Is this place in the MPI library, or in a tool between us and it? What the program calls is its
 * own, wherever it calls from; Fortran's bindings, which call C ones for it, are no part. */
bool tw_late_behind(const void *site);

/* Name of the family this was compiled for: "Open MPI" or "MPICH". */
extern const char *const tw_late_family;

/* Is this the text of MPI_Get_library_version() of a library of our family? */
int tw_late_fits(const char *version);

#endif /* TW_INTERPOSE_LATE_H */
