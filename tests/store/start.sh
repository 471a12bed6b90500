#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# start.sh -n N PROGRAM [ARG...] - what mpirun is to MPI: N processes, with RANK, WORLD_SIZE and a folder in which they
# meet, TW_STORE. Once one fails, the others are ended; its status.
[ "$1" = -n ] || exit 2
n=$2
shift 2
TW_STORE=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-store.XXXXXX") || exit 1
trap 'rm -rf "$TW_STORE"' EXIT
export TW_STORE WORLD_SIZE=$n
pids=() status=0
for ((r = 0; r < n; r++)); do
    RANK=$r "$@" &
    pids+=($!)
done
while [ ${#pids[@]} -gt 0 ] && [ $status = 0 ]; do
    wait -n -p one "${pids[@]}" || status=$?
    left=()
    for pid in "${pids[@]}"; do
        [ "$pid" = "$one" ] || left+=("$pid")
    done
    pids=("${left[@]}")
done
[ $status = 0 ] || kill "${pids[@]}" 2>/dev/null
wait
exit $status
