! SPDX-License-Identifier: BSD-3-Clause
! tests/interpose/fortran_mpi.F90 - the drop-in under a program with `use mpi`.
#define API_MPI
#define BODY tw_fortran_mpi
#include "tests/interpose/fortran.inc"
