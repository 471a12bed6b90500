#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every target on seeds and mutations of them, in this build, for TW_FUZZ_PLAIN seconds each (default
# 1). THINWIRE_SEED repeats them. TW_FUZZ_BUILD is a build folder of `configure CC=clang
# --enable-sanitize=fuzzer`, if there is one: each target by libFuzzer, too, for TW_FUZZ_SECONDS
# (default 30), TW_FUZZ_JOBS (default: the processors) at a time. What was found lies in TW_FUZZ_OUT.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
seconds=${TW_FUZZ_SECONDS:-30}
jobs=${TW_FUZZ_JOBS:-$(nproc)}
program=$top_builddir/tests/fuzz/fuzz
export TW_FUZZ_OUT=${TW_FUZZ_OUT:-$top_builddir/tests/fuzz}
export LSAN_OPTIONS=suppressions=$top_srcdir/tests/lsan.supp:print_suppressions=0 OMP_NUM_THREADS=1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-fuzz.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch OMPI_MCA_btl_vader_backing_directory=$scratch
targets=$("$program") || exit 1
number=0

result() { # STATUS NAME: what was printed is in $scratch/NAME
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        tail -n 1 "$scratch/$2" | sed 's/^/# /'
        echo "ok $number - $2"
    else
        sed 's/^/# /' "$scratch/$2" | tail -n 60
        echo "not ok $number - $2 (status $1)"
    fi
}

plain() { timeout -k 5 $((${TW_FUZZ_PLAIN:-1} + 90)) "$program" "$1" "seconds=${TW_FUZZ_PLAIN:-1}"; }

# One target by libFuzzer.
guided() {
    mkdir -p "$scratch/seeds-$1" "$scratch/found-$1"
    TW_FUZZ_TARGET=$1 TW_FUZZ_SEEDS=$scratch/seeds-$1 timeout -k 5 $((seconds + 90)) \
        "$TW_FUZZ_BUILD/tests/fuzz/fuzz" "$scratch/found-$1" "$scratch/seeds-$1" \
        -max_total_time="$seconds" -max_len=16384 -timeout=25 -rss_limit_mb=4096 -close_fd_mask=1 \
        -print_final_stats=1 -artifact_prefix="$TW_FUZZ_OUT/$1-"
    local status=$?
    echo "$1: libFuzzer, $seconds s"
    return $status
}

# shellcheck disable=SC2086  # names are meant to split
set -- $targets
echo "1..$((2 * $#))"
for target; do
    plain "$target" >"$scratch/$target" 2>&1
    result $? "$target"
done
if [ -z "$TW_FUZZ_BUILD" ] || [ ! -x "$TW_FUZZ_BUILD/tests/fuzz/fuzz" ]; then
    for target; do
        number=$((number + 1))
        echo "ok $number - $target, libFuzzer # SKIP no build with libFuzzer (TW_FUZZ_BUILD; make fuzz makes one)"
    done
    exit
fi
running=0
for target; do
    { guided "$target" >"$scratch/$target-guided" 2>&1; echo $? >"$scratch/$target-status"; } &
    running=$((running + 1))
    if [ $running -ge "$jobs" ]; then
        wait -n
        running=$((running - 1))
    fi
done
wait
for target; do
    grep -h 'stat::number_of_executed_units\|stat::average_exec' "$scratch/$target-guided" | sed "s/^/# $target /"
    mv "$scratch/$target-guided" "$scratch/$target, libFuzzer"
    result "$(cat "$scratch/$target-status")" "$target, libFuzzer"
done
