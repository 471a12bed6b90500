#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# 16-bit floats under the drop-in on 2 and 4 ranks: as integers, and as a type of the program's, that --types names, and,
# where an MPI library has a type of them (MPICH, also as a second one), in that.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
plan 12
settings=(THINWIRE_THRESHOLD=0 THINWIRE_QUIET=1)

# as_integers RANKS CODEC ERROR TYPE [SETTING...]
as_integers() {
    ranks "$1" env "${settings[@]}" "${@:5}" "$thinwire" run --codec "$2" --types "$4" -- "$top_builddir/tests/interpose/halves" "$3"
}
for n in 2 4; do
    check "integers that are float16, as they are, on $n ranks" as_integers $n fp16 0 MPI_UINT16_T=float16:sum THINWIRE_ENCODE=always
    check "integers that are float16, by tree8, on $n ranks" as_integers $n tree8 0.06 MPI_SHORT=bfloat16,MPI_UINT16_T=float16:sum
done
other_types() { # where nothing says that operations are sums, only what is moved is encoded; and a wrong setting
    as_integers 2 tree8 0.06 MPI_UINT16_T=float16 >/dev/null
    grep -q 'MPI_Allreduce: error 0 ' "$scratch/out" && ! grep -q MPI_Bcast "$scratch/out" || return 1
    as_integers 2 tree8 0.06 MPI_INT=float16
    [ $? -ne 0 ] && grep -q "^thinwire: --types: 'MPI_INT=float16'; accepted: NAME=TYPE or NAME=TYPE:sum of MPI_UINT16_T, .* and float16, bfloat16" "$scratch/out"
}
check "operations that nothing names, and wrong names" other_types

named() { # RANKS TYPES ERROR NAME [SETTING...]
    ranks "$1" env "${settings[@]}" "${@:5}" "$thinwire" run --codec tree8 --types "$2" -- "$top_builddir/tests/interpose/halves" "$3" "$4"
}
check "a type of the program's, by the name that it gives" named 2 'my half=float16:sum' 0.06 'my half'
another_name() { # nothing is encoded
    named 2 'my half=float16:sum' 0 'half' THINWIRE_QUIET=0 && grep -q "^note: no type had the name 'my half' when it was first used" "$scratch/out"
}
check "a type of another name" another_name

preload=$(loadable "$top_builddir/lib/libthinwire-preload-mpich.so")
for cc in mpicc.mpich mpicc ""; do
    [ -n "$cc" ] && command -v "$cc" >/dev/null && echo MPIX_C_FLOAT16 | "$cc" -include mpi.h -E - 2>/dev/null | tail -n 1 | grep -q '(' && break
done
if sanitized || [ -z "$cc" ] || [ ! -e "$preload" ] ||
    ! "$cc" -O1 -I"$top_srcdir" -I"$top_srcdir/include" -o "$scratch/halves" "$top_srcdir/tests/interpose/halves.c" -lm; then
    for n in 1 2 3 4 5; do skip "MPIX_C_FLOAT16, $n" "no MPI here has a type of 16-bit floats, or a sanitizer's library must come first"; done
    exit 0
fi
# in_its_type RANKS CODEC ERROR [SETTING...]
in_its_type() {
    timeout -k 5 "${TW_TIME_LIMIT:-120}" "mpiexec${cc#mpicc}" -n "$1" env "LD_PRELOAD=$preload" "THINWIRE_CODEC=$2" "${settings[@]}" "${@:4}" \
        "$scratch/halves" "$3" </dev/null
}
for n in 2 4; do
    check "MPIX_C_FLOAT16 as they are, on $n ranks" in_its_type $n fp16 0 THINWIRE_ENCODE=always
    check "MPIX_C_FLOAT16 by tree8, on $n ranks" in_its_type $n tree8 0.06
done
not_exact() { ! in_its_type 2 tree8 0 >"$scratch/out" 2>&1 && grep -q 'MPI_Allreduce: error ' "$scratch/out"; }
check "tree8 loses something" not_exact
