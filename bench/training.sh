#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# training.sh BUILD_DIR OUT_DIR [PART...] - how fast thinwire-train trains convolutional networks.
#
# Parts (default: all), with about how long they take on two cores:
#     netlab       4 emulated hosts: data parallel and hybrid, six ways each          (20 minutes; root)
#     schemes      schemes a, b and c on 2, 4 and 8 ranks of one machine              (5 minutes)
#     layouts      lenet on 4 hosts of 1, 2 and 4 ranks: bytes on a host's link      (5 minutes; root)
#     steps        three networks on 4 hosts of 2 ranks, six ways each; beside the build folder BEFORE,
#                  if that is set, in turns                                           (4 minutes; root)
#     statistics   resnet-20 with local and global statistics on 4 hosts              (5 minutes; root)
# Every run leaves a JSON file in OUT_DIR, and what has one is not run again: the script may be stopped and
# started. RATE is that of the links of layouts and steps (1gbit). OUT_DIR/training.md gets the tables. bench/pytorch.py compares with PyTorch.
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -uo pipefail
. "$(dirname "$0")/common.bash"
folders "${1-}" "${2-}"
shift 2
train=$build/bin/thinwire-train

train_on_hosts() { once "$1" on_hosts 4 "$train" "${@:2}"; } # NAME ARG...

row() { # LABEL NAME REFERENCE: seconds, exposed share, bytes, times faster than the reference
    awk -v label="$1" -v s="$(value step_seconds "$2")" -v e="$(value exposed_share "$2")" \
        -v b="$(value bytes_sent_per_step "$2")" -v r="$(value step_seconds "$3")" 'BEGIN {
        if (s == "") { printf "| %s | not run | | | |\n", label; exit }
        printf "| %s | %.3g | %.0f %% | %s | %s |\n", label, s, 100 * e, (b == "null" || b == "" ? "-" : sprintf("%.2f", b / 1e6)),
            (r == "" ? "-" : sprintf("%.2f", r / s)) }'
}

# six MODEL DATA BATCH RATE STEPS_OF_THE_SLOW
six() {
    local model=$1 data=$2 batch=$3 rate=$4 slow=$5 name=$1-$4 common
    common=(--model "$model" --data "$data" --batch "$batch")
    lab_up 4 "$rate"
    train_on_hosts "$name-mpi" "${common[@]}" --codec mpi --steps "$slow"
    train_on_hosts "$name-fp32" "${common[@]}" --steps "$slow"
    train_on_hosts "$name-tree8" "${common[@]}" --codec tree8 --steps "$slow"
    train_on_hosts "$name-c-fp32" "${common[@]}" --scheme c --steps 6
    train_on_hosts "$name-c-tree8" "${common[@]}" --scheme c --codec tree8 --steps 6
    train_on_hosts "$name-c-onebit" "${common[@]}" --scheme c --codec act=tree8,grad=onebit --steps 6
    lab_down
    echo
    echo "$model, global batch $batch, 4 hosts at $rate:"
    echo
    echo "| way | step, s | exposed | MB sent per rank | times faster |"
    echo "|---|---|---|---|---|"
    row "data parallel, native MPI_Allreduce" "$name-mpi" "$name-mpi"
    row "data parallel, fp32" "$name-fp32" "$name-mpi"
    row "data parallel, tree8" "$name-tree8" "$name-mpi"
    row "hybrid c, fp32" "$name-c-fp32" "$name-mpi"
    row "hybrid c, tree8" "$name-c-tree8" "$name-mpi"
    row "hybrid c, tree8, convolutions onebit" "$name-c-onebit" "$name-mpi"
}

part_netlab() {
    echo "## Four emulated hosts"
    six alexnet-s4 random:224x224x3,1000,n=128,test=1 64 1gbit 3
    six alexnet-s4 random:224x224x3,1000,n=128,test=1 64 100mbit 2
    six vgg-a random:224x224x3,200,n=64,test=1 16 1gbit 2
}

part_schemes() {
    local ranks scheme name turn
    for turn in 1 2 3; do
        for ranks in 2 4 8; do
            for scheme in a b c; do
                THINWIRE_NODE_RANKS=1 once "scheme-$scheme-$ranks-$turn" on_ranks $ranks "$train" --model alexnet-s0 \
                    --data random:224x224x3,200,n=64,test=1 --batch $((4 * ranks)) --scheme $scheme --steps 5
            done
        done
    done
    echo "## Schemes a, b, c"
    echo
    echo "alexnet-s0, 4 images per rank, one machine, every rank as on a host of its own; medians of 3 turns."
    echo
    echo "| ranks | scheme | step, s | exposed | MB sent per rank | buffers for dense input, MB |"
    echo "|---|---|---|---|---|---|"
    for ranks in 2 4 8; do
        for scheme in a b c; do
            name=$(for turn in 1 2 3; do
                echo "$(value step_seconds scheme-$scheme-$ranks-$turn) scheme-$scheme-$ranks-$turn"
            done | LC_ALL=C sort -g | sed -n '2s/.* //p')
            awk -v k=$ranks -v x=$scheme -v s="$(value step_seconds "$name")" -v e="$(value exposed_share "$name")" \
                -v b="$(value bytes_sent_per_step "$name")" -v m="$(value dense_input_bytes "$name")" \
                'BEGIN { printf "| %d | %s | %.3g | %.0f %% | %.2f | %.2f |\n", k, x, s, 100 * e, b / 1e6, m / 1e6 }'
        done
    done
}

