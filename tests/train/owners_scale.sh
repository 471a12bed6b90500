#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bytes that thinwire scale says of a training whose weights have owners are those that thinwire-train counts, on the
# ranks of the recording and on others, each on a node of its own: root and sharded, by what the weights travelled in
# and by --weights, with AWP, blocks and split layers.
#
# Both count the busiest rank, at the root rank 0 or one of the others. Shares are whole lines of 64 values here; with
# mlp, whole rows. What remains is less than 0.2 %.
# shellcheck disable=SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/train/common.bash"
limit=${TW_TIME_LIMIT:-120}
json_query=$top_builddir/tests/tools/json_query
export THINWIRE_NODE_RANKS=1

# record RANKS MODEL HOW ARG...: a run by --update HOW; leaves $scratch/job.cfg, and prints bytes of a step.
record() {
    local n=$1 model=$2 how=$3
    shift 3
    rm -f "$scratch/job.cfg"
    train "$n" --model "$model" --data digits:train=240 --batch 16 --steps 4 --update "$how" "$@" \
        --record "$scratch/job.cfg" --json "$scratch/run.json" >&2 && value bytes_sent_per_step "$scratch/run.json"
}

# predicted JOB RANKS ARG...
predicted() {
    local job=$1 n=$2
    shift 2
    timeout -k 5 "$limit" "$top_builddir/bin/thinwire" scale "$job" --ranks "$n" --network ethernet-1g:rate=0.01:latency=20 "$@" \
        --json "$scratch/scale.json" </dev/null >&2 && "$json_query" "$scratch/scale.json" rows.0.bytes
}

# near WHAT PREDICTED COUNTED
near() {
    echo "$1: $2 predicted, $3 sent"
    LC_ALL=C awk -v a="$2" -v b="$3" 'BEGIN { exit !(b > 0 && a > 0.998 * b && a < 1.002 * b) }'
}

# agree MODEL HOW: recorded on 2 ranks with weights as fp32, scaled to both numbers of ranks. Without TW_ALL each two of
# ranks, codec of weights and of gradients meet once.
agree() {
    local model=$1 how=$2 n weights grad counted turn=0
    record 2 "$model" "$how" >"$scratch/bytes" || return 1
    cp "$scratch/job.cfg" "$scratch/two.cfg"
    near "as recorded" "$(predicted "$scratch/two.cfg" 2 --codec fp32)" "$(cat "$scratch/bytes")" || return 1
    for n in 2 4; do
        for weights in fp32 bitpack:2; do
            for grad in fp32 bitpack:2; do
                turn=$((turn + 1))
                [ -n "${TW_ALL-}" ] || [[ $turn == [1467] ]] || continue
                counted=$(record "$n" "$model" "$how" --codec "weight=$weights,grad=$grad") || return 1
                near "$weights $grad $n" "$(predicted "$scratch/two.cfg" "$n" --codec "$grad" --weights "$weights")" "$counted" &&
                    same "$("$json_query" "$scratch/scale.json" rows.0.weights)" "$weights" &&
                    same "$("$json_query" "$scratch/scale.json" rows.0.owners)" "$how" &&
                    near "its own job" "$(predicted "$scratch/job.cfg" "$n" --codec "$grad")" "$counted" || return 1
            done
        done
    done
}

# By scheme c the split layers stay where they are; recorded so, the job serves scheme data as well.
schemes() {
    local how counted
    for how in root sharded; do
        counted=$(record 4 lenet $how --scheme c --codec weight=bitpack:2) || return 1
        near "c $how" "$(predicted "$scratch/job.cfg" 4 --codec fp32 --scheme c)" "$counted" || return 1
        cp "$scratch/job.cfg" "$scratch/c.cfg"
        counted=$(record 4 lenet $how --codec weight=bitpack:2) || return 1
        near "data $how" "$(predicted "$scratch/c.cfg" 4 --codec fp32)" "$counted" || return 1
    done
}

# The precision of the last step that is recorded: after 4 steps each layer has had 8 bits more, once. Norms travel
# until there are 32 bits. A mean of steps of 1 and 2 bytes is what the run counts.
adaptive() {
    local one two
    one=$(record 2 lenet sharded --codec weight=bitpack:1) && two=$(record 2 lenet sharded --codec weight=bitpack:2) || return 1
    near "the mean" "$(record 2 lenet sharded --codec weight=awp:T=1,interval=3,byte=bitpack:1)" "$(LC_ALL=C awk -v a="$one" -v b="$two" 'BEGIN { print (3 * a + b) / 4 }')" &&
        same "$(grep -c 'copy = "bitpack:2"' "$scratch/job.cfg")" 4 && grep -x '  norms = true;' "$scratch/job.cfg" &&
        near "of two bytes" "$(predicted "$scratch/job.cfg" 2 --codec fp32)" "$two" && ! grep blocks "$scratch/job.cfg" || return 1
    record 2 lenet sharded --codec weight=awp:first=32 && ! grep norms "$scratch/job.cfg" && same "$(grep -c 'copy = "fp32"' "$scratch/job.cfg")" 4
}

# resnet-20: layers of a block travel together, norms of 12 groups in each step: 2 x 8 x 12 bytes with those of biases.
blocks() {
    local counted
    counted=$(train 2 --model resnet-20 --data random:32x32x3,10,n=64,test=10 --batch 8 --steps 3 --update sharded \
        --bn global --codec weight=awp:group=block,family=int,first=14 --record "$scratch/job.cfg" --json "$scratch/run.json" >&2 &&
        value bytes_sent_per_step "$scratch/run.json") || return 1
    grep -x '  blocks = true;' "$scratch/job.cfg" && near blocks "$(predicted "$scratch/job.cfg" 2 --codec fp32)" "$counted" &&
        same "$("$json_query" "$scratch/scale.json" rows.0.weights)" int:16,block=256
}

plan 7
for how in root sharded; do
    check "lenet, $how" agree lenet $how
    check "mlp, $how" agree mlp $how
done
check "split layers" schemes
check "adaptive precision" adaptive
check "blocks" blocks
