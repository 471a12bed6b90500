#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# 16-bit floats under the drop-in on 2 and 4 ranks, where an MPI library has such a type: MPICH's MPIX_C_FLOAT16, of the
# build's own MPI or of a second one.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
preload=$top_builddir/lib/libthinwire-preload-mpich.so
nothing() { echo "1..0 # SKIP $1"; exit 0; }
sanitized && nothing "the sanitizer's library must come first"
for cc in mpicc.mpich mpicc; do
    command -v "$cc" >/dev/null && echo MPIX_C_FLOAT16 | "$cc" -include mpi.h -E - 2>/dev/null | tail -n 1 | grep -q '(' && break
    cc=
done
[ -n "$cc" ] && [ -e "$preload" ] || nothing "no MPI here has a type of 16-bit floats"
launch=mpiexec${cc#mpicc}
"$cc" -O1 -I"$top_srcdir" -I"$top_srcdir/include" -o "$scratch/halves" "$top_srcdir/tests/interpose/halves.c" -lm || exit 1
plan 5

# halves RANKS CODEC ERROR [SETTING...]
halves() {
    local n=$1 codec=$2 error=$3
    shift 3
    timeout -k 5 "${TW_TIME_LIMIT:-120}" "$launch" -n "$n" env "LD_PRELOAD=$preload" THINWIRE_CODEC="$codec" THINWIRE_THRESHOLD=0 \
        "THINWIRE_JSON=$scratch/report.json" THINWIRE_QUIET=1 "$@" "$scratch/halves" "$error" </dev/null
}
for n in 2 4; do
    check "float16 as they are, on $n ranks" halves $n fp16 0 THINWIRE_ENCODE=always
    check "float16 by tree8, on $n ranks" halves $n tree8 0.06
done
not_exact() { ! halves 2 tree8 0 >/dev/null; }
check "tree8 loses something" not_exact
