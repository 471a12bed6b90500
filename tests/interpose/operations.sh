#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Reductions other than sums: exact without a rule that names them, encoded with one, and told apart in the report.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 18
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
