#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ddp.sh BUILD_DIR DATA_DIR OUT_DIR [PART...] - PyTorch's DDP with the hooks of gloo, PowerSGD and thinwire, and FSDP2.
#
# Parts (default: all), which bench/ddp.py describes, with one thread a rank; DATA_DIR holds mnist/ and cifar10/:
#     speed     step times on 4 emulated hosts (as root). At 1 Gbit/s resnet18 and alexnet, each with batches with which
#               exchange is 75 % and 40 % of a step of gloo; at 100 Mbit/s resnet18 with the first batch (30 minutes)
#     sharded   step times of fully_shard() on 4 emulated hosts at 1 Gbit/s, exchange 75 % of a step of gloo (as root; 6 minutes)
#     accuracy  test errors on MNIST and the subset of CIFAR-10, 4 ranks of this machine (2 hours)
#     until     seconds to an error on MNIST by gloo, 4 emulated hosts at 100 Mbit/s (as root; 5 minutes)
# Each run leaves OUT_DIR/NAME.log and NAME.json; one that is there is not repeated.
# Environment: PYTHON (BUILD_DIR/torch/bin/python, which ./quickstart check --apps makes), with torch; SECONDS_EACH
# (300) of each run of speed; SEEDS ("1 2 3"). All ranks share this machine's cores, which must be idle otherwise.
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u
. "$(dirname "$0")/common.bash"
folders "${1-}" "${3-}"
data=$(cd "$2" && pwd) || exit 1
shift 3
python=${PYTHON:-$build/torch/bin/python}
"$python" -c 'import torch' || exit 1
export THINWIRE_LIBRARY=$build/lib/libthinwire.so PYTHONPATH=$bench/../python PYTHONDONTWRITEBYTECODE=1
read -ra seeds <<<"${SEEDS:-1 2 3}"

run() { # NAME COMMAND...
    once "$@" || exit 1
    echo "$1:"
    cat "$out/$1.log"
}

hosts() { # NAME ARGUMENT... of ddp.py, a rank on each host
    run "$1" on_hosts 4 -x THINWIRE_LIBRARY -x PYTHONPATH -x PYTHONDONTWRITEBYTECODE -x GLOO_SOCKET_IFNAME=eth0 \
        -x MASTER_ADDR=10.77.0.1 "$python" "$bench/ddp.py" "${@:2}"
}

part_speed() {
    local model share seconds=${SECONDS_EACH:-300}
    lab_up 4 1gbit
    for model in resnet18 alexnet; do
        for share in 75 40; do
            hosts "$model-1gbit-$share" speed $model --share $share --seconds "$seconds"
        done
    done
    "$bench/netlab.sh" rate 100mbit
    hosts resnet18-100mbit speed resnet18 --batch "$(value batch resnet18-1gbit-75)" --seconds "$seconds"
    lab_down
}

part_sharded() {
    lab_up 4 1gbit
    hosts sharded-1gbit sharded --share 75 --seconds "${SECONDS_EACH:-300}"
    lab_down
}

part_accuracy() {
    local task
    for task in mnist cifar10; do
        run "accuracy-$task" env GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 "${MPIRUN:-mpirun}" -n 4 "$python" "$bench/ddp.py" \
            accuracy $task "$data/$task" --seeds "${seeds[@]}"
    done
}

part_until() {
    lab_up 4 100mbit
    hosts until until "$data/mnist" --seeds "${seeds[@]}"
    lab_down
}

[ $# -gt 0 ] || set -- speed sharded accuracy until
for part; do
    declare -F "part_$part" >/dev/null || fail "no part '$part'; accepted: speed sharded accuracy until"
    "part_$part"
done
