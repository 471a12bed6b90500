#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# figure4.sh BUILD_DIR MNIST_DIR OUT_DIR - Figure 4 of S1 (Dettmers 2015) for thinwire's codecs: the test
# error of the network on MNIST over 30 epochs, for seeds 1 to 3.
#
# Writes OUT_DIR/CODEC-seedN.json per run, OUT_DIR/figure4.md (table: mean and range over the seeds
# of the last and of the lowest test error) and, if gnuplot is there, OUT_DIR/figure4.svg (mean test
# error over the epochs). Runs whose JSON is there are not run again, so it can be stopped and
# started; a run that was stopped goes on from its checkpoint.
# Environment: RANKS (4), EPOCHS (30), SEEDS ("1 2 3"), CODECS.
set -u
if [ $# -ne 3 ] || [ ! -x "$1/bin/thinwire-train" ]; then
    echo "usage: [RANKS=4] [EPOCHS=30] [SEEDS='1 2 3'] [CODECS='fp32 tree8 ...'] bench/figure4.sh BUILD_DIR MNIST_DIR OUT_DIR" >&2
    exit 2
fi
build=$1 mnist=$2 out=$3
ranks=${RANKS:-4} epochs=${EPOCHS:-30} seeds=${SEEDS:-1 2 3}
codecs=${CODECS:-fp32 tree8 int8 static8 mantissa8 bitpack:2 onebit}
. "$(dirname "$0")/../tests/environment.sh"
export OMP_NUM_THREADS=1
mkdir -p "$out" || exit 1

for seed in $seeds; do
    for codec in $codecs; do
        name=$out/$codec-seed$seed
        [ ! -s "$name.json" ] || continue
        resume=()
        [ ! -s "$name.state" ] || resume=(--resume)
        echo "$codec, seed $seed"
        "${MPIRUN:-mpirun}" -n "$ranks" "$build/bin/thinwire-train" --data "mnist:$mnist" \
            --codec "$codec" --seed "$seed" --epochs "$epochs" --batch 128 \
            --checkpoint "$name.state" "${resume[@]}" --json "$name.json" </dev/null || exit 1
        rm -f "$name.state"
    done
done

# "codec seed epoch error" per epoch, from the lines that the trainer writes.
for seed in $seeds; do
    for codec in $codecs; do
        awk -F '": ' -v codec="$codec" -v seed="$seed" '
            $1 ~ /^  "/ { list = $1 }
            $1 ~ /^      "epoch$/ { epoch = $2 + 0 }
            list ~ /"epochs$/ && $1 ~ /^      "test_error$/ { print codec, seed, epoch, 100 * $2 }
            $1 ~ /^  "bytes_sent_per_step$/ { print codec, seed, "bytes", $2 + 0 }' \
            "$out/$codec-seed$seed.json"
    done
done >"$out/figure4.txt"

awk -v ranks="$ranks" '
function least(a, b) { return a == "" || b < a ? b : a }
function most(a, b) { return a == "" || b > a ? b : a }
function row(codec,    n) {
    n = runs[codec]
    printf "| `%s` | %.2f (%.2f to %.2f) | %.2f (%.2f to %.2f) | %.0f | %s |\n", codec,
        last_sum[codec] / n, last_low[codec], last_high[codec], min_sum[codec] / n, min_low[codec],
        min_high[codec], bytes[codec] / 1e3, codec == first ? "1" : sprintf("%.4f", bytes[codec] / bytes[first])
}
function finish() {
    if (key == "") { return }
    runs[codec]++
    last_sum[codec] += last; last_low[codec] = least(last_low[codec], last); last_high[codec] = most(last_high[codec], last)
    min_sum[codec] += lowest; min_low[codec] = least(min_low[codec], lowest); min_high[codec] = most(min_high[codec], lowest)
}
$3 == "bytes" { bytes[$1] = $4; next }
$1 " " $2 != key {
    finish()
    key = $1 " " $2; codec = $1; lowest = ""
    if (!(codec in runs)) { order[++count] = codec; runs[codec] = 0 }
    if (first == "") { first = codec }
}
{ last = $4; lowest = least(lowest, $4); if ($3 > epochs) { epochs = $3 } }
END {
    finish()
    printf "MNIST, 784x1024x1024x10, %d ranks, batch 128, %d epochs, %d seeds: test error in percent,\n", ranks, epochs, runs[first]
    printf "mean (lowest to highest) over the seeds.\n\n"
    print "| codec | after the last epoch | lowest of all epochs | kB sent per rank and step | of float32 |"
    print "|---|---|---|---|---|"
    for (k = 1; k <= count; k++) { row(order[k]) }
}' "$out/figure4.txt" >"$out/figure4.md"
cat "$out/figure4.md"

# Mean over the seeds per codec and epoch, in blocks for gnuplot.
awk '
$3 == "bytes" { next }
{
    if (!($1 in seen)) { seen[$1] = 1; order[++count] = $1 }
    sum[$1, $3] += $4; n[$1, $3]++
    if ($3 > epochs) { epochs = $3 }
}
END {
    for (k = 1; k <= count; k++) {
        printf "\"%s\"\n", order[k]
        for (e = 1; e <= epochs; e++) {
            if (n[order[k], e] > 0) { print e, sum[order[k], e] / n[order[k], e] }
        }
        printf "\n\n"
    }
}' "$out/figure4.txt" >"$out/figure4.dat"

if ! command -v gnuplot >/dev/null; then
    echo "no gnuplot (Debian, Ubuntu: gnuplot-nox); the table is in $out/figure4.md" >&2
    exit 0
fi
names=$(awk -F '"' 'NF == 3 { print $2 }' "$out/figure4.dat" | paste -s -d ' ')
gnuplot <<GNUPLOT || exit 1
load '$(dirname "$0")/palette.gnuplot'
set terminal svg size 800,500 font 'sans,13' background '#ffffff'
set output '$out/figure4.svg'
set title 'MNIST, $ranks ranks: test error, mean over seeds $seeds'
set xlabel 'epoch'
set ylabel 'test error, %'
set yrange [0:*]
set grid ytics lc rgb '#dddddd'
set key top right
plot for [i=1:words('$names')] '$out/figure4.dat' index i-1 using 1:2 with lines lw 2 lc rgb colour(word('$names', i)) title columnheader(1)
GNUPLOT
echo "figure: $out/figure4.svg"
