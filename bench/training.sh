#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# training.sh BUILD_DIR OUT_DIR [PART...] - how fast thinwire-train trains convolutional networks.
#
# Parts (default: all), with about how long they take on two cores:
#     pytorch      one process beside PyTorch on the CPU, five models                 (15 minutes)
#     ddp          two processes beside PyTorch DDP with gloo, alexnet-s0             (5 minutes)
#     netlab       4 emulated hosts: data parallel and hybrid, six ways each          (20 minutes; root)
#     schemes      schemes a, b and c on 2, 4 and 8 ranks of one machine              (5 minutes)
#     statistics   resnet-20 with local, adaptive and global statistics on 4 hosts    (5 minutes; root)
# Every run leaves a JSON file in OUT_DIR, and what has one is not run again: the script may be stopped and
# started. OUT_DIR/training.md gets the tables. PYTHON names a Python with torch for the first two parts.
set -u
if [ $# -lt 2 ] || [ ! -x "$1/bin/thinwire-train" ]; then
    echo "usage: [PYTHON=python3] bench/training.sh BUILD_DIR OUT_DIR [pytorch|ddp|netlab|schemes|statistics...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
shift 2
parts=${*:-pytorch ddp netlab schemes statistics}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tests/environment.sh"
train=$build/bin/thinwire-train
export NETLAB_NAME=${NETLAB_NAME:-twtrain} THINWIRE_THREADS=1 OMP_NUM_THREADS=1
trap '"$here/netlab.sh" down >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM

# value KEY NAME: a number at the top level of a run's JSON.
value() { awk -F '": ' -v key="  \"$1" '$1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$out/$2.json" 2>/dev/null; }

# run NAME COMMAND...: once; the JSON appears whole or not at all.
run() {
    local name=$1
    shift
    [ ! -s "$out/$name.json" ] || return 0
    echo "$name" >&2
    timeout 900 "$@" --json "$out/$name.json" </dev/null >"$out/$name.log" 2>&1 ||
        { tail -n 3 "$out/$name.log" >&2; return 1; }
}

on_hosts() { # NAME HOSTS ARG...
    local name=$1 hosts=$2
    shift 2
    run "$name" "$here/netlab.sh" mpirun "$hosts" -- -x THINWIRE_THREADS -x OMP_NUM_THREADS "$train" "$@"
}

on_ranks() { # NAME RANKS ARG...
    local name=$1 ranks=$2
    shift 2
    run "$name" "${MPIRUN:-mpirun}" -n "$ranks" "$train" "$@"
}

lab() { # HOSTS RATE: one that is up changes its rate
    "$here/netlab.sh" down >/dev/null 2>&1
    "$here/netlab.sh" up "$1" "$2" >/dev/null
}

row() { # LABEL NAME REFERENCE: seconds, exposed share, bytes, times faster than the reference
    awk -v label="$1" -v s="$(value step_seconds "$2")" -v e="$(value exposed_share "$2")" \
        -v b="$(value bytes_sent_per_step "$2")" -v r="$(value step_seconds "$3")" 'BEGIN {
        if (s == "") { printf "| %s | not run | | | |\n", label; exit }
        printf "| %s | %.3g | %.0f %% | %s | %s |\n", label, s, 100 * e, (b == "null" || b == "" ? "-" : sprintf("%.2f", b / 1e6)),
            (r == "" ? "-" : sprintf("%.2f", r / s)) }'
}

# ---- beside PyTorch -----------------------------------------------------------------------------

part_pytorch() {
    ROUNDS=${ROUNDS:-3} "$here/training-speed.sh" "$build" "$out/pytorch" mlp resnet-20 alexnet-s0 vgg-a resnet-34 >&2 || return
    echo "## One process beside PyTorch"
    echo
    cat "$out/pytorch/training-speed.md"
}

part_ddp() {
    local scheme common=(--model alexnet-s0 --data random:224x224x3,200,n=64,test=1 --batch 16 --steps 3)
    ROUNDS=${ROUNDS:-3} TRAIN_OPTIONS="--scheme c" "$here/training-speed.sh" "$build" "$out/ddp" alexnet-s0@2 >&2 || return
    # Bytes as between two machines: inside one, float32 passes through memory.
    for scheme in c data; do
        THINWIRE_NODE_RANKS=1 on_ranks "ddp-bytes-$scheme" 2 "${common[@]}" --scheme $scheme
    done
    echo "## Two processes beside PyTorch DDP, alexnet-s0, global batch 16, hybrid"
    echo
    cat "$out/ddp/training-speed.md"
    echo
    awk -v h="$(value bytes_sent_per_step ddp-bytes-c)" -v d="$(value bytes_sent_per_step ddp-bytes-data)" \
        'BEGIN { printf "Bytes per step and rank: data parallel %.2f MB, hybrid %.2f MB, %.1f times fewer.\n", d / 1e6, h / 1e6, (h > 0 ? d / h : 0) }'
}

# ---- emulated hosts -----------------------------------------------------------------------------

# six MODEL DATA BATCH RATE STEPS_OF_THE_SLOW
six() {
    local model=$1 data=$2 batch=$3 rate=$4 slow=$5 name=$1-$4 common
    common=(--model "$model" --data "$data" --batch "$batch")
    lab 4 "$rate" || return 1
    on_hosts "$name-mpi" 4 "${common[@]}" --codec mpi --steps "$slow"
    on_hosts "$name-fp32" 4 "${common[@]}" --steps "$slow"
    on_hosts "$name-tree8" 4 "${common[@]}" --codec tree8 --steps "$slow"
    on_hosts "$name-c-fp32" 4 "${common[@]}" --scheme c --steps 6
    on_hosts "$name-c-tree8" 4 "${common[@]}" --scheme c --codec tree8 --steps 6
    on_hosts "$name-c-onebit" 4 "${common[@]}" --scheme c --codec act=tree8,grad=onebit --steps 6
    "$here/netlab.sh" down >/dev/null
    echo
    echo "$model, global batch $batch, 4 hosts at $rate:"
    echo
    echo "| way | step, s | exposed | MB sent per rank | times faster |"
    echo "|---|---|---|---|---|"
    row "data parallel, native MPI_Allreduce" "$name-mpi" "$name-mpi"
    row "data parallel, fp32" "$name-fp32" "$name-mpi"
    row "data parallel, tree8" "$name-tree8" "$name-mpi"
    row "hybrid c, fp32" "$name-c-fp32" "$name-mpi"
    row "hybrid c, tree8" "$name-c-tree8" "$name-mpi"
    row "hybrid c, tree8, convolutions onebit" "$name-c-onebit" "$name-mpi"
}

part_netlab() {
    echo "## Four emulated hosts"
    six alexnet-s4 random:224x224x3,1000,n=128,test=1 64 1gbit 3
    six alexnet-s4 random:224x224x3,1000,n=128,test=1 64 100mbit 2
    six vgg-a random:224x224x3,200,n=64,test=1 16 1gbit 2
}

# ---- schemes ------------------------------------------------------------------------------------

part_schemes() {
    local ranks scheme name turn
    for turn in 1 2 3; do
        for ranks in 2 4 8; do
            for scheme in a b c; do
                THINWIRE_NODE_RANKS=1 on_ranks "scheme-$scheme-$ranks-$turn" $ranks --model alexnet-s0 \
                    --data random:224x224x3,200,n=64,test=1 --batch $((4 * ranks)) --scheme $scheme --steps 5
            done
        done
    done
    echo "## Schemes a, b, c"
    echo
    echo "alexnet-s0, 4 images per rank, one machine, every rank as on a host of its own; medians of 3 turns."
    echo
    echo "| ranks | scheme | step, s | exposed | MB sent per rank | buffers for dense input, MB |"
    echo "|---|---|---|---|---|---|"
    for ranks in 2 4 8; do
        for scheme in a b c; do
            name=$(for turn in 1 2 3; do
                echo "$(value step_seconds scheme-$scheme-$ranks-$turn) scheme-$scheme-$ranks-$turn"
            done | LC_ALL=C sort -g | sed -n '2s/.* //p')
            awk -v k=$ranks -v x=$scheme -v s="$(value step_seconds "$name")" -v e="$(value exposed_share "$name")" \
                -v b="$(value bytes_sent_per_step "$name")" -v m="$(value dense_input_bytes "$name")" \
                'BEGIN { printf "| %d | %s | %.3g | %.0f %% | %.2f | %.2f |\n", k, x, s, 100 * e, b / 1e6, m / 1e6 }'
        done
    done
}

# ---- batch statistics ---------------------------------------------------------------------------

part_statistics() {
    local turn mode
    lab 4 1gbit || return 1
    for turn in 1 2 3; do
        for mode in local global; do
            on_hosts "statistics-$mode-$turn" 4 --model resnet-20 --data random:32x32x3,10,n=2048,test=1 --batch 128 \
                --bn $mode --steps 14
        done
    done
    "$here/netlab.sh" down >/dev/null
    echo "## Batch statistics, resnet-20, global batch 128, 4 hosts at 1gbit"
    echo
    echo "| turn | local, images/s | global | global / local |"
    echo "|---|---|---|---|"
    for turn in 1 2 3; do
        awk -v t=$turn -v l="$(value images_per_second statistics-local-$turn)" -v g="$(value images_per_second statistics-global-$turn)" \
            'BEGIN { printf "| %d | %.0f | %.0f | %.2f |\n", t, l, g, (l > 0 ? g / l : 0) }'
    done
}

{
    echo "# Training, $(date -u +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(getconf _NPROCESSORS_ONLN) cores"
    for part in $parts; do
        case $part in
            pytorch | ddp | netlab | schemes | statistics) echo; "part_$part" ;;
            *) echo "training.sh: no part '$part'; accepted: pytorch ddp netlab schemes statistics" >&2; exit 2 ;;
        esac
    done
} | tee "$out/training.md"
