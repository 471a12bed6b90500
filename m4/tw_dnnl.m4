dnl SPDX-License-Identifier: BSD-3-Clause
dnl TW_CHECK_DNNL: oneDNN 2 or 3, which computes convolutions. Sets DNNL_LIBS and dnnl_major, or fails.
dnl A copy outside of the system's folders is named by CPPFLAGS and LDFLAGS.
AC_DEFUN([TW_CHECK_DNNL], [
dnnl_how="install libdnnl-dev (Debian, Ubuntu), or name its folders by CPPFLAGS and LDFLAGS"
AC_CHECK_HEADER([dnnl_version.h], [], [AC_MSG_ERROR([oneDNN not found: no dnnl_version.h; $dnnl_how])])
AC_CHECK_LIB([dnnl], [dnnl_engine_create], [DNNL_LIBS=-ldnnl],
  [AC_MSG_ERROR([oneDNN not found: no libdnnl; $dnnl_how])])
AC_MSG_CHECKING([oneDNN's version])
AC_COMPUTE_INT([dnnl_major], [DNNL_VERSION_MAJOR], [[#include <dnnl_version.h>]], [dnnl_major=0])
AC_MSG_RESULT([$dnnl_major])
AS_CASE([$dnnl_major], [2|3], [],
  [AC_MSG_ERROR([oneDNN $dnnl_major found, but its versions 2 and 3 are what this is written for])])
AC_SUBST([DNNL_LIBS])
])
