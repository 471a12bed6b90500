# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/tools/*.sh: what all scripts share, and the command.
# shellcheck shell=bash disable=SC1091,SC2154,SC2034  # set by make check; for those that source this
. "$top_srcdir/tests/common.bash"
thinwire=$top_builddir/bin/thinwire
json_query=$top_builddir/tests/tools/json_query
limit=${TW_TIME_LIMIT:-60}

sanitized() { "$thinwire" info 2>/dev/null | grep -q 'sanitizers: yes'; }
