# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the common.bash of tests/mpi, tests/tools and tests/train: TAP, a scratch folder, and launching under
# a time limit, which the latter two set.
# shellcheck shell=bash disable=SC2154  # set by make check and by who sources this
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_btl_vader_backing_directory=$scratch
export LSAN_OPTIONS="suppressions='$top_srcdir/tests/lsan.supp':print_suppressions=0"
export OMP_NUM_THREADS=1
number=0
# shellcheck source=tests/left.bash disable=SC1091
. "$top_srcdir/tests/left.bash"

plan() { echo "1..$1"; }

# check NAME COMMAND...: one TAP line; what the command printed goes to the log if it fails.
check() {
    local name=$1
    shift
    number=$((number + 1))
    if "$@" >"$scratch/check.log" 2>&1; then
        echo "ok $number - $name"
    else
        sed 's/^/# /;$a\' "$scratch/check.log"
        echo "not ok $number - $name"
    fi
}

skip() { # NAME WHY
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

# alone COMMAND..., ranks N COMMAND...: the output goes to $scratch/out and to the log.
alone() {
    timeout -k 5 "$limit" "$@" </dev/null >"$scratch/out" 2>&1
    local status=$?
    cat "$scratch/out"
    return $status
}
ranks() {
    local n=$1
    shift
    alone "$MPIRUN" -n "$n" "$@"
}

# within VALUE LOW HIGH, for decimal numbers.
within() {
    awk -v v="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(v + 0 >= low + 0 && v + 0 <= high + 0) }' ||
        { echo "$1 is not within $2 .. $3"; return 1; }
}
