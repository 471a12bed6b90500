#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs whose MPI comes by other ways than the linker's: libraries that are loaded for nobody else, names
# that are asked for, names that only look like MPI's.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2034,SC2086,SC2153,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

here=$top_srcdir/tests/interpose
programs=$scratch
fortran=${MPICC%%mpicc*}mpifort${MPICC##*mpicc}
plan 24

made() { "$@" >"$scratch/out" 2>&1 || { result 1 "it compiles: $*"; exit 1; }; }
made $MPICC -O1 -DTW_WITH_MPI -o "$scratch/with" "$here/loaded.c" -ldl
made $CC -O1 -o "$scratch/without" "$here/loaded.c" -ldl
made $MPICC -O1 -shared -fPIC -o "$scratch/names.so" "$here/loaded_names.c"
made $MPICC -O1 -DTW_MISSING -o "$scratch/missing" "$here/loaded_asks.c" -ldl
made $CC -O1 -shared -fPIC -o "$scratch/libstand_in.so" "$here/loaded_stand_in.c"
made $CC -O1 -DTW_PROGRAM -o "$scratch/stand_in" "$here/loaded_stand_in.c" -L"$scratch" -lstand_in -Wl,-rpath,"$scratch"

# ran NAME MODE RANKS PROGRAM ARGUMENT...
ran() {
    local name=$1
    shift
    start "$@"
    result $? "$name"
}

# ---- Fortran libraries --------------------------------------------------------------------------
for api in MPIF MPI F08; do
    if $fortran -O1 -w -shared -fPIC -fallow-argument-mismatch -DTW_$api -J "$scratch" -o "$scratch/$api.so" \
            "$here/loaded.F90" >"$scratch/out" 2>&1; then
        for host in with without; do
            ran "a Fortran library ($api) that a program $host MPI loads privately" watching 2 $host "$scratch/$api.so" local
            ran "the same for all, bitpack:2" bitpack:2 3 $host "$scratch/$api.so" global
            ran "the same privately, bitpack:2" bitpack:2 2 $host "$scratch/$api.so" local
        done
    else
        for ((i = 0; i < 6; i++)); do skip "a Fortran library ($api)" "$fortran makes none (Debian, Ubuntu: gfortran)"; done
    fi
done

# ---- names --------------------------------------------------------------------------------------
ran "a C library with functions mpi_x() of its own" watching 2 with "$scratch/names.so" global
ran "the same, loaded privately" watching 2 with "$scratch/names.so" local

# Every name that a wrapper of some version could have.
awk -F ' *[|] *' '/^[a-z]/ { print $2 }' "$top_srcdir/interpose/calls.table" | while read -r name; do
    low=${name,,}
    for form in "$name" "I$low" "${name}_init" "${name}_init_c" "${name}_c" "I${low}_c"; do
        echo "MPI_$form MPIX_$form"
        for each in "mpi_${form,,}" "mpix_${form,,}"; do echo "$each ${each}_ ${each}__ ${each^^} ${each}_f08_"; done
    done
done >"$scratch/all"
asks() {
    local libs
    libs=$($fortran -show 2>/dev/null | tr ' ' '\n' | grep -e '^-[lL]' -e '^-Wl' | tr '\n' ' ')
    $MPICC -O1 -o "$scratch/asks" "$here/loaded_asks.c" -Wl,--no-as-needed $libs -ldl >"$scratch/out" 2>&1 || return 1
    start plain 1 asks "$scratch/all" && cp "$scratch/out" "$scratch/plain" && start watching 1 asks "$scratch/all" || return 1
    mv "$scratch/out" "$scratch/watched"
    diff "$scratch/plain" "$scratch/watched" >"$scratch/out" && [ "$(wc -l <"$scratch/plain")" -gt 100 ]
}
asks
result $? "what the MPI library has not, the drop-in has not"

missing() {
    start watching 1 missing
    grep -q "thinwire: the program calls mpi_barrier_, which no library in the process has" "$scratch/out" &&
        grep -q '^an error$' "$scratch/out"
}
if [ "$mpi" = openmpi ]; then
    missing
    result $? "a function that is nowhere: one line, and MPI's error"
else
    skip "a function that is nowhere: one line, and MPI's error" "the drop-in wraps none of them for this family"
fi

stand_in() {
    LD_PRELOAD=$asan$preload "$scratch/stand_in" >"$scratch/out" 2>&1 && grep -q '^sum 7, error 0$' "$scratch/out"
}
stand_in
result $? "an MPI library of Fortran functions alone"

by_handle() {
    local library
    library=$(ldd "$scratch/with" | awk '/libmpi/ { print $3; exit }')
    "$top_builddir/bin/thinwire" run --quiet -- "$scratch/without" "$library" handle >"$scratch/out" 2>&1 &&
        grep -q "thinwire: NOTHING WAS INTERCEPTED: this program has loaded .*libmpi.* and called none" "$scratch/out"
}
if [ -n "$asan" ]; then
    skip "functions by an MPI library's handle are not intercepted, and it says so" "thinwire run preloads no sanitizer"
else
    by_handle
    result $? "functions by an MPI library's handle are not intercepted, and it says so"
fi
