#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# papers.sh BUILD_DIR DATA_DIR OUT_DIR [TARGET...] [--quick] - the papers' tables and figures, by thinwire.
#
# Targets (default: lenet), with about how long they take on two cores:
#     lenet       MNIST on 4 ranks, hybrid c with 8-bit activations, beside one rank in fp32; 6 epochs, two
#                 seeds (10 minutes)
#     statistics  S3, Figure 5: resnet-20 on CIFAR-10, global batch 8 on 4 ranks, local, global and adaptive
#                 statistics, 3 seeds, EPOCHS epochs (90 minutes at 20)
#     table1      S4, Table 1 in form: lenet on MNIST with K = 1, 2, 4 ranks, 128 images each, rate 0.005 K, with and
#                 without variable batch size in the dense layers (15 minutes)
#     figure4     S1, Figure 4: test error of the network mlp on MNIST by codec, 3 seeds, EPOCHS epochs (3 hours at 30)
#     figure5     S1, Figure 5: how long a layer of 10 thousand to 10 million values travels between two emulated hosts
#                 with 32, 8 and 1 bit, encoding and decoding included (2 minutes; root)
#     awp         S0, section V, with Figures 3 and 4 and Tables II and III: bench/awp.sh (45 minutes; root)
#     loader      S2, slides 26 to 29, in form: bench/loader.sh (20 minutes; DATA_DIR holds photos/)
# --quick is for awp: a part of it in 5 minutes. DATA_DIR holds mnist/ and cifar10/. Every run leaves a JSON file in
# OUT_DIR and a checkpoint while it runs: the script may be stopped and started. Tables go to OUT_DIR/TARGET.md, figures,
# by gnuplot, to OUT_DIR/TARGET.svg.
# Environment: EPOCHS (statistics: 20, figure4: 30), SEEDS ("1 2 3"; lenet: "1 2"); figure4: RANKS (4), CODECS; figure5:
# RATES ("1 10 100"), of the links in Gbit/s: above some Gbit/s the cores set the pace.
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u -o pipefail
. "$(dirname "$0")/common.bash"
folders "${1-}" "${3-}"
[ -d "$2" ] || fail "there is no folder '$2'; accepted: one that holds mnist/, cifar10/, photos/, as the targets need"
data=$(cd "$2" && pwd) || exit 1
shift 3

# Last epoch's figure of that name.
last() { awk -F '": ' -v key="      \"$1" '$1 == key { gsub(/[",]/, "", $2); v = $2 } END { print v }' "$out/$2.json" 2>/dev/null; }

