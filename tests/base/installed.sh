#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make install to a prefix that configure does not know, under a umask that hides files; make uninstall.
# shellcheck disable=SC2154  # set by make check
# shellcheck source=tests/tools/common.bash disable=SC1091
. "$top_srcdir/tests/tools/common.bash"
to=$scratch/prefix
unset MAKEFLAGS MFLAGS MAKELEVEL

plan 5
installs() { (umask 077 && make -C "$top_builddir" install prefix="$to"); }
check "make install prefix=" installs

readable() { ! find "$to" ! -perm -o+r -print | grep . && ! find "$to" -type d ! -perm -o+x -print | grep .; }
check "all of it can be read by all" readable

config() { PKG_CONFIG_PATH=$to/lib/pkgconfig:${PKG_CONFIG_PATH-} pkg-config "$@" thinwire; }
told() {
    [ "$(config --variable=prefix)" = "$to" ] && [ "$(config --variable=libdir)" = "$to/lib" ] &&
        config --cflags | grep -q -F -e "-I$to/include" && config --libs --static | grep -q -e -lhwloc
}
links() {
    # shellcheck disable=SC2046  # flags
    told && $MPICC -o "$scratch/program" "$top_builddir/tests/tools/manual_example.c" $(config --cflags --libs) -lm \
        -Wl,-rpath,"$to/lib" && ldd "$scratch/program" | grep -F "$to/lib/libthinwire.so"
}
if ! command -v pkg-config >/dev/null || ! pkg-config --exists hwloc; then
    skip "a program by thinwire.pc" "no pkg-config, or none of hwloc"
elif sanitized; then
    check "thinwire.pc tells the folders" told
else
    check "a program by thinwire.pc" links
fi

runs() { "$to/bin/thinwire" info && "$to/bin/thinwire" run -- true; }
check "the installed command finds its libraries" runs

uninstalls() { make -C "$top_builddir" uninstall prefix="$to" && ! find "$to" -iname '*thinwire*' -print | grep .; }
check "make uninstall leaves nothing of ours" uninstalls
