#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# MNIST, where it is at hand: THINWIRE_DATA, or shared/data beside the tree. One epoch on 4 ranks with
# one-bit gradients, the hardest of the codecs; the long runs are those of bench/papers.sh s1-figure4.
. "$top_srcdir/tests/train/common.bash"
data=${THINWIRE_DATA:-$top_srcdir/../shared/data}/mnist

learns() { # LOW HIGH ARG...
    local low=$1 high=$2
    shift 2
    train 4 --data "mnist:$data" --epochs 1 --json "$scratch/x.json" "$@" || return 1
    within "$(value test_error "$scratch/x.json")" "$low" "$high"
}

plan 1
if [ ! -e "$data/train-images-idx3-ubyte.gz" ] && [ ! -e "$data/train-images-idx3-ubyte" ]; then
    skip "MNIST" "no MNIST in $data (set THINWIRE_DATA)"
elif nm "$program" 2>/dev/null | grep -q __asan_init; then
    check "MNIST, the linear model" learns 0.07 0.15 --codec onebit --model linear --batch 600
else
    check "MNIST, one epoch" learns 0.02 0.09 --codec onebit
fi
