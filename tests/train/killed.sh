#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that dies in the middle of training, data parallel, hybrid or an owner of weights: the job ends soon, and
# its checkpoint can be gone on with.
. "$top_srcdir/tests/train/common.bash"

use() { # ARG...: of the runs to come
    arguments="--data digits:train=600 --batch 60 --checkpoint $scratch/checkpoint $*"
    rm -f "$scratch"/pid.* "$scratch/checkpoint" "$scratch/out"
}

start() { # starts 3 ranks in the background; sets job, and leaves each rank's process in $scratch/pid.N
    # shellcheck disable=SC2016,SC2086
    timeout -k 5 "$limit" "$MPIRUN" -n 3 sh -c \
        'echo $$ >"$0/pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"; exec "$@"' \
        "$scratch" "$program" $arguments --epochs 100000 </dev/null >"$scratch/out" 2>&1 &
    job=$!
}

wait_for() { # SECONDS COMMAND...
    local left=$((10 * $1))
    shift
    until "$@"; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.1
    done
}

killed_rank_ends_the_job() {
    local status before
    start
    wait_for "$limit" grep -q '^epoch   2/' "$scratch/out" || { cat "$scratch/out"; echo "no epoch 2"; return 1; }
    before=$SECONDS
    kill -KILL "$(cat "$scratch/pid.1")"
    wait $job
    status=$?
    echo "status $status after $((SECONDS - before)) s"
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ $((SECONDS - before)) -le 10 ]
}

nobody_is_left() {
    local rank
    for rank in 0 1 2; do
        wait_for 10 eval "! kill -0 $(cat "$scratch/pid.$rank") 2>/dev/null" || return 1
    done
}

checkpoint_is_whole() {
    local done
    # shellcheck disable=SC2086
    train 3 $arguments --resume --epochs 1 --json "$scratch/x.json" || return 1
    done=$("$json_query" "$scratch/x.json" epochs.#)
    # shellcheck disable=SC2086
    train 3 $arguments --resume --epochs $((done + 1)) || return 1
    grep "resumed after epoch $done" "$scratch/out" && [ "$done" -ge 1 ]
}

json_query=$top_builddir/tests/tools/json_query
plan 9
use --codec onebit
check "a killed rank ends the job within 10 s" killed_rank_ends_the_job
check "no rank is left behind" nobody_is_left
check "its checkpoint can be gone on with" checkpoint_is_whole
use --model lenet --scheme c --codec grad=onebit,act=tree8
check "hybrid: a killed rank ends the job within 10 s" killed_rank_ends_the_job
check "hybrid: no rank is left behind" nobody_is_left
check "hybrid: its checkpoint can be gone on with" checkpoint_is_whole
use --update sharded --codec weight=awp:T=1,interval=3
check "sharded: a killed rank ends the job within 10 s" killed_rank_ends_the_job
check "sharded: no rank is left behind" nobody_is_left
check "sharded: its checkpoint can be gone on with" checkpoint_is_whole
