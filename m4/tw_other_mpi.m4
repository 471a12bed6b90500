# SPDX-License-Identifier: BSD-3-Clause
# TW_MPI_LIBS(WRAPPER, LIBS): set LIBS to the flags that link WRAPPER's MPI library for C and Fortran, as
# it and the Fortran wrapper beside it tell them; Fortran's first.
AC_DEFUN([TW_MPI_LIBS], [
  $2=
  for wrapper in `AS_ECHO(["$1"]) | $SED 's/ .*//; s/mpicc\([[^/]]*\)$/mpifort\1/'` "$1"; do
    for word in `$wrapper -show 2>/dev/null`; do
      AS_CASE([$word], [-L*|-l*|-Wl,*|-pthread], [$2="$$2 $word"])
    done
  done
])
# TW_OTHER_MPI(WRAPPER, MACRO, HAVE, CFLAGS, LIBS): if WRAPPER is installed and its mpi.h defines MACRO, set the
# shell variable HAVE to yes, CFLAGS to the flags that find that mpi.h, and LIBS to its libraries.
AC_DEFUN([TW_OTHER_MPI], [
  other_flags=
  for word in `$1 -show 2>/dev/null`; do
    AS_CASE([$word], [-I*], [other_flags="$other_flags $word"])
  done
  other_flags=`AS_ECHO(["$other_flags"]) | $SED 's/-I/-isystem /g'`
  other_save=$CFLAGS; CFLAGS="$CFLAGS $other_flags"
  AC_MSG_CHECKING([for the mpi.h of $1])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#ifndef $2
#error other
#endif]])], [$3=yes; $4=$other_flags])
  CFLAGS=$other_save
  AS_IF([test $[]$3 = yes], [TW_MPI_LIBS([$1], [$5])])
  AC_MSG_RESULT([$]$3)
])
