! SPDX-License-Identifier: BSD-3-Clause
! A Fortran library that a program loads when it runs: special addresses, and what is only counted.
! TW_F08, TW_MPI or TW_MPIF says how it sees MPI. Errors end the job.
#ifdef TW_F08
#define TW_REQUEST type(MPI_Request)
#define TW_DATATYPE type(MPI_Datatype)
#else
#define TW_REQUEST integer
#define TW_DATATYPE integer
#endif
subroutine work() bind(c, name="work")
#if defined(TW_F08)
  use mpi_f08
#elif defined(TW_MPI)
  use mpi
#endif
  implicit none
#ifdef TW_MPIF
  include 'mpif.h'
#endif
  integer, parameter :: n = 20000
  integer :: rank, ranks, ierr, small(4), one(1), i
  integer(MPI_ADDRESS_KIND) :: address(1)
  integer, allocatable :: all(:)
  real, target, save :: x(n)
  logical :: up
  TW_REQUEST :: request
  TW_DATATYPE :: at

  call MPI_Initialized(up, ierr)
  if (.not. up) call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)

  small = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, small, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call right(all_are(real(small), 4, sum_of(ranks)), 'MPI_Allreduce of 4 integers in place')
  x = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
  call right(all_are(x, n, sum_of(ranks)), 'MPI_Allreduce in place')
  x = rank + 1
  call MPI_Iallreduce(MPI_IN_PLACE, x, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call right(all_are(x, n, sum_of(ranks)), 'MPI_Iallreduce in place')

  x = rank + 1
  call MPI_Get_address(x, address(1), ierr)
  call MPI_Type_create_hindexed(1, (/n/), address, MPI_REAL, at, ierr)
  call MPI_Type_commit(at, ierr)
  call MPI_Bcast(MPI_BOTTOM, 1, at, ranks - 1, MPI_COMM_WORLD, ierr)
  call right(all_are(x, n, real(ranks)), 'MPI_Bcast of MPI_BOTTOM')
  call MPI_Type_free(at, ierr)

  allocate(all(ranks))
  one = rank
  call MPI_Gather(one, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call right(rank > 0 .or. all(ranks) == ranks - 1, 'MPI_Gather')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Sendrecv(one, 1, MPI_INTEGER, mod(rank + 1, ranks), 1, small, 1, MPI_INTEGER, &
                    mod(rank + ranks - 1, ranks), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call right(small(1) == mod(rank + ranks - 1, ranks), 'MPI_Sendrecv')
  call MPI_Isend(one, 1, MPI_INTEGER, mod(rank + 1, ranks), 2, MPI_COMM_WORLD, request, ierr)
  call MPI_Recv(small, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 2, MPI_COMM_WORLD, &
                MPI_STATUS_IGNORE, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call right(small(1) == mod(rank + ranks - 1, ranks), 'MPI_Isend, MPI_Recv')
  if (.not. up) call MPI_Finalize(ierr)

contains

  real function sum_of(ranks)
    integer, intent(in) :: ranks
    sum_of = real(ranks * (ranks + 1) / 2)
  end function

  logical function all_are(v, n, wanted)
    integer, intent(in) :: n
    real, intent(in)    :: v(n), wanted
    all_are = .true.
    do i = 1, n
      if (v(i) /= wanted) all_are = .false.
    end do
  end function

  subroutine right(is, what)
    logical, intent(in)          :: is
    character(len=*), intent(in) :: what
    integer                      :: ierr
    if (.not. is) then
      print *, 'wrong: ', what
      call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    end if
  end subroutine
end subroutine work
