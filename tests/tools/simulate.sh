#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire scale --simulate: never faster than the links, near to what can be computed by hand and to the model; codecs,
# loops, nodes and groups; platforms of SimGrid, where thinwire was built with it; bad input, and nothing left behind.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
limit=60
file=$scratch/scale.json
player=$top_builddir/libexec/thinwire/thinwire-player


plan 22

value() { "$json_query" "$file" "$1"; }

# job ITEM...: $scratch/job.cfg of these.
job() { printf 'name = "x"; ranks = 1;\nstep = ( %s );\n' "$*" >"$scratch/job.cfg"; }
call() { echo "{ call = \"$1\"; name = \"$1\"; class = \"grad\"; count = $2; }"; }

# scale OPTION...: of that job.
scale() { alone "$thinwire" scale "$scratch/job.cfg" --json "$file" "$@"; }
seconds() { value "rows.$1.seconds"; }

# 1 byte per ns, which nothing else delays.
plain=ethernet-10g:rate=8:usable=1:latency=0.001:message=0

# above A B: A >= B, but for rounding.
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b * (1 - 1e-9)) }' || { echo "$1 is below $2"; return 1; }; }

line_rate() {
    local i operation
    for operation in allreduce reduce reduce_scatter bcast allgather alltoall; do
        job "$(call $operation 100003)"
        scale --simulate --ranks 2,3,4,7,16 --network $plain --codec fp32,tree8 || return 1
        [ "$(value 'rows.#')" -eq 10 ] || return 1
        for i in {0..9}; do
            echo "$operation, row $i"
            [ "$(value "rows.$i.engine")" = simulation ] || return 1
            within "$(value "rows.$i.bytes")" 1e4 1e8 || return 1
            above "$(seconds "$i")" "$(awk "BEGIN { print 1e-9 * $(value "rows.$i.bytes") }")" || return 1
        done
    done
}
check "every operation on 2 to 16 ranks, never above the line rate" line_rate

# A vector to one rank; in two halves and back; everybody's to everybody.
by_hand() {
    job "$(call bcast 1000000)"
    scale --simulate --ranks 2 --network $plain --codec fp32 && within "$(seconds 0)" 0.004 0.00402 || return 1
    job "$(call alltoall 250000)"
    scale --simulate --ranks 4 --network $plain --codec fp32 && within "$(seconds 0)" 0.003 0.00303 || return 1
    job "$(call allgather 250000)"
    scale --simulate --ranks 4,7 --network $plain --codec fp32 && within "$(seconds 0)" 0.003 0.00303 &&
        within "$(seconds 1)" 0.006 0.00606
}
check "values as they are, without latency: the time of the bytes" by_hand

latency() {
    job "$(call alltoall 1)"
    scale --simulate --ranks 2 --network $plain:latency=100:message=6 --codec fp32 && within "$(seconds 0)" 1.05e-4 1.1e-4
}
check "a short message: the latency, and what both ends need for it" latency

more_is_slower() {
    local count last=0
    for count in 1 100 10000 100000 1000000 4000000; do
        job "$(call allgather $count)"
        scale --simulate --ranks 7 --codec fp32 && above "$(seconds 0)" "$last" || return 1
        last=$(seconds 0)
    done
}
check "more bytes are never faster" more_is_slower

# In a computation that hides it the codec takes its share of the core.
codec_time() {
    job '{ start = "allreduce"; name = "a"; count = 1000000; }, { compute = 1; fixed = true; }, { wait = "a"; }'
    scale --simulate --ranks 4 --codec tree8 && above "$(value rows.0.codec_seconds)" 1e-5 &&
        within "$(value rows.0.compute_seconds)" 1 1 || return 1
    awk -v e="$(value rows.0.exposed)" -v c="$(value rows.0.codec_seconds)" 'BEGIN { exit !(e > 0.9 * c && e < 1.3 * c + 1e-4) }' ||
        { echo "exposed $(value rows.0.exposed), codec $(value rows.0.codec_seconds)"; return 1; }
}
check "the codec takes time from a computation" codec_time

