#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Random sequences of collectives under the drop-in, more than 2,000 over all launches (TW_FUZZ: in
# one launch).
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 16
run plain 3 fuzz
for ranks in 1 2 3 4 5; do
    run watching $ranks fuzz
    run bitpack:2 $ranks fuzz
done
run tree8 3 fuzz
run verified 3 fuzz
run feedback 4 fuzz
run rules 2 fuzz
run rules 5 fuzz
