# SPDX-License-Identifier: BSD-3-Clause
# shows: S3, Figures 5 and 6: accuracy of resnet-20 by batch with local, global and adaptive statistics, and their speed
# time: 8 hours (--quick: 3 minutes)
# differs: a subset of CIFAR-10, 20 epochs of 50; ranks of one host for GPUs; BATCHES ("8 16 32 64"), RANKS ("4 8")
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    local batches=${BATCHES:-$(either '8 64' '8 16 32 64')} ranks=${RANKS:-$(either 4 '4 8')}
    local epochs=${EPOCHS:-$(either 1 20)} seeds=${SEEDS:-$(either 1 '1 2 3')} seed mode batch k name drop=()
    need cifar10
    [ "$epochs" -lt 4 ] || drop=(--lr-schedule "steps:$((epochs / 2)),$((3 * epochs / 4)):0.1")
    for k in $ranks; do
        for batch in $batches; do
            for seed in $seeds; do
                for mode in local global adaptive; do
                    run "s3-$k-$batch-$mode-$seed" "$k" --model resnet-20 --data "cifar10:$data/cifar10" --batch "$batch" \
                        --lr "$(awk -v b="$batch" 'BEGIN { print 0.1 * b / 64 }')" --epochs "$epochs" "${drop[@]}" \
                        --bn $mode --seed "$seed"
                done
            done
        done
    done
    echo "resnet-20, $epochs epochs, seeds $seeds; accuracies in %: mean (range)."
    echo
    echo "| ranks, batch | statistics | training accuracy | test accuracy | images/s |"
    echo "|---|---|---|---|---|"
    for k in $ranks; do
        for batch in $batches; do
            for mode in local global adaptive; do
                name=s3-$k-$batch-$mode
                echo "| $k, $batch | $mode" \
                    "| $(for seed in $seeds; do last train_error "$name-$seed" | awk 'NF { print 1 - $1 }'; done | spread)" \
                    "| $(for seed in $seeds; do value test_error "$name-$seed" | awk 'NF { print 1 - $1 }'; done | spread)" \
                    "| $(of_seeds images_per_second "$name" | median | awk '{ printf "%.0f", $1 }') |"
            done
        done
    done
}
