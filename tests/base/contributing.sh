#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# CONTRIBUTING.md, followed to the letter in a copy of the tree, for a codec, an algorithm, a reduction and an element type:
# the files and lines that the page names, and no other. What builds then, and passes the tests that go over all lists, is
# what the page promises; a file that it forgets is an error of the compiler or of these. (The library and three tests: the
# drop-in, the commands and Python are not built here.)
# shellcheck disable=SC2154  # set by make check
# shellcheck source=tests/tools/common.bash disable=SC1091
. "$top_srcdir/tests/tools/common.bash"
unset MAKEFLAGS MFLAGS MAKELEVEL
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
! sanitized || skip_all "one build is enough"
[ -n "${TW_ALL-}" ] || skip_all "TW_ALL is not set: it compiles the library"
command -v automake >/dev/null || skip_all "no automake, which a new file needs"

# The build of the copy is where its Makefile finds the sources as this one does.
up=$(sed -n 's/^srcdir = //p' "$top_builddir/Makefile")
tree=$scratch/tree
case $up in
    /*) build=$tree/b ;;
    *) build=$tree/${up//../b} ;;
esac
page=$top_srcdir/CONTRIBUTING.md

# names FILE: the page tells of this file.
names() { grep -qF "$1" "$page" || { echo "CONTRIBUTING.md does not name $1"; return 1; }; }

# line FILE PATTERN TEXT: TEXT is put behind the last line that matches.
line() {
    grep -q -e "$2" "$tree/$1" || { echo "$1 has no line $2"; return 1; }
    awk -v pattern="$2" -v text="$3" '{ line[NR] = $0 } $0 ~ pattern { last = NR }
        END { for (i = 1; i <= NR; i++) { print line[i]; if (i == last) print text } }' "$tree/$1" >"$scratch/line" &&
        cat "$scratch/line" >"$tree/$1"
}
# swap FILE OLD NEW: one text for another, once.
swap() {
    grep -qF -e "$2" "$tree/$1" || { echo "$1 has no $2"; return 1; }
    OLD=$2 NEW=$3 awk 'BEGIN { old = ENVIRON["OLD"] } !done && (at = index($0, old)) {
        $0 = substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(old)); done = 1 } { print }' "$tree/$1" >"$scratch/line" &&
        cat "$scratch/line" >"$tree/$1"
}

copied() {
    mkdir -p "$tree" "$build" &&
        (cd "$top_srcdir" && tar -cf - --exclude=./build --exclude='./build-*' --exclude=./.git --exclude=./.device .) | tar -C "$tree" -xf - &&
        chmod -R u+w "$tree" &&
        # shellcheck disable=SC2046  # names without blanks
        (cd "$top_builddir" && tar -cf - Makefile config.status config.h stamp-h1 libtool $(find . -name .deps)) | tar -C "$build" -xf - &&
        { [ "${up#/}" = "$up" ] || sed -i "s|$up|$tree|g" "$build/Makefile" "$build/config.status"; }
}

codec() {
    names 'runtime/codec/NAME/' && names runtime/codec/codecs.h && names runtime/codec/sources.am &&
        mkdir "$tree/runtime/codec/complement" && cp "$top_srcdir/tests/codec/extra/complement.c" "$tree/runtime/codec/complement/" &&
        line runtime/codec/codecs.h '^TW_CODEC' 'TW_CODEC(complement)' &&
        swap runtime/codec/sources.am '%D%/fp32/fp32.c' '%D%/fp32/fp32.c %D%/complement/complement.c'
}

type() {
    names runtime/base/dtypes/ && names thinwire/codec.h && names TW_DTYPES && names .types &&
        cp "$top_srcdir/tests/base/int16.c" "$tree/runtime/base/dtypes/i16.c" &&
        swap include/thinwire/codec.h 'TW_F16  = 3' 'TW_F16  = 3, TW_I16 = 4' &&
        swap runtime/base/sources.am '%D%/dtypes/f64.c' '%D%/dtypes/f64.c %D%/dtypes/i16.c' &&
        swap runtime/base/dtype.h 'MPI_REAL8)' 'MPI_REAL8) ROW(TW_I16, i16, MPI_SHORT, MPI_SHORT)' &&
        swap runtime/codec/complement/complement.c '    .state ' '    .types = TW_TYPE(TW_F32) | TW_TYPE(TW_I16), .state '
}

reduction() {
    names TW_REDUCTIONS && names tests/mpi/model.c &&
        swap include/thinwire/codec.h 'TW_PROD    = 4' 'TW_PROD = 4, TW_LEAST = 5' &&
        swap runtime/base/reduction.h 'MPI_PROD, TW_COMBINE_MULTIPLY, false, false, false)' \
            'MPI_PROD, TW_COMBINE_MULTIPLY, false, false, false) ROW(TW_LEAST, "least", MPI_MIN, TW_COMBINE_MINIMUM, false, false, false)'
}

algorithm() {
    names policy/algorithms.h && names runtime/policy/model_cost.c && names runtime/transport/sources.am &&
        cp "$top_srcdir/tests/transport/star.c" "$tree/runtime/transport/coll/allreduce/allreduce_star.c" &&
        swap runtime/transport/sources.am '%D%/coll/allreduce/allreduce_direct.c' '%D%/coll/allreduce/allreduce_direct.c %D%/coll/allreduce/allreduce_star.c' &&
        swap runtime/policy/algorithms.h 'ROW(x, two_pass, NULL)' 'ROW(x, star, NULL) ROW(x, two_pass, NULL)' &&
        line runtime/policy/model_cost.c '^#define tw_cost_reduce_node' '#define tw_cost_allreduce_star tw_cost_allreduce_direct' &&
        line runtime/policy/model_cost.c '^#define tw_cost_reduce_node' '#define tw_cost_reduce_star tw_cost_reduce_direct'
}

tests="tests/mpi/rows.mpi tests/policy/test_policy tests/policy/test_model"
builds() {
    # shellcheck disable=SC2086  # a list
    make -C "$build" -j2 V=0 CFLAGS="-O0" lib/libthinwire.la $tests
}
passes() {
    # shellcheck disable=SC2086  # a list
    [ -e "$build/lib/.libs/libthinwire.so" ] || return 1
    TW_RANKS="1 2 3" make -C "$build" check-only TESTS="$tests" check_PROGRAMS= &&
        nm "$build/lib/.libs/libthinwire.so" | grep -q 'tw_reduction_star' && nm "$build/lib/.libs/libthinwire.so" | grep -q 'tw_dtype_i16'
}

plan 7
check "a copy of the tree" copied
check "a codec" codec
check "an element type" type
check "a reduction" reduction
check "an algorithm" algorithm
check "all of them build" builds
check "the tests of all lists pass" passes
