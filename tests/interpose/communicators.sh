#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Communicators by the hundred and, with TW_ALL, by the thousand, and threads on their own, under the drop-in.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 40
for program in communicators threads; do
    run plain 2 $program
    each_rank $program
    run feedback 2 $program
    run verified 3 $program
    run rules 4 $program
done

# The drop-in's own communicators, as counted by what stands between it and MPI: none in MPI_Init or
# MPI_Finalize, none while it only watches, some where it compresses.
made() { # MIN MAX MODE RANKS PROGRAM ARG...
    local name="communicators of the drop-in, $3, $5 ${*:6}" least=$1 most=$2 status count
    shift 2
    between=$programs/.libs/between.so start "$@"
    status=$?
    grep -o '= the drop-in made [0-9]*' "$scratch/out" | awk '{ print $5 }' >"$scratch/made"
    [ $status -eq 0 ] && [ "$(wc -l <"$scratch/made")" -eq "$2" ] || status=1
    while read -r count; do
        [ "$count" -ge "$least" ] && [ "$count" -le "$most" ] || status=1
    done <"$scratch/made"
    awk -v most="$opened" '/= the drop-in opened/ && $5 > most { bad = 1 } END { exit bad }' "$scratch/out" || status=1
    result $status "$name"
}
# A type is opened once, not in every call, and types in it once: 500 in all. Open MPI 5 hands out copies of
# these, so that 2^19 are opened for one type of 18 levels.
opened=500
case $("$MPIRUN" --version) in *'(Open MPI) 5'* | *'(Open MPI) 6'*) opened=600000 ;; esac
made 0 0 watching 3 wrappers exact 3
made 0 0 watching 2 communicators exact 2
made 0 0 watching 2 agree exact 2
made 0 0 tree8 3 die none
made 1 9 tree8 3 die well
usual=$preload
preload=$(loadable "$programs/.libs/libthinwire-preload-$mpi.so") # with the functions that the tool has and this MPI lacks
made 1 9 bitpack:2 2 agree representable 2          # and calls from inside MPI stay as they are
export TW_ALIKE=1                          # all ranks give MPI types of one sort
made 1 9 bitpack:2 3 agree representable 3
made 1 9 verified 3 agree representable 3
unset TW_ALIKE
preload=$usual

# A handle is another thread's as soon as MPI has completed its request, or freed what it stood for.
late() { # MODE RANKS
    local name="threads on $2 ranks, $1, late to return from MPI_Wait"
    mode "$1"
    between=$programs/.libs/between.so TW_LATE=1 start "$1" "$2" threads "$expectation" "$2"
    result $? "$name"
}
late bitpack:2 2
late bitpack:2 3
late feedback 3

# What a program does first after MPI_Init.
times=${TW_GRAPHS:-$((${TW_ALL:+3} + 2))}
graphs() {
    for ((i = 0; i < times; i++)); do
        between=$programs/.libs/between.so start watching 4 graph || return 1
        grep -q '= the drop-in began 0 collectives in MPI_Init without waiting' "$scratch/out" || return 1
    done
}
graphs
result $? "communicators with graphs, watched, $times times (TW_GRAPHS)"
