# SPDX-License-Identifier: BSD-3-Clause
# shows: S4, section 5: the rate by the square root of the batch, in proportion to it, and unchanged, over batches
# time: 20 minutes (--quick: 2)
# differs: lenet on MNIST for AlexNet on ImageNet; batches from 64
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    local batches=${BATCHES:-$(either '64 1024' '64 256 1024 4096')} rules='none sqrt linear'
    local epochs=${EPOCHS:-$(either 1 4)} seeds=${SEEDS:-$(either 1 '1 2 3')} batch rule seed name
    need mnist
    for seed in $seeds; do
        for batch in $batches; do
            for rule in $rules; do
                run "s4-rates-$batch-$rule-$seed" 2 --model lenet --data "mnist:$data/mnist" --epochs "$epochs" --batch "$batch" \
                    --lr 0.01 --lr-scale "$rule" --seed "$seed"
            done
        done
    done
    echo "lenet, $epochs epochs, 2 ranks, rate 0.01 at the model's batch, seeds $seeds; test error in %: mean (range)."
    echo
    echo "| batch | same rate | by the root | in proportion |"
    echo "|---|---|---|---|"
    for batch in $batches; do
        for rule in $rules; do
            name=s4-rates-$batch-$rule
            of_seeds test_error "$name" | spread
            echo
        done | paste -s -d '|' | sed "s/|/ | /g; s/^/| $batch | /; s/\$/ |/"
    done
}
