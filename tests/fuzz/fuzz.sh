#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every target on seeds and mutations of them, in this build, for TW_FUZZ_PLAIN seconds each (default
# 2, with TW_ALL 15; see plain). THINWIRE_SEED repeats them. TW_FUZZ_BUILD is a build folder of `configure CC=clang
# --enable-sanitize=fuzzer`, if there is one: each target by libFuzzer, too, for TW_FUZZ_SECONDS
# (default 30). TW_FUZZ_JOBS (default: the processors) at a time. What was found lies in TW_FUZZ_OUT.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
seconds=${TW_FUZZ_SECONDS:-30}
jobs=${TW_FUZZ_JOBS:-$(nproc)}
program=$top_builddir/tests/fuzz/fuzz
export TW_FUZZ_OUT=${TW_FUZZ_OUT:-$top_builddir/tests/fuzz}
export OMP_NUM_THREADS=1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-fuzz.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch OMPI_MCA_btl_vader_backing_directory=$scratch
targets=$("$program") || exit 1
number=0

# Twice as long for images, which come from anywhere; a third where that is hundreds of thousands of mutations. It takes
# as long as it is told to, so tests that run beside it come first.
plain() {
    local seconds=${TW_FUZZ_PLAIN:-$((${TW_ALL:+13} + 2))}
    case $1 in
        jpeg | png) seconds=$((2 * seconds)) ;;
        checkpoint | decisions | feedback | record | rules | safetensors) seconds=$(((seconds + 2) / 3)) ;;
    esac
    timeout -k 5 $((seconds + 90)) nice -n 10 "$program" "$1" "seconds=$seconds"
}

# One target by libFuzzer.
guided() {
    mkdir -p "$scratch/seeds-$1" "$scratch/found-$1"
    TW_FUZZ_TARGET=$1 TW_FUZZ_SEEDS=$scratch/seeds-$1 timeout -k 5 $((seconds + 90)) \
        "$TW_FUZZ_BUILD/tests/fuzz/fuzz" "$scratch/found-$1" "$scratch/seeds-$1" \
        -max_total_time="$seconds" -max_len=16384 -timeout=25 -rss_limit_mb=4096 -close_fd_mask=1 \
        -print_final_stats=1 -artifact_prefix="$TW_FUZZ_OUT/$1-"
    local status=$?
    sed -n 's/^stat::number_of_executed_units: */inputs: /p' "$scratch/$1, libFuzzer"
    return $status
}

# all HOW WHAT: every target by a function of this file, `jobs` at a time, and their results.
all() {
    local target running=0 status
    for target in $targets; do
        { $1 "$target" >"$scratch/$target$2" 2>&1; echo $? >"$scratch/$target.status"; } &
        running=$((running + 1))
        if [ $running -ge "$jobs" ]; then
            wait -n
            running=$((running - 1))
        fi
    done
    wait
    for target in $targets; do
        status=$(cat "$scratch/$target.status")
        number=$((number + 1))
        if [ "$status" -eq 0 ]; then
            tail -n 1 "$scratch/$target$2" | sed 's/^/# /'
            echo "ok $number - $target$2"
        else
            sed 's/^/# /' "$scratch/$target$2" | tail -n 60
            echo "not ok $number - $target$2 (status $status)"
        fi
    done
}

all plain ""
if [ -n "$TW_FUZZ_BUILD" ] && [ -x "$TW_FUZZ_BUILD/tests/fuzz/fuzz" ]; then
    all guided ", libFuzzer"
else
    number=$((number + 1))
    echo "ok $number - libFuzzer # SKIP no build with it (TW_FUZZ_BUILD; make fuzz makes one)"
fi
echo "1..$number"