# same_bytes LOW HIGH OPTION...: the model's by the simulation's, in every row.
same_bytes() {
    local low=$1 high=$2 i rows model=()
    shift 2
    scale "$@" || return 1
    rows=$(value "rows.#")
    for ((i = 0; i < rows; i++)); do model+=("$(value "rows.$i.bytes")"); done
    [ "$(value rows.0.engine)" = model ] && scale --simulate "$@" || return 1
    for ((i = 0; i < rows; i++)); do
        awk -v a="${model[i]}" -v b="$(value "rows.$i.bytes")" -v l="$low" -v h="$high" 'BEGIN { exit !(a >= l * b && a <= h * b) }' ||
            { echo "row $i: model ${model[i]}, simulation $(value "rows.$i.bytes")"; return 1; }
    done
}
job "$(call allreduce 1048576)"
check "bytes as the model has them" same_bytes 0.999 1.001 --ranks 2,4,16 --codec fp32
check "bytes of codes, but for the heads of fragments" same_bytes 0.95 1.05 --ranks 2,4,16 --codec tree8,bitpack:2,onebit
check "bytes between nodes of four ranks" same_bytes 0.999 1.001 --ranks 8,16 --ranks-per-node 4 --codec fp32

near_the_model() {
    local model
    job "$(call allreduce 1000000)"
    scale --ranks 16 --codec fp32 && model=$(seconds 0) && scale --simulate --ranks 16 --codec fp32 || return 1
    within "$(seconds 0)" "$(awk "BEGIN { print 0.8 * $model }")" "$(awk "BEGIN { print 1.2 * $model }")" || return 1
    scale --ranks 16 --ranks-per-node 8 --codec fp32 && model=$(seconds 0) &&
        scale --simulate --ranks 16 --ranks-per-node 8 --codec fp32 || return 1
    within "$(seconds 0)" "$(awk "BEGIN { print 0.7 * $model }")" "$(awk "BEGIN { print 1.3 * $model }")"
}
check "near to what the model predicts, on nodes of one rank and of eight" near_the_model

groups() {
    local free
    job "$(call alltoall 100000)"
    scale --simulate --ranks 8 --codec fp32 --network $plain:group=2 && free=$(seconds 0) || return 1
    scale --simulate --ranks 8 --codec fp32 --network $plain:group=2:taper=4 || return 1
    # 2 x 6 of the blocks leave a group by half a link.
    within "$(seconds 0)" 0.0096 0.0106 && within "$free" 0.0028 0.003
}
check "groups share their links" groups

loops() {
    job '{ repeat = 1000000; step = ( { repeat = 10; step = ( { compute = 1e-6; fixed = true; }, { call = "bcast"; count = 1000; } ); } ); }'
    scale --simulate --ranks 2 --network $plain --codec fp32 && within "$(value rows.0.compute_seconds)" 9.99 10.01 &&
        within "$(value rows.0.bytes)" 3.99e10 4.01e10 && within "$(seconds 0)" 50 90
}
check "ten million rounds" loops

waits() {
    job '{ wait = "A"; }, { start = "allreduce"; name = "A"; count = 100000; }, { start = "allreduce"; name = "A"; count = 100000; },' \
        '{ call = "allreduce"; count = 4; type = "double"; }, { call = "alltoall"; count = 10; type = "other"; },' \
        '{ start = "bcast"; name = "never"; count = 1000; }, { compute = 0.001; }'
    scale --simulate --ranks 1,3 --codec fp32,onebit && above "$(seconds 2)" 0.00033 && [ "$(seconds 0)" = 0.001 ]
}
check "waits before starts, and collectives that nobody waits for" waits

# ---- bad input -----------------------------------------------------------------------------------

# refused STATUS PATTERN OPTION...
refused() {
    local want=$1 pattern=$2 status
    shift 2
    alone "$thinwire" scale "$scratch/job.cfg" "$@"
    status=$?
    [ $status -eq "$want" ] || { echo "status $status, not $want"; return 1; }
    [ "$(wc -l <"$scratch/out")" -eq 1 ] || { echo "not one line"; return 1; }
    grep -q -e "^thinwire: scale: $pattern" "$scratch/out" || { echo "no '$pattern'"; return 1; }
}
job "$(call allreduce 1000000)"
check "more messages than can be simulated" refused 2 '--simulate: about .* messages on 16384 ranks, of at most .*the model' \
    --simulate --ranks 16384 --codec fp32 --algorithm two_pass
