#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bad input to hybrid runs of convolutional networks: models, shapes, schemes, codecs, traces, and a loss
# that does not stay finite. One clear line, every rank leaves, nothing is left half-written.
. "$top_srcdir/tests/train/common.bash"
. "$top_srcdir/tests/train/refused.bash"
small="--data digits:train=60 --batch 12"

# A model file with the given layers, in $scratch/NAME.cfg.
model() { # NAME LAYERS
    printf 'name = "%s";\ninput = { channels = 1; height = 28; width = 28; };\nclasses = 10;\nlayers = (\n%s\n);\n' \
        "$1" "$2" >"$scratch/$1.cfg"
}
dense='  { type = "dense"; name = "fc"; }'
model word "  { type = \"conv\"; name = \"c\"; chanels = 6; kernel = 3; },
$dense"
model syntax "  { type = \"conv\"; name = ; channels = 6; kernel = 3; },
$dense"
model value "  { type = \"conv\"; name = \"c\"; channels = 6;
    kernel = 0; },
$dense"
model shape "  { type = \"conv\"; name = \"c\"; channels = 6; kernel = 29; },
$dense"
model codec "  { type = \"conv\"; name = \"c\"; channels = 6; kernel = 3; codec = \"tree9\"; },
$dense"

# A group of more ranks than there are is a group of all of them: scheme c.
large_groups_are_all() {
    # shellcheck disable=SC2086
    train 3 --model lenet $small --scheme group=7 --epochs 1 --json "$scratch/group.json" &&
        train 3 --model lenet $small --scheme c --epochs 1 --json "$scratch/c.json" &&
        same "$(value weights_hash "$scratch/group.json")" "$(value weights_hash "$scratch/c.json")"
}

forced_one_bit_runs() {
    # shellcheck disable=SC2086
    train 3 --model lenet $small --scheme c --codec act=onebit --force --epochs 1 &&
        grep 'act=onebit:block=2048,back=onebit' "$scratch/out"
}

one_bit_without_split_layers_runs() { # no activations travel
    # shellcheck disable=SC2086
    train 3 --model lenet $small --codec onebit --epochs 1
}

# From the second epoch on the rate is beyond all measure: what was good is kept.
loss_is_not_finite() {
    local state="--model lenet $small --scheme c --codec grad=onebit,act=tree8 --lr-schedule steps:1,1.1,1.2:1e9"
    # shellcheck disable=SC2086
    refused 1 'the loss is not finite in epoch 2, step [2-5], and the first output that is not is that of layer conv[12];' \
        $state --epochs 9 --checkpoint "$scratch/kept" --json "$scratch/x.json" --trace "$scratch/x.trace" || return 1
    cp "$scratch/kept" "$scratch/before"
    # shellcheck disable=SC2086
    train 3 $state --epochs 1 --checkpoint "$scratch/kept" --resume || return 1
    grep 'resumed after epoch 1' "$scratch/out" && cmp "$scratch/kept" "$scratch/before"
}

nothing_is_left() {
    local left
    left=$(find "$scratch" -name '*.tmp' -o -name 'x.json' -o -name 'x.trace' -o -name 'x.checkpoint')
    [ -z "$left" ] || { echo "left: $left"; return 1; }
}

plan 32
check "model: unknown word" refused 1 "word.cfg:5: a conv layer has no 'chanels', nearest is channels" --model "$scratch/word.cfg"
check "model: syntax" refused 1 'syntax.cfg:5: ' --model "$scratch/syntax.cfg"
check "model: value out of range" refused 1 'value.cfg:6: .*kernel' --model "$scratch/value.cfg"
check "model: kernel larger than its input" refused 1 "shape.cfg:5: .*'c'.*29x29" --model "$scratch/shape.cfg"
check "model: unknown codec" refused 1 "tree9" --model "$scratch/codec.cfg"
check "model: missing file" refused 1 'none.cfg: No such file' --model "$scratch/none.cfg"
check "model: a folder" refused 1 "$scratch/: .*directory" --model "$scratch/"
check "--describe of a bad model" refused 1 'word.cfg:5: ' --describe "$scratch/word.cfg"
check "--show-model of no model" refused 1 "model 'vgg' is unknown, nearest is vgg-a" --show-model vgg
check "images too small for the model" refused 1 "digits:train=60, 28x28x1, does not fit --model alexnet-s0: .*'pool2'" --model alexnet-s0 --data digits:train=60
check "batch smaller than the ranks" refused 1 '--batch 2 is smaller than the 3 ranks' --model lenet --scheme c --batch 2
check "groups larger than the ranks are all of them" large_groups_are_all
check "unknown scheme" refused 2 "--scheme 'd': accepted are data, a, b, c and group=G" --scheme d
check "group of none" refused 2 "--scheme 'group=0': accepted.*G from 1" --scheme group=0
check "group of no number" refused 2 "--scheme 'group=2x'" --scheme group=2x
check "owners of nothing" refused 1 'all are of split layers; accepted is --update replicated' --model linear --scheme a \
    --update root --codec weight=awp
check "a codec for activations that stay" refused 1 'act=tree8: activations travel only between split' --codec act=tree8
check "one bit for weights" refused 1 'weight=onebit.*too coarse for weights.*--force' --update root --codec weight=onebit
check "one bit for activations" refused 1 'act=onebit.*too coarse.*--force' --model lenet --scheme c --codec act=onebit
check "one bit for their gradients" refused 1 'back=onebit.*too coarse.*--force' --model lenet --scheme c --codec back=onebit
check "one bit for activations, forced" forced_one_bit_runs
check "one bit without split layers" one_bit_without_split_layers_runs
check "an unknown class of tensors" refused 1 "unknown class 'activations'; accepted are .*grad, act, back and weight" \
    --codec grad=tree8,activations=tree8
check "an unknown class behind a codec's options" refused 1 "'activations'.*grad, act, back and weight" \
    --codec grad=tree8:block=64,activations=tree8
check "two codecs for a class" refused 1 'two specs for grad' --codec grad=onebit,grad=fp32
check "--update-period without split layers" refused 2 '--update-period needs split layers' --update-period 2
check "unknown --bn" refused 2 "--bn 'all': accepted are local, global and adaptive" --bn all
check "trace in a missing folder" refused 1 'none/x.trace: cannot be written: No such file' --trace "$scratch/none/x.trace"
check "trace to a full device" refused 1 '--trace /dev/full: cannot be written: No space' --trace /dev/full
check "two results in one file" refused 2 "--json and --trace are the same file, $scratch/x.json" --json "$scratch/x.json" --trace "$scratch/x.json"
check "a loss that is not finite" loss_is_not_finite
check "nothing is left behind" nothing_is_left
