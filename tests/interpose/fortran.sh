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
plan 42
for api in mpif mpi f08; do
    run plain 2 fortran_$api
    for ranks in 1 2 3 4 5; do
        run watching $ranks fortran_$api
        run bitpack:2 $ranks fortran_$api
    done
    run tree8 2 fortran_$api
    run tree8-double 3 fortran_$api
    run bitpack:3 4 fortran_$api
done
