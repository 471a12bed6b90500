dnl SPDX-License-Identifier: BSD-3-Clause
dnl TW_CHECK_CUDA: with_cuda is yes, no or guess. Sets have_cuda, CUDA_CFLAGS, CUDA_LIBS; "yes" fails
dnl loudly, "guess" must compile and link a program before it believes in a toolkit.
AC_DEFUN([TW_CHECK_CUDA], [
have_cuda=no
AS_IF([test "x$with_cuda" != xno], [
  AC_PATH_PROGS([NVCC], [nvcc], [none], [$PATH:/usr/local/cuda/bin])
  cuda_why="nvcc is not in PATH nor in /usr/local/cuda/bin"
  AS_IF([test "x$NVCC" != xnone], [
    cuda_top=`$NVCC -dryrun -E -x cu /dev/null 2>&1 | $SED -n 's/^#\$ _HERE_=//p'`/..
    for dir in lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib; do
      AS_IF([test "x$CUDA_LIBS" = x && test -f "$cuda_top/$dir/libcudart_static.a"], [
        CUDA_LIBS="-L$cuda_top/$dir -lcudart_static -lpthread -ldl -lrt"])
    done
    CUDA_CFLAGS="-isystem $cuda_top/include"
    save_CPPFLAGS=$CPPFLAGS; save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $CUDA_CFLAGS"; LIBS="$CUDA_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cuda_runtime_api.h>]],
        [[int n; return cudaGetDeviceCount(&n) != cudaSuccess;]])],
      [have_cuda=yes], [cuda_why="a program with cuda_runtime_api.h does not compile and link"])
    CPPFLAGS=$save_CPPFLAGS; LIBS=$save_LIBS
  ])
  AS_IF([test $have_cuda = no && test "x$with_cuda" = xyes],
    [AC_MSG_ERROR([--with-cuda=yes: $cuda_why])])
  AS_IF([test $have_cuda = no], [
    AC_MSG_NOTICE([building without CUDA: $cuda_why])
    CUDA_CFLAGS= CUDA_LIBS=
  ])
])
AS_IF([test $have_cuda = yes], [AC_DEFINE([HAVE_CUDA], [1], [the CUDA runtime is linked])])
AC_SUBST([CUDA_CFLAGS])
AC_SUBST([CUDA_LIBS])
AC_SUBST([have_cuda])
])
