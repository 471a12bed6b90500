#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# validate-collectives.sh BUILD_DIR OUT_DIR [HOSTS:RATE...] - do single collectives take what the model predicts?
#
# For each lab of emulated hosts (bench/netlab.sh, needs root), by default 2, 3, 4 and 8 hosts at 100 Mbit/s and
# 1 Gbit/s, and 2 at 10 Gbit/s: thinwire calibrate, then bin/collective-times: allreduce, bcast, alltoall, allgather and
# reduce_scatter with fp32, bitpack:2 and tree8 (allreduce: onebit, too), allreduce by each algorithm as well, of 4 KiB to
# 64 MiB; beside each the prediction of tw_facts_predict(), which is what thinwire scale takes. Calls that would take
# longer than LIMIT seconds (0.5) are left out. SECONDS_EACH (12) of a calibration.
#
# Writes all rows to OUT_DIR/rows.tsv and OUT_DIR/rows.md, prints tables of the errors by lab, operation, algorithm, codec
# and size, then median, worst tenth, and how many pairs of codecs, or of algorithms, that differ by more than 10 %
# measured are predicted in the right order; with gnuplot, draws OUT_DIR/validation.svg. 10 minutes on two cores.
# MEASURE=no predicts again what lies in OUT_DIR, by its calibrations.
#
# What to mind: the token bucket of an emulated link lets 128 KiB or more pass at any rate after a pause. It is emptied before
# each repetition, but fills again while the ranks meet, by some 10 KiB at 1 Gbit/s: 4 KiB there say little; rows measured above the rate of the links are told apart. And 8 hosts
# on two cores at 1 Gbit/s wait for processors, not for links.
set -u
if [ $# -lt 2 ] || [ ! -x "$1/bin/collective-times" ]; then
    echo "usage: bench/validate-collectives.sh BUILD_DIR OUT_DIR [HOSTS:RATE...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
shift 2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/environment.sh
. "$here/../tests/environment.sh"
export OMP_NUM_THREADS=1 THINWIRE_THREADS=1 XDG_CACHE_HOME=$out/cache NETLAB_NAME=${NETLAB_NAME:-single}
labs=("$@")
[ $# -gt 0 ] || labs=({2,3,4,8}:{100mbit,1gbit} 2:10gbit)
begin=$SECONDS

lab() { "$here/netlab.sh" "$@"; }

drain() { # RATE: bytes that empty the bucket of netlab.sh
    case $1 in
        *gbit) echo $((${1%gbit} > 4 ? ${1%gbit} * 48000 : 196608)) ;;
        *) echo 196608 ;;
    esac
}

try() { # LOG COMMAND...
    local log=$out/$1
    shift
    timeout 600 "$@" </dev/null >"$log" 2>&1 || { tail -n 2 "$log" >&2; return 1; }
}

measure() { # HOSTS RATE
    local name=$1-$2
    lab down >/dev/null 2>&1
    try lab.log "$here/netlab.sh" up "$1" "$2" &&
        try calibrate.log "$here/netlab.sh" mpirun "$1" -- "$build/bin/thinwire" calibrate --seconds "${SECONDS_EACH:-12}" \
            --output "$out/$name.facts" &&
        try times.log "$here/netlab.sh" mpirun "$1" -- "$build/bin/collective-times" measure "$out/$name.facts" \
            "${LIMIT:-0.5}" "$(drain "$2")" $((4 << 10)) $((64 << 10)) $((1 << 20)) $((16 << 20)) $((64 << 20)) &&
        grep -E '^[a-z_]+ [a-z0-9:]+ [a-z_-]+ [0-9]+ [0-9]+ ' "$out/times.log" >"$out/$name.rows"
}

if [ "${MEASURE:-yes}" != no ]; then
    trap 'lab down >/dev/null 2>&1' EXIT
    for each in "${labs[@]}"; do
        measure "${each%%:*}" "${each#*:}" || { echo "$each failed" >&2; continue; }
        echo "$each: $((SECONDS - begin)) s so far" >&2
    done
fi

# lab, operation, codec, algorithm, bytes, measured, predicted, by which algorithm, sent by the busiest rank
: >"$out/rows.tsv"
for each in "${labs[@]}"; do
    name=${each%%:*}-${each#*:}
    [ -s "$out/$name.rows" ] || continue
    "$build/bin/collective-times" predict "$out/$name.facts" <"$out/$name.rows" |
        awk -v lab="${each%%:*}, ${each#*:}" -v OFS='\t' '{ print lab, $1, $2, $3, $4, $6, $7, $8, $9 }' >>"$out/rows.tsv"
done
{
    echo "| hosts, rate | operation | codec | algorithm | bytes | measured, ms | predicted, ms | error |"
    echo "|---|---|---|---|---|---|---|---|"
    LC_ALL=C awk -F '\t' '{ printf "| %s | %s | %s | %s | %d | %.3f | %.3f | %+.0f %% |\n",
        $1, $2, $3, $4 == "-" ? "(" $8 ")" : $4, $5, 1e3 * $6, 1e3 * $7, 100 * ($7 / $6 - 1) }' "$out/rows.tsv"
} >"$out/rows.md"

