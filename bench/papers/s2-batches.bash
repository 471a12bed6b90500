# SPDX-License-Identifier: BSD-3-Clause
# shows: S2, slides 27, 28, 30, 33: images/s of training by batch: the first loader (V1), the tuned one (V2), without one
# time: 12 minutes (--quick: 2)
# differs: a small network on all of CIFAR-10 as JPEG for AlexNet and GoogLeNet on ImageNet; MODEL (alexnet-cifar)
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    local batches=${BATCHES:-$(either '32 512' '32 64 128 256 512 1024 2048')} model=${MODEL:-alexnet-cifar} batch way
    local images=${IMAGES:-$(either 8192 50000)}
    cifar_jpeg
    for batch in $batches; do
        for way in v1 v2 none; do
            case $way in
                v1) set -- --data "folder:$files" --loader-threads 1 --transfer-index 16 ;;
                v2) set -- --data "folder:$files" --loader-threads auto:4 ;;
                none) set -- --data random:32x32x3,10 ;;
            esac
            XDG_CACHE_HOME=$out/cache once "s2-batches-$batch-$way" "$build/bin/thinwire-train" --model "$model" --batch "$batch" \
                --steps "$((images / batch + 3))" "$@" || exit 1
        done
    done
    echo "$model, one rank, images/s; of the step's median."
    echo
    echo "| batch | V1: one loader thread | V2: tuned | no loader | V2 / V1 | V2 / no loader |"
    echo "|---|---|---|---|---|---|"
    for batch in $batches; do
        for way in v1 v2 none; do value step_seconds "s2-batches-$batch-$way"; done | paste -s |
            awk -v b="$batch" -v note="$(grep -q '"searching": true' "$out/s2-batches-$batch-v2.json" && echo ', still searching')" \
                '{ printf "| %d | %.0f | %.0f%s | %.0f | %.2f | %.2f |\n", b, b / $1, b / $2, note, b / $3, $1 / $2, $3 / $2 }'
    done
}
