# TW_MPI_FORTRAN - MPIFC: the Fortran wrapper of the same MPI as $MPICC, for tests only. Sets
# have_fortran to yes where a program with mpi_f08 links with it.
AC_DEFUN([TW_MPI_FORTRAN], [
AC_ARG_VAR([MPIFC], [MPI Fortran wrapper (tests only)])
have_fortran=no
AS_IF([test "x$MPIFC" = x], [
  mpi_suffix=`AS_ECHO(["$MPICC"]) | $SED 's/ .*//; s/.*mpicc//'`
  AS_CASE([$MPICC], [/*], [mpi_path=`AS_DIRNAME(["$MPICC"])`:$PATH], [mpi_path=$PATH])
  AC_CHECK_PROGS([MPIFC], [mpifort$mpi_suffix mpif90$mpi_suffix], [none], [$mpi_path])
])
AC_MSG_CHECKING([whether $MPIFC makes programs with mpi_f08])
cat >conftest.f90 <<_TWEOF
program main
  use mpi_f08
  call MPI_Init()
end program main
_TWEOF
# A wrapper of another MPI would make programs that do not start under $MPIRUN.
AS_CASE([`$MPICC -show 2>/dev/null`], [*mpich*], [mpi_kind=mpich], [mpi_kind=other])
AS_CASE([`$MPIFC -show 2>/dev/null`], [*mpich*], [fortran_kind=mpich], [fortran_kind=other])
AS_IF([test $mpi_kind = $fortran_kind && $MPIFC -o conftest.fortran conftest.f90 >&AS_MESSAGE_LOG_FD 2>&1],
  [have_fortran=yes])
rm -f conftest.f90 conftest.fortran
AC_MSG_RESULT([$have_fortran])
AM_CONDITIONAL([FORTRAN], [test $have_fortran = yes])
])
