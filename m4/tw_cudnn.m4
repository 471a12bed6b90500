dnl SPDX-License-Identifier: BSD-3-Clause
dnl TW_CHECK_CUDNN: after TW_CHECK_CUDA. Sets have_cudnn: the headers of cuDNN 9 and cuBLAS are where the toolkit's
dnl are, or where pip has put them for PyTorch (nvidia/*/include in site-packages); and cudnn_where, which of both. The
dnl libraries themselves are loaded by thinwire-train when it is to compute on a GPU: those of pip from where they
dnl are, if the loader knows no other (TW_NVIDIA_LIBS, folders with colons between them).
AC_DEFUN([TW_CHECK_CUDNN], [
have_cudnn=no
cudnn_where=no
nvidia_libs=
AS_IF([test $have_cuda = yes], [
  save_CPPFLAGS=$CPPFLAGS
  nvidia_cflags=
  for cudnn_try in toolkit site-packages; do
    AS_IF([test $have_cudnn = no], [
      AS_IF([test $cudnn_try = site-packages], [
        for dir in `python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null`; do
          for dir in "$dir"/*/include; do
            AS_IF([test -f "$dir/cudnn.h" || test -f "$dir/cublas_v2.h"], [
              nvidia_cflags="$nvidia_cflags -isystem $dir"
              nvidia_libs="$nvidia_libs${nvidia_libs:+:}${dir%/include}/lib"])
          done
        done
      ])
      AC_MSG_CHECKING([for cudnn.h of cuDNN 9 and cublas_v2.h in the $cudnn_try])
      CPPFLAGS="$save_CPPFLAGS $CUDA_CFLAGS $nvidia_cflags"
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <cublas_v2.h>
#include <cudnn.h>
#if CUDNN_MAJOR != 9
#error other
#endif]])], [have_cudnn=yes cudnn_where="yes, of the $cudnn_try"])
      AC_MSG_RESULT([$have_cudnn])
    ])
  done
  CPPFLAGS=$save_CPPFLAGS
  AS_IF([test $have_cudnn = yes], [CUDA_CFLAGS="$CUDA_CFLAGS$nvidia_cflags"], [
    nvidia_libs=
    AC_MSG_NOTICE([thinwire-train computes on processors only: the headers of cuDNN 9 or of cuBLAS are not there])])
])
AC_DEFINE_UNQUOTED([TW_NVIDIA_LIBS], ["$nvidia_libs"], [where pip has put cuDNN and cuBLAS, if their headers are from there])
AS_IF([test $have_cudnn = yes], [AC_DEFINE([HAVE_CUDNN], [1], [thinwire-train computes on GPUs, too])])
])