sent_by_host() { "$bench/netlab.sh" status | awk '/-h0/ { print $4 }'; }

# layout NAME RANKS ARG...: kB a step on the link of host 0, which are what 30 steps more send, and ms a step
layout() {
    local name=$1 ranks=$2 steps before
    shift 2
    for steps in 10 40; do
        [ ! -s "$out/$name-$steps.json" ] || continue
        before=$(sent_by_host)
        once "$name-$steps" on_hosts "$ranks" "$train" "$@" --steps $steps
        echo $(($(sent_by_host) - before)) >"$out/$name-$steps.bytes"
    done
    awk -v few="$(cat "$out/$name-10.bytes")" -v many="$(cat "$out/$name-40.bytes")" -v s="$(value step_seconds "$name-40")" \
        'BEGIN { printf " %.1f, %.1f |", (many - few) / 30e3, 1000 * s }'
}

part_layouts() {
    local way ranks number=0
    lab_up 4 "${RATE:-1gbit}"
    echo "## Lenet on 4 hosts at ${RATE:-1gbit}, batch 64: kB a step on a host's link, ms a step"
    echo
    echo "| way | 1 rank a host | 2 | 4 |"
    echo "|---|---|---|---|"
    for way in "${ways[@]}"; do
        printf '| %s |' "\`$way\`"
        number=$((number + 1))
        for ranks in 4 8 16; do
            [[ $way != *split=node* || $ranks != 4 ]] || { printf ' |'; continue; } # a node has one rank
            # shellcheck disable=SC2086  # options
            layout "layout-$number-$ranks" $ranks --model lenet --data digits:train=2600 --batch 64 $way
        done
        echo
    done
    lab_down
}

ways=("--codec fp32" "--codec tree8" "--update sharded --codec grad=tree8,weight=tree8"
    "--update sharded --codec grad=tree8,weight=awp" "--scheme c --codec tree8" "--scheme b --codec tree8" "--scheme c:split=node --codec tree8")

part_steps() {
    local model data batch steps way number name seconds
    lab_up 4 "${RATE:-1gbit}"
    echo "## 4 hosts of 2 ranks at ${RATE:-1gbit}: s a step${BEFORE:+, before and now}, times faster than fp32"
    echo
    echo "| model, batch | way | s a step | times faster |"
    echo "|---|---|---|---|"
    while read -r model data batch steps; do
        number=0
        for way in "${ways[@]}"; do
            name=steps-$model-$((number += 1))
            # shellcheck disable=SC2086  # options
            for train in ${BEFORE:+"$BEFORE/bin/thinwire-train"} "$build/bin/thinwire-train"; do
                once "$name$([ "$train" = "$build/bin/thinwire-train" ] || echo -before)" on_hosts 8 "$train" --model "$model" \
                    --data "$data" --batch "$batch" --steps "$steps" $way
            done
            seconds=${BEFORE:+$(value step_seconds "$name-before"), }$(value step_seconds "$name")
            awk -v first="$(value step_seconds "steps-$model-1")" -v now="$(value step_seconds "$name")" \
                -v head="| $model, $batch | \`$way\` | $seconds |" 'BEGIN { printf "%s %.2f |\n", head, first / now }'
        done
    done <<END
lenet digits:train=2600 64 20
mlp digits 512 10
alexnet-cifar random:32x32x3,10,n=2048,test=1 128 10
END
    lab_down
}

part_statistics() {
    local turn mode
    lab_up 4 1gbit
    for turn in 1 2 3; do
        for mode in local global; do
            train_on_hosts "statistics-$mode-$turn" --model resnet-20 --data random:32x32x3,10,n=2048,test=1 --batch 128 \
                --bn $mode --steps 14
        done
    done
    lab_down
    echo "## Batch statistics, resnet-20, global batch 128, 4 hosts at 1gbit"
    echo
    echo "| turn | local, images/s | global | global / local |"
    echo "|---|---|---|---|"
    for turn in 1 2 3; do
        awk -v t=$turn -v l="$(value images_per_second statistics-local-$turn)" -v g="$(value images_per_second statistics-global-$turn)" \
            'BEGIN { printf "| %d | %.0f | %.0f | %.2f |\n", t, l, g, (l > 0 ? g / l : 0) }'
    done
}

{
    echo "# Training, $(date -u +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(getconf _NPROCESSORS_ONLN) cores"
    for part in "${@:-netlab schemes layouts steps statistics}"; do
        for one in $part; do
            declare -F "part_$one" >/dev/null || fail "no part '$one'; accepted: netlab schemes layouts steps statistics"
            echo
            "part_$one"
        done
    done
} | tee "$out/training.md"
