#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire-train --record: the job holds all layers of the network and their times; thinwire scale reads it, and what it
# says is sent is what a run counts.
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

# counted KEY: the sum of a number over all layers of the job.
counted() { awk -v what="$1 = " 'match($0, what "[0-9.e-]+") { n += substr($0, RSTART + length(what), RLENGTH - length(what)) } END { print n + 0 }' "$job"; }

# predicted CODEC KEY RANKS ARG...: a row of thinwire scale.
predicted() {
    local codec=$1 key=$2 n=$3
    shift 3
    timeout -k 5 "$limit" "$top_builddir/bin/thinwire" scale "$job" --ranks "$n" --codec "$codec" --json "$scratch/s.json" "$@" \
        </dev/null >&2 && "$json_query" "$scratch/s.json" "rows.0.$key"
}

# Weights and biases; the same layers whatever the ranks, the codec and the scheme.
all_layers() {
    local how
    for how in "1" "2" "3 --codec tree8" "2 --scheme c" "3 --scheme b" "2 --no-overlap"; do
        # shellcheck disable=SC2086  # words
        record $how --model lenet --data digits:train=240 --batch 24 --steps 8 || return 1
        same "$(($(counted weights) + $(counted biases)))" "$(value parameters "$scratch/r.json")" && same "$(counted units)" 522 &&
            same "$(counted channels)" 0 && grep -x "ranks = ${how%% *};" "$job" && grep -x "  batch = 24L;" "$job" &&
            grep -x '  loss = "softmax";' "$job" && same "$(grep -c 'forward = [1-9.e0-]*[1-9]' "$job")" 7 || return 1
        LC_ALL=C awk -v f="$(counted forward)" -v b="$(counted backward)" -v u="$(counted update)" \
            'BEGIN { print f, b, u; exit !(f > 0 && b > 0 && u > 0) }' || return 1
    done
}

# Groups of the first dense layer; of the second, which two ranks divide; of the third, which they do not.
cat >"$scratch/grouped.cfg" <<'END'
input = { channels = 1; height = 28; width = 28; }; classes = 10;
layers = ( { type = "dense"; units = 96; groups = 4; activation = "relu"; },
           { type = "dense"; units = 120; groups = 8; activation = "relu"; },
           { type = "dense"; units = 90; groups = 3; activation = "relu"; }, { type = "dense"; } );
END

# Of two ranks, each a node of its own: codes of every bucket, once.
bytes_are_those_sent() {
    local how codec scheme model sent
    for how in fp32,data,lenet tree8,data,lenet bitpack:2,data,lenet fp32,c,lenet fp32,c,$scratch/grouped.cfg; do
        IFS=, read -r codec scheme model <<<"$how"
        THINWIRE_NODE_RANKS=1 record 2 --model "$model" --data digits:train=240 --batch 24 --steps 8 --codec "$codec" --scheme "$scheme" || return 1
        sent=$("$json_query" "$scratch/r.json" bytes_sent_per_step)
        LC_ALL=C awk -v a="$(predicted "$codec" bytes 2 --scheme "$scheme")" -v b="$sent" 'BEGIN { print a, b; exit !(a > 0.998 * b && a < 1.002 * b) }' || return 1
    done
}

# resnet-20: 19 normalisations, of 688 channels; without global statistics nothing of them is exchanged.
statistics_are_in_it() {
    record 2 --model resnet-20 --data random:32x32x3,10,n=64,test=10 --batch 16 --steps 5 --bn global || return 1
    same "$(counted channels)" 688 && same "$(($(counted weights) + $(counted biases)))" "$(value parameters "$scratch/r.json")" || return 1
    record 2 --model resnet-20 --data random:32x32x3,10,n=64,test=10 --batch 16 --steps 5 || return 1
    same "$(counted channels)" 0
}

# Split layers updated after each pass: the job has the period, a time of one update, and as many of them on other ranks.
updates_are_in_it() {
    record 2 --model mlp --data digits:train=240 --batch 24 --steps 8 --scheme c --update-period 1 &&
        grep -x '  period = 1L;' "$job" || return 1
    sed -i 's/forward = [^;]*; backward = [^;]*;/forward = 0; backward = 0;/; s/update = .*;/update = 8;/' "$job"
    for n in 2 4; do
        LC_ALL=C awk -v c="$(predicted fp32 compute_seconds $n --scheme c)" 'BEGIN { print c; exit !(c > 7.99 && c < 8.01) }' || return 1
    done
    sed -i 's/period = 1L/period = 3L/' "$job" &&
        LC_ALL=C awk -v c="$(predicted fp32 compute_seconds 4 --scheme c)" 'BEGIN { print c; exit !(c > 3.99 && c < 4.01) }'
}

# The last batch of an epoch is smaller, and the run has tests; steps are alike all the same.
whole_epochs() { record 2 --model linear --data digits --batch 600 --epochs 3 && predicted tree8,fp32 seconds 4096; }

refusals() {
    refused 2 "--record is of steps of all ranks" --record "$job" --bn-group 2 --bn global &&
        refused 2 "--record is of" --record "$job" --no-train &&
        refused 2 "--json and --record are the same file" --record "$job" --json "$job" &&
        refused 1 "--record $scratch/none/job: cannot be written" --record "$scratch/none/job" || return 1
    rm -f "$job"
    refused 1 "--record $job: the run has fewer than 3 steps" --record "$job" --steps 2 --model linear && [ ! -e "$job" ]
}

plan 6
check "all layers are in the job" all_layers
check "thinwire scale says as many bytes as are sent" bytes_are_those_sent
check "batch statistics are in it" statistics_are_in_it
check "updates after passes" updates_are_in_it
check "steps of whole epochs" whole_epochs
check "bad options" refusals
