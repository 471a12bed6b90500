#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Requests of the drop-in and of the program in one array, completed in any order.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 16
run plain 3 requests
each_rank requests
run tree8 2 requests
run bitpack:3 4 requests
run verified 3 requests
run feedback 2 requests
run rules 4 requests
