#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ddp.sh BUILD_DIR DATA_DIR OUT_DIR [speed|accuracy...] - PyTorch's DDP with the hooks of gloo, PowerSGD and thinwire.
#
# speed (as root): step times on 4 emulated hosts. At 1 Gbit/s resnet18 and alexnet, each with batches with which
# exchange is 75 % and 40 % of a step of gloo; at 100 Mbit/s resnet18 with the same batch as in the first. About half an
# hour.
# accuracy: test errors on MNIST and the subset of CIFAR-10 in DATA_DIR/mnist and DATA_DIR/cifar10, 4 ranks, 3
# seeds. About two hours. Without one of them both. bench/ddp.py has the details. Each run leaves OUT_DIR/NAME.txt and
# NAME.json; one that is there is not repeated.
# Environment: PYTHON (BUILD_DIR/torch/bin/python, which ./quickstart check --apps makes), with torch; SECONDS_EACH
# (300) of each run of speed; SEEDS ("1 2 3"). The ranks of all hosts share this machine's cores, which must be idle
# otherwise; one thread each.
set -u
if [ $# -lt 3 ] || [ ! -e "$1/lib/libthinwire.so" ]; then
    echo "usage: bench/ddp.sh BUILD_DIR DATA_DIR OUT_DIR [speed|accuracy...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && data=$(cd "$2" && pwd) && mkdir -p "$3" && out=$(cd "$3" && pwd) || exit 1
shift 3
[ $# -gt 0 ] || set -- speed accuracy
here=$(cd "$(dirname "$0")" && pwd)
lab=$here/netlab.sh
python=${PYTHON:-$build/torch/bin/python}
"$python" -c 'import torch' || exit 1
# shellcheck source=tests/environment.sh
. "$here/../tests/environment.sh"
export NETLAB_NAME=${NETLAB_NAME:-twddp} OMP_NUM_THREADS=1 THINWIRE_THREADS=1
export THINWIRE_LIBRARY=$build/lib/libthinwire.so PYTHONPATH=$here/../python PYTHONDONTWRITEBYTECODE=1
trap '"$lab" down >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM

# kept NAME COMMAND...: its output in NAME.txt, unless there is NAME.json.
kept() {
    local name=$1
    shift
    [ -s "$out/$name.json" ] || "$@" --json "$out/$name.json" </dev/null >"$out/$name.txt" 2>"$out/$name.log" ||
        { tail -n 5 "$out/$name.log" >&2; return 1; }
    echo "$name:"
    cat "$out/$name.txt"
}

hosts() { # ARGUMENT... of ddp.py, a rank on each host
    unset OMPI_MCA_btl OMPI_MCA_pml # the lab's
    "$lab" mpirun 4 -- -x OMP_NUM_THREADS -x THINWIRE_THREADS -x THINWIRE_LIBRARY -x PYTHONPATH -x PYTHONDONTWRITEBYTECODE \
        -x GLOO_SOCKET_IFNAME=eth0 -x MASTER_ADDR=10.77.0.1 "$python" "$here/ddp.py" "$@"
}

speed() {
    local model share batch seconds=${SECONDS_EACH:-300}
    "$lab" up 4 1gbit || return
    for model in resnet18 alexnet; do
        for share in 75 40; do
            kept "$model-1gbit-$share" hosts speed $model --share $share --seconds "$seconds" || return
        done
    done
    batch=$(sed -n 's/^ *"batch": \([0-9]*\).*/\1/p' "$out/resnet18-1gbit-75.json")
    "$lab" rate 100mbit && kept resnet18-100mbit hosts speed resnet18 --batch "$batch" --seconds "$seconds"
    "$lab" down
}

accuracy() {
    local task
    for task in mnist cifar10; do
        # shellcheck disable=SC2086  # a list of words
        kept "accuracy-$task" env GLOO_SOCKET_IFNAME=lo MASTER_ADDR=127.0.0.1 "${MPIRUN:-mpirun}" -n 4 "$python" "$here/ddp.py" \
            accuracy $task "$data/$task" --seeds ${SEEDS:-1 2 3} || return
    done
}

for what; do
    case $what in
        speed | accuracy) "$what" || exit 1 ;;
        *) echo "ddp.sh: no part '$what'" >&2; exit 2 ;;
    esac
done
