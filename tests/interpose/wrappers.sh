#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every collective under the drop-in: unchanged where it may not be changed, right where it may.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 25
run plain 3 wrappers
for ranks in 1 2 3 4 5; do
    run watching $ranks wrappers
    run bitpack:2 $ranks wrappers
done
for ranks in 2 3 5; do
    run tree8 $ranks wrappers
done
for ranks in 2 4; do
    run bitpack:3 $ranks wrappers
done
run tree8-double 3 wrappers
run onebit 2 wrappers
run onebit 4 wrappers
run verified 3 wrappers
run feedback 2 wrappers
run rules 3 wrappers
run encode 2 wrappers
run encode 3 wrappers
run fp32 3 wrappers
