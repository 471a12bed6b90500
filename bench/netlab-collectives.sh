#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# netlab-collectives.sh BUILD_DIR OUT_DIR [LAB...] - collectives on emulated hosts: Open MPI as it comes,
# Open MPI with the best of the algorithms and segments that are searched, thinwire with each codec, and
# the bound that the rate of the links sets. As root. Writes OUT_DIR/netlab.md, .tsv and, with gnuplot,
# .svg.
#
# LAB is HOSTS:RATE:SIZES:OPERATIONS, sizes and operations with commas; default:
#     4:1gbit:16M,64M:allreduce,bcast,alltoall  2:10gbit:16M:allreduce,bcast,alltoall
#     8:250mbit:16M:allreduce
# SIZE is what thinwire bench takes: bytes of float32 of the vector, of alltoall the block for one rank.
# Environment: CODECS, default fp32,bitpack:2,tree8,onebit; SEARCH=no leaves out the search for the best
# setting of Open MPI, which takes most of the time. One thread per rank.
set -u
if [ $# -lt 2 ] || [ ! -x "$1/bin/thinwire" ]; then
    echo "usage: bench/netlab-collectives.sh BUILD_DIR OUT_DIR [HOSTS:RATE:SIZES:OPERATIONS...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
shift 2
if [ $# -gt 0 ]; then
    labs=("$@")
else
    labs=(4:1gbit:16M,64M:allreduce,bcast,alltoall 2:10gbit:16M:allreduce,bcast,alltoall 8:250mbit:16M:allreduce)
fi
codecs=${CODECS:-fp32,bitpack:2,tree8,onebit}
export NETLAB_NAME=${NETLAB_NAME:-twbench} THINWIRE_THREADS=1 OMP_NUM_THREADS=1
lab=$(cd "$(dirname "$0")" && pwd)/netlab.sh
trap '"$lab" down >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM

# What is searched: the values of coll_tuned_X_algorithm, and segments where the algorithm cuts.
searched() {
    [ "${SEARCH:-yes}" != no ] || return 0
    case $1 in
        allreduce) echo 3:0 4:0 5:131072 6:0 ;;         # doubling, ring, segmented ring, Rabenseifner
        bcast) echo 3:131072 3:1048576 8:0 9:0 6:131072 ;; # pipeline, scatter-allgather, binomial
        alltoall) echo 1:0 2:0 4:0 ;;                   # linear, pairwise, linear with sync
    esac
}

# rows FILE: codec, seconds of thinwire, seconds of MPI
rows() {
    awk -F '[:,]' '
    function text(line) { sub(/^[^:]*: *"?/, "", line); sub(/"?,? *$/, "", line); return line }
    /"codec":/ { codec = text($0) }
    /"seconds":/ { seconds = text($0) }
    /"mpi_seconds":/ { print codec "\t" seconds "\t" text($0) }' "$1"
}

bench() { # HOSTS OPERATION SIZE CODECS [MPIRUN-OPTION...]
    local hosts=$1 operation=$2 size=$3 list=$4
    shift 4
    timeout 300 "$lab" mpirun "$hosts" -- "$@" -x THINWIRE_THREADS -x OMP_NUM_THREADS "$build/bin/thinwire" \
        bench "$operation" --codec "$list" --min "$size" --max "$size" --json "$out/run.json" \
        </dev/null >"$out/run.log" 2>&1 || { tail -n 3 "$out/run.log" >&2; return 1; }
    rows "$out/run.json"
}

