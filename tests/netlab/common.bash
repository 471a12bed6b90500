# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/netlab/*.sh: a lab of emulated hosts of this test's own, gone when the test ends in
# whatever way; the test is skipped aloud where there can be none.
# shellcheck disable=SC1091,SC2154,SC2034  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
netlab=$top_srcdir/bench/netlab.sh
limit=${TW_TIME_LIMIT:-100}
export NETLAB_NAME=t$$ # process numbers have at most 7 digits, names 8 characters
export MPIRUN TW_SCRATCH=$scratch THINWIRE_THREADS=1
unset THINWIRE_TIMEOUT

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# lab HOSTS RATE
lab() {
    [ "${TW_MPI:?}" = openmpi ] || skip_all "emulated hosts need Open MPI's mpirun"
    trap '"$netlab" down 2>/dev/null; rm -rf "$scratch"' EXIT
    trap 'exit 1' INT TERM HUP
    "$netlab" up "$1" "$2" >"$scratch/up" 2>&1
    case $? in
        0) ;;
        77) skip_all "no emulated hosts: $(tail -n 1 "$scratch/up")" ;;
        *) sed 's/^/# /' "$scratch/up"; echo "Bail out! the lab could not be built"; exit 1 ;;
    esac
}

# How UCX, where it is built in, reaches the other hosts: eth0 alone.
export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
endpoint=mpi
! "$thinwire" info 2>/dev/null | grep -q '^endpoints .*ucx' || endpoint=ucx

# hosts N COMMAND...: one rank on each host; the output goes to $scratch/out and to the log.
hosts() {
    local n=$1
    shift
    timeout -k 5 "$limit" "$netlab" mpirun "$n" -- "$@" </dev/null >"$scratch/out" 2>&1
    local status=$?
    cat "$scratch/out"
    return $status
}
