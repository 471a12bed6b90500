#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every collective under the drop-in: unchanged where it may not be changed, right where it may.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 25
run plain 3 wrappers
each_rank wrappers
for each in "tree8 2" "tree8 5" "bitpack:3 2" "onebit 4" "encode 3"; do
    # shellcheck disable=SC2086  # a mode and ranks
    more $each wrappers
done
for each in "tree8 3" "bitpack:3 4" "tree8-double 3" "onebit 2" "verified 3" "feedback 2" "rules 3" "encode 2" "fp32 3"; do
    # shellcheck disable=SC2086
    run $each wrappers
done
