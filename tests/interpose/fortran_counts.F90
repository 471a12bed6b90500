! SPDX-License-Identifier: BSD-3-Clause
! tests/interpose/fortran_counts.F90 - does this MPI library leave the program its array of counts? Open MPI
! 5.0.7 frees that of MPI_Ireduce_scatter from Fortran when a later nonblocking collective that has a derived
! type is complete, and glibc aborts. For fortran.sh, without the drop-in.
program main
  implicit none
  include 'mpif.h'
  integer, save :: counts(64) = 2
  real, save, asynchronous :: x(128) = 1, y(128)
  integer :: request, pairs, ierror

  call MPI_Init(ierror)
  call MPI_Ireduce_scatter(x, y, counts, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Type_contiguous(2, MPI_REAL, pairs, ierror)
  call MPI_Type_commit(pairs, ierror)
  call MPI_Ibcast(y, 1, pairs, 0, MPI_COMM_WORLD, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Type_free(pairs, ierror)
  call MPI_Finalize(ierror)
end program main
