#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The drop-in under mpi4py: calls are told apart by the line of Python.
# shellcheck source=tests/interpose/policy.bash disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/policy.bash"
python=${TW_PYTHON:-/usr/bin/python3}
plan 1

lines() {
    ranks 2 "$thinwire" run --mpi $mpi --quiet --json "$file" -- "$python" "$top_srcdir/tests/interpose/lines.py" &&
        sums 20 calls operation=allreduce site="step at interpose/lines.py:14" &&
        sums 20 calls operation=bcast site="<module> at interpose/lines.py:19" &&
        sums 2 calls operation=bcast site="<module> at interpose/lines.py:20" &&
        sums 2 calls operation=barrier site="<module> at interpose/lines.py:21" &&
        sums 2 calls operation=reduce site="<module> at interpose/lines.py:38" && sums 8 calls operation=reduce &&
        sums 10 calls operation=scan site="<module> at made/up.py:1" &&
        sums 2 calls operation=gather site="<module> at many.py:17" && sums 6000 calls operation=gather
}
if [ -n "$asan" ]; then
    skip "lines of Python" "the sanitizer's library must come first"
elif ! "$python" -c 'import mpi4py.MPI' 2>/dev/null >&2 ||
    ! "$python" -c 'from mpi4py import MPI; print(MPI.Get_library_version())' 2>/dev/null |
        grep -qi "$([ "$mpi" = openmpi ] && echo 'open mpi' || echo mpich)"; then
    skip "lines of Python" "no mpi4py of this MPI library (Debian, Ubuntu: python3-mpi4py)"
else
    check "lines of Python" lines
fi
