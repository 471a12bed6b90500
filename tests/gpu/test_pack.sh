#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tests/gpu/test_pack.sh - a folder that tests/gpu/pack makes starts each of its programs where there is no make, no MPI, no
# compiler and no library of ours, up to the driver that is missing; and what cannot be packed is refused.
: "${top_builddir:?}" "${top_srcdir:?}"
pack=$top_srcdir/tests/gpu/pack
skipped() { echo "1..0 # SKIP $1"; exit 0; }
[ -n "${TW_ALL-}" ] || skipped "TW_ALL is not set: it builds and packs for half a minute"
grep -q '^#define HAVE_CUDNN 1' "$top_builddir/config.h" || skipped "built without CUDA, cuDNN or cuBLAS"
grep -q '^#define TW_BUILD_SANITIZE "no"' "$top_builddir/config.h" || skipped "built with sanitizers, which are not packed"
test "${TW_MPI:-}" = openmpi || skipped "the pack has Open MPI, which this build has not"
python3 -m pip --version >/dev/null 2>&1 || skipped "there is no python3 with pip"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export MAKEFLAGS=''
number=0
tell() { # STATUS NAME, and what there is to say if that is not 0
    number=$((number + 1))
    if test "$1" != 0; then
        printf '%s\n' "$3" | sed 's/^/# /'
        printf 'not '
    fi
    echo "ok $number - $2"
}

message=$(bash "$pack" --programs "$top_builddir" "$scratch/packed" 2>&1)
status=$?
[[ $message != *"pip cannot fetch"* ]] || skipped "${message#*tests/gpu/pack: }"
test $status = 0 && [[ $message == "packed: $scratch/packed, "* ]]
tell $? "a pack: ${message##*packed, }" "$status $message"

mkdir "$scratch/path" "$scratch/tmp"
for tool in awk basename bash cat chmod cp cut date df dirname grep head id mkdir mktemp nproc paste readlink rm sed sh sleep sort \
    tail tar timeout tr uname xz; do
    ln -s "$(command -v $tool)" "$scratch/path/$tool"
done
bare() { env -i PATH="$scratch/path" HOME="$scratch" TMPDIR="$scratch/tmp" OUT="$scratch/out" bash "$scratch/packed/run" "$@" 2>&1; }
message=$(bare --dry-run)
status=$?
test $status = 0 && test "$(grep -c '^ok .*_on_device starts: \|^ok .*/thinwire-train starts: ' <<<"$message")" = 11
tell $? "each program starts in an empty environment" "$status $message"

# What they would take from this system, where all of that is installed.
packed=$(echo "$scratch"/tmp/thinwire-gpu-*)
message=$(LD_LIBRARY_PATH=$packed/lib:$packed/mpi/lib ldd "$packed"/bin/* "$packed"/tests/gpu/*_on_device "$packed"/lib/* "$packed"/mpi/lib/*.so* |
    sed -n 's|^[[:space:]]*\(lib[^ ]*\) => \([^ ]*\).*|\1 \2|p' | grep -v " $packed/" | sort -u |
    grep -v '^lib\(c\|m\|pthread\|dl\|rt\|util\|stdc++\|gcc_s\)\.so')
test -z "$message"
tell $? "libraries that only the system has" "$message"

if ! "$top_builddir/tests/gpu/kernels_on_device" device >/dev/null; then
    message=$(bare kernels)
    status=$?
    test $status = 77 && grep -q '^1..0 # SKIP no CUDA device: ' <<<"$message" && test -s "$scratch/out/machine.log"
    tell $? "it stops for want of a device" "$status $message"
fi
message=$(bare cernels)
status=$?
test "$status $message" = "2 tests/gpu/run: --part 'cernels': accepted are kernels, sanitizer, ranks, train, measure"
tell $? "a part that there is not" "$status $message"

refuse() { # STATUS MESSAGE ARGUMENT...
    local want="$1 tests/gpu/pack: $2" got status
    shift 2
    got=$(bash "$pack" "$@" 2>&1)
    status=$?
    test "$status $got" = "$want"
    tell $? "refused: $*" "$status $got"
}
refuse 2 "unknown option '--wrong'; accepted: --programs BUILD-FOLDER, FOLDER" --wrong
refuse 1 "$scratch is no build folder; make one by ./quickstart build" --programs "$scratch"
echo '#undef HAVE_CUDNN' >"$scratch/config.h"
: >"$scratch/Makefile"
refuse 1 "$scratch is built without CUDA, cuDNN or cuBLAS (configure says why)" --programs "$scratch"
echo "1..$number"
