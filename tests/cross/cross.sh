#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernels for arm64 (NEON) and ppc64le (VSX) against the scalar ones: base and codec are
# compiled with the build's flags, by the cross compilers of the distribution, and twins.c runs statically
# linked under qemu-user, as the oldest processor that the kernels are for. On a machine that is one
# of the two, its own compiler and no emulator. What is missing is skipped and named; ./quickstart
# check --cross installs it. TW_CFLAGS and VSX_CFLAGS are set by make.
set -u
top=${top_srcdir:?}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-cross.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
number=0

result() { # STATUS NAME [DIRECTIVE]: a TAP line
    number=$((number + 1))
    [ "$1" -eq 0 ] && echo "ok $number - $2${3:+ # $3}" || echo "not ok $number - $2"
}

# The build's, but for sanitizers, whose libraries a static program does not take.
flags=()
for flag in ${TW_CFLAGS:?}; do
    case $flag in
        -fsanitize=* | -fno-sanitize*) ;;
        *) flags+=("$flag") ;;
    esac
done

# sources ISA: base and codec without the kernels of other instruction sets.
sources() {
    local file
    for file in runtime/base/*.c runtime/base/*/*.c runtime/codec/*.c runtime/codec/*/*.c; do
        case $file in
            *_"$1".c | *_vec4.c) ;;
            *_avx2.c | *_avx512.c | *_neon.c | *_vsx.c) continue ;;
            runtime/codec/cuda/no_cuda.c) ;;
            runtime/codec/cuda/*) continue ;;
        esac
        echo "$file"
    done
    printf '%s\n' tests/cross/numbers.c tests/cross/twins.c
}

# compile ISA COMPILER ISA-FLAG...: $scratch/ISA/twins
compile() {
    local isa=$1 compiler=$2 dir=$scratch/$1
    shift 2
    mkdir -p "$dir"
    printf '#define _GNU_SOURCE 1\n#define HAVE_%s 1\n' "${isa^^}" >"$dir/config.h"
    (
        cd "$top" || exit 1
        export dir isa isa_flags="$*"
        # shellcheck disable=SC2016  # expanded by that shell
        sources "$isa" | xargs -P "$(nproc)" -n 1 bash -c '
            case ${!#} in *_"$isa".c | *_vec4.c) extra=$isa_flags ;; *) extra= ;; esac
            object=${!#//\//-}
            # shellcheck disable=SC2086  # words
            exec "${@:1:$#-1}" $extra -c "${!#}" -o "$dir/${object%.c}.o"' bash \
            "$compiler" "${flags[@]}" -O2 -g "-DTW_TWIN=\"$isa\"" -I"$dir" -I. -Iinclude || exit 1
        exec "$compiler" -static -o "$dir/twins" "$dir"/*.o -lm
    )
}

# twins ISA MACHINE COMPILER QEMU CPU PACKAGES ISA-FLAG...
twins() {
    local isa=$1 machine=$2 compiler=$3 qemu=$4 cpu=$5 packages=$6
    local name="$isa kernels on $machine equal the scalar ones" run=() status missing=()
    shift 6
    if [ "$(uname -m)" = "$machine" ]; then
        compiler=${CC%% *}
    else
        run=("$(command -v "$qemu" || command -v "$qemu-static")" -cpu "$cpu")
        [ -n "${run[0]}" ] || missing+=(qemu-user)
        # The C library's headers are a package of their own.
        echo '#include <stdio.h>' | "$compiler" -E - >/dev/null 2>&1 || missing+=("$packages")
    fi
    if [ ${#missing[@]} -gt 0 ]; then
        result 0 "$name" "SKIP not installed: ${missing[*]} (./quickstart check --cross does it)"
        return
    fi
    if ! compile "$isa" "$compiler" "$@" >"$scratch/log" 2>&1; then
        tail -n 30 "$scratch/log" | sed 's/^/# /'
        result 1 "$name"
        return
    fi
    timeout "${TW_TIME_LIMIT:-300}" ${run[@]+"${run[@]}"} "$scratch/$isa/twins" \
        </dev/null >"$scratch/log" 2>&1
    status=$?
    tail -n 40 "$scratch/log"
    [ $status -le 1 ] || echo "# status $status"
    result $status "$name"
}

echo 1..2
twins neon aarch64 aarch64-linux-gnu-gcc qemu-aarch64 cortex-a53 \
    "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
# shellcheck disable=SC2086  # words
twins vsx ppc64le powerpc64le-linux-gnu-gcc qemu-ppc64le power8 \
    "gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross" ${VSX_CFLAGS:?}
[ $number -eq 2 ]
