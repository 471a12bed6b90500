#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --describe and --show-model: the built-in models have the sizes that were published, and the file that
# is printed describes the same model.
. "$top_srcdir/tests/train/common.bash"

# MODEL PARAMETERS, from the sources of the models; lenet, linear and those ending in -cifar were counted by hand, alexnet-s4 is
# alexnet-s0 with one dense layer of 4096 less and 1000 classes.
published='mlp 1863690
linear 7850
lenet 582026
alexnet-s0 75341960
alexnet-s0-valid 63807624
alexnet-s4 61838248
vgg-a 129585736
resnet-34 21387272
resnet-20 269722
alexnet-cifar 653834
vgg-cifar 812394
googlenet 6998552
resnet-50 25557032
alexnet-2012 60965224'

# describe MODEL BATCH: to $scratch/out.
describe() { timeout 30 "$program" --describe "$1" --batch "$2" >"$scratch/out" 2>&1; }

describes() { # MODEL PARAMETERS
    describe "$1" 1 || { cat "$scratch/out"; return 1; }
    grep -q "\b$2\b" "$scratch/out" || { cat "$scratch/out"; echo "no $2"; return 1; }
    grep -q "keeps $((4 * $2)) bytes" "$scratch/out" || { cat "$scratch/out"; return 1; }
}

shows() { # MODEL
    timeout 30 "$program" --show-model "$1" >"$scratch/x.cfg" 2>"$scratch/err" || return 1
    [ ! -s "$scratch/err" ] && describe "$1" 8 && mv "$scratch/out" "$scratch/builtin" || return 1
    (cd "$scratch" && timeout 30 "$program" --describe ./x.cfg --batch 8 >file 2>&1)
    grep -q "^$1 (\./x\.cfg): " "$scratch/file" || { cat "$scratch/file"; return 1; }
    diff <(sed '1s/(built in)//' "$scratch/builtin") <(sed '1s/(\.\/x\.cfg)//' "$scratch/file")
}

all_are_listed() {
    timeout 30 "$program" --help >"$scratch/help" 2>&1 || return 1
    same "$(sed -n '/^models:/{n;p;}' "$scratch/help" | xargs -n 1 | sort)" \
        "$(echo "$published" | cut -d ' ' -f 1 | sort)"
}

# A shown model trains as the built-in one does.
shown_trains_the_same() {
    local name
    timeout 30 "$program" --show-model lenet >"$scratch/x.cfg" || return 1
    for name in lenet "$scratch/x.cfg"; do
        train 2 --model "$name" --data digits:train=60 --batch 12 --scheme c --epochs 1 \
            --json "$scratch/$(basename "$name").json" || return 1
    done
    same "$(value weights_hash "$scratch/lenet.json")" "$(value weights_hash "$scratch/x.cfg.json")"
}

plan $((2 * $(echo "$published" | wc -l) + 2))
while read -r name parameters; do
    check "$name has $parameters parameters" describes "$name" "$parameters"
    check "$name can be shown and read" shows "$name"
done <<<"$published"
check "these are all" all_are_listed
check "a shown model trains the same" shown_trains_the_same
