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
# Open MPI as it comes and all codecs take turns in one job. The best setting of Open MPI is searched with 3
# repetitions of each algorithm and segment, then with more links per peer (btl_tcp_links), and the winner is
# measured again with 7.
# Environment: CODECS, default fp32,bitpack:2,tree8,onebit; SEARCH=no leaves out the search, which ends
# SEARCH_SECONDS (780) after the start. One thread per rank. The last line says how long it all was.
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
    # shellcheck disable=SC2054  # commas inside
    labs=(4:1gbit:16M,64M:allreduce,bcast,alltoall 2:10gbit:16M:allreduce,bcast,alltoall 8:250mbit:16M:allreduce)
fi
codecs=${CODECS:-fp32,bitpack:2,tree8,onebit}
begin=$SECONDS
last=${SEARCH_SECONDS:-780}
export NETLAB_NAME=${NETLAB_NAME:-twbench} THINWIRE_THREADS=1 OMP_NUM_THREADS=1
lab=$(cd "$(dirname "$0")" && pwd)/netlab.sh
trap '"$lab" down >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM

# What is searched: the values of coll_tuned_X_algorithm, and segments where the algorithm cuts.
searched() {
    case $1 in
        allreduce) echo 0:0 3:0 4:0 5:131072 5:1048576 6:0 ;; # as it comes, doubling, ring, segmented ring,
                                                              # Rabenseifner
        bcast) echo 0:0 3:131072 3:1048576 4:131072 6:131072 8:0 9:0 ;; # pipeline, split binary, binomial,
                                                                         # scatter-allgather
        alltoall) echo 0:0 1:0 2:0 4:0 ;; # linear, pairwise, linear with sync
    esac
}

bytes() { # SIZE
    local n=${1%[kMG]}
    case $1 in
        *k) echo $((n << 10)) ;;
        *M) echo $((n << 20)) ;;
        *G) echo $((n << 30)) ;;
        *) echo "$n" ;;
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

job() { # HOSTS COMMAND...
    local hosts=$1
    shift
    timeout 300 "$lab" mpirun "$hosts" -- -x THINWIRE_THREADS -x OMP_NUM_THREADS "$@" </dev/null \
        >"$out/run.log" 2>"$out/run.err" || { tail -n 3 "$out/run.log" "$out/run.err" >&2; return 1; }
}

# forced OPERATION ALGORITHM:SEGMENT LINKS: the options of mpirun
forced() {
    echo --mca coll_tuned_use_dynamic_rules 1 --mca "coll_tuned_$1_algorithm" "${2%:*}" \
        --mca "coll_tuned_$1_algorithm_segmentsize" "${2#*:}" --mca btl_tcp_links "$3"
}

# native HOSTS OPERATION SETTING LINKS REPETITIONS SIZE...: adds "bytes seconds setting links" to found
native() {
    local hosts=$1 operation=$2 setting=$3 links=$4 repetitions=$5 options sizes=() each
    shift 5
    for each; do sizes+=("$(bytes "$each")"); done
    read -ra options <<<"$(forced "$operation" "$setting" "$links")"
    job "$hosts" "${options[@]}" "$build/bin/mpi-collectives" "$operation" "$repetitions" "${sizes[@]}" || return 1
    sed "s/$/ $setting $links/" "$out/run.log" >>"$out/found"
}

best() { # SIZE: seconds, setting, links of what is fastest in found
    awk -v size="$(bytes "$1")" '$1 == size && NF == 4 { print $2, $3, $4 }' "$out/found" | LC_ALL=C sort -g | head -n 1
}

