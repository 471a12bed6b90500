#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Wrong arguments: the same error classes and calls of error handlers with and without the drop-in.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

facts() { grep '^= ' "$scratch/out" >"$1" && [ "$(wc -l <"$1")" -gt 200 ]; }

# as_plain MODE RANKS
as_plain() {
    start "$1" "$2" errors exact "$2" || return 1
    facts "$scratch/facts" || return 1
    diff "$scratch/plain.$2" "$scratch/facts" >>"$scratch/out" # what was printed stays above
}

plan 8
for ranks in 2 3; do
    start plain $ranks errors exact $ranks && facts "$scratch/plain.$ranks"
    result $? "errors on $ranks ranks, plain"
    for mode in watching tree8 bitpack:2; do
        as_plain $mode $ranks
        result $? "errors on $ranks ranks, $mode: as without"
    done
done
