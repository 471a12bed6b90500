#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --awp-calibrate: T of AWP from a monitoring run.
. "$top_srcdir/tests/train/common.bash"
json_query=$top_builddir/tests/tools/json_query
small="--data digits:train=240 --batch 60 --epochs 6"

option() { grep -o -e '--codec weight=awp:T=.*' "$scratch/out"; }
of() { "$json_query" "$scratch/$1.json" awp_calibrate.{threshold,steps,groups} evaluations.#; }

prints_the_same_twice() {
    local first
    # shellcheck disable=SC2086  # a list of words
    train 2 $small --awp-calibrate --json "$scratch/one.json" || return 1
    first=$(option)
    # shellcheck disable=SC2086
    train 2 $small --awp-calibrate --json "$scratch/two.json" || return 1
    same "$first" "$(option)" && same "$(of one)" "$(of two)" || return 1
    # What is printed is what the file says.
    awk -v a="${first##*=}" -v b="$("$json_query" "$scratch/one.json" awp_calibrate.threshold)" \
        'BEGIN { exit !(a == b && a != 0) }' || { echo "not the threshold"; return 1; }
}

# The tests of a plain run say where it must have stopped; mlp has three layers with weights.
stops_at_the_first_drop() {
    local want
    # shellcheck disable=SC2086
    train 2 $small --eval-every 1 --json "$scratch/plain.json" || return 1
    want=$("$json_query" "$scratch/plain.json" evaluations.{0..23}.test_error |
        awk 'NR > 1 && !n && $1 < last { n = NR } { last = $1 } END { print n }')
    # shellcheck disable=SC2086
    train 2 $small --eval-every 1 --awp-calibrate --json "$scratch/every.json" || return 1
    same "$(of every | tail -n +2 | xargs)" "$((want - 1)) 3 $want"
}

ranks_change_rounding_only() {
    # shellcheck disable=SC2086
    train 1 $small --awp-calibrate --json "$scratch/alone.json" || return 1
    awk -v a="$("$json_query" "$scratch/alone.json" awp_calibrate.threshold)" \
        -v b="$("$json_query" "$scratch/one.json" awp_calibrate.threshold)" \
        'BEGIN { d = (a - b) / a; print a, b; exit !(d < 1e-4 && d > -1e-4) }'
}

# The owners' norms, each of its share, are those of the whole.
owners_change_rounding_only() {
    local update
    for update in root sharded; do
        # shellcheck disable=SC2086
        train 2 $small --awp-calibrate --update $update --json "$scratch/$update.json" || return 1
        awk -v a="$("$json_query" "$scratch/$update.json" awp_calibrate.threshold)" \
            -v b="$("$json_query" "$scratch/one.json" awp_calibrate.threshold)" \
            'BEGIN { d = (a - b) / a; print a, b; exit !(d < 1e-4 && d > -1e-4) }' || return 1
    done
}

is_no_other_run() {
    # shellcheck disable=SC2086
    train 2 $small --epochs "$("$json_query" "$scratch/one.json" epochs.#)" --json "$scratch/same.json" || return 1
    same "$(value weights_hash "$scratch/same.json")" "$(value weights_hash "$scratch/one.json")" || return 1
    same "$("$json_query" "$scratch/same.json" awp_calibrate)" null
}

can_be_given_back() {
    # shellcheck disable=SC2046,SC2086
    train 2 $small --awp-calibrate && train 2 $small --update sharded $(option) || return 1
    grep 'codec weight=awp:T=' "$scratch/out"
}

# One test has no test before it.
tells_that_there_is_no_drop() {
    train 2 --data digits:train=240 --batch 60 --epochs 1 --awp-calibrate --json "$scratch/none.json" || return 1
    same "$(grep -c '^AWP: no T: no test had fewer errors than the one before it in 4 steps, 1 tests$' "$scratch/out")" 1 || return 1
    same "$("$json_query" "$scratch/none.json" awp_calibrate)" null
}

refuses() ( # in a shell of its own, with a limit of its own
    # shellcheck source=/dev/null
    . "$top_srcdir/tests/train/refused.bash"
    refused "$@"
)

plan 12
check "a second run prints the same" prints_the_same_twice
check "the first lower error ends it" stops_at_the_first_drop
check "one rank finds the same up to rounding" ranks_change_rounding_only
check "owners find the same up to rounding" owners_change_rounding_only
check "the weights are those of the run without it" is_no_other_run
check "the option can be given back" can_be_given_back
check "no drop is told, and is no failure" tells_that_there_is_no_drop
check "not with --resume" refuses 2 'not with --resume' --awp-calibrate --resume --checkpoint "$scratch/c"
check "not with --until" refuses 2 'not with --until' --awp-calibrate --until 'error<=1'
check "not with --steps alone" refuses 2 'add --eval-every N' --awp-calibrate --steps 4
check "not with another codec" refuses 1 'weights in fp32' --awp-calibrate --update root --codec weight=awp
check "not where all is split" refuses 1 'all layers with weights are split' --awp-calibrate --scheme a
