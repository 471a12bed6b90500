#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --profile: where the time of a step goes; --no-overlap.
. "$top_srcdir/tests/train/common.bash"
json_query=$top_builddir/tests/tools/json_query
small="--data digits:train=240 --batch 60 --model lenet --epochs 2"
owners="--update sharded --codec weight=awp:interval=2,grad=tree8"
rows="weights gradients convolutions dense_layers other_layers update awp_norm packing unpacking input evaluation rest"

row() { "$json_query" "$scratch/$1.json" "profile.rows.$2.ms"; } # FILE ROW

# FILE: the rows are those, none is negative, and they are the step but for 2 %.
adds_up() {
    local name
    for name in $rows; do
        echo "$name $(row "$1" "$name")" || return 1
    done | awk -v step="$("$json_query" "$scratch/$1.json" profile.step_ms)" '
        $2 == "" || $2 < 0 { bad = 1 }
        $1 != "evaluation" { sum += $2 }
        { print }
        END { print sum, step; exit !(NR == 12 && !bad && step > 0 && sum >= 0.98 * step && sum <= 1.02 * step) }'
}

replicated_adds_up() {
    # shellcheck disable=SC2086  # a list of words
    train 2 $small --codec tree8 --profile --no-overlap --json "$scratch/whole.json" && adds_up whole || return 1
    same "$("$json_query" "$scratch/whole.json" profile.{steps,overlap})" $'6\nfalse' || return 1
    same "$(row whole weights | awk '{ print $1 + 0 }') $(row whole awp_norm | awk '{ print $1 + 0 }')" "0 0" || return 1
    awk -v c="$(row whole convolutions)" -v g="$(row whole gradients)" -v p="$(row whole packing)" \
        'BEGIN { exit !(c > 0 && g > 0 && p > 0) }'
}

owners_add_up() {
    # shellcheck disable=SC2086
    train 2 $small $owners --profile --no-overlap --json "$scratch/owned.json" && adds_up owned || return 1
    awk -v w="$(row owned weights)" -v n="$(row owned awp_norm)" -v u="$(row owned unpacking)" \
        'BEGIN { exit !(w > 0 && n > 0 && u > 0) }'
}

others_add_up() {
    # shellcheck disable=SC2086
    train 3 $small --scheme c --codec act=tree8 --profile --json "$scratch/split.json" && adds_up split || return 1
    # shellcheck disable=SC2086
    THINWIRE_PROGRESS=thread train 2 $small $owners --profile --json "$scratch/beside.json" && adds_up beside || return 1
    # shellcheck disable=SC2086
    train 1 $small --profile --steps 2 --json "$scratch/short.json" && adds_up short &&
        same "$("$json_query" "$scratch/short.json" profile.{steps,overlap})" $'2\ntrue'
}

# The table has the rows in their order, and a line for the step.
table_has_its_rows() {
    # shellcheck disable=SC2086
    train 2 $small --profile --no-overlap || return 1
    same "$(sed -n '/^profile of 6 steps of rank [01], the slowest$/,$p' "$scratch/out" | sed 1d |
        sed 's/^  \(.*[a-zA-Z]\)  *[0-9]*\.[0-9]* ms.*/\1/; s/  *$//' | paste -sd,)" \
        "weights travelling,gradients travelling,convolutions,dense layers,other layers,gradient update,AWP norm,packing,unpacking,input,evaluation,rest,step" || return 1
    same "$(grep -c '^  evaluation  .* in all, beside the steps$' "$scratch/out")" 1 || return 1
    # shellcheck disable=SC2086
    train 2 $small --profile && grep '^profile of .*; of exchanges, what nothing hid$' "$scratch/out"
}

weights_stay_the_same() { # OPTION...
    local plain
    # shellcheck disable=SC2086
    train 2 $small "$@" --json "$scratch/plain.json" || return 1
    plain=$(value weights_hash "$scratch/plain.json")
    same "$("$json_query" "$scratch/plain.json" profile)" null || return 1
    # shellcheck disable=SC2086
    train 2 $small "$@" --profile --json "$scratch/p.json" &&
        same "$plain" "$(value weights_hash "$scratch/p.json")" || return 1
    # shellcheck disable=SC2086
    train 2 $small "$@" --no-overlap --json "$scratch/n.json" &&
        same "$plain" "$(value weights_hash "$scratch/n.json")"
}

refuses() ( # in a shell of its own, with a limit of its own
    # shellcheck source=/dev/null
    . "$top_srcdir/tests/train/refused.bash"
    refused "$@"
)

plan 7
check "rows add up to the step, every rank updating" replicated_adds_up
check "rows add up to the step, owners updating" owners_add_up
check "rows add up with split layers, a progress thread, and two steps" others_add_up
check "the table has its rows" table_has_its_rows
check "the same weights, every rank updating" weights_stay_the_same --codec onebit
# shellcheck disable=SC2086
check "the same weights, owners updating" weights_stay_the_same $owners
check "--no-overlap not with split layers" refuses 2 'only with --scheme data' --no-overlap --scheme a
