dnl SPDX-License-Identifier: BSD-3-Clause
dnl TW_CHECK_UCX: with_ucx is yes, no or guess. Sets have_ucx, UCX_CFLAGS; "yes" fails loudly. Only the
dnl headers are needed to build: the library is loaded when a communicator asks for it.
AC_DEFUN([TW_CHECK_UCX], [
have_ucx=no
AS_IF([test "x$with_ucx" != xno], [
  PKG_CHECK_MODULES([UCX], [ucx >= 1.10], [have_ucx=yes], [have_ucx=no])
  ucx_why="UCX 1.10 or later not found; install libucx-dev (Debian, Ubuntu)"
  AS_IF([test $have_ucx = yes], [
    save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $UCX_CFLAGS"
    AC_CHECK_HEADER([ucp/api/ucp.h], [], [have_ucx=no; ucx_why="ucp/api/ucp.h does not compile"])
    CPPFLAGS=$save_CPPFLAGS
  ])
  AS_IF([test $have_ucx = no && test "x$with_ucx" = xyes], [AC_MSG_ERROR([--with-ucx=yes: $ucx_why])])
  AS_IF([test $have_ucx = no], [AC_MSG_NOTICE([building without UCX: $ucx_why])])
])
AS_IF([test $have_ucx = yes], [AC_DEFINE([HAVE_UCX], [1], [the UCX endpoint is built])], [UCX_CFLAGS=])
AC_SUBST([UCX_CFLAGS])
AC_SUBST([have_ucx])
])
