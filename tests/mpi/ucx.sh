#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ucx.sh - the collectives over the UCX endpoint: the same programs, without TW_ALL each on one number of ranks (TW_RANKS
# overrides).
# UCX chooses its transports itself; only what TCP alone does is asked of TCP. Prints TAP.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
# Where a communicator is given up UCX stays loaded, and the leak checker crashes in its thread storage.
export TW_LSAN=use_tls=0
number=0
# shellcheck source=tests/mpi/launched.sh
. "$top_srcdir/tests/mpi/launched.sh"

# refused WHAT LINE: one line matches LINE, and the job ends.
refused() {
    local out status
    out=$(timeout 60 "$MPIRUN" -n 2 "$top_builddir/bin/thinwire" bench allreduce --codec fp32 --min 4k --max 4k \
        2>&1 </dev/null)
    status=$?
    number=$((number + 1))
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep -c "$2" <<<"$out")" = 1 ] || {
        sed 's/^/# /' <<<"$out"
        printf 'not '
    }
    echo "ok $number - $1"
}

export THINWIRE_TRANSPORT=ucx THINWIRE_NODE_RANKS=1 # no values by shared memory of our own
"$top_builddir/bin/thinwire" info | grep -q '^endpoints .*ucx' || {
    refused "without UCX it is refused" "THINWIRE_TRANSPORT=ucx: UCX is not built in here; accepted: mpi"
    echo "ok 2 # SKIP the programs over UCX: built without it"
    echo "1..2"
    exit 0
}

launched movement "UCX" 4
launched reduction "UCX" 3
launched request "UCX" 7
launched fuzz "UCX" 4
launched independence "UCX" 2
launched counters "UCX" 7
launched leaving "UCX" 2
launched timeout "UCX" 2
if [ "${TW_MPI:?}" = openmpi ]; then
    UCX_TLS=self,tcp launched leaving "UCX over TCP" 7
    UCX_TLS=self,tcp launched fuzz "UCX over TCP" 3
    UCX_TLS=self refused "transports that reach nobody are an error" \
        "THINWIRE_TRANSPORT=ucx: rank [01] cannot be reached by UCX"
else # MPICH 4.0.2 by itself: an MPI_Alltoall in a loop, 3 ranks, hangs in MPI_Finalize in 3 of 8 runs
    number=$((number + 1))
    echo "ok $number - UCX over TCP, and over nothing # SKIP this MPI library runs over UCX itself, and hangs, or does not start"
fi
echo "1..$number"
