# SPDX-License-Identifier: BSD-3-Clause
# shows: S0, S1: test error on all of CIFAR-10 by codec of the gradients, and with AWP, against fp32
# time: 1 hour (--quick: 2 minutes)
# differs: 10 epochs of a resnet-8; 10,000 test images: one run tells 0.4 points; MODEL, RANKS (2), BATCH, LR, WAYS
# shellcheck shell=bash disable=SC2154  # of papers.sh

# ResNet-20 with one block of three at each size
resnet_8() {
    "$build/bin/thinwire-train" --show-model resnet-20 |
        sed -e '/name = "block[234]\.[23]/d' -e 's/with = "block\([23]\)\.3"/with = "block\1.1"/' -e 's/resnet-20/resnet-8/' \
            -e 's/ResNet-20,/ResNet-8,/' >"$out/resnet-8.cfg"
    echo "$out/resnet-8.cfg"
}

target() {
    local ways=${WAYS:-$(either 'fp32 tree8' 'fp32 tree8 int4 onebit awp global')} epochs=${EPOCHS:-$(either 1 10)}
    local seeds=${SEEDS:-$(either 1 '1 2 3')} model=${MODEL:-resnet-8} ranks=${RANKS:-2} batch=${BATCH:-128} rate=${LR:-0.1}
    local way seed tested more drop=()
    [ "$model" != resnet-8 ] || model=$(resnet_8)
    [ "$epochs" -lt 4 ] || drop=(--lr-schedule "steps:$((epochs * 6 / 10)),$((epochs * 9 / 10)):0.2")
    local -x THINWIRE_NODE_RANKS=1 # bytes as between hosts: inside one, float32 passes through memory
    cifar_jpeg
    for seed in $seeds; do
        for way in $ways; do
            case $way in
                awp*) more=(--update sharded --codec "weight=$way") ;;
                global) more=(--bn global) ;;
                *) more=(--codec "grad=$way") ;;
            esac
            run "s1-cifar-$way-$seed" "$ranks" --model "$model" --data "folder:$files" --batch "$batch" --lr "$rate" --seed "$seed" \
                --epochs "$epochs" "${drop[@]}" "${more[@]}"
        done
    done
    echo "$(basename "$model" .cfg), $ranks ranks, batch $batch, rate $rate, $epochs epochs, seeds $seeds."
    echo
    echo "| | test error %: mean (range) | top-5 error % | against fp32, Welch's t | kB sent per rank and step |"
    echo "|---|---|---|---|---|"
    for way in $ways; do
        tested=$(of_seeds test_error "s1-cifar-$way")
        echo "| \`$way\` | $(spread <<<"$tested")" \
            "| $(of_seeds test_error_top5 "s1-cifar-$way" | spread)" \
            "| $([ "$way" = fp32 ] || welch <(echo "$tested") <(of_seeds test_error "s1-cifar-fp32"))" \
            "| $(value bytes_sent_per_step "s1-cifar-$way-${seeds%% *}" | awk '{ printf "%.0f", $1 / 1e3 }') |"
    done
}
