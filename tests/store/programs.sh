#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of tests/mpi, compiled with sockets/mpi.h and started without mpirun: the same cases over TCP. With TW_ALL
# all that need no other MPI, on 1, 2, 3, 4 and 7 ranks (TW_RANKS overrides).
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
programs="agreement request"
# Not neighbours (wildcards), timeout (windows), disorder (persistent sends), arguments (intercommunicators).
[ -z "${TW_ALL-}" ] || programs="agreement auto auto_agreed counters feedback feedback_damage feedback_file feedback_use fuzz grid \
    hierarchical independence leaving movement node reduction request rows thread"
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
! sanitized || skip_all "it compiles without sanitizers"
archive=$top_builddir/runtime/.libs/libtw_store.a
[ -e "$archive" ] || skip_all "the library without MPI is not built: CC is an MPI wrapper"
by_ucx=request
[ -z "${TW_ALL-}" ] || by_ucx="movement reduction request fuzz independence counters leaving thread"
grep -q '^#define HAVE_UCX 1' "$top_builddir/config.h" || by_ucx=
plan "$(wc -w <<<"$programs $by_ucx")"
[ -n "${TW_ALL-}" ] || export TW_RANKS=${TW_RANKS:-3}

compiled() { # OUTPUT SOURCE... with options of gcc
    # shellcheck disable=SC2086  # CC is a list of words
    $CC -std=c11 -O1 -fopenmp -ffp-contract=off -DHAVE_CONFIG_H "-I$top_srcdir/tests/store" "-I$top_builddir" "-I$top_srcdir" \
        "-I$top_srcdir/include" "-I$top_builddir/include" -o "$@"
}
harness=()
for part in tests/cases tests/mpi/{harness,data,model,job,calls,stored} tests/store/mpi; do
    harness+=("$scratch/${part##*/}.harness.o")
    compiled "${harness[-1]}" -c "$top_srcdir/$part.c" || exit 1
done

runs() { # PROGRAM
    [ -e "$scratch/$1.mpi" ] || compiled_test "$1" || return 1
    MPIRUN=$top_srcdir/tests/store/start.sh bash "$top_srcdir/tests/mpi/launch.sh" "$scratch/$1.mpi" >"$scratch/out" 2>&1
    cat "$scratch/out"
    grep -q '^ok' "$scratch/out" && ! grep '^not ok' "$scratch/out"
}
compiled_test() { # PROGRAM
    local sources
    sources=$(sed -n "s/^tests_mpi_$1_mpi_SOURCES *= *//p" "$top_srcdir/tests/mpi/sources.am" | grep -o '[^ ]*\.c')
    # shellcheck disable=SC2046,SC2086  # lists of words
    (cd "$top_srcdir" && compiled "$scratch/$1.mpi" $sources "${harness[@]}" "$archive" \
        $(sed -n 's/^\(HWLOC\|CUDA\)_LIBS = //p' "$top_builddir/Makefile") -lm -ldl)
}
for program in $programs; do
    check "$program" runs "$program"
done
export THINWIRE_TRANSPORT=ucx THINWIRE_NODE_RANKS=1
for program in $by_ucx; do
    check "$program, by UCX" runs "$program"
done
