#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Random sequences of collectives under the drop-in, more than 2,000 over all launches (TW_FUZZ: in
# one launch), and 160 odd programs (TW_ODD: in one launch; odd.h has more settings, shrink.sh
# makes the shortest that fails).
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

sequences() { TW_CASE='random sequences' run "$@" fuzz; }
odd() { TW_CASE='odd programs' TW_ODD=${TW_ODD:-$((60 / $(thinned "$2")))} run "$@" fuzz; }

plan 26
sequences plain 3
TW_CASE='random sequences' each_rank fuzz
sequences tree8 3
sequences verified 3
sequences feedback 4
sequences rules 2
sequences rules 5
sequences nodes 4
odd plain 3
odd watching 2
odd bitpack:2 4
odd nodes 4
odd fp32 3
odd feedback 2
odd tree8 3
sequences encode 3
odd encode 3
