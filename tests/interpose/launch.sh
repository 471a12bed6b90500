# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/interpose/*.sh: programs that know nothing of thinwire, run under the drop-in in
# several modes; TAP. Every launch has a time limit, so that a hang is a failure.
#
# Environment: TW_MODES (run only these modes, the others are skipped), TW_RANKS (only these ranks),
# TW_TIME_LIMIT (seconds per launch), TW_ALL (all runs with all cases; else some, with a third of them), and what the programs
# read (tests/cases.h, tests/interpose/common.h).
# shellcheck shell=bash
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}" "${CC:?}"
programs=$top_builddir/tests/interpose
limit=${TW_TIME_LIMIT:-120}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-interpose.XXXXXX") || exit 1
trap 'rm -rf "$scratch"; [ -z "${planned-}" ] || echo "1..$((planned + parts))"' EXIT
export OMPI_MCA_btl_vader_backing_directory=$scratch MPIEXEC_TIMEOUT=$limit OMP_NUM_THREADS=1
number=0
# shellcheck source=tests/left.bash disable=SC1091
. "$top_srcdir/tests/left.bash"

mpi=${TW_MPI:-openmpi}
preload=$(loadable "$top_builddir/lib/libthinwire-preload-$mpi.so")
case $("$top_builddir/bin/thinwire" info 2>/dev/null | grep -o 'sanitizers: [a-z]*') in
    *yes) asan=$($CC -print-file-name=libasan.so): ;;
    *thread) asan=$($CC -print-file-name=libtsan.so): ;;
    *) asan= ;;
esac

# plan N: so many lines, and one for each part that a program has skipped.
plan() { planned=$1 parts=0; }

# result STATUS NAME: one TAP line; what was printed goes to the log, the end of it if all is well.
result() {
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        tail -n 12 "$scratch/out" | sed 's/^/# /;$a\'
        echo "ok $number - $2"
    else
        sed 's/^/# /;$a\' "$scratch/out" | head -n 200
        echo "not ok $number - $2 (status $1)"
    fi
}

skip() { # NAME WHY
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

# mode NAME: sets `settings`, the environment that makes it, and `expectation` (common.h).
mode() {
    settings=(LD_PRELOAD="$asan$preload${TW_YIELD:+:$TW_YIELD}" TW_PRELOADED="${preload##*/}" THINWIRE_QUIET=1)
    expectation=exact
    case $1 in
        plain) settings=() ;;
        watching) ;;
        tree8) settings+=(THINWIRE_CODEC=tree8 THINWIRE_THRESHOLD=1k); expectation=lossy:0.03 ;;
        tree8-double)
            settings+=(THINWIRE_CODEC=tree8 THINWIRE_THRESHOLD=1k THINWIRE_DOUBLE=1)
            expectation=lossy:0.03:0.03 ;;
        fp32) # as they are, by our transport: within a node through its memory
            settings+=(THINWIRE_CODEC=fp32 THINWIRE_THRESHOLD=0)
            expectation=representable ;;
        onebit) settings+=(THINWIRE_CODEC=onebit THINWIRE_THRESHOLD=1k); expectation=lossy:1.5 ;;
        bitpack:3)
            settings+=(THINWIRE_CODEC=bitpack:3 THINWIRE_THRESHOLD=1k THINWIRE_DOUBLE=1)
            expectation=lossy:1e-4:1e-3 ;;
        bitpack:2) # from the first byte on, for values that it keeps
            settings+=(THINWIRE_CODEC=bitpack:2 THINWIRE_THRESHOLD=0 THINWIRE_DOUBLE=1)
            expectation=representable ;;
        nodes) # the same on nodes of two ranks: sums in their memory and between them
            settings+=(THINWIRE_CODEC=bitpack:2 THINWIRE_THRESHOLD=0 THINWIRE_DOUBLE=1)
            settings+=(THINWIRE_NODE_RANKS=2 THINWIRE_ALLREDUCE=hierarchical)
            expectation=representable ;;
        verified) # every other call is compared with the exact one, against a contract
            settings+=(THINWIRE_CODEC=bitpack:2 THINWIRE_THRESHOLD=0 THINWIRE_VERIFY=2)
            settings+=(THINWIRE_MAX_ERROR=0.1 THINWIRE_DOUBLE=1)
            expectation=representable ;;
        feedback)
            settings+=(THINWIRE_CODEC=bitpack:2 THINWIRE_THRESHOLD=0 THINWIRE_ERROR_FEEDBACK=1)
            settings+=(THINWIRE_DOUBLE=1)
            expectation=representable ;;
        rules) # a codec here and none there, in small pieces
            settings+=(THINWIRE_RULES='allreduce:>=256=bitpack:2; comm=world:off; bcast=bitpack:3
                       float:<1k=fp32; double=bitpack:2; *=bitpack:2' THINWIRE_THRESHOLD=0 THINWIRE_CHUNK=4k)
            expectation=representable ;;
        encode) # all that can be goes through encoder and decoder, and loses nothing
            settings+=(THINWIRE_CODEC=bitpack:4 THINWIRE_RULES=double=bitpack:8 THINWIRE_ENCODE=always)
            settings+=(THINWIRE_ALLREDUCE=two_pass) ;;
        left) # to MPI: memory that is not ours
            settings+=(THINWIRE_CODEC=tree8 THINWIRE_THRESHOLD=0) ;;
        *) echo "Bail out! no mode $1"; exit 1 ;;
    esac
}

