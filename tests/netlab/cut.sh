#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The data link of a host is cut in the middle of a collective; mpirun still reaches all hosts. Within
# THINWIRE_TIMEOUT the ranks say whom they wait for, and the job ends; or the link comes back, and what was
# under way does no harm. Prints TAP; needs root.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/netlab/common.bash"
lab 4 1gbit
plan 6
cut=2     # host and rank
seconds=2 # THINWIRE_TIMEOUT

# begin COMMAND...: on the hosts, in the background, up to a line "running".
begin() {
    local i
    : >"$scratch/out"
    timeout -k 5 "$limit" "$netlab" mpirun 4 -- "$@" </dev/null >"$scratch/out" 2>&1 &
    job=$!
    for ((i = 0; i < 600; i++)); do
        ! grep -q "$running" "$scratch/out" || break
        kill -0 "$job" 2>/dev/null || break
        sleep 0.1
    done
    grep -q "$running" "$scratch/out" || { cat "$scratch/out"; echo "the job did not begin"; return 1; }
    sleep 0.$((RANDOM % 10))
}
running='^running$'

# ended LEAST MOST: sets status; the job ended in time, without a crash, and left nothing running.
ended() {
    local start=$SECONDS i host
    wait "$job"
    status=$?
    i=$((SECONDS - start))
    "$netlab" mend $cut
    cat "$scratch/out"
    echo "status $status after $i s"
    if grep -i 'segmentation\|signal \|Sanitizer\|corrupt\|double free' "$scratch/out"; then return 1; fi
    { [ $i -ge "$1" ] && [ $i -le "$2" ]; } || { echo "not within $1 to $2 s"; return 1; }
    for ((i = 0; i < 50; i++)); do
        for host in 0 1 2 3; do ip netns pids "$NETLAB_NAME-h$host"; done >"$scratch/left"
        [ -s "$scratch/left" ] || return 0
        sleep 0.1
    done
    echo "still running: $(tr '\n' ' ' <"$scratch/left")"
    return 1
}

# Every rank says it; who waits for the host that is cut names it. In a chain the ranks before the one that
# sends there wait for each other, but the root sends into buffers of the system, and can be ahead by seconds.
named() { # OPERATION LEAST
    local rank lines
    for rank in 0 1 2 3; do
        [ "$rank$1" != 0bcast ] || continue
        grep -q "^thinwire: rank $rank: error: $1: nothing moved for $seconds s, waiting for " "$scratch/out" ||
            { echo "rank $rank said nothing"; return 1; }
    done
    lines=$(grep -c "rank [013]: error: .* waiting for rank.* ${cut}[ ,;]" "$scratch/out")
    [ "$lines" -ge "$2" ] || { echo "$lines ranks name rank $cut"; return 1; }
    ! grep "rank $cut: error: .* waiting for rank.* ${cut}[ ,;]" "$scratch/out"
}

# cut_off OPERATION CODEC LEAST ENDPOINT
cut_off() {
    begin -x THINWIRE_TIMEOUT=$seconds -x THINWIRE_TRANSPORT="$4" "$top_builddir/tests/netlab/loop" "$1" "$2" 4000000 end && "$netlab" cut $cut &&
        ended 1 30 && [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && named "$1" "$3"
}
check "a host that is cut off in an allreduce" cut_off allreduce fp32 2 mpi
check "a host that is cut off in a broadcast" cut_off bcast fp32 1 mpi
check "a host that is cut off in an alltoall, messages by $endpoint" cut_off alltoall tree8 2 $endpoint

# All give up, the link comes back, and so do the bytes under way: into memory that nobody uses.
mended() {
    begin -x THINWIRE_TIMEOUT=$seconds "$top_builddir/tests/netlab/loop" alltoall fp32 4000000 stay &&
        "$netlab" cut $cut || return 1
    for ((i = 0; i < 300 && $(grep -c 'nothing moved' "$scratch/out") < 4; i++)); do sleep 0.1; done
    "$netlab" mend $cut
    ended 0 60 && [ "$status" -eq 0 ] && named alltoall 1 && grep -q '^over$' "$scratch/out"
}
check "a link that comes back after all gave up" mended

# The commands also wait in MPI's own calls, which cannot tell that nothing moves: ten times as long.
# gives_up RUNNING COMMAND...
gives_up() {
    running=$1
    shift
    begin -x THINWIRE_TIMEOUT=0.3 "$@" && "$netlab" cut $cut && ended 0 40 && [ "$status" -ne 0 ] &&
        [ "$status" -ne 124 ] && grep '^thinwire: .*\(: nothing moved for 0.3 s, waiting for rank\|did not end within 3 s\)' "$scratch/out"
}
check "thinwire bench with a host that is cut off" gives_up '^codec ' "$thinwire" bench alltoall --codec fp32 --min 4k --max 16M
check "thinwire-train with a host that is cut off" gives_up 'ranks, batch' "$top_builddir/bin/thinwire-train" --data digits \
    --codec mpi --epochs 1000
