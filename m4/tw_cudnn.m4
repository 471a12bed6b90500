dnl SPDX-License-Identifier: BSD-3-Clause
dnl TW_CHECK_CUDNN: after TW_CHECK_CUDA. Sets have_cudnn: the headers of cuDNN 9 and cuBLAS are where the toolkit's
dnl are. The libraries themselves are loaded by thinwire-train when it is to compute on a GPU.
AC_DEFUN([TW_CHECK_CUDNN], [
have_cudnn=no
AS_IF([test $have_cuda = yes], [
  save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $CUDA_CFLAGS"
  AC_MSG_CHECKING([for cudnn.h of cuDNN 9 and cublas_v2.h])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <cublas_v2.h>
#include <cudnn.h>
#if CUDNN_MAJOR != 9
#error other
#endif]])], [have_cudnn=yes])
  AC_MSG_RESULT([$have_cudnn])
  CPPFLAGS=$save_CPPFLAGS
  AS_IF([test $have_cudnn = no],
    [AC_MSG_NOTICE([thinwire-train computes on processors only: the headers of cuDNN 9 or of cuBLAS are not there])])
])
AS_IF([test $have_cudnn = yes], [AC_DEFINE([HAVE_CUDNN], [1], [thinwire-train computes on GPUs, too])])
])
