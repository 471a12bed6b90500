#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The Python package over the library of the build: beside mpi4py and NumPy, alone, installed by pip, and without a
# library that fits.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
tests=$top_srcdir/tests/python
python=${TW_PYTHON:-/usr/bin/python3} # another one may come first in PATH, and have no mpi4py
limit=${TW_TIME_LIMIT:-120}
library=$top_builddir/lib/libthinwire.so
family=$([ "$TW_MPI" = openmpi ] && echo 'open mpi' || echo mpich)
export THINWIRE_LIBRARY=$library PYTHONPATH=$top_srcdir/python PYTHONDONTWRITEBYTECODE=1
many="1 4" shown=3
[ -z "${TW_ALL-}" ] || many="1 2 3 4" shown="1 3"
plan $((21 + $(wc -w <<<"$shown") + 7 * $(wc -w <<<"$many")))

# What is missing for all of it, and for the part with mpi4py.
missing=
if sanitized; then
    missing="the sanitizer's library must come first"
elif ! "$python" -c 'import numpy' >/dev/null 2>&1; then
    missing="no NumPy (Debian, Ubuntu: python3-numpy)"
fi
without_mpi4py=$missing
[ -n "$missing" ] || "$python" -c 'from mpi4py import MPI; print(MPI.Get_library_version())' 2>/dev/null | grep -qi "$family" ||
    without_mpi4py="no mpi4py of this MPI library (Debian, Ubuntu: python3-mpi4py)"
times() { # COUNT PATTERN: so often in the output, of which launchers may join lines
    [ "$(grep -o "$2" "$scratch/out" | wc -l)" -eq "$1" ] || { echo "not $1 times '$2'"; return 1; }
}
test_with() { # WHY NAME COMMAND...: skipped where there is a reason
    if [ -n "$1" ]; then skip "$2" "$1"; else check "${@:2}"; fi
}

# ---- what the package says of itself -------------------------------------------------------------

# shellcheck disable=SC2086  # CC and flags are lists of words
headers() {
    "$python" "$tests/headers.py" "$CC" $MPI_CFLAGS "-I$top_srcdir/include" "-I$top_builddir/include" $EXAMPLE_FLAGS || [ $? -eq 77 ]
}
test_with "$missing" "numbers, structs and prototypes are those of the headers" headers

versions() {
    "$python" - "$top_srcdir" <<'EOF'
import ast, glob, re, sys
top = sys.argv[1]
exec(open(top + "/python/thinwire/_version.py").read())
assert re.search(r"AC_INIT\(\[thinwire\], \[([^]]*)\]", open(top + "/configure.ac").read()).group(1) == __version__
for path in glob.glob(top + "/python/**/*.py", recursive=True):
    ast.parse(open(path).read(), path, feature_version=(3, 9))
listed = open(top + "/python/sources.am").read()
for path in glob.glob(top + "/python/thinwire/**/*.py", recursive=True):
    assert path[len(top + "/python/"):] in listed, path
EOF
}
test_with "$missing" "the package's version is the library's, its files are Python 3.9 and in the tarball" versions
test_with "$missing" "codecs" alone "$python" "$tests/test_codec.py"

# ---- alone ---------------------------------------------------------------------------------------

by_itself() { # RANKS WHAT
    TW_WANTED=$1 ranks "$1" "$python" "$tests/test_alone.py" "$2" && times "$1" 'right on rank'
}
for n in $many; do
    test_with "$missing" "without mpi4py, on $n ranks" by_itself $n sum
    test_with "$missing" "several communicators and threads without mpi4py, on $n ranks" by_itself $n twice
done
test_with "$missing" "children of fork() end without MPI" by_itself 2 child
test_with "$missing" "MPI_Finalize ends the thread of what is under way" by_itself 3 busy
test_with "$missing" "MPI was finalised" by_itself 2 late
stranger() { # as the mpirun of another MPI library starts them
    local out
    out=$(env OMPI_COMM_WORLD_SIZE=2 PMI_SIZE=2 MPI_LOCALNRANKS=2 timeout -k 5 "$limit" "$python" -c 'import thinwire; thinwire.Comm()' 2>&1) || return 1
    echo "$out"
    [ "$out" = "thinwire: warning: mpirun is of another MPI library than thinwire: each of 2 processes is rank 0 of 1 (python3 -m thinwire)" ]
}
test_with "$missing" "an mpirun of another MPI library" stranger
raises() { # the others wait for rank 0, until the job is ended
    TW_WANTED=3 ranks 3 "$python" "$tests/test_alone.py" raise
    local status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q 'InvalidArgumentError: x is not contiguous' "$scratch/out"
}
test_with "$missing" "an exception on one rank ends the job" raises

