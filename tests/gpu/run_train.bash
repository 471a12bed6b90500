# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/gpu/run: thinwire-train on the device. The command needs libraries that the rest does not, and so is
# not compiled here but by configure and make, once, in the folder of the build; --train names one that is there.
# shellcheck shell=bash disable=SC2154,SC2034  # set by tests/gpu/run, and for it

# $trainer, and $trainer_build where the tests of layers can be made; or one line about why not.
find_trainer() {
    local folder=$build/train
    trainer=$train trainer_build=
    test -z "$trainer" || { test -x "$trainer" || { echo "skipped: --train $trainer: is not there"; return 1; }; return 0; }
    test -e "$top/configure" || (cd "$top" && autoreconf -i) >"$build/configure.log" 2>&1 ||
        { echo "skipped: no configure, and autoreconf does not make it"; return 1; }
    mkdir -p "$folder"
    (cd "$folder" && { test -e Makefile || "$top/configure" --with-cuda=yes --without-other-codecs \
        NVCC="$nvcc" NVCC_GENCODE="-gencode arch=compute_$sm,code=sm_$sm"; }) >"$build/configure.log" 2>&1 ||
        { echo "skipped: $(grep 'error: ' "$build/configure.log" | tail -n 1)"; return 1; }
    grep -q '^#define HAVE_CUDNN 1' "$folder/config.h" ||
        { echo "skipped: configure finds no headers of cuDNN 9 and cuBLAS"; return 1; }
    make -C "$folder" -j "$(nproc)" bin/thinwire-train >"$build/make.log" 2>&1 ||
        { tail -n 20 "$build/make.log" >&2; echo "tests/gpu/run: thinwire-train does not build" >&2; exit 2; }
    trainer=$folder/bin/thinwire-train
    trainer_build=$folder
    libraries=$libraries:$folder/lib/.libs
}

# Where cuBLAS is beside nvcc, and the loader does not know that. Then our own library, to which `make all` would link.
toolkit=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
libraries=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$toolkit/lib64:$toolkit/targets/$(uname -m)-linux/lib

# trained RANKS ARGUMENT...: output in $build/train.out
trained() {
    local n=$1 launch=()
    shift
    test "$n" = 1 || launch=("$mpirun" -n "$n")
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
        LD_LIBRARY_PATH=$libraries timeout -k 5 240 "${launch[@]}" "$trainer" "$@" </dev/null >"$build/train.out" 2>&1
}
weights() { sed -n 's/.*, weights \([0-9a-f]\{16\}\)$/\1/p' "$build/train.out"; }
last_loss() { sed -n 's/^step .* loss \([0-9.]*\) .*/\1/p' "$build/train.out" | tail -n 1; }
number=0
told() { # STATUS NAME
    number=$((number + 1))
    if test "$1" = 0; then
        echo "ok $number - $2"
    else
        sed 's/^/#   /' "$build/train.out" | tail -n 20
        echo "not ok $number - $2"
        status=1
    fi
}

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
layers() {
    local name program
    test -n "$trainer_build" || { echo "# SKIP each layer: --train names a command without its build"; return; }
    grep -q '^CHECK_LIBS = .*-l' "$trainer_build/Makefile" ||
        { echo "# SKIP each layer: configure finds no Check"; return; }
    for name in layers backend trunk head loss params; do
        program=tests/gpu/${name}_on_device
        make -C "$trainer_build" -j "$(nproc)" "$program" >"$build/train.out" 2>&1 &&
            LD_LIBRARY_PATH=$libraries CK_FORK=no timeout 120 "$trainer_build/$program" >"$build/train.out" 2>&1
        told $? "each layer beside its reference: $name"
    done
}

train_checks() {
    local ranks=2 scheme
    layers
    test -n "$mpirun" || ranks=1
    for scheme in data a b c; do
        twenty_steps $ranks --scheme $scheme
        told $? "20 steps of scheme $scheme, $ranks ranks on one device"
    done
    twenty_steps $ranks --update sharded
    told $? "20 steps of weights with owners, $ranks ranks on one device"
    trained 1 --model lenet --data digits --device 0 --epochs 12 --until 'error<=1.5%' && grep -q '^reached: ' "$build/train.out"
    told $? "lenet on the embedded digits to 98.5 %: $(grep '^reached: \|^not reached: ' "$build/train.out")"
}

# Images per second of one rank, and what of a step of two is exposed communication.
train_figures() {
    local model data batch ours theirs exposed
    echo "model         batch  images/s  PyTorch   ratio (bar 1.0)  exposed, 2 ranks on one device"
    while read -r model data batch; do
        trained 1 --model "$model" --data "$data" --batch "$batch" --steps 20 --device 0 || { echo "$model: does not run"; continue; }
        ours=$(sed -n 's/^\([0-9.]*\) images.s, step .*/\1/p' "$build/train.out")
        theirs=-
        if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
            theirs=$(LD_LIBRARY_PATH=$libraries "$trainer" --show-model "$model" | python3 "$top/tests/gpu/torch_models.py" "$batch" 2>>"$build/torch.log") || theirs=-
        fi
        exposed=-
        if test -n "$mpirun" && trained 2 --model "$model" --data "$data" --batch "$batch" --steps 10 --device 0 --codec tree8; then
            exposed=$(sed -n 's/.* s, \([0-9.]* %\) of it exposed.*/\1/p' "$build/train.out")
        fi
        printf '%-13s %5d  %8s  %8s  %5s            %s\n' "$model" "$batch" "$ours" "$theirs" \
            "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }')" "$exposed"
    done <<'END'
resnet-20 random:32x32x3,10,n=2560,test=128 128
alexnet-s0 random:224x224x3,200,n=1280,test=64 64
vgg-a random:224x224x3,200,n=1280,test=64 64
resnet-34 random:224x224x3,200,n=1280,test=64 64
END
}
