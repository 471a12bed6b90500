# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/train/*.sh: what all scripts share, and runs of thinwire-train under a time limit.
# shellcheck shell=bash disable=SC1091,SC2154,SC2034  # set by make check; for those that source this
. "$top_srcdir/tests/common.bash"
program=$top_builddir/bin/thinwire-train
limit=${TW_TIME_LIMIT:-120}

# train RANKS [ARG...]: output and errors go to $scratch/out and to the log.
train() {
    local n=$1
    shift
    ranks "$n" "$program" "$@"
}

# value KEY FILE: a number or string at the top level of a JSON report, as it stands there.
value() { awk -F '": ' -v key="  \"$1" '$1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$2"; }

# The same text twice, and not none.
same() { [ -n "$1" ] && [ "$1" = "$2" ] || { echo "'$1' and '$2'"; return 1; }; }
