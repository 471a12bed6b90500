#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# without-mpi.sh BUILD_DIR OUT_DIR [HOSTS:RATE:BYTES...] - collectives between emulated hosts, by MPI and by TCP without
# MPI in turns, fp32 and $CODEC; default 4:1gbit:16777216 2:10gbit:16777216. As root. Writes OUT_DIR/without-mpi.txt.
# Environment: CODEC (tree8), REPEATS (15), TURNS (3), OPERATIONS (allreduce bcast alltoall).
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u
. "$(dirname "$0")/common.bash"
folders "${1-}" "${2-}"
shift 2
[ $# -gt 0 ] || set -- 4:1gbit:16777216 2:10gbit:16777216

# without HOSTS ARGUMENT...: a process on each host, with the environment that start.sh of the tests gives.
without() {
    local hosts=$1 i store
    shift
    store=$(mktemp -d) || return 1
    for ((i = hosts - 1; i > 0; i--)); do
        RANK=$i WORLD_SIZE=$hosts TW_STORE=$store THINWIRE_ADDRESS=eth0 "$bench/netlab.sh" exec $i -- "$build/bin/without-mpi" "$@" &
    done
    RANK=0 WORLD_SIZE=$hosts TW_STORE=$store THINWIRE_ADDRESS=eth0 "$bench/netlab.sh" exec 0 -- "$build/bin/without-mpi" "$@"
    wait
    rm -rf "$store"
}

for lab; do
    IFS=: read -r hosts rate bytes <<<"$lab"
    lab_up "$hosts" "$rate"
    for operation in ${OPERATIONS:-allreduce bcast alltoall}; do
        for codec in '' "${CODEC-tree8}"; do
            for ((turn = 0; turn < ${TURNS:-3}; turn++)); do
                # shellcheck disable=SC2086  # no codec, no argument
                echo "$rate ${codec:-fp32} MPI $(on_hosts "$hosts" "$build/bin/with-mpi" $operation "$bytes" "${REPEATS:-15}" $codec)"
                # shellcheck disable=SC2086
                echo "$rate ${codec:-fp32} TCP $(without "$hosts" $operation "$bytes" "${REPEATS:-15}" $codec)"
            done
        done
    done
    lab_down
done | tee "$out/without-mpi.txt"
