# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/tools/*.sh: TAP, a scratch folder, and launching under a time limit.
thinwire=$top_builddir/bin/thinwire
json_query=$top_builddir/tests/tools/json_query
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-tools.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
limit=${TW_TIME_LIMIT:-60}
export OMPI_MCA_btl_vader_backing_directory=$scratch
export LSAN_OPTIONS=suppressions=$top_srcdir/tests/lsan.supp:print_suppressions=0
export OMP_NUM_THREADS=1
number=0

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
    timeout -k 5 "$limit" "$MPIRUN" -n "$n" "$@" </dev/null >"$scratch/out" 2>&1
    local status=$?
    cat "$scratch/out"
    return $status
}

# within VALUE LOW HIGH, for decimal numbers.
within() {
    awk -v v="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(v + 0 >= low + 0 && v + 0 <= high + 0) }' ||
        { echo "$1 is not within $2 .. $3"; return 1; }
}

sanitized() { "$thinwire" info 2>/dev/null | grep -q 'sanitizers: yes'; }