check "more ranks than can be simulated" refused 2 '--simulate: 65536 ranks, of at most 16384; .*the model' --simulate --ranks 65536 --codec fp32
no_program() {
    mkdir -p "$scratch/elsewhere/bin" "$scratch/elsewhere/lib" && cp "$thinwire" "$scratch/elsewhere/bin/" &&
        cp -L "$top_builddir"/lib/libthinwire.so.0 "$scratch/elsewhere/lib/" || return 1
    thinwire=$scratch/elsewhere/bin/thinwire \
        refused 2 '--simulate: there is no program thinwire-player' --simulate --ranks 2 --codec fp32
}
if [ -x "$pkglibexecdir/thinwire-player" ]; then
    skip "without the player" "one is installed"
else
    check "without the player" no_program
fi
not_a_script() {
    alone "$player" "$scratch/job.cfg"
    [ $? -eq 1 ] && [ "$(wc -l <"$scratch/out")" -eq 1 ] && grep -q '^thinwire-player: no script of this version' "$scratch/out"
}
check "a file that is no script" not_a_script

# The player is ended with the command.
ended_by() {
    local pid child tries=0
    job "$(call allreduce 16777216)"
    "$thinwire" scale "$scratch/job.cfg" --simulate --ranks 256 --codec fp32 >/dev/null 2>&1 &
    pid=$!
    until child=$(awk -v parent=$pid '$4 == parent { print $1; exit }' /proc/[0-9]*/stat 2>/dev/null) && [ -n "$child" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { echo "no player"; kill $pid; return 1; }
        sleep 0.1
    done
    kill "-$1" $pid
    wait $pid
    for tries in {1..50}; do
        kill -0 "$child" 2>/dev/null || return 0
        sleep 0.1
    done
    echo "the player goes on"
    return 1
}
interrupted() { ended_by TERM && ended_by KILL; }
check "nothing goes on when the command is ended" interrupted

# ---- platforms of SimGrid ------------------------------------------------------------------------

platform() { # HOSTS
    cat >"$scratch/platform.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="hosts" prefix="host" suffix="" radical="0-$(($1 - 1))" speed="1Gf" bw="1.175GBps" lat="10us"/>
</platform>
END
}
platform 4
check "a platform without --simulate" refused 2 "--network '.*/platform.xml': a platform of SimGrid needs --simulate" \
    --network "$scratch/platform.xml"

on_platform() {
    local ours=()
    job "$(call allreduce 100000)"
    scale --simulate --ranks 2,3,4 --codec fp32 && ours=("$(seconds 0)" "$(seconds 1)" "$(seconds 2)") || return 1
    scale --simulate --ranks 2,3,4 --codec fp32 --network "$scratch/platform.xml" || return 1
    for i in 0 1 2; do
        within "$(seconds $i)" "$(awk "BEGIN { print 0.85 * ${ours[i]} }")" "$(awk "BEGIN { print 1.2 * ${ours[i]} }")" || return 1
    done
    scale --simulate --ranks 8 --ranks-per-node 2 --codec tree8 --network "$scratch/platform.xml" &&
        above "$(seconds 0)" "$(value rows.0.bytes)e-9"
}
cut_platform() {
    head -n 3 "$scratch/platform.xml" >"$scratch/cut.xml"
    refused 2 "--network .*/cut.xml: no platform that SimGrid understands" --simulate --network "$scratch/cut.xml" --ranks 2
}
if [ -e "$top_builddir/libexec/thinwire/thinwire-player-simgrid.so" ]; then
    check "a platform: near to our own links" on_platform
    check "too few hosts" refused 2 '--simulate: .*/platform.xml has 4 hosts; 8 ranks with 1 on each need 8' --simulate \
        --network "$scratch/platform.xml" --ranks 8 --codec fp32
    check "no such platform" refused 2 "--network: cannot read '.*/none.xml': No such file" --simulate --network "$scratch/none.xml"
    check "half a platform" cut_platform
else
    check "a platform without SimGrid" refused 2 '--network .*: this thinwire is built without SimGrid; install libsimgrid-dev' \
        --simulate --network "$scratch/platform.xml"
    for name in "a platform" "too few hosts" "half a platform"; do skip "$name" "built without SimGrid"; done
fi
