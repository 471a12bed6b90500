# SPDX-License-Identifier: BSD-3-Clause
# shows: S1, Table 1: absolute and relative errors of the 8-bit types by distribution
# time: 10 s (--quick: the same)
# differs: the absolute errors of the paper are of another definition (they grow as squares): both are printed
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    "$build/bin/eight-bit-errors" </dev/null | awk '{ print "    " $0 }'
}
