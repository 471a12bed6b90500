#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire-train --record: the job holds all gradients of a step and the exchanges of statistics; thinwire scale reads it,
# and what it says is sent is what a run counts.
. "$top_srcdir/tests/train/common.bash"
# shellcheck source=/dev/null
. "$top_srcdir/tests/train/refused.bash"
limit=${TW_TIME_LIMIT:-120}
json_query=$top_builddir/tests/tools/json_query
job=$scratch/job.cfg

# record RANKS ARG...: leaves $job and $scratch/r.json.
record() {
    local n=$1
    shift
    rm -f "$job" "$scratch/r.json"
    train "$n" "$@" --record "$job" --json "$scratch/r.json" && cat "$job"
}

# counted CLASS: values of all exchanges of that class in the job ("other": what is not compressed).
counted() { awk -v what="\"$1\"" 'index($0, what) && match($0, /count = [0-9]+/) { n += substr($0, RSTART + 8, RLENGTH - 8) } END { printf "%d", n }' "$job"; }

# predicted CODEC KEY RANKS ARG...: a row of thinwire scale.
predicted() {
    local codec=$1 key=$2 n=$3
    shift 3
    timeout -k 5 "$limit" "$top_builddir/bin/thinwire" scale "$job" --ranks "$n" --codec "$codec" --json "$scratch/s.json" "$@" \
        </dev/null >&2 && "$json_query" "$scratch/s.json" "rows.0.$key"
}

# Weights, biases, and the loss and its errors.
all_gradients() {
    local n
    for n in 1 2 3; do
        record "$n" --model lenet --data digits --batch 24 --steps 6 && same "$(counted grad)" "$(($(value parameters "$scratch/r.json") + 2))" &&
            same "$(counted other)" 0 && grep -x "ranks = $n;" "$job" && same "$(grep -c 'fixed = true' "$job")" 1 &&
            same "$(grep -c 'wait = ' "$job")" "$(grep -c 'start = ' "$job")" || return 1
    done
    record 2 --model lenet --data digits --batch 24 --steps 6 --codec tree8 || return 1
    same "$(($(counted grad) + $(counted other)))" "$(($(value parameters "$scratch/r.json") + 2))" && [ "$(counted other)" -gt 0 ] &&
        [ "$(grep -c 'start = ' "$job")" -gt 3 ]
}

# Of two ranks, each a node of its own: codes of every bucket, once.
bytes_are_those_sent() {
    local codec sent
    for codec in fp32 tree8 bitpack:2; do
        THINWIRE_NODE_RANKS=1 record 2 --model lenet --data digits --batch 24 --steps 8 --codec $codec || return 1
        sent=$("$json_query" "$scratch/r.json" bytes_sent_per_step)
        LC_ALL=C awk -v a="$(predicted $codec bytes 2)" -v b="$sent" 'BEGIN { print a, b; exit !(a > 0.998 * b && a < 1.002 * b) }' || return 1
    done
}

# resnet-20: two exchanges for each of 19 normalisations, 1 + 2 C doubles and 2 C.
statistics_are_in_it() {
    record 2 --model resnet-20 --data random:32x32x3,10,n=64,test=10 --batch 16 --steps 5 --bn global || return 1
    same "$(grep -c 'call = "allgather"' "$job")" 38 && same "$(counted other)" $((2 * (19 + 4 * 688))) &&
        same "$(counted grad)" "$(($(value parameters "$scratch/r.json") + 2))" || return 1
    record 2 --model resnet-20 --data random:32x32x3,10,n=64,test=10 --batch 16 --steps 5 || return 1
    same "$(grep -c 'call = ' "$job")" 0
}

# The last batch of an epoch is smaller, and the run has tests; steps are alike all the same.
whole_epochs() { record 2 --model linear --data digits --batch 600 --epochs 3 && predicted tree8,fp32 seconds 4096; }

refusals() {
    refused 2 "--record is of data parallel steps" --record "$job" --scheme b && refused 2 "--record is of" --record "$job" --update sharded &&
        refused 2 "--record is of" --record "$job" --no-train && refused 2 "--record is of" --record "$job" --codec mpi &&
        refused 2 "--json and --record are the same file" --record "$job" --json "$job" &&
        refused 1 "--record $scratch/none/job: cannot be written" --record "$scratch/none/job" || return 1
    rm -f "$job"
    refused 1 "--record $job: the run has fewer than 3 steps" --record "$job" --steps 2 --model linear && [ ! -e "$job" ]
}

plan 5
check "gradients, loss and errors are in the job" all_gradients
check "thinwire scale says as many bytes as are sent" bytes_are_those_sent
check "batch statistics are in it" statistics_are_in_it
check "steps of whole epochs" whole_epochs
check "bad options" refusals
