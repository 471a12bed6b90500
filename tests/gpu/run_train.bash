# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/gpu/run: thinwire-train on the device.
# shellcheck shell=bash disable=SC2154  # set by tests/gpu/run

trainer=bin/thinwire-train
layer_tests='layers backend trunk head loss params'

# trained RANKS ARGUMENT...: output in $scratch/train
trained() {
    local ranks=$1 run=("$programs/$trainer")
    shift
    if test "$ranks" = 1; then
        timeout -k 5 100 "${run[@]}" "$@" </dev/null >"$scratch/train" 2>&1
    else
        on_ranks 100 "${run[@]}" "$@" >"$scratch/train" 2>&1
    fi
}
weights() { sed -n 's/.*, weights \([0-9a-f]\{16\}\)$/\1/p' "$scratch/train"; }
last_loss() { sed -n 's/^step .* loss \([0-9.]*\) .*/\1/p' "$scratch/train" | tail -n 1; }

# 20 steps: the loss is that of the processor to 1 in 1000, and two runs end with the same bits.
twenty_steps() { # RANKS ARGUMENT...
    local ranks=$1 hash loss
    shift
    set -- --model lenet --data digits:train=640 --batch 32 --steps 20 "$@"
    trained "$ranks" "$@" && loss=$(last_loss) &&
        trained "$ranks" --device 0 "$@" && hash=$(weights) && test -n "$hash" &&
        awk -v a="$loss" -v b="$(last_loss)" 'BEGIN { d = a - b; exit !(a > 0 && d * d <= 1e-6 * a * a) }' &&
        trained "$ranks" --device 0 "$@" && test "$(weights)" = "$hash"
}

# Every layer, forward and backward, beside references in double: the programs that make check has for the processor.
# Each is one process: a device would be started for every test otherwise.
layer() { # NAME
    CK_FORK=no timeout -k 5 120 "$programs/tests/gpu/$1_on_device"
}

training_starts() {
    local name
    started $trainer "$programs/$trainer" --model lenet --data digits --steps 1 --device 0
    for name in $layer_tests; do
        started "tests/gpu/${name}_on_device" layer "$name"
    done
}

check_training() {
    local ranks=2 scheme name
    there $trainer || return
    for name in $layer_tests; do
        there "tests/gpu/${name}_on_device" || continue
        layer "$name" >"$scratch/train" 2>&1
        told $? "each layer beside its reference: $name" "$scratch/train"
    done
    ranks_there || ranks=1
    for scheme in data a b c; do
        twenty_steps $ranks --scheme $scheme
        told $? "20 steps of scheme $scheme, $ranks ranks on one device" "$scratch/train"
    done
    twenty_steps $ranks --update sharded
    told $? "20 steps of weights with owners, $ranks ranks on one device" "$scratch/train"
    trained 1 --model lenet --data digits --device 0 --epochs 12 --until 'error<=1.5%' && grep -q '^reached: ' "$scratch/train"
    told $? "lenet on the embedded digits to 98.5 %: $(grep '^reached: \|^not reached: ' "$scratch/train")" "$scratch/train"
}

# Images per second of one rank, and what of a step of two is exposed communication.
measure_training() {
    local model data batch bar ours theirs exposed
    there $trainer || return
    echo "model         batch  images/s  PyTorch   ratio    bar  exposed, 2 ranks on one device"
    while read -r model data batch bar; do
        # The tuner of the loader would search for longer than is measured.
        set -- --model "$model" --data "$data" --batch "$batch" --device 0 --loader-threads 4 --transfer-index 0
        trained 1 "$@" --steps 20 || { told 1 "$model runs" "$scratch/train"; continue; }
        ours=$(sed -n 's/^\([0-9.]*\) images.s, step .*/\1/p' "$scratch/train")
        theirs=$("$programs/$trainer" --show-model "$model" | python3 "$top/tests/gpu/torch_models.py" "$batch" 2>"$scratch/torch") ||
            { leave_out "PyTorch beside $model: $(tail -n 1 "$scratch/torch")"; theirs=-; }
        exposed=-
        if test -n "$mpirun" && trained 2 "$@" --steps 10 --codec tree8; then
            exposed=$(sed -n 's/.* s, \([0-9.]* %\) of it exposed.*/\1/p' "$scratch/train")
        fi
        printf '%-13s %5d  %8s  %8s  %5s  %5s  %s\n' "$model" "$batch" "$ours" "$theirs" \
            "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }')" "$bar" "$exposed"
    done <<'END'
resnet-20 random:32x32x3,10,n=2560,test=128 128 2.0
alexnet-s0 random:224x224x3,200,n=1280,test=64 64 1.0
vgg-a random:224x224x3,200,n=1280,test=64 64 1.0
resnet-34 random:224x224x3,200,n=1280,test=64 64 1.0
END
}
