#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# awp.sh BUILD_DIR CIFAR10_DIR OUT_DIR [--quick] - section V of S0 in form: seconds until a test error is reached, by
# the precision in which weights travel, on 4 emulated hosts (bench/netlab.sh, so as root).
#
# Networks alexnet-cifar, vgg-cifar and resnet-20, three batch sizes each; policies: 32 bits (the baseline), 8, 16 and
# 24 bits, the oracle (of these the first to reach the error), AWP, and AWP that begins with 16 bits, or with tree8 in
# place of the first byte, or that sends integers (family=int). Gradients travel in float32, as there.
# OUT_DIR/NAME.json per run, which is not run again while it is there; OUT_DIR/awp.md with the table, the curves of
# Figure 3 and the bars of Figure 4 in figure3.svg and figure4.svg (with gnuplot), the rows of Tables II and III for
# vgg-cifar. About 45 minutes on two cores; --quick: one network and batch size on faster links, 3 minutes.
# Environment: RATE (100mbit; --quick: 500mbit), UPDATE (sharded; root: the arrangement of S0), SEEDS (1), AWP
# (awp:byte=bitpack:1, the rule of S0).
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u
. "$(dirname "$0")/common.bash"
folders "${1-}" "${3-}"
data=$(cd "$2" && pwd) || exit 1
quick=${4-} rate=100mbit
case $quick in
    "") ;;
    --quick) rate=500mbit ;;
    *) usage ;;
esac
rate=${RATE:-$rate} update=${UPDATE:-sharded} seeds=${SEEDS:-1} awp=${AWP:-awp:byte=bitpack:1}

# Model, batch, rate, test error that ends a run, and what AWP gained in S0 on x86 with its batch of the same rank, in
# percent (section V-B to V-D; its averages do not follow from them).
runs='alexnet-cifar 64 0.01 68 10.75
alexnet-cifar 128 0.02 68 6.51
alexnet-cifar 256 0.03 68 0.59
vgg-cifar 64 0.01 70 7.31
vgg-cifar 128 0.02 70 5.02
vgg-cifar 256 0.03 70 12.88
resnet-20 64 0.01 65 3.11
resnet-20 128 0.02 65 4.39
resnet-20 256 0.03 65 4.94'
[ -z "$quick" ] || runs=$(awk '$1 == "alexnet-cifar" && $2 == 128' <<<"$runs")
if [[ $awp == *:* ]]; then more=$awp,; else more=$awp:; fi
policies="32:fp32 8:bitpack:1 16:bitpack:2 24:bitpack:3 awp:$awp awp16:${more}first=16 tree8:${more}byte=tree8 int:awp:family=int"

up=
train() { # NAME MODEL ARG...
    local name=$1 model=$2
    shift 2
    [ -n "$up" ] || [ -s "$out/$name.json" ] || { lab_up 4 "$rate"; up=yes; }
    once "$name" on_hosts 4 "$build/bin/thinwire-train" --model "$model" --data "cifar10:$data" --update "$update" "$@" || exit 1
}

# Policies take turns, so that a machine that slows down slows all of them down.
for seed in $seeds; do
    while read -r model batch lr error _; do
        for policy in $policies; do
            train "$model-$batch-${policy%%:*}-$seed" "$model" --batch "$batch" --lr "$lr" --seed "$seed" --epochs 12 \
                --eval-every 10 --until "error<=$error%" --codec "weight=${policy#*:}"
        done
    done <<<"$runs"
done
for policy in 32:fp32 awp:"$awp"; do
    train "profile-${policy%%:*}" vgg-cifar --batch 64 --steps 60 --no-overlap --profile --codec "weight=${policy#*:}"
