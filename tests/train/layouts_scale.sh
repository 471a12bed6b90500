#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bytes that thinwire scale says of a training's step are within 1 % of those that leave a node, as thinwire-train counts
# them: on nodes of one and of several ranks (THINWIRE_NODE_RANKS), with the defaults of all settings, replicated, with
# owners, with AWP, and by schemes b and c. Both leave out the headers of MPI and of the network.
# shellcheck disable=SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/train/common.bash"
limit=${TW_TIME_LIMIT:-120}
json_query=$top_builddir/tests/tools/json_query

# counted RANKS LOCAL: of the busiest node in $scratch/run.json.
counted() {
    local r
    for ((r = 0; r < $1; r++)); do "$json_query" "$scratch/run.json" "bytes_network_per_step.$r"; done |
        LC_ALL=C awk -v k="$2" '{ node[int((NR - 1) / k)] += $1 } END { for (n in node) if (node[n] > most) most = node[n]; printf "%.0f\n", most }'
}

# agree RANKS LOCAL SCHEME ARG...: recorded and predicted on as many nodes of as many ranks.
agree() {
    local n=$1 local=$2 scheme=$3 bytes sent
    shift 3
    rm -f "$scratch/job.cfg"
    THINWIRE_NODE_RANKS=$local train "$n" --model lenet --data digits:train=640 --batch 64 --steps 3 --scheme "$scheme" "$@" \
        --record "$scratch/job.cfg" --json "$scratch/run.json" >&2 || return 1
    timeout -k 5 "$limit" "$top_builddir/bin/thinwire" scale "$scratch/job.cfg" --ranks "$n" --ranks-per-node "$local" --network ethernet-1g \
        --codec tree8 --scheme "$scheme" --json "$scratch/scale.json" </dev/null >&2 || return 1
    bytes=$("$json_query" "$scratch/scale.json" rows.0.bytes) sent=$(counted "$n" "$local")
    echo "$n ranks, $local on a node: $bytes predicted, $sent sent"
    LC_ALL=C awk -v a="$bytes" -v b="$sent" 'BEGIN { exit !(b > 0 && a > 0.99 * b && a < 1.01 * b) }'
}

layouts="4:1 8:2"
[ -z "${TW_ALL-}" ] || layouts="4:1 4:2 6:2 8:2 16:4"
each() {
    local layout
    for layout in $layouts; do agree "${layout%:*}" "${layout#*:}" "$@" || return 1; done
}

plan 5
check "replicated" each data --codec tree8
check "sharded" each data --update sharded --codec grad=tree8,weight=tree8
check "sharded, with AWP" each data --update sharded --codec grad=tree8,weight=awp
check "scheme b" each b --codec tree8
check "scheme c" each c --codec tree8
