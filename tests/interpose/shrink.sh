#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# shrink.sh MODE RANKS SEED PROGRAM - how many steps of an odd program (tests/interpose/odd.h) it takes to
# fail, and the output of that run. From the build folder, with the environment of `make check`:
#     top_builddir=$PWD top_srcdir=.. MPIRUN=mpirun CC=gcc ../tests/interpose/shrink.sh bitpack:2 3 17 4
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/environment.sh"
. "$top_srcdir/tests/interpose/launch.sh"
export TW_CASE='odd programs' THINWIRE_SEED=$3 TW_ODD_FIRST=$4 TW_ODD=1 TW_ODD_LENGTH
export TW_CASE_LIMIT=${TW_CASE_LIMIT:-20}

mode "$1"
for TW_ODD_LENGTH in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
    if ! start "$1" "$2" fuzz "$expectation" "$2"; then
        cat "$scratch/out"
        echo "program $4 of seed $3 fails with $TW_ODD_LENGTH steps"
        exit 1
    fi
done
echo "program $4 of seed $3 does not fail"