done
# model batch policy seed: "reached" seconds steps kB, and of every test "test" seconds error.
while read -r model batch _; do
    for policy in $policies; do
        for seed in $seeds; do
            awk -F '": ' -v run="$model $batch ${policy%%:*} $seed" '
                { sub(/,$/, "") }
                $1 ~ /^  "/ { part = $1 }
                part ~ /"until$/ && $1 ~ /"seconds$/ { seconds = $2 }
                part ~ /"until$/ && $1 ~ /"steps$/ { steps = $2 }
                part ~ /"evaluations$/ && $1 ~ /"seconds$/ { at = $2 }
                part ~ /"evaluations$/ && $1 ~ /"test_error$/ { print run, "test", at, 100 * $2 }
                $1 ~ /^  "bytes_sent_per_step$/ { bytes = $2 }
                END { print run, "reached", seconds, steps, bytes / 1e3 }' "$out/$model-$batch-${policy%%:*}-$seed.json"
        done
    done
done <<<"$runs" >"$out/awp.txt"

# A policy that a seed did not take to the error has no mean.
awk -v rate="$rate" -v update="$update" -v awp="$awp" -v seeds="$seeds" '
NR == FNR { paper[$1 " " $2] = $5; error[$1] = $4; next }
$5 != "reached" { next }
{
    key = $1 " " $2
    if (!(key in seen)) { seen[key] = 1; order[++count] = key }
    n[key, $3]++; seconds[key, $3] += $6; steps[key, $3] += $7; kb[key, $3] += $8
    if ($6 == "null") { missed[key, $3] = 1 }
}
function time(key, policy) { return missed[key, policy] ? "" : seconds[key, policy] / n[key, policy] }
function cell(key, policy,    t) {
    t = time(key, policy)
    return t == "" ? "not reached" : sprintf("%.3f (%.1f s, %d steps)", t / time(key, "32"), t, steps[key, policy] / n[key, policy] + 0.5)
}
function gain(key, policy) {
    return time(key, policy) == "" || time(key, "32") == "" ? "-" : sprintf("%.1f", 100 * (1 - time(key, policy) / time(key, "32")))
}
function of_base(key, policy) { return time(key, policy) == "" ? "?" : time(key, policy) / time(key, "32") }
function oracle(key,    best, p, k) {
    best = "32"
    p = split("8 16 24", fixed, " ")
    for (k = 1; k <= p; k++) {
        if (time(key, fixed[k]) != "" && (time(key, best) == "" || time(key, fixed[k]) < time(key, best))) { best = fixed[k] }
    }
    return best
}
END {
    printf "4 hosts at %s, --update %s, gradients in float32, %s; seconds to a test error, of those with 32 bits; seeds: %s.\n\n", rate, update, awp, seeds
    print "| model, batch, test error | 32 bits: seconds (steps) | 8 bits | 16 bits | 24 bits | AWP | AWP from 16 bits | AWP from tree8 | AWP, integers | oracle | oracle faster by, % | AWP faster by, % | from 16 bits, % | from tree8, % | integers, % | S0, AWP on x86, % |"
    print "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for (k = 1; k <= count; k++) {
        key = order[k]; best = oracle(key); split(key, name, " ")
        base = time(key, "32") == "" ? "not reached" : sprintf("%.1f (%d)", time(key, "32"), steps[key, "32"] / n[key, "32"] + 0.5)
        printf "| %s, %s, %d %% | %s | %s | %s | %s | %s | %s | %s | %s | %s bits | %s | %s | %s | %s | %s | %s |\n", name[1], name[2], error[name[1]], base, cell(key, "8"), cell(key, "16"), cell(key, "24"), cell(key, "awp"), cell(key, "awp16"), cell(key, "tree8"), cell(key, "int"), best, gain(key, best), gain(key, "awp"), gain(key, "awp16"), gain(key, "tree8"), gain(key, "int"), paper[key]
        if (gain(key, "awp") != "-" && gain(key, "awp16") != "-" && gain(key, "tree8") != "-" && gain(key, "int") != "-") {
            sum += gain(key, "awp"); sum16 += gain(key, "awp16"); sum8 += gain(key, "tree8"); sumint += gain(key, "int"); means++
        }
        if (time(key, "32") != "") {
            printf "\"%s, %s\" %s %s %s %s %s\n", name[1], name[2], of_base(key, best), of_base(key, "awp"), of_base(key, "awp16"), of_base(key, "tree8"), of_base(key, "int") >bars
        }
    }
    if (means) { printf "\nMean of the %d: AWP faster by %.1f %%, from 16 bits by %.1f %%, from tree8 by %.1f %%, with integers by %.1f %%.\n", means, sum / means, sum16 / means, sum8 / means, sumint / means }
}' bars="$out/figure4.dat" <(echo "$runs") "$out/awp.txt" >"$out/awp.md"

