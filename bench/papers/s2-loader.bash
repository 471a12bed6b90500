# SPDX-License-Identifier: BSD-3-Clause
# shows: S2, slides 26 to 29: images/s of the loader by threads and transfer index, beside training, the tuner's choice
# time: 20 minutes (--quick: 3)
# differs: the processor is the device; photographs for ImageNet; one rank for 8 GPUs
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    need photos
    if [ -n "$quick" ]; then
        SECONDS_EACH=2 TURNS=1 "$bench/loader.sh" "$build" "$data/photos" "$out/s2-loader" states tuner
    else
        "$bench/loader.sh" "$build" "$data/photos" "$out/s2-loader"
    fi
}
