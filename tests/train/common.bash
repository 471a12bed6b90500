# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/train/*.sh: TAP, a scratch folder, and runs of thinwire-train under a time limit.
program=$top_builddir/bin/thinwire-train
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-train.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
limit=${TW_TIME_LIMIT:-120}
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

# train RANKS [ARG...]: output and errors go to $scratch/out and to the log.
train() {
    local n=$1 status
    shift
    timeout -k 5 "$limit" "$MPIRUN" -n "$n" "$program" "$@" </dev/null >"$scratch/out" 2>&1
    status=$?
    cat "$scratch/out"
    return $status
}

# value KEY FILE: a number or string at the top level of a JSON report, as it stands there.
value() { awk -F '": ' -v key="  \"$1" '$1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$2"; }

# within VALUE LOW HIGH, for decimal numbers.
within() {
    awk -v v="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(v + 0 >= low + 0 && v + 0 <= high + 0) }' ||
        { echo "$1 is not within $2 .. $3"; return 1; }
}

# The same text twice, and not none.
same() { [ -n "$1" ] && [ "$1" = "$2" ] || { echo "'$1' and '$2'"; return 1; }; }
