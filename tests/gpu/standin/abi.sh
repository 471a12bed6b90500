#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# abi.sh - the headers in include/ say what a toolkit's headers say, where one is installed: every number, the
# layouts, and (the stand-in's sources compile with them) every signature. CUDA_HOME: its folder, /usr/local/cuda.
# shellcheck disable=SC2154,SC2086,SC2028  # set by make check; CC may be several words; echo of bash
: "${top_builddir:?}" "${top_srcdir:?}" "${CC:?}"
# shellcheck source=tests/common.bash
. "$top_srcdir/tests/common.bash"
here=$top_srcdir/tests/gpu/standin
theirs=${CUDA_HOME:-/usr/local/cuda}/include
plan 3

# numbers HEADER: a program that prints all that has a number there.
numbers() {
    printf '#include <stddef.h>\n#include <stdio.h>\n#include <%s>\nint main(void)\n{\n' "$1"
    grep -oE '\b(cuda|CUBLAS_|CUDNN_)[A-Za-z0-9_]+ += +[0-9]+' "$here/include/$1" | sed 's/ *=.*//' | sort -u |
        sed 's/.*/    printf("& %d\\n", (int)&);/'
    grep -oE '^#define (cuda|CUDNN_LRN_)[A-Za-z0-9_]+ +[0-9][0-9a-fx.-]*$' "$here/include/$1" | sort -u |
        sed -E 's/#define ([^ ]*).*/    printf("\1 %g\\n", (double)\1);/'
    case $1 in
    cuda_*)
        for field in totalGlobalMem warpSize major multiProcessorCount surfaceAlignment concurrentKernels \
            managedMemory cooperativeLaunch reservedSharedMemPerBlock; do
            echo "    printf(\"$field %zu\\n\", offsetof(struct cudaDeviceProp, $field));"
        done
        for type in 'struct cudaDeviceProp' 'struct cudaPointerAttributes' cudaError_t cudaIpcMemHandle_t; do
            echo "    printf(\"$type %zu\\n\", sizeof($type));"
        done ;;
    cudnn.h)
        for type in cudnnConvolutionFwdAlgoPerf_t cudnnConvolutionBwdDataAlgoPerf_t cudnnConvolutionBwdFilterAlgoPerf_t; do
            echo "    printf(\"$type %zu %zu\\n\", sizeof($type), offsetof($type, mathType));"
        done ;;
    esac
    printf '    return 0;\n}\n'
}
# major HEADER FOLDER MACRO: its value there.
major() {
    printf '#include <%s>\n%s\n' "$1" "$3" | $CC -E -P -isystem "$2" - 2>"$scratch/major.log" | tail -n 1 | cut -c 1-2
}
same() { # HEADER SOURCE...
    local header=$1 source
    shift
    numbers "$header" >"$scratch/numbers.c"
    $CC -w -isystem "$here/include" -o "$scratch/ours" "$scratch/numbers.c" &&
        $CC -w -isystem "$theirs" -o "$scratch/theirs" "$scratch/numbers.c" || return 1
    "$scratch/ours" >"$scratch/ours.txt"
    "$scratch/theirs" >"$scratch/theirs.txt"
    test "$(wc -l <"$scratch/ours.txt")" -ge 10 && diff "$scratch/ours.txt" "$scratch/theirs.txt" || return 1
    for source in "$@"; do
        $CC -std=c11 -D_GNU_SOURCE -Werror -Wno-deprecated-declarations -fsyntax-only -I"$top_builddir" -I"$top_srcdir" \
            -isystem "$theirs" "$here/$source" || return 1
    done
}
compare() { # HEADER MACRO SOURCE...
    local header=$1 macro=$2 want
    shift 2
    want=$(major "$header" "$here/include" "$macro")
    if ! test -e "$theirs/$header"; then
        skip "$header is a toolkit's" "there is no $theirs/$header"
    elif test "$(major "$header" "$theirs" "$macro")" != "$want"; then
        skip "$header is a toolkit's" "$theirs/$header is not of version $want"
    else
        check "$header is a toolkit's" same "$header" "$@"
    fi
}
compare cuda_runtime_api.h CUDART_VERSION cudart_device.c cudart_graphs.c cudart_memory.c cudart_peers.c cudart_streams.c calls.c driver.c \
    memory.c queue.c shared.c
compare cublas_v2.h CUBLAS_VER_MAJOR cublas.c
compare cudnn.h CUDNN_MAJOR cudnn.c cudnn_convolution.c cudnn_layers.c
