#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# missing.sh - what the trainer says, in one line, where something that a GPU needs is not there.
# shellcheck disable=SC2154  # set by make check
: "${top_builddir:?}" "${top_srcdir:?}"
# shellcheck source=tests/common.bash
. "$top_srcdir/tests/common.bash"
here=$(cd "$top_builddir/tests/gpu/standin" && pwd)
plan 7

# A copy of the program finds its libraries beside itself: links to all of them but those that are spoiled.
mkdir "$scratch/.libs"
cp "$here/test_gpu_memory" "$scratch/program"
fresh() {
    rm -f "$scratch"/.libs/*
    ln -s "$here"/.libs/lib*.so* "$scratch/.libs/"
}
spoil() { # NAME: a file that is no library
    rm -f "$scratch/.libs/$1"
    echo "no library" >"$scratch/.libs/$1"
}
says() { # LINE NAME=VALUE...: one line that begins so
    local line=$1
    shift
    env "$@" "$scratch/program" open >"$scratch/out" 2>&1
    if test "$?" -ne 1 || test "$(wc -l <"$scratch/out")" -ne 1 || [[ $(<"$scratch/out") != "$line"* ]]; then
        cat "$scratch/out"
        return 1
    fi
}
opens() { env "$scratch/program" open >"$scratch/out" && grep '^cuDNN 9\.0\.0 on GPU 0' "$scratch/out"; }
fresh
check "all is there" opens
check "no device" says "no GPU can be used: " STANDIN_DEVICES=0
check "an old device" says "GPU 0 (stand-in 0) has compute capability 7.0; accepted: 8.0 and later" STANDIN_MAJOR=7
check "cuDNN 8" says "libcudnn.so.9 is of version 80907, not of cuDNN 9" STANDIN_CUDNN=80907
check "cuDNN 10" says "libcudnn.so.9 is of version 100000, not of cuDNN 9" STANDIN_CUDNN=100000
spoil libcudnn.so.9
if ! grep -q '^#define TW_NVIDIA_LIBS ""' "$top_builddir/config.h"; then
    check "no cuDNN # SKIP configure has found pip's, which is taken" true
    check "no cuBLAS # SKIP configure has found pip's, which is taken" true
    exit
fi
check "no cuDNN" says "cuDNN 9 cannot be loaded: "
fresh
spoil libcublas.so.13
spoil libcublas.so.12
check "no cuBLAS" says "cuBLAS 13 or 12 cannot be loaded: "
