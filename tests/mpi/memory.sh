#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# memory.sh - shared memory that cannot be had: a /dev/shm that is too small (in a mount namespace of our own),
# or that is not there, must mean messages and one line that says so, not SIGBUS; and nothing may be left in
# /dev/shm, however a job ends. Prints TAP.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
die=$top_builddir/tests/mpi/die
# shellcheck source=tests/mpi/common.bash
. "$top_srcdir/tests/mpi/common.bash"
export OMPI_MCA_btl=self,tcp

small='mount -t tmpfs -o size=200k none /dev/shm'
none='mount -t tmpfs -o size=4k,ro none /dev/shm'

# bench MOUNT: a short sum and a long one, whose results the bench compares with MPI's.
bench() {
    THINWIRE_LOG_LEVEL=info timeout -k 5 60 unshare -m -- bash -c "$1"' && exec "$@"' bench \
        "$MPIRUN" -n 3 "$top_builddir/bin/thinwire" bench allreduce --codec fp32 --min 64 --max 1M \
        </dev/null >"$scratch/out" 2>&1
}

echo "1..6"
why="needs root: unshare -m"
[ "${TW_MPI:?}" = openmpi ] || why="this MPI library itself does not start there"
if [ "$TW_MPI" = openmpi ] && unshare -m -- bash -c "$small" 2>/dev/null; then
    bench "$small" && [ "$(grep -c 'no shared memory of' "$scratch/out")" -eq 1 ] &&
        grep -q 'its ranks exchange messages' "$scratch/out" && ! grep -q 'NO$' "$scratch/out"
    result $? "a /dev/shm that is too small: messages, and one line says so"
    if ldd "$top_builddir/bin/thinwire" | grep -q libomp; then
        skip "a /dev/shm that may not be written" "LLVM's OpenMP runtime ends the program there"
    else
        bench "$none" && grep -q 'its ranks exchange messages' "$scratch/out"
        result $? "a /dev/shm that may not be written: the same"
    fi
    THINWIRE_ALLREDUCE=hierarchical bench "$small" && grep -q 'its ranks exchange messages' "$scratch/out"
    result $? "a setting that names hierarchical: the same"
else
    for name in "a small /dev/shm" "a /dev/shm that may not be written" "a setting that names hierarchical"; do
        skip "$name" "$why"
    done
fi

# left: objects of ours in /dev/shm.
left() { find /dev/shm -maxdepth 1 -name 'thinwire-*' 2>/dev/null | sort; }
before=$(left)
for way in nobody middle killed; do
    timeout -k 5 60 "$MPIRUN" -n 3 "$die" $way </dev/null >"$scratch/out" 2>&1
    left >>"$scratch/out"
    [ "$(left)" = "$before" ]
    result $? "nothing is left in /dev/shm ($way)"
done
