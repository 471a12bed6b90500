#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# faults.sh - a rank that dies takes the job with it, soon and with a status that says so; and the
# harness of the MPI tests fails when it must. Prints TAP.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
die=$top_builddir/tests/mpi/die
# shellcheck source=tests/mpi/common.bash
. "$top_srcdir/tests/mpi/common.bash"

# launch RANKS PROGRAM [ARG...]: sets status and seconds.
launch() {
    local start=$SECONDS
    timeout -k 5 60 "$MPIRUN" -n "$@" </dev/null >"$scratch/out" 2>&1
    status=$?
    seconds=$((SECONDS - start))
}

echo "1..11"
for ranks in 2 4; do
    for way in before middle zero killed; do
        launch $ranks "$die" $way
        echo "# $ranks ranks, $way: status $status after $seconds s"
        # MPICH may take an exit with 0 for a good one, even before MPI_Finalize.
        { [ $status -ne 0 ] || { [ $way = zero ] && [ "${TW_MPI:?}" != openmpi ]; }; } &&
            [ $status -ne 124 ] && [ $seconds -le 10 ]
        result $? "a rank that dies ($way) ends a job of $ranks"
    done
done
launch 4 "$die" nobody
result $status "a job in which nobody dies ends well"

# The harness: another number of ranks than promised (as under a foreign mpirun), and no promise.
launch 2 "$top_builddir/tests/mpi/request.mpi" 3
[ $status -ne 0 ]
result $? "a test fails if it is launched on another number of ranks"
launch 2 env TW_CASE=nothing "$top_builddir/tests/mpi/request.mpi"
[ $status -ne 0 ]
result $? "a test fails if nobody says how many ranks there are"
