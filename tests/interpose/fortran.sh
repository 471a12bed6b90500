#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The drop-in under Fortran programs: mpif.h, `use mpi`, `use mpi_f08`.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

if [ ! -x "$programs/fortran_mpif" ]; then
    plan 1
    skip "Fortran programs" "no Fortran wrapper of this MPI library works (Debian, Ubuntu: gfortran)"
    exit
fi

start plain 2 fortran_counts
counts_are_kept=$?
grep -q 'free()' "$scratch/out" || counts_are_kept=0 # another end is for the programs below to show

plan 45
export THINWIRE_JSON=$scratch/report.json

# counted NAME...: the last run has told that Fortran called these.
counted() {
    local name
    for name; do
        grep -q "\"operation\": \"$name\"" "$THINWIRE_JSON" || { echo "$name is not counted" >"$scratch/out"; return 1; }
    done
    rm "$THINWIRE_JSON"
}
for api in mpif mpi f08; do
    if [ $counts_are_kept -eq 0 ]; then
        run plain 2 fortran_$api
    else
        skip "fortran_$api on 2 ranks, plain" "this MPI itself frees the program's counts (fortran_counts aborts)"
    fi
    each_rank fortran_$api
    if [ -n "${TW_MODES-}${TW_RANKS-}" ] && [ ! -e "$THINWIRE_JSON" ]; then
        skip "fortran_$api: what is only counted is" "no run that would tell was asked for"
    else
        names="gather igather alltoallw scatter scan"
        [ "$mpi-$api" = mpich-f08 ] || names="$names barrier" # that of MPICH's mpi_f08 comes by no C function
        # shellcheck disable=SC2086  # a list
        counted $names
        result $? "fortran_$api: what is only counted is"
    fi
    run tree8 2 fortran_$api
    run tree8-double 3 fortran_$api
    run bitpack:3 4 fortran_$api
done
