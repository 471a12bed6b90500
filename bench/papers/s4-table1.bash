# SPDX-License-Identifier: BSD-3-Clause
# shows: S4, Table 1: K = 1, 2, 4, 8 ranks, 128 images each, whole and variable batch in the dense layers
# time: 25 minutes (--quick: 3)
# differs: lenet on MNIST for AlexNet on ImageNet; all ranks share two cores, so the speed-up is of another machine
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    local ks=${RANKS:-$(either '1 2 4' '1 2 4 8')} epochs=${EPOCHS:-$(either 1 4)} k name first='' period dense options
    need mnist
    for k in $ks; do
        for period in whole variable; do
            [ "$k$period" != 1variable ] || continue
            options=()
            [ $period = whole ] || options=(--update-period 1)
            run "s4-table1-$k-$period" "$k" --model lenet --data "mnist:$data/mnist" --epochs "$epochs" --batch $((128 * k)) \
                --lr 0.005 --scheme b --lr-scale linear "${options[@]}"
        done
    done
    echo "| ranks | batch (conv, dense) | cross-entropy | error % | seconds | times faster |"
    echo "|---|---|---|---|---|---|"
    for k in $ks; do
        for period in whole variable; do
            name=s4-table1-$k-$period
            [ -s "$out/$name.json" ] || continue
            [ -n "$first" ] || first=$(value seconds_per_epoch "$name")
            dense=128
            [ $period = variable ] || dense=$((128 * k))
            awk -v k="$k" -v d=$dense -v l="$(value train_loss "$name")" -v n="$epochs" \
                -v e="$(value test_error "$name")" -v s="$(value seconds_per_epoch "$name")" -v f="$first" \
                'BEGIN { printf "| %d | (%d, %d) | %.4f | %.2f | %.0f | %.2f |\n", k, 128 * k, d, l, 100 * e, n * s, f / s }'
        done
    done
}