# need FOLDER CONTENTS URL: ends the target unless its data are there.
need() { [ -d "$data/$1" ] || fail "there is no folder '$data/$1'; accepted: $2, from $3"; }
need_mnist() { need mnist 'the four IDX files of MNIST' http://yann.lecun.com/exdb/mnist/; }
need_cifar() { need cifar10 'the binary version of CIFAR-10' https://www.cs.toronto.edu/~kriz/cifar.html; }
need_photos() { need photos 'the folders that bench/loader.sh names' 'where you have photographs'; }

# A run that fails ends the target with the trainer's line.
run() { # NAME RANKS ARG...
    local name=$1 ranks=$2 resume=()
    shift 2
    [ ! -s "$out/$name.state" ] || resume=(--resume)
    once "$name" on_ranks "$ranks" "$build/bin/thinwire-train" "$@" --checkpoint "$out/$name.state" "${resume[@]}" || exit 1
    rm -f "$out/$name.state"
}

# Mean and range of percentages, one per line.
range() {
    LC_ALL=C awk 'NF { v = 100 * $1; s += v; n++; if (n == 1 || v < a) a = v; if (n == 1 || v > b) b = v }
        END { if (n) printf "%.2f (%.2f to %.2f)", s / n, a, b; else printf "not run" }'
}

target_lenet() {
    local seed mnist=mnist:$data/mnist seeds=${SEEDS:-1 2} s
    need_mnist
    for seed in $seeds; do
        run "lenet-one-$seed" 1 --model lenet --data "$mnist" --epochs 6 --seed "$seed"
        run "lenet-hybrid-$seed" 4 --model lenet --data "$mnist" --epochs 6 --seed "$seed" --scheme c --codec tree8
    done
    echo "| seed | one rank, fp32: accuracy % | 4 ranks, hybrid c, tree8 | MB sent per rank and step |"
    echo "|---|---|---|---|"
    for s in $seeds; do
        awk -v s="$s" -v a="$(value test_error "lenet-one-$s")" -v b="$(value test_error "lenet-hybrid-$s")" \
            -v m="$(value bytes_sent_per_step "lenet-hybrid-$s")" \
            'BEGIN { printf "| %s | %.2f | %.2f | %.3f |\n", s, 100 - 100 * a, 100 - 100 * b, m / 1e6 }'
    done
}

target_statistics() {
    local seed mode epochs=${EPOCHS:-20} seeds=${SEEDS:-1 2 3}
    need_cifar
    for seed in $seeds; do
        for mode in local global adaptive; do
            run "statistics-$mode-$seed" 4 --model resnet-20 --data "cifar10:$data/cifar10" --batch 8 --lr 0.0125 \
                --epochs "$epochs" --lr-schedule "steps:$((epochs / 2)),$((3 * epochs / 4)):0.1" \
                --bn $mode --seed "$seed"
        done
    done
    echo "| statistics | training accuracy %: mean (range) | test accuracy % |"
    echo "|---|---|---|"
    for mode in local global adaptive; do
        echo "| $mode | $(for seed in $seeds; do last train_error "statistics-$mode-$seed" | awk 'NF { print 1 - $1 }'; done | range)" \
            "| $(for seed in $seeds; do value test_error "statistics-$mode-$seed" | awk 'NF { print 1 - $1 }'; done | range) |"
    done
}

target_table1() {
    local k mnist=mnist:$data/mnist name first="" period dense options
    need_mnist
    for k in 1 2 4; do
        for period in whole variable; do
            [ "$k$period" != 1variable ] || continue
            name=table1-$k-$period options=()
            [ $period = whole ] || options=(--update-period 1)
            run "$name" "$k" --model lenet --data "$mnist" --epochs 4 --batch $((128 * k)) --lr 0.005 --scheme b \
                --lr-scale linear "${options[@]}"
        done
    done
    echo "| ranks | batch (conv, dense) | cross-entropy | error % | seconds | times faster |"
    echo "|---|---|---|---|---|---|"
    for k in 1 2 4; do
        for period in whole variable; do
            name=table1-$k-$period
            [ -s "$out/$name.json" ] || continue
            [ -n "$first" ] || first=$(value seconds_per_epoch "$name")
            dense=128
            [ $period = variable ] || dense=$((128 * k))
            awk -v k=$k -v d=$dense -v l="$(value train_loss "$name")" \
                -v e="$(value test_error "$name")" -v s="$(value seconds_per_epoch "$name")" -v f="$first" \
                'BEGIN { printf "| %d | (%d, %d) | %.4f | %.2f | %.0f | %.2f |\n", k, 128 * k, d, l, 100 * e, 4 * s, f / s }'
        done
    done
}

target_figure4() {
    local seed codec codecs=${CODECS:-fp32 tree8 int8 static8 mantissa8 bitpack:2 onebit} ranks=${RANKS:-4}
    local epochs=${EPOCHS:-30} seeds=${SEEDS:-1 2 3}
    local -x THINWIRE_NODE_RANKS=1 # bytes as between hosts: inside one, float32 passes through memory
    need_mnist
    for seed in $seeds; do
        for codec in $codecs; do
            run "figure4-$codec-$seed" "$ranks" --data "mnist:$data/mnist" --codec "$codec" --seed "$seed" --epochs "$epochs" \
                --batch 128
        done
    done
    echo "MNIST, 784x1024x1024x10, $ranks ranks, batch 128, $epochs epochs, seeds $seeds."
    echo
    echo "| codec | test error %: mean (range) | kB sent per rank and step |"
    echo "|---|---|---|"
    for codec in $codecs; do
        echo "| \`$codec\` | $(for seed in $seeds; do value test_error "figure4-$codec-$seed"; done | range)" \
            "| $(value bytes_sent_per_step "figure4-$codec-${seeds%% *}" | awk '{ printf "%.0f", $1 / 1e3 }') |"
    done
    # A block for each codec: the mean over the seeds after each epoch.
    for codec in $codecs; do
        echo "\"$codec\""
        for seed in $seeds; do
            awk -F '": ' '/^  "/ { inside = $1 ~ /"epochs$/ } inside && $1 ~ /"epoch$/ { epoch = $2 + 0 }
                inside && $1 ~ /"test_error$/ { print epoch, 100 * $2 }' "$out/figure4-$codec-$seed.json"
        done | awk '{ sum[$1] += $2; n[$1]++ } END { for (e = 1; e in n; e++) { print e, sum[e] / n[e] } }'
        printf '\n\n'
    done >"$out/figure4.dat"
    draw figure4 800,500 <<GNUPLOT
set title 'MNIST, $ranks ranks: test error, mean over seeds $seeds'
set xlabel 'epoch'
set ylabel 'test error, %'
set yrange [0:*]
plot for [i=0:$(($(wc -w <<<"$codecs") - 1))] '$out/figure4.dat' index i using 1:2 with lines lw 2 lc rgb colour(word('$codecs', i + 1)) title columnheader(1)
GNUPLOT
}

# S1 sent a matrix from one GPU to another, at about 8 GB/s. bcast is that transfer; allreduce is what training does with
# it: both ways, summed, and encoded twice. The token bucket of a link holds what it carries in 250 us: so much passes at
# once, which makes shorter transfers faster than they would be.
target_figure5() {
    local rate operation rates=${RATES:-1 10 100}
    : >"$out/figure5.dat"
    for rate in $rates; do
        NETLAB_BURST=$((31250 * rate)) lab_up 2 "${rate}gbit"
        for operation in bcast allreduce; do
            on_hosts 2 "$build/bin/thinwire" bench $operation --codec fp32,tree8,onebit --min 40000 --max 40000000 \
                --json "$out/figure5.json" </dev/null >"$out/figure5.log" 2>&1 || { tail -n 3 "$out/figure5.log" >&2; exit 1; }
            # A block for each panel of the figure: values, and ms by MPI, with 32, 8 and 1 bit.
            echo "\"$operation, $rate Gbit/s\""
            rows figure5 codec bytes seconds mpi_seconds | awk '
                { size[$2] = $2; ms[$2, $1] = 1e3 * $3; if ($1 == "fp32") { ms[$2, "MPI"] = 1e3 * $4 } }
                END { for (b in size) { print b / 4, ms[b, "MPI"], ms[b, "fp32"], ms[b, "tree8"], ms[b, "onebit"] } }' | sort -n
            printf '\n\n'
        done >>"$out/figure5.dat"
        lab_down
    done
    echo "| transfer, links | values | MPI, ms | 32 bit (\`fp32\`) | 8 bit (\`tree8\`) | 1 bit (\`onebit\`) | 32 / 8 bit | 8 / 1 bit |"
    echo "|---|---|---|---|---|---|---|---|"
    awk '/"/ { gsub(/"/, ""); panel = $0; next }
        NF { printf "| %s | %d | %.4g | %.4g | %.4g | %.4g | %.2f | %.2f |\n", panel, $1, $2, $3, $4, $5, $3 / $4, $4 / $5 }' \
        "$out/figure5.dat"
    draw figure5 "$((360 * $(wc -w <<<"$rates") + 20)),630" <<GNUPLOT
set multiplot layout 2,$(wc -w <<<"$rates") columnsfirst title 'Time of a transfer with 32, 8 and 1 bit against the size of the layer'
set logscale xy
set format x '10^{%L}'
set xlabel 'values'
set ylabel 'ms'
set key bottom right
do for [p=0:$((2 * $(wc -w <<<"$rates") - 1))] {
    stats '$out/figure5.dat' index p every ::0::0 using (name = strcol(1), 1) nooutput
    set title name
    plot for [c=2:5] '$out/figure5.dat' index p every ::1 using 1:c with linespoints pt 7 ps 0.4 lw 2 \
        lc rgb colour(word('spare:1 fp32 tree8 onebit', c - 1)) \
        title word('"MPI, 32 bit" "32 bit" "8 bit" "1 bit"', c - 1)
}
unset multiplot
GNUPLOT
}

target_awp() { need_cifar; "$bench/awp.sh" "$build" "$data/cifar10" "$out/awp" $quick >&2 && cat "$out/awp/awp.md"; }
target_loader() { need_photos; "$bench/loader.sh" "$build" "$data/photos" "$out/loader"; }

quick=
[ "${*: -1}" != --quick ] || { quick=--quick; set -- "${@:1:$#-1}"; }
for target in "${@:-lenet}"; do
    declare -F "target_$target" >/dev/null ||
        fail "no target '$target'; accepted: lenet statistics table1 figure4 figure5 awp loader"
    ("target_$target") >"$out/$target.md.new" || { rm -f "$out/$target.md.new"; exit 1; }
    mv "$out/$target.md.new" "$out/$target.md" && cat "$out/$target.md"
done
