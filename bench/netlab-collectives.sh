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
# SIZE is what thinwire bench takes: bytes of float32 of the vector, of reduce_scatter, allgather and
# alltoall the block of one rank. PER_HOST ranks run on each host (1).
# Open MPI as it comes and all codecs take turns in one job (thinwire bench). The best setting of Open MPI is
# searched among algorithms and segments, then with more links per peer (btl_tcp_links), and the winner is measured
# again, each by a job of its own.
# Environment: CODECS, default fp32,bitpack:2,tree8,onebit; SEARCH=no leaves out the search, which ends
# SEARCH_SECONDS (1200) after the start. One thread per rank. The last line says how long it all was.
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u
. "$(dirname "$0")/common.bash"
folders "${1-}" "${2-}"
shift 2
if [ $# -gt 0 ]; then
    labs=("$@")
else
    # shellcheck disable=SC2054  # commas inside
    labs=(4:1gbit:16M,64M:allreduce,bcast,alltoall 2:10gbit:16M:allreduce,bcast,alltoall 8:250mbit:16M:allreduce)
fi
codecs=${CODECS:-fp32,bitpack:2,tree8,onebit}
per_host=${PER_HOST:-1}
begin=$SECONDS
last=${SEARCH_SECONDS:-1200}

# What is searched: the values of coll_tuned_X_algorithm, and segments where the algorithm cuts.
searched() {
    case $1 in
        allreduce) echo 0:0 3:0 4:0 5:131072 5:1048576 6:0 ;; # as it comes, doubling, ring, segmented ring,
                                                              # Rabenseifner
        bcast) echo 0:0 3:131072 3:1048576 4:131072 6:131072 8:0 9:0 ;; # pipeline, split binary, binomial,
                                                                         # scatter-allgather
        alltoall) echo 0:0 1:0 2:0 4:0 ;; # linear, pairwise, linear with sync
        allgather) echo 0:0 1:0 3:0 4:0 5:0 ;; # linear, doubling, ring, neighbour exchange
        reduce_scatter) echo 0:0 1:0 3:0 4:0 ;; # of the block: linear, halving, butterfly
    esac
}

# job HOSTS OPERATION SIZE CODECS [OPTION...]: the rows of thinwire bench, with these options of mpirun
job() {
    local hosts=$1 operation=$2 size=$3 list=$4
    shift 4
    LIMIT=300 on_hosts $((hosts * per_host)) "$@" "$build/bin/thinwire" bench "$operation" --codec "$list" --min "$size" --max "$size" \
        --json "$out/run.json" </dev/null >"$out/run.log" 2>&1 || { tail -n 3 "$out/run.log" >&2; return 1; }
    rows run codec seconds mpi_seconds
}

# native HOSTS OPERATION SIZE ALGORITHM:SEGMENT LINKS: "seconds setting links" of Open MPI; onebit takes least time beside it
native() {
    local name=coll_tuned_${2/%scatter/scatter_block}_algorithm
    job "$1" "$2" "$3" onebit --mca coll_tuned_use_dynamic_rules 1 --mca "$name" "${4%:*}" \
        --mca "${name}_segmentsize" "${4#*:}" --mca btl_tcp_links "$5" | awk -v setting="$4 $5" '{ print $3, setting }'
}

# search HOSTS OPERATION SIZE: "seconds setting links" of what is fastest, nothing if there was no time
search() {
    local setting links found=""
    best() { LC_ALL=C sort -g <<<"$found" | awk 'NF == 3 { print $2, $3; exit }'; }
    [ "${SEARCH:-yes}" != no ] && [ $((SECONDS - begin)) -lt "$last" ] || return 0
    for setting in $(searched "$2"); do
        found+=$(native "$@" "$setting" 1)$'\n'
    done
    read -r setting _ <<<"$(best)"
    for links in 2 4; do
        found+=$(native "$@" "$setting" $links)$'\n'
    done
    read -r setting links <<<"$(best)"
    native "$@" "$setting" "$links"
}

one() { # HOSTS RATE OPERATION SIZE
    local seconds codec mpi least setting links all
    read -r least setting links <<<"$(search "$1" "$3" "$4")"
    if [ -n "$least" ]; then
        setting="algorithm ${setting%:*}, segment ${setting#*:}, links $links"
        setting=${setting/algorithm 0, segment 0/default algorithm}
    else
        least=- setting="not searched"
    fi
    all=$(job "$1" "$3" "$4" "$codecs") || return 1
    while IFS=$'\t' read -r codec seconds mpi; do
        printf '%s\t' "$1" "$2" "$3" "$4" "$codec" "$mpi" "$least" "$setting"
        echo "$seconds"
    done <<<"$all" | tee -a "$out/netlab.tsv"
}

