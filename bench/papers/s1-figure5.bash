# SPDX-License-Identifier: BSD-3-Clause
# shows: S1, Figure 5: how long a layer of 10 thousand to 10 million values travels with 32, 8 and 1 bit, codecs included
# time: 2 minutes (--quick: 1), as root
# differs: two emulated hosts at RATES (1, 10, 100 Gbit/s) for two GPUs on PCIe; measured, where the paper adds a codec's time
# shellcheck shell=bash disable=SC2154  # of papers.sh
# S1 sent a matrix from one GPU to another, at about 8 GB/s. bcast is that transfer; allreduce is what training does with
# it: both ways, summed, and encoded twice. The token bucket of a link holds what it carries in 250 us: so much passes at
# once, which makes shorter transfers faster than they would be.
target() {
    local rate operation rates=${RATES:-$(either "1 10" "1 10 100")}
    : >"$out/s1-figure5.dat"
    for rate in $rates; do
        NETLAB_BURST=$((31250 * rate)) lab_up 2 "${rate}gbit"
        for operation in bcast allreduce; do
            on_hosts 2 "$build/bin/thinwire" bench $operation --codec fp32,tree8,onebit --min 40000 --max 40000000 \
                --json "$out/s1-figure5.json" </dev/null >"$out/s1-figure5.log" 2>&1 || { tail -n 3 "$out/s1-figure5.log" >&2; exit 1; }
            # A block for each panel of the figure: values, and ms by MPI, with 32, 8 and 1 bit.
            echo "\"$operation, $rate Gbit/s\""
            rows s1-figure5 codec bytes seconds mpi_seconds | awk '
                { size[$2] = $2; ms[$2, $1] = 1e3 * $3; if ($1 == "fp32") { ms[$2, "MPI"] = 1e3 * $4 } }
                END { for (b in size) { print b / 4, ms[b, "MPI"], ms[b, "fp32"], ms[b, "tree8"], ms[b, "onebit"] } }' | sort -n
            printf '\n\n'
        done >>"$out/s1-figure5.dat"
        lab_down
    done
    echo "| transfer, links | values | MPI, ms | 32 bit (\`fp32\`) | 8 bit (\`tree8\`) | 1 bit (\`onebit\`) | 32 / 8 bit | 8 / 1 bit |"
    echo "|---|---|---|---|---|---|---|---|"
    awk '/"/ { gsub(/"/, ""); panel = $0; next }
        NF { printf "| %s | %d | %.4g | %.4g | %.4g | %.4g | %.2f | %.2f |\n", panel, $1, $2, $3, $4, $5, $3 / $4, $4 / $5 }' \
        "$out/s1-figure5.dat"
    draw s1-figure5 "$((360 * $(wc -w <<<"$rates") + 20)),630" <<GNUPLOT
set multiplot layout 2,$(wc -w <<<"$rates") columnsfirst title 'Time of a transfer with 32, 8 and 1 bit against the size of the layer'
set logscale xy
set format x '10^{%L}'
set xlabel 'values'
set ylabel 'ms'
set key bottom right
do for [p=0:$((2 * $(wc -w <<<"$rates") - 1))] {
    stats '$out/s1-figure5.dat' index p every ::0::0 using (name = strcol(1), 1) nooutput
    set title name
    plot for [c=2:5] '$out/s1-figure5.dat' index p every ::1 using 1:c with linespoints pt 7 ps 0.4 lw 2 \
        lc rgb colour(word('spare:1 fp32 tree8 onebit', c - 1)) \
        title word('"MPI, 32 bit" "32 bit" "8 bit" "1 bit"', c - 1)
}
unset multiplot
GNUPLOT
}