without_store=$missing
[ -n "$missing" ] || [ -e "$top_builddir/lib/libthinwire-store.so" ] || without_store="CC is an MPI wrapper"
test_with "$without_store" "communicators without MPI, by a store" alone "$python" "$tests/test_store.py"

seed=${THINWIRE_SEED:-$RANDOM}
on_device() { # by the library's own code for CUDA, on the stand-in for it
    echo "# THINWIRE_SEED=$seed"
    THINWIRE_LIBRARY=$top_builddir/tests/gpu/standin/.libs/libthinwire.so STANDIN_DEVICES=2 STANDIN_SEED=$seed \
        ranks 2 "$python" "$tests/test_device.py" &&
        ! grep '^standin: ' "$scratch/out"
}
test_with "$missing" "device memory, on 2 ranks" on_device

# ---- with mpi4py ---------------------------------------------------------------------------------

beside() { TW_WANTED=$1 ranks "$1" "$python" -m mpi4py "$tests/test_$2.py"; }
for n in $many; do
    for what in collectives objects requests feedback errors; do
        test_with "$without_mpi4py" "$what beside mpi4py, on $n ranks" beside $n $what
    done
done
sgd() { # RANKS CODEC
    test_with "$without_mpi4py" "the example sgd.py, $2, on $1 ranks" ranks "$1" "$python" -m mpi4py "$top_srcdir/examples/sgd.py" "$2"
}
sgd 1 tree8
sgd 3 onebit
sgd 4 tree8

snippets() { # what docs/python.md and README.md show, each by itself in a folder of its own, one after another
    local count number
    mkdir -p "$scratch/snippets" && count=$("$python" "$tests/snippets.py" "$top_srcdir/docs/python.md" "$scratch/snippets") &&
        [ "$count" -ge 6 ] || return 1
    "$python" "$tests/snippets.py" "$top_srcdir/README.md" "$scratch" && {
        echo 'import numpy; gradient = numpy.ones(1000, numpy.float32)'
        cat "$scratch/1.py"
        echo 'assert gradient.tolist() == [1] * 1000'
    } >"$scratch/snippets/$((count += 1)).py" || return 1
    for ((number = 1; number <= count; number++)); do
        (cd "$scratch/snippets" && ranks "$1" "$python" -m mpi4py "$number.py") || { echo "snippet $number"; return 1; }
    done
}
for n in $shown; do
    test_with "$without_mpi4py" "what docs/python.md and README.md show, on $n ranks" snippets $n
done

settings() { # one line of the library's from each rank, and an exception
    THINWIRE_CHUNK=lots ranks 3 "$python" "$tests/test_settings.py" &&
        times 3 'THINWIRE_CHUNK=lots is malformed' && times 3 'refused: the environment (a line on stderr says which variable): malformed setting'
}
test_with "$without_mpi4py" "a malformed setting" settings

# ---- libraries that do not fit -------------------------------------------------------------------

