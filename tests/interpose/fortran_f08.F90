! SPDX-License-Identifier: BSD-3-Clause
! tests/interpose/fortran_f08.F90 - the drop-in under a program with `use mpi_f08`.
#define API_F08
#define BODY tw_fortran_f08
#include "tests/interpose/fortran.inc"
