#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# exports.sh - the version script of a preload library: of the functions that SOURCEs export, those that the
# MPI library has, which COMMAND links. A program may ask the loader whether a function is there; the answer
# has to be the MPI library's. Where its Fortran half cannot be linked, Fortran's are those of C.
#
# usage: exports.sh SOURCE... -- COMMAND...
# shellcheck disable=SC2086  # lists of names
set -u
LC_ALL=C
export LC_ALL

names=
while [ "$1" != -- ]; do
    names="$names $(sed -n 's/^TW_EXPORT [a-z]* \(tw_wrap_\)\{0,1\}\([A-Za-z_0-9]*\)(.*/\2/p; s/^TW_ALIAS(\([a-z_0-9]*\),.*/\1/p' "$1")"
    shift
done
shift
names=$(printf '%s\n' $names | sort -u)

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
{
    echo '#include <stdio.h>'
    for name in $names; do echo "extern void $name(void) __attribute__((weak));"; done
    echo 'int main(void)'
    echo '{'
    for name in $names; do echo "    if ($name) { puts(\"$name\"); }"; done
    echo '}'
} >"$scratch/ask.c"
has=
if "$@" -w -o "$scratch/ask" "$scratch/ask.c" 2>"$scratch/why"; then
    has=$("$scratch/ask" 2>"$scratch/why")
fi
if [ -z "$has" ]; then
    echo "exports.sh: $* makes no program that starts, so that all wrappers are exported: $(head -n 1 "$scratch/why")" >&2
    has=$names
fi
if ! printf '%s\n' $has | grep -q '^mpi'; then
    has="$has $(for name in $(printf '%s\n' $has | tr '[:upper:]' '[:lower:]'); do
        printf '%s\n' $names | grep -x -e "${name}_" -e "${name}_f08_"
    done)"
fi
echo '{'
echo '    global:'
printf '        %s;\n' $has
echo '    local: *;'
echo '};'
