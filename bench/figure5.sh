#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# figure5.sh BUILD_DIR OUT_DIR [RATE...] - Figure 5 of S1 (Dettmers 2015), measured: how long a layer of 10
# thousand to 10 million values travels with 32, 8 and 1 bit, encoding and decoding included, and from which
# size on fewer bits are faster. As root. Writes OUT_DIR/figure5.md, .tsv and, with gnuplot, .svg.
#
# S1 sent a matrix from one GPU to another, at about 8 GB/s, 100 times, and took the mean. Here: two emulated
# hosts with links of RATE (default 1gbit 10gbit 100gbit; above some Gbit/s the cores set the pace, not the
# links), one rank of one thread on each; the median of up to 100 repetitions in which MPI and all codecs take
# turns (bench/transfer.c). bcast is S1's transfer, from one host to the other; allreduce is what training does
# with it: both ways, summed, and encoded twice. 32 bit is shown by thinwire's own transport (fp32) and by MPI.
# The token bucket of the links holds what they carry in 250 us (NETLAB_BURST): so much travels at once, which
# makes shorter transfers faster than such a link would be.
# Environment: OPERATIONS, default "bcast allreduce"; SIZES, in values; NETLAB_NAME.
set -u
if [ $# -lt 2 ] || [ ! -x "$1/bin/transfer" ]; then
    echo "usage: bench/figure5.sh BUILD_DIR OUT_DIR [RATE...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
shift 2
[ $# -gt 0 ] || set -- 1gbit 10gbit 100gbit
operations=${OPERATIONS:-bcast allreduce}
sizes=${SIZES:-10000 20000 50000 100000 200000 500000 1000000 2000000 5000000 10000000}
begin=$SECONDS
export NETLAB_NAME=${NETLAB_NAME:-twfig5} THINWIRE_THREADS=1 OMP_NUM_THREADS=1
lab=$(cd "$(dirname "$0")" && pwd)/netlab.sh
trap '"$lab" down >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM

# 250 microseconds at the rate, no less than 16 KiB.
bucket() {
    awk -v rate="$1" 'BEGIN {
        b = rate * (rate ~ /gbit/ ? 1e9 : rate ~ /mbit/ ? 1e6 : 1e3) / 8 * 250e-6
        printf "%d", b < 16384 ? 16384 : b
    }'
}

: >"$out/figure5.tsv"
for rate; do
    burst=$(bucket "$rate")
    NETLAB_BURST=$burst "$lab" up 2 "$rate" || exit $?
    for operation in $operations; do
        # shellcheck disable=SC2086  # a list; 1: the fixed cost
        timeout 600 "$lab" mpirun 2 -- "$build/bin/transfer" "$operation" "fp32 tree8 onebit" 1 $sizes \
            </dev/null >"$out/run.log" 2>"$out/run.err" || { tail -n 3 "$out/run.log" "$out/run.err" >&2; exit 1; }
        awk -v first="$rate, bucket $burst bytes\t$operation" '{ print first "\t" $1 "\t" $2 "\t" $3 }' \
            "$out/run.log" >>"$out/figure5.tsv"
    done
    "$lab" down
done
rm -f "$out"/run.{log,err}

# The table, and where the curves cross: between two sizes by a straight line in the logarithms.
awk -F '\t' '
function ms(seconds) { return seconds < 0.01 ? sprintf("%.3f", seconds * 1e3) : sprintf("%.1f", seconds * 1e3) }
function rounded(n,    unit) { unit = 10 ^ (int(log(n) / log(10)) - 1); return sprintf("%d", int(n / unit + 0.5) * unit) }
# The size from which b takes at most 1 / gain of the time of a, at all larger sizes too.
function crossing(panel, a, b, gain,    k, now, next_one, x) {
    if (time[panel, a, size[count]] < gain * time[panel, b, size[count]]) { return "at no size measured" }
    for (k = count - 1; k >= 1; k--) {
        now = log(time[panel, a, size[k]] / time[panel, b, size[k]] / gain)
        if (now < 0) { break }
    }
    if (k == 0) { return "at all sizes measured" }
    next_one = log(time[panel, a, size[k + 1]] / time[panel, b, size[k + 1]] / gain)
    x = log(size[k]) + (log(size[k + 1]) - log(size[k])) * -now / (next_one - now)
    return "from " rounded(exp(x)) " values on"
}
# The size that takes 1 ms, what S1 names as the latency of a transfer.
function one_ms(panel, c,    k, a, b) {
    if (time[panel, c, size[1]] > 1e-3) { return "fewer than " size[1] }
    for (k = count; k > 1 && time[panel, c, size[k - 1]] > 1e-3; k--) { }
    a = log(time[panel, c, size[k - 1]]); b = log(time[panel, c, size[k]])
    if (b < log(1e-3)) { return "more than " size[count] }
    return rounded(exp(log(size[k - 1]) + (log(size[k]) - log(size[k - 1])) * (log(1e-3) - a) / (b - a)))
}
# Values whose sending takes as long as what does not depend on their number.
function half(panel, c,    fixed) {
    fixed = time[panel, c, 1]
    return rounded(fixed * size[count] / (time[panel, c, size[count]] - fixed))
}
{
    panel = $2 ", links of " $1
    time[panel, $4, $3] = $5
    if (!(panel in seen)) { seen[panel] = 1; panels[++n] = panel }
    if ($3 != 1 && !($3 in known)) { known[$3] = 1; size[++count] = $3 }
}
END {
    for (p = 1; p <= n; p++) {
        panel = panels[p]
        printf "%s### %s\n\n| values | MPI, ms | 32 bit (`fp32`), ms | 8 bit (`tree8`), ms | 1 bit (`onebit`), ms | 32 / 8 bit | 8 / 1 bit |\n|---|---|---|---|---|---|---|\n", (p > 1 ? "\n" : ""), panel
        for (k = 1; k <= count; k++) {
            f = time[panel, "fp32", size[k]]; t = time[panel, "tree8", size[k]]; o = time[panel, "onebit", size[k]]
            printf "| %d | %s | %s | %s | %s | %.2f | %.2f |\n", size[k], ms(time[panel, "MPI", size[k]]), ms(f), ms(t), ms(o), f / t, t / o
        }
        printf "\n- 8 bit is faster than 32 bit %s, than MPI %s; twice as fast as 32 bit %s.\n", crossing(panel, "fp32", "tree8", 1), crossing(panel, "MPI", "tree8", 1), crossing(panel, "fp32", "tree8", 2)
        printf "- 1 bit is faster than 8 bit %s, than 32 bit %s.\n", crossing(panel, "tree8", "onebit", 1), crossing(panel, "fp32", "onebit", 1)
        printf "- A single value takes %s, %s and %s ms with 32, 8 and 1 bit; as long again take %s, %s and %s values.\n", ms(time[panel, "fp32", 1]), ms(time[panel, "tree8", 1]), ms(time[panel, "onebit", 1]), half(panel, "fp32"), half(panel, "tree8"), half(panel, "onebit")
        printf "- 1 ms is reached at %s (32 bit), %s (8 bit) and %s values (1 bit).\n", one_ms(panel, "fp32"), one_ms(panel, "tree8"), one_ms(panel, "onebit")
    }
}' "$out/figure5.tsv" >"$out/figure5.md"
cat "$out/figure5.md"

if ! command -v gnuplot >/dev/null; then
    echo "no gnuplot (Debian, Ubuntu: gnuplot-nox); the table is in $out/figure5.md" >&2
else
    # For gnuplot: one block for each panel, columns values, MPI, 32, 8 and 1 bit.
    awk -F '\t' '
    $3 == 1 { next }
    {
        panel = $2 ", " $1
        sub(/, bucket.*/, "", panel)
        if (panel != last) { printf "%s\"%s\"", last == "" ? "" : "\n\n\n", panel; last = panel; values = "" }
        if ($3 != values) { printf "\n%s", $3; values = $3 }
        column = $4 == "MPI" ? 1 : $4 == "fp32" ? 2 : $4 == "tree8" ? 3 : 4
        cell[column] = $5 * 1e3
        if (column == 4) { printf " %s %s %s %s", cell[1], cell[2], cell[3], cell[4] }
    }
    END { print "" }' "$out/figure5.tsv" >"$out/figure5.dat"
    columns=$# rows=$(echo "$operations" | wc -w)
    gnuplot <<GNUPLOT || exit 1
load '$(dirname "$0")/palette.gnuplot'
set terminal svg size $((360 * columns + 20)),$((300 * rows + 30)) font 'sans,11' background '#ffffff'
set output '$out/figure5.svg'
set multiplot layout $rows,$columns columnsfirst title 'Time of a transfer with 32, 8 and 1 bit against the size of the layer'
set logscale xy
set format x '10^{%L}'
set format y '%g'
set xlabel 'values'
set ylabel 'ms'
set grid lc rgb '#dddddd'
set key top left
do for [p=0:$((columns * rows - 1))] {
    stats '$out/figure5.dat' index p every ::0::0 using (name = strcol(1), 1) nooutput
    set title name
    plot '$out/figure5.dat' index p every ::1 using 1:2 with linespoints pt 7 ps 0.4 lw 1.5 dt 2 lc rgb colour('Open MPI') title 'MPI, 32 bit', \
         '' index p every ::1 using 1:3 with linespoints pt 7 ps 0.4 lw 2 lc rgb colour('fp32') title '32 bit', \
         '' index p every ::1 using 1:4 with linespoints pt 7 ps 0.4 lw 2 lc rgb colour('tree8') title '8 bit', \
         '' index p every ::1 using 1:5 with linespoints pt 7 ps 0.4 lw 2 lc rgb colour('onebit') title '1 bit'
}
unset multiplot
GNUPLOT
    echo "figure: $out/figure5.svg"
fi
echo "$((SECONDS - begin)) seconds in all"