# wanted LIST WORD: is the list unset, or does it have the word?
wanted() { [ -z "$1" ] || [[ " $1 " == *" $2 "* ]]; }

thinned() { # RANKS
    if [ -z "${TW_ALL-}" ]; then echo $(($1 > 4 ? 9 : 3)); elif [ "$1" -le 3 ]; then echo 1; else echo 2; fi
}

# start MODE RANKS PROGRAM [ARG...]: sets nothing, prints to $scratch/out, returns mpirun's status.
start() {
    local mode=$1 ranks=$2 program=$3
    shift 3
    mode "$mode"
    if [ "$mode" != plain ] && [ ! -e "$preload" ]; then
        echo "there is no $preload" >"$scratch/out"
        return 1
    fi
    [ -z "${loud-}" ] || settings+=(THINWIRE_QUIET=0)
    [ -z "${between-}" ] || settings[0]+=:$(loadable "$between") # a tool between the drop-in and MPI
    timeout -k 5 $((limit + 20)) "$MPIRUN" -n "$ranks" \
        env TW_THIN="${TW_THIN:-$(thinned "$ranks")}" TW_CASE_LIMIT="${TW_CASE_LIMIT:-60}" "${settings[@]}" "$programs/$program" "$@" \
        </dev/null >"$scratch/out" 2>&1
}

# run MODE RANKS PROGRAM: one launch of a program that takes EXPECTATION RANKS, one TAP line.
run() {
    local name="$3 on $2 ranks, $1" status
    if ! wanted "${TW_MODES-}" "$1" || ! wanted "${TW_RANKS-}" "$2"; then
        skip "$name" "not asked for"
        return
    fi
    mode "$1"
    start "$1" "$2" "$3" "$expectation" "$2"
    status=$?
    if [ $status -eq 77 ]; then
        skip "$name" "$(tail -n 1 "$scratch/out")"
    else
        result $status "$name"
        while read -r name; do
            parts=$((parts + 1))
            skip "${name%%: *} on $2 ranks, $1" "${name#*: }"
        done < <(sed -n 's/^# SKIP //p' "$scratch/out")
    fi
}

# more MODE RANKS PROGRAM: a run with TW_ALL, or of the ranks that TW_RANKS asks for.
more() { if [ -n "${TW_ALL-}${TW_RANKS-}" ]; then run "$@"; else skip "$3 on $2 ranks, $1" "not asked for"; fi; }

# each_rank PROGRAM: watching and bitpack:2 on 1 to 5 ranks; in a plain run one of them on each number.
each_rank() {
    for ranks in 1 4; do run watching $ranks "$1"; more bitpack:2 $ranks "$1"; done
    for ranks in 2 3 5; do more watching $ranks "$1"; run bitpack:2 $ranks "$1"; done
}
