#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Reductions other than sums: exact without a rule that names them, encoded with one, and told apart in the report. And
# movements of what no codec takes.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 23
run plain 3 operations
for ranks in 1 2 3 4 7; do
    run watching $ranks operations
    run tree8 $ranks operations
    TW_OPERATIONS_ENCODED=1 run encode $ranks operations
done

# Of 5 calls, 3 operations, 2 types and 2 ranks: how many were compressed, and how many were not for want of a rule.
counted() { # NAME CODEC RULES COMPRESSED NOT
    local json=$scratch/report.json
    THINWIRE_JSON=$json THINWIRE_CODEC=$2 THINWIRE_RULES=$3 THINWIRE_THRESHOLD=0 THINWIRE_DOUBLE=1 start watching 2 operations &&
        python3 - "$json" "$4" "$5" >>"$scratch/out" 2>&1 <<'END'
import json, sys
totals = json.load(open(sys.argv[1]))["totals"]
got = totals["compressed_calls"], totals["reasons"].get("reduction", {"calls": 0})["calls"]
print(totals["reasons"])
assert got == (int(sys.argv[2]), int(sys.argv[3])), got
END
    result $? "$1"
}
counted "no rule names them" tree8 "" 0 60
counted "a rule for the largest" tree8 "max=bitpack:2" 20 40

# Of P ranks each has 8 P + 2 broadcasts, 8 allgathers and 8 allgathervs: how many were moved as bytes, between nodes of so many ranks.
moved() { # NAME RANKS NODE_RANKS RULES MOVED
    local json=$scratch/report.json
    THINWIRE_JSON=$json THINWIRE_CODEC=tree8 THINWIRE_RULES=$4 THINWIRE_THRESHOLD=1k THINWIRE_NODE_RANKS=$3 start watching "$2" moves &&
        python3 - "$json" "$5" >>"$scratch/out" 2>&1 <<'END'
import json, sys
reasons = json.load(open(sys.argv[1]))["totals"]["reasons"]
print(reasons)
assert reasons.get("moved", {"calls": 0})["calls"] == int(sys.argv[2])
END
    result $? "$1"
}
moved "bytes between hosts" 3 1 "" 126
moved "bytes between nodes" 4 2 "" 200
moved "a rule against some" 3 1 "bcast:off" 48
moved "bytes inside a node" 2 0 "" 0
run encode 3 moves
