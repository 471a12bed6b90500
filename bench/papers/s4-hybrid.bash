# SPDX-License-Identifier: BSD-3-Clause
# shows: S4, section 4: hybrid c on 4 ranks with 8-bit activations beside one rank in float32
# time: 10 minutes (--quick: 1)
# differs: lenet on MNIST for AlexNet on ImageNet
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    local mnist=mnist:$data/mnist seeds=${SEEDS:-$(either 1 '1 2')} epochs=${EPOCHS:-$(either 1 6)} s
    local -x THINWIRE_NODE_RANKS=1 # bytes as between hosts: inside one, float32 passes through memory
    need mnist
    for s in $seeds; do
        run "s4-one-$s" 1 --model lenet --data "$mnist" --epochs "$epochs" --seed "$s"
        run "s4-hybrid-$s" 4 --model lenet --data "$mnist" --epochs "$epochs" --seed "$s" --scheme c --codec tree8
    done
    echo "| seed | one rank, fp32: accuracy % | 4 ranks, hybrid c, tree8 | MB sent per rank and step |"
    echo "|---|---|---|---|"
    for s in $seeds; do
        awk -v s="$s" -v a="$(value test_error "s4-one-$s")" -v b="$(value test_error "s4-hybrid-$s")" \
            -v m="$(value bytes_sent_per_step "s4-hybrid-$s")" \
            'BEGIN { printf "| %s | %.2f | %.2f | %.3f |\n", s, 100 - 100 * a, 100 - 100 * b, m / 1e6 }'
    done
}
