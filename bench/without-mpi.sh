#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# without-mpi.sh BUILD_DIR OUT_DIR [HOSTS:RATE:BYTES...] - collectives between emulated hosts, by MPI and by TCP without
# MPI in turns, fp32 and $CODEC; default 4:1gbit:16777216 2:10gbit:16777216. As root. Writes OUT_DIR/without-mpi.txt.
# Environment: CODEC (tree8), REPEATS (15), TURNS (3), OPERATIONS (allreduce bcast alltoall), WAYS (MPI TCP; UCX without MPI;
# native: MPI's own; UCC: the command of ucc_allreduce.c).
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u
. "$(dirname "$0")/common.bash"
folders "${1-}" "${2-}"
shift 2
[ $# -gt 0 ] || set -- 4:1gbit:16777216 2:10gbit:16777216

# without HOSTS COMMAND...: a process on each host, with the environment that start.sh of the tests gives.
without() {
    local hosts=$1 i store
    shift
    store=$(mktemp -d) || return 1
    for ((i = hosts - 1; i > 0; i--)); do
        RANK=$i WORLD_SIZE=$hosts TW_STORE=$store THINWIRE_ADDRESS=eth0 "$bench/netlab.sh" exec $i -- "$@" &
    done
    RANK=0 WORLD_SIZE=$hosts TW_STORE=$store THINWIRE_ADDRESS=eth0 "$bench/netlab.sh" exec 0 -- "$@"
    wait
    rm -rf "$store"
}
export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0

# way NAME HOSTS OPERATION BYTES REPEATS [CODEC]: one measurement.
way() {
    case $1 in
        MPI) on_hosts "$2" "$build/bin/with-mpi" "${@:3}" ;;
        native) on_hosts "$2" "$build/bin/with-mpi" "${@:3:3}" mpi ;;
        TCP) without "$2" "$build/bin/without-mpi" "${@:3}" ;;
        UCX) THINWIRE_TRANSPORT=ucx without "$2" "$build/bin/without-mpi" "${@:3}" ;;
        UCC) # shellcheck disable=SC2086  # words
            without "$2" ${UCC:?the command} "${@:3}" ;;
        *) fail "a way is MPI, native, TCP, UCX or UCC, not $1" ;;
    esac
}

for lab; do
    IFS=: read -r hosts rate bytes <<<"$lab"
    lab_up "$hosts" "$rate"
    for operation in ${OPERATIONS:-allreduce bcast alltoall}; do
        for codec in '' ${CODEC-tree8}; do # CODEC empty: fp32 alone
            for ((turn = 0; turn < ${TURNS:-3}; turn++)); do
                for way in ${WAYS:-MPI TCP}; do
                    # shellcheck disable=SC2086  # no codec, no argument
                    echo "$rate ${codec:-fp32} $way $(way $way "$hosts" $operation "$bytes" "${REPEATS:-15}" $codec)"
                done
            done
        done
    done
    lab_down
done | tee "$out/without-mpi.txt"
