#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# training.sh - training on devices of the stand-in, as runs beside the processor's (train.c) and as a command: what it
# prints and writes, devices that are not there, calls that fail, faults that must be found. 1 to 4 ranks, 1 to 4
# devices, another order of execution each time; what is wrong, or left at the end, is exit status 99. With TW_ALL=1
# every run on every number of ranks, by 20 orders.
# shellcheck disable=SC2154,SC2016,SC2015,SC2034  # set by make check; for the inner shells; for common.bash
# shellcheck source=tests/gpu/standin/common.bash
. "$top_srcdir/tests/gpu/standin/common.bash"
program=$here/train_on_standin
limit=${TW_TIME_LIMIT:-300}
[ -z "${TW_ALL:-}" ] || export TW_CASE_LIMIT=$limit # of 20 orders
runs() { on "$1" "$2" TW_CASE="$3" "$here/train.mpi" "$1" && clean; }
all_runs() { # of 1 to 4 ranks on 4 to 1 devices
    local n
    for n in 1 2 3 4; do
        runs "$n" $((5 - n)) "" || return 1
    done
}

cat >"$scratch/net.cfg" <<'END'
name = "net"; classes = 5;
input = { channels = 1; height = 12; width = 10; scale = 0.00784; mean = 127.5; };
training = { optimizer = "sgd"; rate = 0.05; momentum = 0.9; decay = 0.01; batch = 12; };
layers = (
  { type = "conv"; name = "conv1"; channels = 4; kernel = 3; pad = 1; activation = "relu"; },
  { type = "pool"; name = "pool1"; pooling = "max"; kernel = 2; stride = 2; },
  { type = "conv"; name = "conv2"; channels = 6; kernel = 3; pad = 1; bias = false; },
  { type = "norm"; name = "norm2"; activation = "relu"; },
  { type = "dense"; name = "fc3"; units = 13; activation = "relu"; },
  { type = "dense"; name = "fc4"; }
);
END
command=(--model "$scratch/net.cfg" --data "random:12x10x1,5,n=36,test=12" --bn global)
hash_of() { sed -n 's/.*, weights \([0-9a-f]\{16\}\)$/\1/p' "$scratch/out"; }
same() { [ -n "$1" ] && [ "$1" = "$2" ] || { echo "'$1' and '$2'"; return 1; }; }

train() { # RANKS DEVICES ARGUMENT...
    local n=$1 devices=$2
    shift 2
    on "$n" "$devices" "$program" "${command[@]}" "$@"
}

# ---- what it prints and writes -------------------------------------------------------------------
reports() {
    train 2 2 --device auto --epochs 1 --profile --trace "$scratch/trace" --json "$scratch/json" && clean &&
        grep -q 'cuDNN 9[.0-9]* on GPU' "$scratch/out" && grep -q "^memory of rank 0's device: " "$scratch/out" &&
        grep -q '^on the device, by its own clock$' "$scratch/out" && grep -q '^  trunk backward  *[0-9]' "$scratch/out" &&
        grep -q '"trunk_backward_ms": ' "$scratch/json" && grep -q '"bytes_total": ' "$scratch/json" &&
        grep -q '"name": *"device' "$scratch/trace" && grep -q '"update"' "$scratch/trace"
}
describes() {
    train 3 1 --describe "$scratch/net.cfg" --device 0 --scheme c &&
        grep -q '^memory of each device, 3 ranks, batch 12:$' "$scratch/out" && grep -q "^  the optimizer's state " "$scratch/out"
}
transfer_index() {
    train 2 1 --device 0 --epochs 1 --augment 'resize:14x12 crop:12x10,random mirror mean:100 scale:0.01' --transfer-index 0 &&
        clean && grep -q '^images move to the device behind operation 1 of 5, resize, at the earliest' "$scratch/out"
}

# ---- devices that are not there ------------------------------------------------------------------
falls_back() { # NAME=VALUE PATTERN: with auto all ranks compute on their processors, and one says why
    local on_processors
    train 3 2 --epochs 1 && on_processors=$(hash_of) &&
        on 3 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && export "$0"; exec "$@"' "$1" "$program" \
            "${command[@]}" --device auto --epochs 1 && clean &&
        same "$(grep -c '^thinwire-train: --device auto: .*; all ranks compute on their processors' "$scratch/out")" 1 &&
        grep -q "$2" "$scratch/out" && same "$on_processors" "$(hash_of)"
}
refused() { # NAME=VALUE DEVICE PATTERN: rank 1 meets it; every rank leaves soon with status 1
    rm -f "$scratch/left"
    on 3 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && export "$1"; shift; "$@"; echo $? >>"$0"' \
        "$scratch/left" "$1" "$program" "${command[@]}" --device "$2" --epochs 1
    same "$(sort "$scratch/left" | uniq -c | tr -s ' ')" ' 3 1' && grep "$3" "$scratch/out" && clean
}
no_number() {
    rm -f "$scratch/left"
    on 2 4 sh -c '"$@"; echo $? >>"$0"' "$scratch/left" "$program" "${command[@]}" --device 7
    same "$(tr '\n' ' ' <"$scratch/left")" '1 1 ' &&
        same "$(grep -c 'device 7: this rank has 4 devices; accepted: ' "$scratch/out")" 2 && clean
}
no_memory() { # the n-th allocation of rank 1 fails: at creation, or in the middle of a step
    local n
    for n in 1 4 9 16 30; do
        rm -f "$scratch/left"
        if on 2 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && export "$0"; exec "$@"' \
            "STANDIN_FAIL=cudaMalloc:$n:2" "$program" "${command[@]}" --device auto --epochs 1; then
            # auto does without a device if that has no memory for the beginning; or there were fewer allocations
            grep -q 'all ranks compute on their processors\|^memory of rank' "$scratch/out" || return 1
        else
            grep -q '^thinwire-train: rank 1: .*[mM]emory' "$scratch/out" || return 1
        fi
        clean || return 1
    done
}

