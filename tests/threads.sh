#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# threads.sh - every program of the tests that has threads, under ThreadSanitizer (./quickstart check
# --threads; a build by --enable-sanitize=thread): a data race that it reports is a failure. One OpenMP
# thread: gcc's library for OpenMP is not instrumented, and what it orders would look like a race.
# tsan.supp says what is left out, and why. Prints TAP.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}" "${CC:?}"
if ! "$top_builddir/bin/thinwire" info 2>/dev/null | grep -q 'sanitizers: thread'; then
    echo "1..0 # SKIP not a build by --enable-sanitize=thread"
    exit 0
fi
# The sanitizer wants its addresses where they are without randomisation; children inherit that.
[ -n "${TW_NOT_RANDOM-}" ] || ! setarch -R true 2>/dev/null || TW_NOT_RANDOM=1 exec setarch -R bash "$0"
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"
# shellcheck source=tests/mpi/launched.sh
. "$top_srcdir/tests/mpi/launched.sh"
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 history_size=7"
TSAN_OPTIONS="$TSAN_OPTIONS suppressions='$top_srcdir/tests/tsan.supp'"
export OMP_NUM_THREADS=1

# A race made on purpose must be reported, or all that follows says nothing.
TW_RACE=1 timeout -k 5 $((limit + 20)) "$MPIRUN" -n 1 "$top_builddir/tests/mpi/thread.mpi" 1 \
    </dev/null >"$scratch/out" 2>&1
[ $? -ne 0 ] && grep -q 'data race .* in race_on_purpose' "$scratch/out"
result $? "a race made on purpose is reported"

# Programs that call the library from several threads, and the library's own thread.
TW_RANKS="1 2 3" launched thread "threads of the program"
TW_RANKS=2 threaded

# Programs with threads under the drop-in.
for mode in watching tree8 feedback verified rules; do
    run $mode 2 threads
done
run bitpack:2 1 threads
start tree8 2 policy threads
result $? "policy: four threads"

# Threads without MPI.
for program in tests/interpose/test_records tests/train/test_{pipeline,device,trunk_ranks}; do
    "$top_builddir/$program" </dev/null >"$scratch/out" 2>&1
    result $? "$program"
done
echo "1..$number"
