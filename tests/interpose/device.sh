#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers in device memory under the drop-in: recognised where it was built with CUDA, and MPI's.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

plan 4
driver=$scratch/libcuda.so.1
if ! "$top_builddir/bin/thinwire" info 2>/dev/null | grep -q 'CUDA runtime linked'; then
    skip "device memory on 2 ranks" "built without CUDA"
    skip "device memory on 3 ranks" "built without CUDA"
    skip "bytes of device memory in a recorded job, 2 ranks" "built without CUDA"
    skip "bytes of device memory in a recorded job, 3 ranks" "built without CUDA"
    exit 0
fi
# shellcheck disable=SC2086  # CC may have options
$CC -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$driver" "$top_srcdir/tests/interpose/device_driver.c" || exit 1
for ranks in 2 3; do
    start tree8 $ranks device "$driver"
    result $? "device memory on $ranks ranks"
    THINWIRE_RECORD=$scratch/job.cfg start tree8 $ranks device "$driver" &&
        grep -o '{call="alltoall";.*' "$scratch/job.cfg" >>"$scratch/out" &&
        [ "$(grep -c '{call="alltoall";.*count=1000;}' "$scratch/job.cfg")" -eq 1 ]
    result $? "bytes of device memory in a recorded job, $ranks ranks"
done