# A call of rank 1, drawn from the second epoch, fails: at once, on the device later, or for ever. That rank says so, all
# leave, no report is written, and the checkpoint of the first epoch stays as it is.
fails_late() {
    local limit=60 k=0 call low high how n on_late=(--scheme group=2 --codec tree8 --update sharded --device 0)
    train 3 2 "${on_late[@]}" --epochs 1 --checkpoint "$scratch/state" && clean || return 1
    cp "$scratch/state" "$scratch/kept"
    while read -r call low high how; do
        n=$((low + (seed + 7 * k++) % (high - low + 1)))
        echo "# the $n-th $call: $how"
        ! on 3 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && export "$0"; exec "$@"' \
            "STANDIN_FAIL=$call:$n:$how" "$program" "${command[@]}" "${on_late[@]}" --epochs 2 --resume \
            --checkpoint "$scratch/state" --json "$scratch/report" --trace "$scratch/tracks" &&
            same "$(grep -c '^thinwire-train: rank 1: ' "$scratch/out")" 1 && clean &&
            cmp "$scratch/state" "$scratch/kept" && [ ! -e "$scratch/report" ] && [ ! -e "$scratch/tracks" ] || return 1
    done <<'END'
cudaMemcpyAsync 60 300 719:late
cudaLaunchKernel 20 300 719:late
cudaEventRecord 60 350 719
cudaEventQuery 20 120 719:sticky
cudaStreamWaitEvent 20 130 719:sticky
cublasSgemm_v2 10 50 13
cudnnPoolingForward 2 4 5000
END
}

# ---- faults ----------------------------------------------------------------------------------------
event_is_found() {
    local want
    train 2 2 --device auto --epochs 2 && want=$(hash_of) &&
        ! { on 2 2 STANDIN_FAULT=event "$program" "${command[@]}" --device auto --epochs 2 && clean && same "$want" "$(hash_of)"; }
}
read_is_found() {
    ! on 1 1 STANDIN_FAULT=read "$program" "${command[@]}" --device 0 --steps 1 &&
        grep -q '^standin: the host touches device memory' "$scratch/out"
}
descriptor_is_found() {
    ! on 1 1 STANDIN_FAULT=descriptor "$program" "${command[@]}" --device 0 --steps 1 && grep -q '^standin: \|cuDNN\|GPU 0' "$scratch/out"
}

# A shape for which cuDNN has no algorithm in a fixed order is computed all the same, and one line says what that means.
next_best() {
    on 1 1 STANDIN_DRAWN=1 "$program" "${command[@]}" --device 0 --steps 1 && clean &&
        grep '^note: layer .*: cuDNN has no other algorithm for this shape than one by which results differ from run to run$' "$scratch/out" &&
        on 1 1 STANDIN_DRAWN=1 "$program" "${command[@]}" --device 0 --steps 1 --fast && ! grep 'no other algorithm' "$scratch/out"
}
plan 19
check "every scheme, 2 ranks, 3 devices" runs 2 3 "every scheme"
check "and owners, 3 ranks, 2 devices" runs 3 2 "every owner"
check "codecs, 4 ranks, 4 devices" runs 4 4 "every kind of codec"
check "checkpoints, 1 rank, 1 device" runs 1 1 "checkpoints go between"
if [ -n "${TW_ALL:-}" ]; then
    check "all runs, 1 to 4 ranks" all_runs
else
    skip "all runs, 1 to 4 ranks" "TW_ALL=1 is not set"
fi
check "profile, trace and report" reports
check "memory of each device" describes
check "operations that stay on the processor" transfer_index
check "auto without a device on a rank" falls_back STANDIN_FAIL=cudaGetDeviceCount:1:100 'CUDA sees no device'
check "auto without cuDNN on a rank" falls_back STANDIN_FAIL=cudnnCreate:1:1001 cuDNN
check "--device 7 of 4" no_number
check "a device without cuDNN" refused STANDIN_FAIL=cudnnCreate:1:1001 0 '^thinwire-train: rank 1: --device 0: .*cuDNN'
check "a device that is busy" refused STANDIN_FAIL=cudaInitDevice:1:46 0 'busy'
check "no memory" no_memory
check "a call fails late" fails_late
check "no algorithm in a fixed order" next_best
check "a missing event gives other weights" event_is_found
check "a host read of device memory is found" read_is_found
check "a wrong descriptor is found" descriptor_is_found
