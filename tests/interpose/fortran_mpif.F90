! SPDX-License-Identifier: BSD-3-Clause
! tests/interpose/fortran_mpif.F90 - the drop-in under a program with `include 'mpif.h'`.
#define API_MPIF
#define BODY tw_fortran_mpif
#include "tests/interpose/fortran.inc"