# refused LIBRARY PATTERN PROGRAM: on 3 ranks, each of which ends with one line that says so, and status 1.
refused() {
    local file
    rm -rf "$scratch/said" && mkdir "$scratch/said" || return 1
    # shellcheck disable=SC2016  # for the inner shell
    said=$scratch/said THINWIRE_LIBRARY=$1 ranks 3 sh -c '"$@" >"$said/$$" 2>&1; echo "status $?" >>"$said/$$"' sh "$python" -c "$3" ||
        return 1
    for file in "$scratch"/said/*; do
        cat "$file"
        [ "$(grep -c "^thinwire.errors.LibraryError: .*$2" "$file")" -eq 1 ] && grep -qx 'status 1' "$file" || return 1
    done
    set -- "$scratch"/said/*
    [ $# -eq 3 ]
}
# shellcheck disable=SC2086  # CC is a list of words
shared() { $CC -shared -fPIC -w -o "$1" "$2"; }
not_found() { refused /nowhere/libthinwire.so 'libthinwire cannot be loaded: /nowhere/.*; set THINWIRE_LIBRARY to its path' 'import thinwire; thinwire.Comm()'; }
no_thinwire() {
    echo 'int nothing;' >"$scratch/no.c" && shared "$scratch/no.so" "$scratch/no.c" &&
        refused "$scratch/no.so" 'no.so is no libthinwire' 'import thinwire; thinwire.Comm()'
}
old() {
    echo 'const char *tw_version(void) { return "9.8.7"; }' >"$scratch/old.c" && shared "$scratch/old.so" "$scratch/old.c" &&
        refused "$scratch/old.so" 'old.so is version 9.8.7, the Python package 0.1.0: install both from the same release' 'import thinwire; thinwire.Comm()'
}
# A libthinwire of which no function may be called but MPI's first, with an MPI of its own.
other_mpi() {
    {
        echo 'const char *tw_version(void) { return "0.1.0"; }'
        echo 'const char *tw_build(void) { return "cc, MPI by othercc, and so on"; }'
        echo 'char tw_in_place_mark; void abort(void); int MPI_Get_library_version(char *a, int *b) { abort(); }'
        echo 'int MPI_Init_thread(int *a, char ***b, int c, int *d) { return 0; }'
        echo 'int MPI_Comm_size(int a, int *b) { *b = 1; return 0; }'
        "$python" -c '
from thinwire import _c
for name in _c.PROTOTYPES:
    if name not in ("tw_version", "tw_build"):
        print("void %s(void) { abort(); }" % name)'
    } >"$scratch/other.c" && shared "$scratch/other.so" "$scratch/other.c" &&
        refused "$scratch/other.so" 'mpi4py uses .* (.*), but .*other.so uses .*other.so (MPI by othercc): both must be built' \
            'from mpi4py import MPI; import thinwire; thinwire.Comm()' &&
        refused "$scratch/other.so" 'both must be built with the same MPI library' \
            'import thinwire; from mpi4py import MPI; thinwire.Comm(MPI.COMM_WORLD)' &&
        refused "$scratch/other.so" 'both must be built with the same MPI library' \
            'from thinwire import _mpi; _mpi._initialise(); from mpi4py import MPI'
}
test_with "$missing" "no library" not_found
test_with "$missing" "a library that is another" no_thinwire
test_with "$missing" "a library of another version" old
test_with "$without_mpi4py" "a library of another MPI than mpi4py's" other_mpi

# ---- pip -----------------------------------------------------------------------------------------

without_pip=$missing
[ -n "$missing" ] || "$python" -c 'import setuptools, wheel, pip; assert int(setuptools.__version__.split(".")[0]) >= 61' >/dev/null 2>&1 ||
    without_pip="no pip with setuptools 61 (Debian, Ubuntu: python3-pip python3-setuptools python3-wheel)"
installs() { # FOLDER WHAT LIBDIR: and the library is that one; pkg-config knows what is in pc, where there is that
    env -u THINWIRE_LIBRARY "PKG_CONFIG_LIBDIR=$scratch/pc" "$python" -m pip install --no-build-isolation --no-deps --no-index \
        --disable-pip-version-check --no-cache-dir --target "$scratch/$1" "$2" || return 1
    (cd "$scratch" && env -u THINWIRE_LIBRARY "PYTHONPATH=$scratch/$1" "$python" -m thinwire) >"$scratch/out" || return 1
    cat "$scratch/out"
    grep -q "^thinwire [0-9.]*, $3/libthinwire.so.0: " "$scratch/out" && [ -e "$scratch/$1/thinwire/py.typed" ] && [ -x "$scratch/$1/bin/thinwire-bench-ddp" ]
}
from_built() { # after ./quickstart, in a folder with a space
    local tree="$scratch/a tree"
    mkdir -p "$tree/build/lib" && cp -r "$top_srcdir/python" "$tree/python" && chmod -R u+w "$tree" &&
        ln -s "$library" "$tree/build/lib/libthinwire.so.0" && installs built "$tree/python" "$tree/build/lib"
}
from_folder() {
    cp -r "$top_srcdir/python" "$scratch/source" && chmod -R u+w "$scratch/source" && mkdir "$scratch/pc" &&
        ln -s "$library" "$scratch/pc/libthinwire.so.0" &&
        sed "s|^libdir=.*|libdir=$scratch/pc|" "$top_builddir/thinwire.pc" >"$scratch/pc/thinwire.pc" &&
        installs folder "$scratch/source" "$scratch/pc"
}
from_tarball() {
    (cd "$scratch/source" && "$python" setup.py -q sdist -d "$scratch/dist") && installs tarball "$scratch"/dist/thinwire-*.tar.gz "$scratch/pc"
}
test_with "$without_pip" "pip installs the folder, the library is that of the build" from_built
test_with "$without_pip" "pip installs the folder, pkg-config finds the library" from_folder
test_with "$without_pip" "pip installs the source distribution" from_tarball