# search HOSTS OPERATION SIZE...
search() {
    local hosts=$1 operation=$2 setting size seconds winner links
    shift 2
    : >"$out/found"
    [ "${SEARCH:-yes}" != no ] || return 0
    for setting in $(searched "$operation"); do
        [ $((SECONDS - begin)) -lt "$last" ] || return 0
        native "$hosts" "$operation" "$setting" 1 3 "$@"
    done
    for size; do
        [ $((SECONDS - begin)) -lt "$last" ] || return 0
        read -r seconds winner links <<<"$(best "$size")"
        [ -n "$winner" ] || continue
        for links in 2 4; do native "$hosts" "$operation" "$winner" $links 3 "$size"; done
        read -r seconds winner links <<<"$(best "$size")"
        awk -v size="$(bytes "$size")" '$1 != size' "$out/found" >"$out/others"
        mv "$out/others" "$out/found"
        native "$hosts" "$operation" "$winner" "$links" 7 "$size"
    done
}

one() { # HOSTS RATE OPERATION SIZE
    local seconds codec mpi least=- setting=- links
    job "$1" "$build/bin/thinwire" bench "$3" --codec "$codecs" --min "$4" --max "$4" --json "$out/run.json" || return 1
    read -r least setting links <<<"$(best "$4")"
    if [ -n "$least" ]; then
        setting="algorithm ${setting%:*}, segment ${setting#*:}, links $links"
        setting=${setting/algorithm 0, segment 0/default algorithm}
    else
        least=- setting="not searched"
    fi
    rows "$out/run.json" | while IFS=$'\t' read -r codec seconds mpi; do
        printf '%s\t' "$1" "$2" "$3" "$4" "$codec" "$mpi" "$least" "$setting"
        echo "$seconds"
    done | tee -a "$out/netlab.tsv"
}

: >"$out/netlab.tsv"
for each in "${labs[@]}"; do
    IFS=: read -r hosts rate sizes operations <<<"$each"
    "$lab" up "$hosts" "$rate" || exit $?
    for operation in ${operations//,/ }; do
        # shellcheck disable=SC2086  # a list
        search "$hosts" "$operation" ${sizes//,/ }
        for size in ${sizes//,/ }; do
            one "$hosts" "$rate" "$operation" "$size" || echo "$each: $operation $size failed" >&2
        done
    done
    "$lab" down
    echo "$each: $((SECONDS - begin)) s so far" >&2
done
rm -f "$out"/run.{json,log,err} "$out/found"

# The bound: bytes that one link must carry, less what the token bucket lets through at once. One line for each
# row of the lab, in ms and, in brackets, bound / time; the same for gnuplot.
awk -F '\t' -v list="$codecs" -v data="$out/netlab.dat" '
function number(text, units) { units = "kMG"; return text * 1024 ^ index(units, substr(text, length(text))) }
function rate(text) { return text * (text ~ /gbit/ ? 1e9 : text ~ /mbit/ ? 1e6 : 1e3) / 8 }
function bytes(op, hosts, size) { return op == "bcast" ? size : op == "alltoall" ? (hosts - 1) * size : 2 * (hosts - 1) / hosts * size }
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

if ! command -v gnuplot >/dev/null; then
    echo "no gnuplot (Debian, Ubuntu: gnuplot-nox); the table is in $out/netlab.md" >&2
    echo "$((SECONDS - begin)) seconds in all"
    exit 0
fi
# A group of bars for each row of the lab: Open MPI, the best found, and the codecs.
names="case open best $(echo "$codecs" | tr ',' ' ')"
gnuplot <<GNUPLOT || exit 1
load '$(dirname "$0")/palette.gnuplot'
set terminal svg size 1100,480 font 'sans,12' background '#ffffff'
set output '$out/netlab.svg'
set title 'Collectives on emulated hosts: bound for float32 / time (1: every link is full all the time)'
set ylabel 'bound for float32 / time'
set datafile missing '?'
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9
set logscale y
set grid ytics lc rgb '#dddddd'
set key outside right
set xtics scale 0 font ',9'
set bmargin 4
plot 1 notitle lc rgb '#888888', '$out/netlab.dat' using 2:xtic(1) lc rgb colour('Open MPI') title columnheader(2), \
    for [i=3:words('$names')] '' using i lc rgb colour(word('$names', i)) title columnheader(i)
GNUPLOT
echo "figure: $out/netlab.svg"
echo "$((SECONDS - begin)) seconds in all"
