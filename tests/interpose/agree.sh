#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls in which one rank looks other than its peers, under the drop-in.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 5
run plain 2 agree
run watching 2 agree
run bitpack:2 2 agree
run bitpack:2 3 agree
run verified 4 agree
