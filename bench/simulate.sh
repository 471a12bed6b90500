#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# simulate.sh [RANKS...] - allreduce by two_pass and by grid on simulated hosts, one rank each (default 16,
# 36 and 64), as a table. Needs SimGrid (Debian's libsimgrid-dev: smpicc, smpirun) and what building the
# library needs.
#
# Simulated: the messages that the library sends, over full-duplex links into one switch that is never
# the bottleneck, LATENCY apart; and OVERHEAD for each message at either end. Not simulated: the codec,
# which is fp32 here, adding, copies and the cost of asking whether messages have come.
# Environment: RATE (bits per second of a link, 10e9), LATENCY (seconds, 50e-6), OVERHEAD (seconds, 2e-6),
# BYTES (of the vectors, "4096 65536 262144").
set -u
ranks=("$@")
[ $# -gt 0 ] || ranks=(16 36 64)
rate=${RATE:-10e9} latency=${LATENCY:-50e-6} overhead=${OVERHEAD:-2e-6}
source=$(cd "$(dirname "$0")/.." && pwd)
for tool in smpicc smpirun; do
    command -v $tool >/dev/null || { echo "simulate.sh: no $tool; install libsimgrid-dev" >&2; exit 1; }
done
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-simulate.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
{ "$source/configure" -q MPICC=smpicc MPIRUN=smpirun --with-cuda=no &&
    make V=0 runtime/libtw_all.la MPI_CFLAGS="$(smpicc -show | grep -o -- '-I[^ ]*smpi' | head -n 1)" &&
    smpicc -std=gnu11 -O2 -fopenmp -I. -Iinclude -I"$source" -I"$source/include" \
        "$source/bench/simulate.c" -o simulate \
        -Wl,--whole-archive runtime/.libs/libtw_all.a -Wl,--no-whole-archive -lhwloc -lm; } >log 2>&1 || {
    tail -n 20 log >&2
    echo "simulate.sh: the library does not build with smpicc" >&2
    exit 1
}
most=$(printf '%s\n' "${ranks[@]}" | sort -n | tail -n 1)
cat >platform.xml <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="hosts" prefix="host" suffix="" radical="0-$((most - 1))" speed="1Gf"
           bw="$(awk "BEGIN { print $rate / 8 }")Bps" lat="$(awk "BEGIN { print $latency / 2 }")s"/>
</platform>
END
echo "Links of $rate bit/s, $latency s apart, $overhead s for each message at either end."
echo
echo "| ranks | bytes | two_pass: messages | microseconds | grid: messages | microseconds | two_pass / grid | auto takes |"
echo "|---|---|---|---|---|---|---|---|"
for n in "${ranks[@]}"; do
    # shellcheck disable=SC2086  # the list of sizes is meant to split
    THINWIRE_WINDOW=1 THINWIRE_CHUNK=4M THINWIRE_THREADS=1 \
        smpirun -np "$n" -platform platform.xml --cfg=smpi/simulate-computation:no \
        --cfg=network/model:CM02 --cfg=smpi/ois:"0:$overhead:0" --cfg=smpi/or:"0:$overhead:0" \
        --log=root.thres:warning ./simulate ${BYTES:-4096 65536 262144} || exit 1
done
