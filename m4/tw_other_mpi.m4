# SPDX-License-Identifier: BSD-3-Clause
# TW_OTHER_MPI(WRAPPER, MACRO, HAVE, CFLAGS): if WRAPPER is installed and its mpi.h defines MACRO, set the
# shell variable HAVE to yes and CFLAGS to the flags that find that mpi.h.
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
  AC_MSG_RESULT([$]$3)
])
