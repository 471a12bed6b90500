dnl SPDX-License-Identifier: BSD-3-Clause
dnl TW_CHECK_SIMGRID: with_simgrid is yes, no or guess. Sets have_simgrid, SIMGRID_CFLAGS, SIMGRID_LIBS and
dnl SMPIRUN; "yes" fails loudly. The transport is then compiled once more, with SimGrid's mpi.h.
AC_DEFUN([TW_CHECK_SIMGRID], [
have_simgrid=no
SIMGRID_CFLAGS=
SIMGRID_LIBS=
AS_IF([test "x$with_simgrid" != xno], [
  AC_PATH_PROG([SMPICC], [smpicc], [none])
  AC_PATH_PROG([SMPIRUN], [smpirun], [none])
  simgrid_why="smpicc or smpirun not found; install libsimgrid-dev (Debian, Ubuntu)"
  AS_IF([test "x$SMPICC" != xnone && test "x$SMPIRUN" != xnone], [
    have_simgrid=yes
    for word in `$SMPICC -show 2>/dev/null`; do
      AS_CASE([$word], [-I*/smpi], [SIMGRID_CFLAGS=`AS_ECHO(["$word"]) | $SED 's/-I/-isystem /'`], [-L*], [SIMGRID_LIBS="$SIMGRID_LIBS $word"])
    done
    SIMGRID_LIBS="$SIMGRID_LIBS -lsimgrid"
    save_CFLAGS=$CFLAGS; save_LIBS=$LIBS
    CFLAGS="$CFLAGS $SIMGRID_CFLAGS"; LIBS="$LIBS $SIMGRID_LIBS"
    AC_MSG_CHECKING([whether a program links with SimGrid's MPI])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
#include <simgrid/actor.h>
#ifndef SMPI_H
#error another mpi.h
#endif]], [[sg_actor_sleep_for(MPI_Wtime());]])], [], [have_simgrid=no])
    AC_MSG_RESULT([$have_simgrid])
    CFLAGS=$save_CFLAGS; LIBS=$save_LIBS
    simgrid_why="a program with SimGrid's mpi.h does not link"
  ])
  AS_IF([test $have_simgrid = no && test "x$with_simgrid" = xyes], [AC_MSG_ERROR([--with-simgrid=yes: $simgrid_why])])
  AS_IF([test $have_simgrid = no], [AC_MSG_NOTICE([building without SimGrid: $simgrid_why])])
])
AS_IF([test $have_simgrid = yes],
  [AC_DEFINE([HAVE_SIMGRID], [1], [platforms of SimGrid can be simulated])
   AC_DEFINE_UNQUOTED([TW_SMPIRUN], ["$SMPIRUN"], [what starts SimGrid's MPI programs])])
AC_SUBST([SIMGRID_CFLAGS])
AC_SUBST([SIMGRID_LIBS])
AC_SUBST([have_simgrid])
])
