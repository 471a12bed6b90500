#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# launch.sh PROGRAM [ARG...] - run an MPI test program on 1, 2, 3, 4 and 7 ranks, without TW_ALL on fewer where that
# takes long (TW_RANKS overrides), under a time limit, so that a hang is a failure; prints TAP, one line per
# rank count, and one for each of the program's own lines "# SKIP what: why". The program gets the number of ranks as
# last argument and must fail if MPI_COMM_WORLD has another size.
# TW_LSAN: more options for the leak checker.
program=$1
shift
case ${TW_ALL-}${program##*/} in
    timeout.mpi) ranks="1 7" ;;
    ranks.mpi) ranks="1 2 7" ;;
    owners.mpi | hybrid_state.mpi) ranks=3 ;;
    device.mpi) ranks=4 ;;
    hierarchical.mpi) ranks="2 4 7" ;;
    node.mpi | disorder.mpi) ranks="2 7" ;;
    *) ranks="1 2 3 4 7" ;;
esac
ranks=${TW_RANKS:-$ranks}
limit=${TW_TIME_LIMIT:-240}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_btl_vader_backing_directory=$scratch MPIEXEC_TIMEOUT=$limit TW_SCRATCH=$scratch XDG_CACHE_HOME=$scratch
export LSAN_OPTIONS=$LSAN_OPTIONS${TW_LSAN:+:$TW_LSAN}
export OMP_NUM_THREADS=1 CK_FORK=no
number=0
for n in $ranks; do
    timeout -k 5 $((limit + 20)) "$MPIRUN" -n "$n" "$program" "$@" "$n" </dev/null >"$scratch/out" 2>&1
    status=$?
    sed 's/^/# /;$a\' "$scratch/out"
    while read -r part; do
        number=$((number + 1))
        echo "ok $number - $(basename "$program") on $n ranks, ${part%%: *} # SKIP ${part#*: }"
    done < <(sed -n 's/^# SKIP //p' "$scratch/out")
    number=$((number + 1))
    case $status in
        0) echo "ok $number - $(basename "$program") on $n ranks" ;;
        77) echo "ok $number - $(basename "$program") on $n ranks # SKIP $(tail -n 1 "$scratch/out")" ;;
        *) echo "not ok $number - $(basename "$program") on $n ranks (status $status)" ;;
    esac
done
echo "1..$number"
