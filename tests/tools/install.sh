#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make install into a scratch folder; an example compiles and runs from there by pkg-config.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
plan 4
tree=$scratch/tree
# The outer make's flags and jobs are not ours.
unset MAKEFLAGS MFLAGS MAKELEVEL

check "make install" make -C "$top_builddir" install DESTDIR="$tree"

prefix=$tree$(sed -n 's/^prefix=//p' "$top_builddir/thinwire.pc")
pc=$(find "$tree" -name thinwire.pc | head -n 1)

installed_files() {
    local file
    for file in bin/thinwire libexec/thinwire/thinwire-player include/thinwire/thinwire.h include/thinwire/version.h \
        share/man/man1/thinwire.1 share/man/man7/thinwire.7 share/man/man3/libthinwire.3; do
        [ -e "$prefix/$file" ] || { echo "$file is not installed"; return 1; }
    done
    [ -z "$(find "$tree" -name '*.la')" ]
}
check "headers, manual pages and commands are there, .la files are not" installed_files

runs_from_there() { # also when moved: programs find the library beside them
    echo 'name = "x"; ranks = 1; step = ( { call = "bcast"; count = 1; } );' >"$scratch/job.cfg"
    mv "$prefix" "$scratch/moved" && alone "$scratch/moved/bin/thinwire" --version &&
        alone "$scratch/moved/bin/thinwire" scale "$scratch/job.cfg" --simulate --ranks 2 --codec fp32 && mv "$scratch/moved" "$prefix"
}
check "the installed command runs, moved too" runs_from_there

compiles_from_there() {
    local flags
    command -v pkg-config >/dev/null || { echo "no pkg-config"; return 1; }
    flags=$(PKG_CONFIG_SYSROOT_DIR=$tree PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs thinwire) || return 1
    # shellcheck disable=SC2086  # lists of words
    $MPICC -o "$scratch/example" "$top_srcdir/examples/allreduce_gradients.c" $flags $EXAMPLE_FLAGS -lm || return 1
    LD_LIBRARY_PATH=$prefix/lib ranks 2 "$scratch/example" tree8
}
check "an example compiles and runs from the installed tree" compiles_from_there
