#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ranks.sh - all that takes device memory, by thinwire's own code for CUDA on the stand-in: 1 to 4 ranks,
# 1 to 4 devices, other orders of execution each time; with TW_ALL on all of them. What is wrong, or left at the end, is
# exit status 99.
# shellcheck disable=SC2154  # set by make check
# shellcheck source=tests/gpu/standin/common.bash
. "$top_srcdir/tests/gpu/standin/common.bash"
limit=${TW_TIME_LIMIT:-240}

well() { on "$@" && clean; }
both_paths() { # RANKS DEVICES: as tests/gpu/run has it on a device
    well "$1" "$2" "$here/ranks_on_standin" check quick && test "$(grep -c '^ok .* staged: ' "$scratch/out")" -ge 10 &&
        test "$(grep -c '^ok .* direct: ' "$scratch/out")" -ge 10 && grep '^ok .* share memory of their devices' "$scratch/out"
}
# What the stand-in is for: the same, with a fault.
finds() { # FAULT: it ends otherwise than well
    echo "# with the fault '$1':"
    ! well 2 2 STANDIN_FAULT="$1" "$here/ranks_on_standin" check quick
}
missing_event() { finds event && grep -q '^not ok' "$scratch/out"; }
host_read() { finds read && grep -q '^standin: the host touches device memory' "$scratch/out"; }
too_old() { # what starts a device, and what a communicator of its own makes there
    ! alone env STANDIN_MAJOR=7 "$here/train_on_standin" --device 0 --steps 1 &&
        grep 'device 0 has a compute capability below 8.0, which kernels need' "$scratch/out" &&
        ! on 2 1 STANDIN_MAJOR=7 "$here/ranks_on_standin" check quick && clean && grep 'a stream: not supported' "$scratch/out"
}
# The same on other ranks: with TW_ALL.
longer() { # NAME COMMAND...
    if [ -n "${TW_ALL-}" ]; then
        check "$@"
    else
        skip "$1" "TW_ALL is not set"
    fi
}
plan 27
check "kernels beside the scalar code" alone env STANDIN_DEVICES=2 STANDIN_SEED="$seed" "$here/device_on_standin" check few
longer "collectives, 1 rank, 1 device" both_paths 1 1
check "collectives, 2 ranks, 3 devices" both_paths 2 3
longer "collectives, 3 ranks, 2 devices" both_paths 3 2
longer "collectives, 4 ranks, 4 devices" both_paths 4 4
check "all codecs and algorithms, 2 ranks, 2 devices" well 2 2 "$here/device.mpi" 2
longer "all codecs and algorithms, 3 ranks, 1 device" well 3 1 "$here/device.mpi" 3
longer "schedulers, 1 rank, 1 device" well 1 1 "$here/scheduler.mpi" 1
# At the end a device fails, and what was under way is abandoned.
longer "schedulers, 3 ranks, 2 devices" well 3 2 STANDIN_LEAKS=1 "$here/scheduler.mpi" 3
n=$([ -n "${TW_ALL-}" ] && echo 4 || echo 2)
check "schedulers, a progress thread, $n ranks, $n devices" \
    well "$n" "$n" STANDIN_LEAKS=1 THINWIRE_PROGRESS=thread "$here/scheduler.mpi" "$n"
check "in a node and between nodes, a progress thread, 4 ranks, 3 devices" \
    well 4 3 THINWIRE_PROGRESS=thread TW_CASE=node "$here/device.mpi" 4
# A communicator that has failed abandons what was under way.
longer "errors, 2 ranks, 4 devices" well 2 4 STANDIN_LEAKS=1 "$here/device_errors.mpi" 2
check "errors, 4 ranks, 1 device" well 4 1 STANDIN_LEAKS=1 "$here/device_errors.mpi" 4
longer "each allocation fails, 1 rank" well 1 1 "$here/failures.mpi" 1
check "each allocation fails, 3 ranks, 3 devices" well 3 3 "$here/failures.mpi" 3
check "ranks and their devices, 1 rank, 1 device" well 1 1 "$here/bind.mpi" 1
check "ranks and their devices, 3 ranks, 4 devices" well 3 4 "$here/bind.mpi" 3
longer "ranks and their devices, 4 ranks, 2 devices" well 4 2 "$here/bind.mpi" 4
longer "dense layers, 1 rank, 1 device" well 1 1 "$here/head.mpi" 1
check "dense layers, 2 ranks, 3 devices" well 2 3 "$here/head.mpi" 2
longer "dense layers, 4 ranks, 2 devices" well 4 2 "$here/head.mpi" 4
check "a pipeline that hands over images" alone env STANDIN_SEED="$seed" "$here/test_pipeline"
longer "the trunk of a network, 1 rank, 1 device" well 1 1 "$here/trunk.mpi" 1
check "the trunk of a network, 4 ranks, 3 devices" well 4 3 "$here/trunk.mpi" 4
check "a device that is too old" too_old
check "a missing event gives wrong results" missing_event
check "a host read of device memory is found" host_read
