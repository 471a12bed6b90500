#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# simulate.sh BUILD_DIR [RANKS...] - the model of `thinwire scale`, its simulation, and flows of SimGrid, side by side, as
# a table: one allreduce of each of SIZES, ranks 16, 64 and 256 where none are given, one on each node.
# Environment: SIZES (values, "65536 1000000 16777216"), CODECS (fp32,tree8), NETWORK (ethernet-10g), FLOWS (64: SimGrid's
# own network up to so many ranks, where thinwire was built with it; 0: never), PER_NODE (1).
set -u
if [ $# -lt 1 ] || [ ! -x "$1/bin/thinwire" ]; then
    echo "usage: bench/simulate.sh BUILD_DIR [RANKS...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) || exit 1
shift
ranks=("$@")
[ $# -gt 0 ] || ranks=(16 64 256)
network=${NETWORK:-ethernet-10g} flows=${FLOWS:-64}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-simulate.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
query=$build/tests/tools/json_query
[ -x "$query" ] || make -s -C "$build" tests/tools/json_query >&2

# scale NAME OPTION...: into NAME.json; how long that took into NAME.took.
scale() {
    local name=$1 began=$EPOCHREALTIME
    shift
    "$build/bin/thinwire" scale "$scratch/job.cfg" --ranks "$n" --codec "${CODECS:-fp32,tree8}" --ranks-per-node "${PER_NODE:-1}" \
        --json "$scratch/$name.json" "$@" >/dev/null || return 1
    awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $began }" >"$scratch/$name.took"
}

value() { "$query" "$scratch/$1.json" "rows.$row.$2"; }

# The links of the network's preset as a platform: `usable` of the rate, half of the latency on each side.
platform() {
    "$build/bin/thinwire" scale "$scratch/job.cfg" --ranks 2 --codec fp32 --network "$network" |
        sed -n 's/.*rate=\([0-9.]*\) Gbit.*usable=\([0-9.]*\), latency=\([0-9.]*\) us.*/\1 \2 \3/p' | {
        read -r rate usable latency
        cat <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="hosts" prefix="host" suffix="" radical="0-$((n - 1))" speed="1Gf"
           bw="$(awk "BEGIN { print $rate * $usable / 8 }")GBps" lat="$(awk "BEGIN { print $latency / 2 }")us"/>
</platform>
END
    }
}

echo "| ranks | values | codec | model, ms | simulation, ms | model / simulation | flows, ms | flows / simulation | took, s: simulation | flows |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for n in "${ranks[@]}"; do
    for size in ${SIZES:-65536 1000000 16777216}; do
        echo "name = \"x\"; ranks = 1; step = ( { call = \"allreduce\"; count = $size; class = \"grad\"; } );" >"$scratch/job.cfg"
        scale model --network "$network" && scale fifo --network "$network" --simulate || exit 1
        platform >"$scratch/platform.xml"
        with_flows=0
        if [ "$n" -le "$flows" ] && scale flows --network "$scratch/platform.xml" --simulate 2>"$scratch/why"; then with_flows=1; fi
        for row in $(seq 0 "$(tr -cd , <<<"${CODECS:-fp32,tree8}" | wc -c)"); do
            awk -v n="$n" -v size="$size" -v codec="$(value model codec)" -v m="$(value model seconds)" -v s="$(value fifo seconds)" \
                -v f="$([ $with_flows = 0 ] || value flows seconds)" -v t="$(cat "$scratch/fifo.took")" \
                -v u="$([ $with_flows = 0 ] || cat "$scratch/flows.took")" 'BEGIN {
                printf "| %d | %d | %s | %.3f | %.3f | %.2f | ", n, size, codec, 1e3 * m, 1e3 * s, m / s
                if (f != "") printf "%.3f | %.2f | %s | %s |\n", 1e3 * f, f / s, t, u
                else printf "- | - | %s | - |\n", t }'
            awk "BEGIN { d = 100 * $(value model seconds) / $(value fifo seconds) - 100; print d < 0 ? -d : d }" >>"$scratch/differences"
        done
    done
done
sort -n "$scratch/differences" | awk '{ d[NR] = $1 } END { printf "\nModel and simulation: median difference %.0f %%.\n", d[int((NR + 1) / 2)] }'
