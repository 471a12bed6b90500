#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# C++ exceptions that leave MPI through an error handler, under the drop-in.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

cxx=${MPICC%mpicc*}mpicxx${MPICC##*mpicc}
if ! $cxx -O1 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -o "$scratch/exceptions" \
        "$top_srcdir/tests/interpose/exceptions.cc" >"$scratch/out" 2>&1; then
    cat "$scratch/out"
    plan 1
    skip "exceptions" "$cxx makes no program here (Debian, Ubuntu: g++)"
    exit
fi

export programs=$scratch
plan 5
run plain 2 exceptions
run watching 2 exceptions
run bitpack:3 2 exceptions
run bitpack:3 3 exceptions
run encode 4 exceptions
