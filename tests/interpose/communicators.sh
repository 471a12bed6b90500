#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Communicators by the thousand, and threads on their own, under the drop-in.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 22
for program in communicators threads; do
    run plain 2 $program
    for ranks in 1 2 3; do
        run watching $ranks $program
        run bitpack:2 $ranks $program
    done
    run bitpack:2 5 $program
    run feedback 2 $program
    run verified 3 $program
    run rules 4 $program
done
