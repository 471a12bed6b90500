# SPDX-License-Identifier: BSD-3-Clause
# shows: S0, Figure 5: time after each epoch with AWP, of that with 32 bits, and the top-5 error of both
# time: 25 minutes (--quick: 1), as root
# differs: small networks, 10 classes of CIFAR-10 and 4 emulated hosts at 100 Mbit/s (RATE) for 1000 classes and 4 GPUs on PCIe
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    local model policy epochs=${EPOCHS:-$(either 2 5)} rate=${RATE:-$(either 500mbit 100mbit)} up='' row models
    models=$(either alexnet-cifar 'alexnet-cifar vgg-cifar resnet-20')
    declare -A paper=([alexnet-cifar]='.995 .992 .992 .996 .990' [vgg-cifar]='.907 .920 .936 .932' [resnet-20]='.765 .770 .778 .777')
    need cifar10
    for model in $models; do
        for policy in fp32 awp; do
            [ -s "$out/s0-epochs-$model-$policy.json" ] || [ -n "$up" ] || { lab_up 4 "$rate"; up=yes; }
            once "s0-epochs-$model-$policy" on_hosts 4 "$build/bin/thinwire-train" --model "$model" --data "cifar10:$data/cifar10" \
                --batch 64 --lr 0.01 --seed 1 --epochs "$epochs" --update sharded --codec "weight=$policy" || exit 1
        done
    done
    [ -z "$up" ] || lab_down
    echo "4 hosts at $rate, batch 64, gradients in float32."
    echo
    echo "| network | time after epochs 1, 2, ... of that with 32 bits | S0 | top-5 error, 32 bits and AWP, % |"
    echo "|---|---|---|---|"
    for model in $models; do
        row=$(paste <(of_epochs seconds "s0-epochs-$model-awp") <(of_epochs seconds "s0-epochs-$model-fp32") |
            awk '{ a += $1; b += $2; printf "%s%.3f", (NR > 1 ? " " : ""), a / b }')
        echo "| $model | $row | ${paper[$model]} | $(of_epochs test_error_top5 "s0-epochs-$model-fp32" | percents) and $(of_epochs test_error_top5 "s0-epochs-$model-awp" | percents) |"
        { echo "\"$model\""; tr ' ' '\n' <<<"$row" | awk '{ print NR, $1 }'; printf '\n\n'; } >&3
    done 3>"$out/s0-epochs.dat"
    draw s0-epochs 640,420 <<GNUPLOT
set title 'Time after an epoch with AWP, of that with 32 bits; 4 hosts at $rate'
set xlabel 'epoch'
set ylabel 'part of the time with 32 bits'
set yrange [0:1.2]
set xtics 1
set key bottom right
plot for [i=0:$(($(wc -w <<<"$models") - 1))] '$out/s0-epochs.dat' index i using 1:2 with linespoints pt 7 lw 2 lc rgb colour('spare:'.(i+1)) title columnheader(1), \
     1 with lines dt 2 lc rgb '#888888' title '32 bits'
GNUPLOT
}

# of_epochs KEY NAME: of each epoch.
of_epochs() { awk -F '": ' -v key="      \"$1" '/^  "/ { on = $1 ~ /"epochs$/ } on && $1 == key { sub(/,$/, "", $2); print $2 }' "$out/$2.json"; }
percents() { awk '{ printf "%s%.1f", (NR > 1 ? " " : ""), 100 * $1 }'; }
