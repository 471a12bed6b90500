#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --evaluate-only: the errors that the run itself printed, from its checkpoint, on any number of ranks and by any
# scheme; nothing is written.
. "$top_srcdir/tests/train/common.bash"
. "$top_srcdir/tests/train/refused.bash"
json_query=$top_builddir/tests/tools/json_query
few="--data digits:train=240"
kept=$scratch/kept.state

# evaluated RANKS ARG...: as the last test of the run; the loss up to the order of its sum.
evaluated() {
    local n=$1
    shift
    # shellcheck disable=SC2086  # a list of words
    train "$n" --model lenet $few --checkpoint "$kept" --resume --evaluate-only --json "$scratch/e.json" "$@" || return 1
    same "$("$json_query" "$scratch/e.json" test_error test_error_top5 weights_hash epochs step)" \
        "$("$json_query" "$scratch/run.json" test_error test_error_top5 weights_hash)"$'\n2\n8' || return 1
    "$json_query" "$scratch/e.json" test_loss | cat - <("$json_query" "$scratch/run.json" evaluations.1.test_loss) | xargs |
        awk '{ exit !($2 > 0 && ($1 - $2) ^ 2 < ($2 * 1e-5) ^ 2) }' || { echo "another loss"; return 1; }
    grep -q '^test error .* top-5 .* loss .* 40 images in' "$scratch/out" && cmp "$kept" "$scratch/same.state"
}

anywhere() {
    evaluated 1 && evaluated 3 --batch 50 --lr 0.5 --codec onebit && evaluated 2 --scheme c --bn global &&
        evaluated 4 --scheme a --seed 5 && evaluated 3 --update sharded --codec tree8 && evaluated 7 --scheme group=3
}

# A file that nobody may write, in a folder where nobody may: as root the folder's list has to do.
nothing_is_written() {
    mkdir "$scratch/there" && cp "$kept" "$scratch/there/state" && chmod 400 "$scratch/there/state" &&
        chmod 500 "$scratch/there" || return 1
    # shellcheck disable=SC2086
    train 2 --model lenet $few --checkpoint "$scratch/there/state" --resume --evaluate-only || return 1
    same "$(ls -A "$scratch/there")" state && cmp "$kept" "$scratch/there/state"
}

# Other images: as the test of a run that goes on there would say.
other_images() {
    train 2 --model lenet --data digits:train=60,seed=9 --checkpoint "$kept" --resume --evaluate-only || return 1
    grep -q ' 10 images in' "$scratch/out"
}

# What a checkpoint holds, exported beside its test, and tested again.
exported() {
    # shellcheck disable=SC2086
    train 2 --model lenet $few --checkpoint "$kept" --resume --evaluate-only --export "$scratch/w" &&
        train 3 --model lenet $few --scheme b --import "$scratch/w" --evaluate-only --json "$scratch/i.json" || return 1
    same "$("$json_query" "$scratch/i.json" test_error test_error_top5 weights_hash step)" \
        "$("$json_query" "$scratch/run.json" test_error test_error_top5 weights_hash)"$'\n0'
}

# One step at the highest rate: finite weights, whose outputs are not.
no_number() {
    { echo 'name = "far"; input = { channels = 1; height = 28; width = 28; }; classes = 10; layers = ('
        for i in {1..40}; do echo "{ type = \"dense\"; units = 32; activation = \"relu\"; init = \"he\"; },"; done
        echo '{ type = "dense"; } );'; } >"$scratch/far.cfg"
    local run="--model $scratch/far.cfg --data digits:train=60 --batch 60 --lr 1000 --checkpoint $scratch/far.state"
    # shellcheck disable=SC2086
    train 2 $run --epochs 1 && train 3 $run --resume --evaluate-only || return 1
    grep -q 'loss -\?nan' "$scratch/out" || return 1
    # shellcheck disable=SC2086
    train 2 $run --resume --epochs 1 && grep -q 'resumed after epoch 1' "$scratch/out"
}

plan 11
# shellcheck disable=SC2086
train 3 --model lenet $few --scheme c --codec grad=onebit,act=fp32 --epochs 2 --batch 60 --checkpoint "$kept" --json "$scratch/run.json" &&
    cp "$kept" "$scratch/same.state"
check "any number of ranks, any scheme" anywhere
check "nothing is written" nothing_is_written
check "other images" other_images
check "exported weights" exported
check "without weights" refused 2 '--evaluate-only tests the weights of a file: add' --evaluate-only
check "with what trains" refused 2 '--evaluate-only trains nothing: not with' --evaluate-only --resume \
    --checkpoint "$kept" --steps 3
check "another model" refused 1 'is of model lenet, this run of mlp' --evaluate-only --resume --checkpoint "$kept"
check "a loss that is no number" no_number
check "not with a monitoring run" refused 2 'not with .* --awp-calibrate' --evaluate-only --import x --awp-calibrate
check "not with a checkpoint that nothing reads" refused 2 'writes no --checkpoint' --evaluate-only --import x --checkpoint y
check "not with what may change" refused 2 'not with --allow-change' --evaluate-only --resume --checkpoint "$kept" --allow-change rate
