#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# threaded.sh - THINWIRE_PROGRESS=thread: the same programs with a thread beside them (TW_RANKS: on so many
# ranks), over MPI and, where it is built in, UCX; and where there can be none. Prints TAP.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
number=0
# shellcheck source=tests/mpi/launched.sh
. "$top_srcdir/tests/mpi/launched.sh"

export THINWIRE_PROGRESS=thread
threaded
if "$top_builddir/bin/thinwire" info | grep -q '^endpoints .*ucx'; then
    export TW_LSAN=use_tls=0 # as in ucx.sh
    for program in request fuzz; do
        THINWIRE_NODE_RANKS=1 THINWIRE_TRANSPORT=ucx launched $program "with a thread, UCX" 3
    done
fi

# A program that asked MPI for no threads: a line says so, and all goes well.
out=$(timeout 60 "$MPIRUN" -n 2 "$top_builddir/examples/allreduce_gradients" 2>&1 </dev/null)
status=$?
number=$((number + 1))
[ $status -eq 0 ] && [ "$(grep -c 'THINWIRE_PROGRESS=thread: .*MPI_THREAD_MULTIPLE' <<<"$out")" = 1 ] || {
    sed 's/^/# /' <<<"$out"
    printf 'not '
}
echo "ok $number - without MPI_THREAD_MULTIPLE there is a warning and no thread"
echo "1..$number"
