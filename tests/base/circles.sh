#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls go down only, and no files call each other in a circle, but for those below. What the objects define
# and what they want is taken from nm.
# shellcheck disable=SC2154
cd "$top_builddir" || exit 1

# Each circle is within one part, and for the reason given.
known() {
    sed 's/ *#.*//; /^$/d' <<'END'
runtime/codec/bitpack/bitpack.c             # a codec lists its kernels, and these end with the scalar loops
runtime/codec/bitpack/bitpack_avx2.c
runtime/codec/bitpack/bitpack64_avx2.c
runtime/codec/onebit/onebit.c               # likewise
runtime/codec/onebit/onebit_avx2.c
runtime/codec/onebit/onebit_avx512.c
runtime/topology/discover.c                 # one walk through hwloc's tree, in three files
runtime/topology/pci.c
runtime/topology/xml.c
runtime/transport/coll/native/native.c      # device memory is copied, and then as host memory
runtime/transport/coll/native/native_device.c
runtime/transport/link/endpoint.c           # lists its kinds, which agree by it
runtime/transport/link/ucx/connect.c        # one endpoint, in three files
runtime/transport/link/ucx/disconnect.c
runtime/transport/link/ucx/endpoint_ucx.c
runtime/transport/link/ucx/no_ucx.c
train/input/root.c                           # a kind of source around another one, opened by its name
train/input/source.c
END
}

# objects: "FILE SYMBOL TYPE" of all objects whose source is there. The transport's second ones, for the drop-in,
# take MPI's handles from its table (interpose/mpi/late.h).
objects() {
    find runtime interpose train tools scaling simulation command -name '*.o' -print0 | xargs -0 nm -A -P | awk '
        /^runtime.*preload/ { next }
        { file = $1; sub(/:$/, "", file); sub(/\/\.libs\//, "/", file); sub(/\/[^\/]*-/, "/", file); sub(/o$/, "c", file)
          if (!(file in there)) there[file] = (getline line <(source "/" file)) > 0
          if (there[file]) print file, $2, $3 }' source="$top_srcdir"
}

echo 1..2
symbols=$(objects)
if ! grep -q ' tw_allreduce T$' <<<"$symbols"; then
    echo "ok 1 - calls go down # SKIP nm sees no symbols in these objects"
    echo "ok 2 - no circles # SKIP nm sees no symbols in these objects"
    exit
fi
found=$(awk -f "$top_srcdir/tests/base/circles.awk" <<<"$symbols")
if grep '^up ' <<<"$found" | sed 's/^/# /' | grep .; then echo "not ok 1 - calls go down"; else echo "ok 1 - calls go down"; fi
if comm -13 <(known | sort) <(sed -n 's/^circle //p' <<<"$found" | sort) | sed 's/^/# /' | grep .; then
    echo "not ok 2 - no circles but the known"
else
    echo "ok 2 - no circles but the known"
fi
