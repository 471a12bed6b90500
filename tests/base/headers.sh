#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every public header compiles alone, as C11 and as C++, and the shared library exports public names
# only: each of them is declared in a public header.
headers=("$top_srcdir"/include/thinwire/*.h "$top_builddir"/include/thinwire/version.h)
echo "1..$((2 * ${#headers[@]} + 2))"
number=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
check() { # NAME COMMAND...
    local name=$1
    shift
    number=$((number + 1))
    if "$@" >"$scratch/log" 2>&1; then
        echo "ok $number - $name"
    else
        sed 's/^/# /' "$scratch/log"
        echo "not ok $number - $name"
    fi
}
for header in "${headers[@]}"; do
    echo "#include <thinwire/$(basename "$header")>" >"$scratch/alone.c"
    cp "$scratch/alone.c" "$scratch/alone.cc"
    # shellcheck disable=SC2086  # CC and flags are lists of words
    check "$(basename "$header") alone, C11" $CC -std=c11 -Wall -Wextra -Werror $MPI_CFLAGS \
        "-I$top_srcdir/include" "-I$top_builddir/include" -fsyntax-only "$scratch/alone.c"
    # shellcheck disable=SC2086
    if command -v g++ >/dev/null; then
        check "$(basename "$header") alone, C++" $CC -Wall -Wextra -Werror $MPI_CFLAGS \
            "-I$top_srcdir/include" "-I$top_builddir/include" -fsyntax-only "$scratch/alone.cc"
    else
        number=$((number + 1))
        echo "ok $number - C++ # SKIP g++ is not installed"
    fi
done
exports_are_public() {
    local name names
    names=$(nm -D --defined-only "$top_builddir/lib/$1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//')
    [ -n "$names" ] || return 1
    for name in $names; do
        grep -q "\<$name\>" "${headers[@]}" || { echo "exported but not public: $name"; return 1; }
    done
}
check "exported symbols are the public ones" exports_are_public libthinwire.so

# Nor does it need a header or a library of MPI.
without_mpi() {
    echo '#include <thinwire/thinwire.h>' >"$scratch/alone.c"
    # shellcheck disable=SC2086
    $CC -DTHINWIRE_NO_MPI -std=c11 -Wall -Wextra -Werror "-I$top_srcdir/include" "-I$top_builddir/include" -M "$scratch/alone.c" >"$scratch/needs" &&
        ! grep mpi.h "$scratch/needs" && exports_are_public libthinwire-store.so &&
        ! ldd "$top_builddir/lib/libthinwire-store.so" | grep -i mpi && ! nm -D "$top_builddir/lib/libthinwire-store.so" | grep MPI_
}
if [ -e "$top_builddir/lib/libthinwire-store.so" ]; then
    check "the library without MPI" without_mpi
else
    number=$((number + 1))
    echo "ok $number - the library without MPI # SKIP it is not built: CC is an MPI wrapper"
fi
