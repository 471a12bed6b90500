#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire-train --plan: the model, batch, scheme and codecs are those that thinwire plan --json advises, and the run is the
# same as with the options written out; other advice, and what is none, is refused by all ranks in one line.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/train/common.bash"
# shellcheck source=/dev/null
. "$top_srcdir/tests/train/refused.bash"
train_limit=${TW_TIME_LIMIT:-120}
json_query=$top_builddir/tests/tools/json_query
plan=$scratch/plan.json
data=(--data digits:train=240 --steps 4)

of() { printf 'name = "m"; network = "%s"; flops = 1e12; codec_rate = %s;\n' "$1" "$2" >"$scratch/machine.cfg"; }
advise() { alone "$top_builddir/bin/thinwire" plan "$1" --machine "$scratch/machine.cfg" --json "$plan" "${@:2}"; }
advised() { "$json_query" "$plan" "advice.$1"; }

# follows RANKS MODEL: runs by the plan and by its options leave the same weights; the report says what was advised.
follows() {
    local n=$1 limit=$train_limit key options=()
    train "$n" --plan "$plan" "${data[@]}" --json "$scratch/a.json" || return 1
    read -ra options <<<"$(advised command)"
    same "${options[*]:0:4}" "mpirun -n $n thinwire-train" || return 1
    train "$n" "${options[@]:4}" "${data[@]}" --json "$scratch/b.json" || return 1
    for key in batch scheme ranks; do
        same "$(value $key "$scratch/a.json")" "$("$json_query" "$plan" advice.$key)" || return 1
    done
    same "$(value model "$scratch/a.json")" "$2" || return 1
    for key in codec weights_hash bytes_sent_per_step; do
        same "$("$json_query" "$scratch/a.json" "$key")" "$("$json_query" "$scratch/b.json" "$key")" || return 1
    done
}

# With codecs that are fast, on a slow network, a plan has all there is to be chosen.
data_parallel() {
    of ethernet-1g 1e12
    for n in 1 4; do
        advise mlp --ranks $n --batch 48 --scheme data && follows $n mlp || return 1
    done
    same "$(advised grad)" onebit && value codec "$scratch/a.json" | grep onebit
}
split_layers() {
    of ethernet-1g 1e12
    for how in 2,a 3,group=2; do
        advise lenet --ranks "${how%,*}" --batch 48 --scheme "${how#*,}" --codec fp32,tree8,onebit && follows "${how%,*}" lenet &&
            same "$(advised act)" tree8 && same "$(advised scheme)" "${how#*,}" || return 1
    done
}
# A spec with commas; a model of a file.
texts() {
    cp "$top_srcdir/train/model/zoo/linear.cfg" "$scratch/file.cfg"
    of ethernet-1g 1e12
    advise "$scratch/file.cfg" --ranks 2 --batch 48 --scheme a --codec tree8:block=64,split=0.55 && follows 2 linear &&
        same "$(advised model)" "$scratch/file.cfg"
}

# Weights with owners: the bytes of a step are those that the run counts, to 1 %, each rank on a node of its own.
owners() {
    local -x THINWIRE_NODE_RANKS=1
    of ethernet-1g 1e12
    for how in root,data,2 sharded,data,4 sharded,c,3 root,b,4; do
        IFS=, read -r update scheme n <<<"$how"
        advise lenet --ranks "$n" --batch 48 --scheme "$scheme" --codec tree8 --update "$update" --weights bitpack:2 &&
            follows "$n" lenet && same "$(value update "$scratch/a.json")" "$update" && same "$(advised weight)" bitpack:2 &&
            "$json_query" "$scratch/a.json" codec | grep '^weight=bitpack:2,grad=tree8' || return 1
        echo "$how: $(advised bytes) bytes predicted, $(value bytes_sent_per_step "$scratch/a.json") counted"
        awk -v a="$(advised bytes)" -v b="$(value bytes_sent_per_step "$scratch/a.json")" 'BEGIN { exit !(b > 0 && a > 0.99 * b && a < 1.01 * b) }' || return 1
    done
}