: >"$out/netlab.tsv"
for each in "${labs[@]}"; do
    IFS=: read -r hosts rate sizes operations <<<"$each"
    lab_up "$hosts" "$rate"
    for operation in ${operations//,/ }; do
        for size in ${sizes//,/ }; do
            one "$hosts" "$rate" "$operation" "$size" || echo "$each: $operation $size failed" >&2
        done
    done
    lab_down
    echo "$each: $((SECONDS - begin)) s so far" >&2
done
rm -f "$out"/run.{json,log}

# The bound: bytes that one link must carry, less what the token bucket lets through at once. One line for each
# row of the lab, in ms and, in brackets, bound / time; the same for gnuplot.
awk -F '\t' -v list="$codecs" -v ranks="$per_host" -v data="$out/netlab.dat" '
function number(text, units) { units = "kMG"; return text * 1024 ^ index(units, substr(text, length(text))) }
function rate(text) { return text * (text ~ /gbit/ ? 1e9 : text ~ /mbit/ ? 1e6 : 1e3) / 8 }
function bytes(op, hosts, size) {
    if (op == "bcast") { return size }
    return op == "allreduce" ? 2 * (hosts - 1) / hosts * size : (hosts - 1) * size * ranks * (op == "alltoall" ? ranks : 1)
}
function cell(seconds) { return seconds + 0 == 0 ? "-" : sprintf("%.1f (%.2f)", seconds * 1e3, bound / seconds) }
function ratio(seconds) { return seconds + 0 == 0 ? "?" : bound / seconds }
function finish(    i) {
    if (row == "") { return }
    printf "| %s | %.1f | %s | %s | %s |", row, bound * 1e3, cell(mpi), cell(best), setting
    printf "\n\"%s\" %s %s", label, ratio(mpi), ratio(best) >data
    for (i = 1; i <= n; i++) {
        printf " %s |", cell(time[codec[i]])
        printf " %s", ratio(time[codec[i]]) >data
    }
    print ""
    split("", time)
}
BEGIN {
    n = split(list, codec, ",")
    printf "| hosts, links | operation, bytes | bound for float32, ms | Open MPI, ms (bound / time) | best found | its setting |"
    printf "case \"Open MPI\" \"best found\"" >data
    for (i = 1; i <= n; i++) {
        printf " `%s` |", codec[i]
        printf " \"%s\"", codec[i] >data
    }
    printf "\n|---|---|---|---|---|---|"
    for (i = 1; i <= n; i++) { printf "---|" }
    print ""
}
{
    if ($1 ", " $2 " | " $3 " " $4 != row) {
        finish()
        row = $1 ", " $2 " | " $3 " " $4; label = $3 " " $4 "\\n" $1 ", " $2
        burst = rate($2) / 4000; burst = burst > 131072 ? burst : 131072
        bound = (bytes($3, $1, number($4)) - burst) / rate($2)
        mpi = $6; best = $7; setting = $8
        if (best != "-" && mpi + 0 < best + 0) { best = mpi; setting = "as it comes" }
    }
    time[$5] = $9
}
END { finish(); print "" >data }' "$out/netlab.tsv" >"$out/netlab.md"
cat "$out/netlab.md"

# A group of bars for each row of the lab: Open MPI, the best found, and the codecs.
names="case spare:1 spare:2 $(echo "$codecs" | tr ',' ' ')"
draw netlab 1100,480 <<GNUPLOT
set title 'Collectives on emulated hosts: bound for float32 / time (1: every link is full all the time)'
set ylabel 'bound for float32 / time'
set datafile missing '?'
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9
set logscale y
set key outside right
set xtics scale 0 font ',9'
set bmargin 4
plot 1 notitle lc rgb '#888888', '$out/netlab.dat' using 2:xtic(1) lc rgb colour('spare:1') title columnheader(2), \
    for [i=3:words('$names')] '' using i lc rgb colour(word('$names', i)) title columnheader(i)
GNUPLOT
echo "$((SECONDS - begin)) seconds in all"
