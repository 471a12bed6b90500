dnl SPDX-License-Identifier: BSD-3-Clause
dnl TW_CHECK_CUDA: with_cuda is yes, no or guess. Sets have_cuda, CUDA_CFLAGS, CUDA_LIBS, NVCC_GENCODE,
dnl NVCC_WERROR; "yes" fails loudly, "guess" must compile a kernel and link it with a program before it
dnl believes in a toolkit. NVCC_GENCODE may be given.
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
    dnl Machine code for A100, H100, B200 and RTX Blackwell, those that this nvcc knows, and what a driver can
    dnl translate for whatever comes after them.
    AS_IF([test "x$NVCC_GENCODE" = x], [
      cuda_known=" `$NVCC --list-gpu-code 2>/dev/null | tr '\n' ' '` "
      for cuda_sm in 80 90 100 120; do
        AS_CASE([$cuda_known], [*" sm_$cuda_sm "*], [
          NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$cuda_sm,code=sm_$cuda_sm"
          cuda_last=$cuda_sm])
      done
      NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$cuda_last,code=compute_$cuda_last"])
    for cuda_sm in `AS_ECHO(["$NVCC_GENCODE"]) | $SED 's/[[^0-9]][[^0-9]]*/ /g'`; do
      AS_IF([test $cuda_sm -lt 80],
        [AC_MSG_ERROR([NVCC_GENCODE names compute capability $cuda_sm; accepted: 80 and later])])
    done
    AC_MSG_CHECKING([whether $NVCC compiles a kernel that $CC links])
    cuda_why="nvcc does not compile a kernel with $NVCC_GENCODE (config.log says why)"
    AS_ECHO(["__global__ static void kernel(unsigned *p) { *p = __reduce_max_sync(~0u, threadIdx.x); }
extern \"C\" void start(unsigned *p) { kernel<<<1, 1>>>(p); }"]) >conftest_kernel.cu
    AS_IF([$NVCC $NVCC_GENCODE \
        --compiler-options -fPIC,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics -c -o conftest_kernel.o conftest_kernel.cu >&AS_MESSAGE_LOG_FD 2>&1], [
      LIBS="conftest_kernel.o $LIBS"
      cuda_why="a program with a kernel and cuda_runtime_api.h does not compile and link"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cuda_runtime_api.h>
void start(unsigned *p);]], [[int n; unsigned m; start(&m); return cudaGetDeviceCount(&n) != cudaSuccess;]])],
        [have_cuda=yes])
    ])
    rm -f conftest_kernel.cu conftest_kernel.o
    AC_MSG_RESULT([$have_cuda])
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
NVCC_WERROR=
AS_IF([test "x$enable_werror" = xyes], [NVCC_WERROR="--Werror all-warnings"])
AC_SUBST([NVCC_WERROR])
AC_SUBST([CUDA_CFLAGS])
AC_SUBST([CUDA_LIBS])
AC_SUBST([have_cuda])
])