# ---- refusals, on 3 ranks --------------------------------------------------------------------------------

of ethernet-1g 1e12
advise lenet --ranks 3 --batch 48 --scheme c --codec tree8 >/dev/null
cp "$plan" "$scratch/good.json"
good=$scratch/good.json

with_options() {
    local each
    for each in "--model lenet" "--batch 9" "--codec fp32" "--update root"; do
        # shellcheck disable=SC2086  # words
        refused 2 "--plan decides the model, batch, scheme, update and codec: not with ${each% *}" --plan "$good" $each || return 1
    done
}
other_ranks() {
    sed 's/"ranks": 3,$/"ranks": 4,/' "$good" >"$scratch/four.json"
    refused 2 "--plan $scratch/four.json: it is for 4 ranks; this run has 3" --plan "$scratch/four.json"
}
files() {
    refused 2 "--plan $scratch/none.json: .*No such file" --plan "$scratch/none.json" && refused 2 "--plan $scratch: " --plan "$scratch" || return 1
    for each in '' '{"rows": []}' '{"advice": 3}' '{"advice": {}, "advice": {}}' "{\"a$(printf '\n\001')b\": 1}"; do
        printf '%s' "$each" >"$scratch/bad.json"
        refused 2 "--plan $scratch/bad.json: " --plan "$scratch/bad.json" || return 1
    done
    head -c 3000 /dev/urandom >"$scratch/bad.json"
    refused 2 "--plan $scratch/bad.json: " --plan "$scratch/bad.json" && refused 2 '--plan /dev/zero: ' --plan /dev/zero
}

# advice KEY VALUE: the good plan with another value of its advice.
advice() {
    key=$1 value=$2 awk '/"advice"/ { inside = 1 }
        inside && index($0, "\"" ENVIRON["key"] "\":") { sub(/:.*/, ""); print $0 ": " ENVIRON["value"] ","; next }
        { print }' "$good" >"$scratch/bad.json"
}
hostile() { # KEY PATTERN VALUE...
    local key=$1 pattern=$2 each
    shift 2
    for each in "$@"; do
        advice "$key" "$each"
        refused 2 "$pattern" --plan "$scratch/bad.json" || { echo "$key = ${each:0:40}"; return 1; }
    done
}
long=$(printf 'x%.0s' {1..10000})
numbers() {
    hostile batch 'advice.batch: accepted is a whole number from 1 to 1000000$' 0 -1 1e300 1.5 '"48"' &&
        hostile ranks 'advice.ranks: accepted is a whole number from 1 to 2147483647$' null 4294967299
}
texts_refused() {
    hostile model 'advice.model: accepted is a text of 1 to 4095 characters' "\"$long\"" '"a\nb"' &&
        hostile scheme 'advice.scheme: accepted is a text of 1 to 63 characters' "\"$long\"" &&
        hostile grad 'advice.grad: accepted is a text of 1 to 127 characters' "\"$long\"" &&
        hostile act 'advice.act: accepted is a text' '{ "a": 1 }'
}
words_refused() {
    hostile scheme '--scheme' '"x"' || return 1
    advice grad '"x"'
    refused 1 "--codec 'x'" --plan "$scratch/bad.json" || return 1
    advice act '"onebit"'
    refused 1 '--codec act=onebit' --plan "$scratch/bad.json" || return 1
    advice model '"lenot"' && refused 1 "lenot" --plan "$scratch/bad.json"
}

echo 1..10
check "data parallel on 1 and 4 ranks" data_parallel
check "split layers on 2 and 3 ranks" split_layers
check "specs with commas, models of files" texts
check "weights with owners: the advice, and its bytes" owners
check "options that the plan has" with_options
check "a plan for other ranks" other_ranks
check "files without advice" files
check "numbers that cannot be" numbers
check "texts that cannot be" texts_refused
check "schemes, codecs and models that do not exist" words_refused
