#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# photos.sh BUILD_DIR PHOTOS_DIR OUT_DIR - does a small network learn from JPEG files as it does in PyTorch?
#
# ResNet-20 on PHOTOS_DIR/flowers, half of each class for training and half for tests, by thinwire-train from the files
# and by PYTHON (python3) with torch and Pillow (bench/pytorch_photos.py has the recipe). SEEDS ("1 2 3"), EPOCHS (30).
# Prints the test errors of both. 3 minutes on two cores.
set -u
if [ $# -ne 3 ] || [ ! -x "$1/bin/thinwire-train" ]; then
    echo "usage: bench/photos.sh BUILD_DIR PHOTOS_DIR OUT_DIR" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && photos=$(cd "$2" && pwd) && mkdir -p "$3" && out=$(cd "$3" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/environment.sh
. "$here/../tests/environment.sh"
export OMP_NUM_THREADS=1
epochs=${EPOCHS:-30} seeds=${SEEDS:-1 2 3}

label=0
: >"$out/train.txt" && : >"$out/test.txt" || exit 1
for class in "$photos"/flowers/*/; do
    (LC_ALL=C; printf '%s\n' "$class"*.jpg) | awk -v label=$label -v train="$out/train.txt" -v test="$out/test.txt" \
        '{ print $0, label >> (NR % 2 ? train : test) }'
    label=$((label + 1))
done
echo "| seed | thinwire-train, from JPEG: test error % | PyTorch |"
echo "|---|---|---|"
# shellcheck disable=SC2086 # words
"${PYTHON:-python3}" "$here/pytorch_photos.py" "$out/train.txt" "$out/test.txt" --epochs "$epochs" --seeds $seeds >"$out/pytorch.log" || exit 1
for seed in $seeds; do
    "$build/bin/thinwire-train" --model resnet-20 --data "list:$out/train.txt,test=$out/test.txt" \
        --augment "resize:37 crop:32 mirror mean:120.7 scale:0.0156" --batch 32 --epochs "$epochs" --lr 0.05 \
        --lr-schedule "steps:$((2 * epochs / 3)):0.1" --seed "$seed" --json "$out/photos-$seed.json" >"$out/photos-$seed.log" 2>&1 ||
        { tail -n 1 "$out/photos-$seed.log" >&2; exit 1; }
    echo "| $seed | $(awk -F '[:,]' '/^  "test_error":/ { printf "%.2f", 100 * $2 }' "$out/photos-$seed.json") | $(awk -v s="$seed:" '$1 == "seed" && $2 == s { print $5 }' "$out/pytorch.log") |"
done
for seed in $seeds; do awk -F '[:,]' '/^  "test_error":/ { print 100 * $2 }' "$out/photos-$seed.json"; done |
    awk '{ s += $1 } END { printf "| mean | %.2f |", s / NR }'
awk '/^mean/ { print " " $2 " |" }' "$out/pytorch.log"