# Errors by a column, and whether pairs come in the right order.
LC_ALL=C awk -F '\t' '
function size(bytes) { return bytes >= 1048576 ? bytes / 1048576 " MiB" : bytes / 1024 " KiB" }
# Did the link carry it no faster than at its rate? Else it passed from the store of its token bucket.
function real() { split($1, lab, ", "); return $6 >= 0.97 * 8 * $9 / (lab[2] + 0) / (lab[2] ~ /gbit/ ? 1e9 : 1e6) }
function note(kind, value, e) {
    if (!((kind, value) in n)) { order[kind] = order[kind] "\t" value }
    list[kind, value, ++n[kind, value]] = e
}
function pair(kind, i, j,    high, low) {
    if (m[i] > 1.1 * m[j]) { high = i; low = j } else if (m[j] > 1.1 * m[i]) { high = j; low = i } else { return }
    pairs[kind]++
    right[kind] += p[high] > p[low]
}
function sorted(kind, value,    i, j, x) {
    for (i = 1; i <= n[kind, value]; i++) {
        x = list[kind, value, i]
        for (j = i - 1; j >= 1 && at[j] > x; j--) { at[j + 1] = at[j] }
        at[j + 1] = x
    }
    return n[kind, value]
}
function line(kind, value,    k, w) {
    k = sorted(kind, value)
    w = int(0.9 * k) + 1
    return sprintf("%d | %.1f %% | %.1f %%", k, at[int((k + 1) / 2)], at[w > k ? k : w])
}
{
    e = 100 * ($7 / $6 - 1); e = e < 0 ? -e : e
    m[NR] = $6; p[NR] = $7
    note("hosts, rate", $1, e); note("operation", $2, e); note("codec", $3, e); note("bytes", size($5), e)
    if ($4 != "-") { note("algorithm", $4, e) }
    note("all", "all", e)
    if ($5 > 65536) { note("all", "1 MiB and more", e) }
    at_rate[NR] = real()
    if (at_rate[NR]) { note("all", "not above the rate of the links", e) }
    where = $1 "\t" $2 "\t" $5
    if ($4 == "-") { codecs[where] = codecs[where] " " NR } else { ways[where "\t" $3] = ways[where "\t" $3] " " NR }
    long[NR] = $5 > 65536
}
function go(groups, kind,    g, k, i, j, row) {
    for (g in groups) {
        k = split(groups[g], row, " ")
        for (i = 1; i <= k; i++) { for (j = i + 1; j <= k; j++) {
            pair(kind, row[i], row[j])
            if (long[row[i]]) { pair(kind " of 1 MiB and more", row[i], row[j]) }
            if (at_rate[row[i]] && at_rate[row[j]]) { pair(kind " not above the rate of the links", row[i], row[j]) }
        } }
    }
}
END {
    print "| by | | rows | median error | worst tenth from |\n|---|---|---|---|---|"
    kinds = split("hosts, rate\toperation\talgorithm\tcodec\tbytes\tall", kind, "\t")
    for (k = 1; k <= kinds; k++) {
        values = split(order[kind[k]], value, "\t")
        for (v = 2; v <= values; v++) { printf "| %s | %s | %s |\n", kind[k], value[v], line(kind[k], value[v]) }
    }
    go(codecs, "codecs")
    go(ways, "algorithms")
    print ""
    for (k in pairs) { printf "pairs of %s in the right order: %d of %d, %.1f %%\n", k, right[k], pairs[k], 100 * right[k] / pairs[k] }
}' "$out/rows.tsv" | tee "$out/summary.md"

if command -v gnuplot >/dev/null; then
    gnuplot <<GNUPLOT || exit 1
load '$here/palette.gnuplot'
set terminal svg size 720,640 font 'sans,12' background '#ffffff'
set output '$out/validation.svg'
set datafile separator "\t"
set title 'Single collectives on emulated hosts: predicted by measured time, ms'
set xlabel 'measured, ms'
set ylabel 'predicted, ms'
set logscale xy
set format xy '10^{%T}'
set grid lc rgb '#dddddd'
set key top left
plot x with lines lc rgb '#000000' title 'equal', 1.4 * x with lines dt 2 lc rgb '#888888' title '40 % more, 40 % less', \
    0.6 * x with lines dt 2 lc rgb '#888888' notitle, \
    for [c in "fp32 bitpack:2 tree8 onebit"] '$out/rows.tsv' using (strcol(3) eq c ? 1e3 * column(6) : NaN):(1e3 * column(7)) \
    with points pt 7 ps 0.35 lc rgb colour(c) title c
GNUPLOT
    echo "drawing: $out/validation.svg"
fi
echo "$((SECONDS - begin)) seconds in all"
