#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# papers.sh BUILD_DIR DATA_DIR OUT_DIR [TARGET...] [--quick] - what thinwire-train learns, as the papers show it.
#
# Targets (default: lenet), with about how long they take on two cores:
#     lenet       MNIST on 4 ranks, hybrid c with 8-bit activations, beside one rank in fp32; 6 epochs, two
#                 seeds (10 minutes)
#     statistics  S3, Figure 5: resnet-20 on CIFAR-10, global batch 8 on 4 ranks, local, global and adaptive
#                 statistics, 3 seeds, EPOCHS epochs (90 minutes at 20)
#     table1      S4, Table 1 in form: lenet on MNIST with K = 1, 2, 4 ranks, 128 images each, rate 0.005 K, with and
#                 without variable batch size in the dense layers (15 minutes)
#     awp         S0, section V, with Figures 3 and 4 and Tables II and III: bench/awp.sh (45 minutes; root)
#     loader      S2, slides 26 to 29, in form: bench/loader.sh (20 minutes; DATA_DIR holds photos/)
#     figure4     S1, Figure 4: bench/figure4.sh (3 hours)
#     figure5     S1, Figure 5: bench/figure5.sh (2 minutes; root)
# --quick is for awp: a part of it in 5 minutes. DATA_DIR holds mnist/ and cifar10/. Every run leaves a JSON file in OUT_DIR and a checkpoint while it
# runs: the script may be stopped and started. Tables go to OUT_DIR/TARGET.md.
# Environment: EPOCHS (statistics: 20), SEEDS ("1 2 3"; lenet: "1 2").
set -u -o pipefail
if [ $# -lt 3 ] || [ ! -x "$1/bin/thinwire-train" ]; then
    echo "usage: bench/papers.sh BUILD_DIR DATA_DIR OUT_DIR [lenet|statistics|table1|awp|loader|figure4|figure5...] [--quick]" >&2
    exit 2
fi
[ -d "$2" ] || { echo "papers.sh: there is no folder '$2'; accepted: one that holds mnist/, cifar10/, photos/, as the targets need" >&2; exit 1; }
build=$(cd "$1" && pwd) && data=$(cd "$2" && pwd) && mkdir -p "$3" && out=$(cd "$3" && pwd) || exit 1
shift 3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tests/environment.sh"
export OMP_NUM_THREADS=1 THINWIRE_THREADS=1
trap 'exit 1' INT TERM

value() { awk -F '": ' -v key="  \"$1" '$1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$out/$2.json" 2>/dev/null; }

# Last epoch's figure of that name.
last() { awk -F '": ' -v key="      \"$1" '$1 == key { gsub(/[",]/, "", $2); v = $2 } END { print v }' "$out/$2.json" 2>/dev/null; }

# need FOLDER CONTENTS URL: ends the target unless its data are there.
need() {
    [ -d "$data/$1" ] || { echo "papers.sh: there is no folder '$data/$1'; accepted: $2, from $3" >&2; exit 1; }
}
need_mnist() { need mnist 'the four IDX files of MNIST' http://yann.lecun.com/exdb/mnist/; }
need_cifar() { need cifar10 'the binary version of CIFAR-10' https://www.cs.toronto.edu/~kriz/cifar.html; }
need_photos() { need photos 'the folders that bench/loader.sh names' 'where you have photographs'; }

# A run that fails ends the target with the trainer's line.
run() { # NAME RANKS ARG...
    local name=$1 ranks=$2 resume=() before
    shift 2
    [ ! -s "$out/$name.json" ] || return 0
    [ ! -s "$out/$name.state" ] || resume=(--resume)
    echo "$name" >&2
    before=$(wc -c 2>/dev/null <"$out/$name.log" || echo 0)
    "${MPIRUN:-mpirun}" -n "$ranks" "$build/bin/thinwire-train" "$@" --checkpoint "$out/$name.state" \
        "${resume[@]}" --json "$out/$name.json" </dev/null >>"$out/$name.log" 2>&1 ||
        { tail -c +$((before + 1)) "$out/$name.log" | { grep -m 1 '^thinwire' || tail -n 2 "$out/$name.log"; } >&2; exit 1; }
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
    local k mnist=mnist:$data/mnist name first="" period
    need_mnist
    for k in 1 2 4; do
        for period in whole variable; do
            [ "$k$period" != 1variable ] || continue
            name=table1-$k-$period
            run "$name" "$k" --model lenet --data "$mnist" --epochs 4 --batch $((128 * k)) --lr 0.005 --scheme b \
                --lr-scale linear $([ $period = whole ] || echo --update-period 1)
        done
    done
    echo "| ranks | batch (conv, dense) | cross-entropy | error % | seconds | times faster |"
    echo "|---|---|---|---|---|---|"
    for k in 1 2 4; do
        for period in whole variable; do
            name=table1-$k-$period
            [ -s "$out/$name.json" ] || continue
            [ -n "$first" ] || first=$(value seconds_per_epoch "$name")
            awk -v k=$k -v d=$([ $period = whole ] && echo $((128 * k)) || echo 128) -v l="$(value train_loss "$name")" \
                -v e="$(value test_error "$name")" -v s="$(value seconds_per_epoch "$name")" -v f="$first" \
                'BEGIN { printf "| %d | (%d, %d) | %.4f | %.2f | %.0f | %.2f |\n", k, 128 * k, d, l, 100 * e, 4 * s, f / s }'
        done
    done
}

target_loader() { need_photos; "$here/loader.sh" "$build" "$data/photos" "$out/loader"; }

target_awp() { need_cifar; "$here/awp.sh" "$build" "$data/cifar10" "$out/awp" $quick >&2 && cat "$out/awp/awp.md"; }
target_figure4() { need_mnist; "$here/figure4.sh" "$build" "$data/mnist" "$out/figure4" >&2 && cat "$out/figure4/figure4.md"; }
target_figure5() { "$here/figure5.sh" "$build" "$out/figure5"; }

quick=
[ "${*: -1}" != --quick ] || { quick=--quick; set -- "${@:1:$#-1}"; }
for target in "${@:-lenet}"; do
    case $target in
        lenet | statistics | table1 | awp | loader | figure4 | figure5) 
            ("target_$target") >"$out/$target.md.new" || { rm -f "$out/$target.md.new"; exit 1; }
            mv "$out/$target.md.new" "$out/$target.md" && cat "$out/$target.md"
            ;;
        *) echo "papers.sh: no target '$target'; accepted: lenet statistics table1 awp loader figure4 figure5" >&2; exit 2 ;;
    esac
done