one() { # HOSTS RATE OPERATION SIZE
    local best=- setting=- try algorithm segment seconds table codec mpi
    table=$(bench "$1" "$3" "$4" "$codecs") || return 1
    for try in $(searched "$3"); do
        algorithm=${try%:*} segment=${try#*:}
        seconds=$(bench "$1" "$3" "$4" fp32 --mca coll_tuned_use_dynamic_rules 1 \
            --mca "coll_tuned_$3_algorithm" "$algorithm" \
            --mca "coll_tuned_$3_algorithm_segmentsize" "$segment" | cut -f 3)
        [ -n "$seconds" ] || continue
        if [ "$best" = - ] || awk "BEGIN { exit !($seconds < $best) }"; then
            best=$seconds setting="algorithm $algorithm, segment $segment"
        fi
    done
    [ "$setting" != - ] || setting="not searched"
    while IFS=$'\t' read -r codec seconds mpi; do
        printf '%s\t' "$1" "$2" "$3" "$4" "$codec" "$mpi" "$best" "$setting"
        echo "$seconds"
    done <<<"$table" | tee -a "$out/netlab.tsv"
}

: >"$out/netlab.tsv"
for each in "${labs[@]}"; do
    IFS=: read -r hosts rate sizes operations <<<"$each"
    "$lab" up "$hosts" "$rate" || exit $?
    for operation in ${operations//,/ }; do
        for size in ${sizes//,/ }; do
            one "$hosts" "$rate" "$operation" "$size" || echo "$each: $operation $size failed" >&2
        done
    done
    "$lab" down
done

# The bound: bytes that one link must carry, less what the token bucket lets through at once.
awk -F '\t' '
function number(text, units) { units = "kMG"; return text * 1024 ^ index(units, substr(text, length(text))) }
function rate(text) { return text * (text ~ /gbit/ ? 1e9 : 1e6) / 8 }
function bytes(op, hosts, size) { return op == "bcast" ? size : op == "alltoall" ? (hosts - 1) * size : 2 * (hosts - 1) / hosts * size }
function ms(seconds) { return seconds == "-" ? "-" : sprintf("%.1f", seconds * 1e3) }
BEGIN {
    print "| hosts, links | operation, bytes | Open MPI, ms | best found, ms | its setting | bound for float32, ms | thinwire: codec | ms | bound / time | Open MPI / time |"
    print "|---|---|---|---|---|---|---|---|---|---|"
}
{
    burst = rate($2) / 4000; burst = burst > 131072 ? burst : 131072
    bound = (bytes($3, $1, number($4)) - burst) / rate($2)
    printf "| %s, %s | %s %s | %s | %s | %s | %.1f | `%s` | %s | %.2f | %.2f |\n", $1, $2, $3, $4, ms($6), ms($7), $8, bound * 1e3, $5, ms($9), bound / $9, $6 / $9
}' "$out/netlab.tsv" >"$out/netlab.md"
cat "$out/netlab.md"

if ! command -v gnuplot >/dev/null; then
    echo "no gnuplot (Debian, Ubuntu: gnuplot-nox); the table is in $out/netlab.md" >&2
    exit 0
fi
# A group of bars for each row of the lab: Open MPI, the best found, and the codecs.
awk -F ' *[|] *' -v list="$codecs" '
BEGIN { n = split(list, codec, ","); printf "case \"Open MPI\" \"best found\""; for (i = 1; i <= n; i++) { printf " \"%s\"", codec[i] } }
NR > 2 {
    gsub(/`/, "", $8)
    row = $3 "\\n" $2
    if (row != last) { printf "\n\"%s\" %s %s", row, $7 / $4, $5 == "-" ? 0 : $7 / $5; last = row }
    printf " %s", $10
}
END { print "" }' "$out/netlab.md" >"$out/netlab.dat"
columns=$(($(echo "$codecs" | tr ',' ' ' | wc -w) + 3))
gnuplot <<GNUPLOT || exit 1
set terminal svg size 1100,480 font 'sans,12' background '#ffffff'
set output '$out/netlab.svg'
set title 'Collectives on emulated hosts: bound for float32 / time (1: every link is full all the time)'
set ylabel 'bound for float32 / time'
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9
set logscale y
set grid ytics lc rgb '#dddddd'
set key outside right
set xtics scale 0 font ',9'
set bmargin 4
plot 1 notitle lc rgb '#888888', for [i=2:$columns] '$out/netlab.dat' using i:xtic(1) title columnheader(i)
GNUPLOT
echo "figure: $out/netlab.svg"
