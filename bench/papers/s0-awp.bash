# SPDX-License-Identifier: BSD-3-Clause
# shows: S0, Figures 3 and 4, Tables II and III: seconds to a test error by precision of the weights, and a step's parts
# time: 45 minutes (--quick: 3), as root
# differs: small networks, CIFAR-10 and 4 emulated hosts for ImageNet and 4 GPUs on PCIe; errors and batches to match
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    need cifar10
    "$bench/awp.sh" "$build" "$data/cifar10" "$out/s0-awp" ${quick:+"$quick"} >&2 && cat "$out/s0-awp/awp.md" &&
        for figure in figure3 figure4; do [ ! -f "$out/s0-awp/$figure.svg" ] || cp "$out/s0-awp/$figure.svg" "$out/s0-awp.$figure.svg"; done
}
