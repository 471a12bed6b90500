#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers in device memory under the drop-in: recognised in every build and left to MPI where only MPI can use
# them; compressed on the stand-in for CUDA (tests/gpu/standin), on 1 to 4 ranks and devices, in another order of
# execution each time; and what happens where a device fails.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"
seed=${THINWIRE_SEED:-$RANDOM}
echo "# THINWIRE_SEED=$seed"
plan 42

# ---- left to MPI ---------------------------------------------------------------------------------

# What is as if it were a driver (device_driver.c).
driver=$scratch/libcuda.so.1 mute=$scratch/mute/libcuda.so.1 hsa=$scratch/libhsa-runtime64.so.1
mkdir "$scratch/mute"
compiled() { # FILE OPTION...
    # shellcheck disable=SC2086  # CC may have options
    $CC "${@:2}" -shared -fPIC -Wl,-soname,"${1##*/}" -o "$1" "$top_srcdir/tests/interpose/device_driver.c"
}
compiled "$driver" && compiled "$mute" -DTW_MUTE && compiled "$hsa" -DTW_HSA || exit 1
says() { grep -q "$1" "$scratch/out" || { echo "it does not say '$1'" >>"$scratch/out"; return 1; }; }
report_says() { # RANKS: of the calls that have device memory, and of others
    sed -n '/"totals"/,$p' "$scratch/report.json" | tr -d '\n' |
        grep -q "\"device_calls\": $(($1 * 7)), *\"device_bytes\": [1-9]" &&
        says "with buffers in device memory: $(($1 * 7)) calls, .* others: $(($1 * 6)) calls, "
}
for ranks in 2 3; do
    loud=yes THINWIRE_JSON=$scratch/report.json start tree8 $ranks device "$driver" && report_says $ranks
    result $? "device memory on $ranks ranks"
    THINWIRE_RECORD=$scratch/job.cfg start tree8 $ranks device "$driver" &&
        grep -o '{call="alltoall";.*' "$scratch/job.cfg" >>"$scratch/out" &&
        [ "$(grep -c '{call="alltoall";.*count=1000;}' "$scratch/job.cfg")" -eq 1 ]
    result $? "bytes of device memory in a recorded job, $ranks ranks"
done
start tree8 2 device "$mute"
result $? "a driver that does not say whose memory it is, 2 ranks"
start tree8 2 device "$hsa"
result $? "AMD's memory, 2 ranks"

# ---- on the stand-in -----------------------------------------------------------------------------

between=$(loadable "$programs/.libs/aware.so")
export TW_STANDIN=$top_builddir/tests/gpu/standin/.libs/libcudart.so.13 TW_FUZZ=${TW_FUZZ:-25}
on() { # MODE RANKS DEVICES MEMORY PROGRAM: a line; what the stand-in finds is an exit status
    seed=$((seed + 1))
    [ "$5" != fuzz ] || export TW_CASE='random sequences'
    STANDIN_DEVICES=$3 STANDIN_SEED=$seed THINWIRE_SEED=$seed TW_MEMORY=$4 run "$1" "$2" "$5"
    unset TW_CASE
}

# This build's own drop-in: it has no CUDA, or one for which the stand-in's driver has too few functions.
on left 1 1 device fuzz
on left 3 2 device fuzz

preload=$(loadable "$programs/.libs/libthinwire-preload-$mpi.so")
on watching 2 2 mixed fuzz
for ranks in 1 2 3 4; do
    on bitpack:2 $ranks $((5 - ranks)) device fuzz
    on bitpack:2 $ranks $ranks mixed fuzz
done
on tree8 3 2 mixed fuzz
on tree8 4 1 device fuzz
on tree8-double 2 2 mixed fuzz
on verified 3 2 mixed fuzz
on feedback 2 1 device fuzz
on feedback 4 3 mixed fuzz
on rules 4 2 mixed fuzz
on encode 2 2 mixed fuzz
on fp32 3 2 mixed fuzz
TW_AWARE=1 on bitpack:2 2 2 device fuzz
TW_AWARE=1 on bitpack:2 4 2 mixed fuzz
on bitpack:2 3 2 mixed requests
on bitpack:2 2 3 mixed threads
on bitpack:2 3 2 mixed agree
for ranks in 2 3 4; do
    on tree8 $ranks $ranks host memories
done
on onebit 2 2 host memories
on feedback 2 2 host memories

# What tests/gpu/run has on a real device: the same bits from device memory as from the host's.
for codec in tree8 onebit; do
    mode $codec
    THINWIRE_ENCODE=always STANDIN_DEVICES=2 STANDIN_SEED=$seed timeout -k 5 $((limit + 20)) "$MPIRUN" -n 2 \
        env "${settings[@]}" "$top_builddir/tests/gpu/standin/drop_in" </dev/null >"$scratch/out" 2>&1 &&
        [ "$(grep -c '^ok ' "$scratch/out")" -eq 6 ]
    result $? "vectors on the device, vectors in the host, $codec"
done

# ---- where a device fails ------------------------------------------------------------------------

only_last() { # RANKS COMMAND...: with STANDIN_FAIL on the last rank alone
    [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = "$(($1 - 1))" ] || unset STANDIN_FAIL
    exec "${@:2}"
}
all() { exec "${@:2}"; }
export -f only_last all
failing() { # only_last|all RANKS CALL:N:ERROR[...] CASE NAME=VALUE...: $scratch/out and the status
    mode tree8
    settings[0]+=:$between
    STANDIN_FAIL=$3 STANDIN_SEED=$seed THINWIRE_SEED=$seed TW_CASE=$4 timeout -k 5 $((limit + 20)) "$MPIRUN" -n "$2" \
        bash -c '"$@"' - "$1" "$2" env TW_CASE_LIMIT=60 "${settings[@]}" "${@:5}" "$programs/memories" exact "$2" \
        </dev/null >"$scratch/out" 2>&1
}
got() { says "= MPI got $1 buffers in device memory"; }
no_memory() { # the host does what the device cannot
    local call
    for call in cudaMallocHost:1 cudaMallocHost:2 cudaMallocHost:5 cudaMalloc:4 cudaMalloc:6; do
        failing only_last 2 "$call:2" "after the default stream" && got 0 || return 1
    done
}
passed() { # to MPI
    failing all 2 "$1" "the current device" THINWIRE_RECORD="$scratch/memories.cfg" && got '[1-9][0-9]*' &&
        grep -q '{call="allreduce";.*count=5000;}' "$scratch/memories.cfg"
}
ends() { # ERROR...: one line of ours, and all ranks leave
    local error status
    for error; do
        failing only_last 3 "$error" "after the default stream"
        status=$?
        if [ $status -eq 0 ] || [ $status -ge 124 ] || [ "$(grep -c '^thinwire: .*compressed ' "$scratch/out")" -ne 1 ]; then
            echo "$error: status $status" >>"$scratch/out"
            return 1
        fi
    done
}
no_memory
result $? "no memory for one rank's device, pinned or its own"
failing only_last 2 cudaLaunchKernel:1:209 "after the default stream" && got 0
result $? "no kernels for one rank's device"
passed cudaStreamCreateWithFlags:1:35
result $? "a driver that is too old"
ends cudaLaunchKernel:2:719:sticky cudaLaunchKernel:9:700:late cudaMemcpyAsync:3:719:sticky
result $? "a device that fails ends the job"