profile() { # NAME
    awk -F '": ' '{ sub(/,$/, "") } $1 ~ /^  "/ { part = $1 } part ~ /"profile$/ && $1 ~ /^    "step_ms$/ { print "step", $2 }
        part ~ /"profile$/ && $1 ~ /^      "/ { row = $1; gsub(/[ "]|: \{/, "", row) }
        part ~ /"profile$/ && $1 ~ /^        "ms$/ { print row, $2 }' "$out/$1.json"
}
{
    printf '\nvgg-cifar, batch 64, without overlap, ms a step (S0, Tables II and III):\n\n| | 32 bits | AWP |\n|---|---|---|\n'
    join <(profile profile-32 | sort) <(profile profile-awp | sort) | sort -k 2 -n -r |
        awk '$1 != "evaluation" { gsub(/_/, " ", $1); printf "| %s | %.2f | %.2f |\n", $1, $2, $3 }'
} >>"$out/awp.md"
cat "$out/awp.md"

# Figure 3: the error over time of the first network, one panel for each batch size, of the first seed.
awk -v seed="${seeds%% *}" '
NR == 1 { model = $1 }
$1 == model && $4 == seed && $5 == "test" {
    if ($2 " " $3 != last) { printf "%s\"%s\"\n", last == "" ? "" : "\n\n", $3 == "awp" ? "AWP" : $3 == "awp16" ? "AWP from 16 bits" : $3 == "tree8" ? "AWP from tree8" : $3 == "int" ? "AWP, integers" : $3 " bits"; last = $2 " " $3 }
    print $6, $7
}' "$out/awp.txt" >"$out/figure3.dat"
panels=$(awk 'NR == 1 { model = $1 } $1 == model { print $2 }' <<<"$runs" | paste -s -d ' ')
number=$(wc -w <<<"$panels")
draw figure3 "$((420 * number)),460" <<GNUPLOT
set multiplot layout 1,$number
set xlabel 'seconds'
set ylabel 'test error, %'
set key below
lines = 'fp32 spare:4 bitpack spare:3 spare:6 spare:5 tree8 int'
do for [p=1:$number] {
    set title '$(head -n 1 <<<"$runs" | cut -d ' ' -f 1), batch '.word('$panels', p)
    plot for [i=0:7] '$out/figure3.dat' index 8*(p-1)+i using 1:2 with lines lw 2 lc rgb colour(word(lines, i+1)) title columnheader(1)
}
unset multiplot
GNUPLOT
draw figure4 900,430 <<GNUPLOT
set title 'Seconds to the threshold, of those with 32 bits; 4 hosts at $rate'
set style data histogram
set style histogram clustered gap 1
set style fill solid
set yrange [0:*]
set xtics rotate by -30
set key outside top center horizontal
set datafile missing '?'
plot '$out/figure4.dat' using 2:xtic(1) lc rgb colour('spare:2') title 'oracle', '' using 3 lc rgb colour('spare:6') title 'AWP', \
     '' using 4 lc rgb colour('spare:5') title 'AWP from 16 bits', \
     '' using 5 lc rgb colour('tree8') title 'AWP from tree8', \
     '' using 6 lc rgb colour('int') title 'AWP, integers', \
     1 with lines dt 2 lc rgb '#888888' title '32 bits'
GNUPLOT
