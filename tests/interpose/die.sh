#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that end badly under the drop-in: soon, and with a status that says so.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

# A name that no test beside this one has in the list of processes.
ln -s "$programs/die" "$scratch/die"
programs=$scratch

soon=10
[ -z "$asan" ] || soon=40

# ends WELL|BADLY MODE RANKS WAY
ends() {
    local how=$1 started=$SECONDS status
    shift
    start "$1" "$2" die "$3"
    status=$?
    echo "status $status after $((SECONDS - started)) s" >>"$scratch/out"
    if [ $status -eq 124 ] || [ $((SECONDS - started)) -gt $soon ]; then
        return 1
    elif [ "$how" = well ]; then
        [ $status -eq 0 ] && grep -q '^the end' "$scratch/out"
    else
        [ $status -ne 0 ]
    fi
}

# all WELL|BADLY WAY: watching on two ranks, with a codec on three.
all() {
    ends "$1" watching 2 "$2"
    result $? "$2, watching"
    ends "$1" tree8 3 "$2"
    result $? "$2, tree8"
}

# left: no rank is there any more.
left() {
    local process name
    for process in /proc/[0-9]*/cmdline; do
        { IFS= read -r -d '' name <"$process"; } 2>/dev/null
        [ "${name-}" != "$programs/die" ] || return 1
        name=
    done
    return 0
}

# aborts MODE RANKS WAY: a rank goes while others are in MPI_Finalize. mpirun of Open MPI 4.1 is at times left
# hanging or crashes when some ranks have come as far as its own barrier and are then killed, with and
# without the drop-in; so it is the ranks that must be gone, and soon, and mpirun is helped along.
aborts() {
    local started=$SECONDS job status
    start "$1" "$2" die "$3" &
    job=$!
    sleep 1
    until left || [ $((SECONDS - started)) -gt $soon ]; do
        sleep 0.2
    done
    echo "no rank is left after $((SECONDS - started)) s" >>"$scratch/out"
    [ $((SECONDS - started)) -le $soon ]
    status=$?
    for _ in 1 2 3 4 5 6; do
        kill -0 $job 2>/dev/null && sleep 0.5
    done
    pkill -KILL -P "$(pgrep -d, -P $job)" 2>/dev/null # mpirun, under timeout, under this job
    wait $job && return 1
    return $status
}

plan 22
ends well plain 2 well
result $? "nothing happens, plain"
all well well
for way in before middle killed abort; do
    all badly $way
done
for way in finalize abort-end; do
    aborts watching 2 $way
    result $? "$way, watching"
    aborts tree8 3 $way
    result $? "$way, tree8"
done
late() { # the report is not kept waiting for it
    loud=1 ends well tree8 3 late && grep -q '^thinwire: counters of 1 of 3 ranks' "$scratch/out"
}
late
result $? "late, tree8"
all well pending

# Open MPI takes it for an error to leave without MPI_Finalize, MPICH may not: as without the drop-in.
start plain 2 die no-finalize
plainly=$?
for mode in watching tree8; do
    started=$SECONDS
    start $mode 2 die no-finalize
    [ $? -eq $plainly ] && [ $((SECONDS - started)) -le $soon ]
    result $? "no-finalize, $mode: as without"
done

# Who calls MPI_Abort tells what it has counted.
loud() {
    mode watching
    timeout -k 5 60 "$MPIRUN" -n 2 env "${settings[@]}" THINWIRE_QUIET=0 "$programs/die" abort \
        </dev/null >"$scratch/out" 2>&1 && return 1
    grep -q '^thinwire: .*rank 1' "$scratch/out" && grep -q allreduce "$scratch/out"
}
loud
result $? "abort: the rank that aborts prints its own counters"

# The job is over: nobody is left.
left || { sleep 3; left; }
result $? "no process is left"
