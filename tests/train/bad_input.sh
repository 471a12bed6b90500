#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bad options, data and files: one clear line from one rank, a non-zero exit of every rank, within 10 s.
. "$top_srcdir/tests/train/common.bash"
. "$top_srcdir/tests/train/refused.bash"

# Four good IDX files of 6 images.
bytes() { # OCTAL...: those bytes
    printf '%b' "$(printf '\\0%s' "$@")"
}
header_of_images() { bytes 0 0 10 3 0 0 0 6 0 0 0 34 0 0 0 34; }
header_of_labels() { bytes 0 0 10 1 0 0 0 6; }
make_data() { # FOLDER
    local set
    mkdir -p "$1"
    for set in train t10k; do
        { header_of_images; head -c 4704 /dev/zero; } >"$1/$set-images-idx3-ubyte"
        { header_of_labels; bytes 0 1 2 3 4 5; } >"$1/$set-labels-idx1-ubyte"
    done
}
make_data "$scratch/good"
spoil() { # FOLDER FILE COMMAND...: a copy of the good data with one file as the command prints it
    local folder=$scratch/$1 file=$2
    shift 2
    make_data "$folder"
    "$@" >"$folder/$file"
}
wrong_magic() { bytes 0 0 10 1 0 0 0 6 0 0 0 34 0 0 0 34; head -c 4704 /dev/zero; }
truncated() { header_of_images; head -c 4703 /dev/zero; }
bad_label() { header_of_labels; bytes 0 1 2 12 4 5; }
five_labels() { bytes 0 0 10 1 0 0 0 5 0 1 2 3 4; }
spoil magic train-images-idx3-ubyte wrong_magic
spoil truncated t10k-images-idx3-ubyte truncated
spoil label train-labels-idx1-ubyte bad_label
spoil five t10k-labels-idx1-ubyte five_labels
make_data "$scratch/missing"
rm "$scratch/missing/t10k-labels-idx1-ubyte"
head -c 5000 /dev/urandom >"$scratch/junk"
: >"$scratch/empty"

good_data_is_good() { train 3 --data "mnist:$scratch/good" --batch 3 --epochs 1; }

other_options() {
    # shellcheck disable=SC2016
    timeout -k 5 $limit "$MPIRUN" -n 3 sh -c \
        '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 2 ] && set -- "$@" --codec mpi; "$@"; echo $? >>"$left"' \
        sh "$program" --data digits:train=60 --batch 20 </dev/null >"$scratch/out" 2>&1 ||
        { cat "$scratch/out"; return 1; }
    judge 1 'rank 2 was started with other options than rank 0'
}

help_for_one() {
    # shellcheck disable=SC2016
    timeout -k 5 $limit "$MPIRUN" -n 3 sh -c \
        '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 2 ] && set -- "$@" --help; "$@"; echo $? >>"$left"' \
        sh "$program" </dev/null >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }
    judge 1 'rank 2 was started with other options than rank 0'
}

other_data() {
    # shellcheck disable=SC2016
    timeout -k 5 $limit "$MPIRUN" -n 3 sh -c \
        'cd "$0/$([ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && echo other || echo good)" && "$@"; echo $? >>"$left"' \
        "$scratch" "$program" --data mnist:. --batch 3 </dev/null >"$scratch/out" 2>&1 ||
        { cat "$scratch/out"; return 1; }
    judge 1 'rank 1 has other data than rank 0'
}
changed_label() { header_of_labels; bytes 0 1 2 3 4 6; }
spoil other train-labels-idx1-ubyte changed_label

other_settings() {
    # shellcheck disable=SC2016
    timeout -k 5 $limit "$MPIRUN" -n 3 sh -c \
        '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && export THINWIRE_CHUNK=8k; "$@"; echo $? >>"$left"' \
        sh "$program" --data digits:train=60 --batch 20 </dev/null >"$scratch/out" 2>&1 ||
        { cat "$scratch/out"; return 1; }
    judge 1 'rank 1.*THINWIRE_CHUNK'
}

malformed_setting() { # on all ranks: one of them says it
    THINWIRE_CHUNK=much refused 1 'THINWIRE_CHUNK=much is malformed; accepted: bytes' --data digits:train=60
}

nothing_is_left() {
    local left
    left=$(find "$scratch" -name '*.tmp' -o -name 'x.json' -o -name 'x.checkpoint')
    [ -z "$left" ] || { echo "left: $left"; return 1; }
}

# blocks NAME NAME: a model with layers of those names, its weights in blocks.
blocks() {
    printf '%s\n' 'name = "blocks"; input = { channels = 1; height = 28; width = 28; }; classes = 10;' \
        "layers = ( { type = \"dense\"; name = \"$1\"; units = 5; }," \
        "{ type = \"dense\"; name = \"between\"; units = 5; }," \
        "{ type = \"dense\"; name = \"$2\"; } );" >"$scratch/blocks.cfg"
    refused 1 "weight=awp:group=block: layer .* is of block .*; accepted: a name other than 'biases'" \
        --model "$scratch/blocks.cfg" --update sharded --codec weight=awp:group=block --batch 30 --data digits:train=60
}
block_names() { blocks a.x a.y && blocks biases.x c && blocks .x c; }

# A pipe without a reader is refused; with one it gets the results, though it was tried at the start.
pipes_do_not_wait() {
    mkfifo "$scratch/pipe" &&
        refused 1 'pipe: cannot be written: nobody reads this pipe' --json "$scratch/pipe" || return 1
    cat "$scratch/pipe" >"$scratch/piped" &
    train 2 --data digits:train=60 --batch 20 --epochs 1 --json "$scratch/pipe"
    local status=$? reader=$!
    [ $status -eq 0 ] || { kill $reader; return 1; }
    wait $reader && grep -q '"test_error"' "$scratch/piped"
}

# By another path, through a link, in a folder that is named otherwise.
one_file_twice() {
    local one=$scratch/x.json
    ln -s . "$scratch/here"
    refused 2 "--json and --trace are the same file, $one" --json "$one" --trace "$scratch/./x.json" &&
        refused 2 "--checkpoint and --json are the same file" --json "$one" --checkpoint "$scratch/here/x.json" &&
        echo '{}' >"$scratch/there" && ln "$scratch/there" "$scratch/again" &&
        refused 2 "--json and --record are the same file" --json "$scratch/there" --record "$scratch/again" &&
        refused 2 "--json and --show-images are the same file" --json "$one" --show-images "$one"
}

buckets_have_units() {
    train 2 --data digits:train=60 --batch 20 --epochs 1 --bucket 64k
}

# Of a process that there is not, beside a file that is written, one that is only tried, and a checkpoint.
left_by_the_dead() {
    local file
    for file in a.json a.trace a.state; do echo x >"$scratch/$file.2147483646.tmp"; done
    echo x >"$scratch/a.json.$$.tmp"
    train 2 --data digits:train=60 --batch 20 --epochs 1 --json "$scratch/a.json" --trace "$scratch/a.trace" \
        --checkpoint "$scratch/a.state" && same "$(ls "$scratch"/a.*.tmp)" "$scratch/a.json.$$.tmp" && rm "$scratch/a.json.$$.tmp"
}

# The papers' tables without data: what is missing, and no table.
papers_without_data() {
    local papers=$top_srcdir/bench/papers.sh out=$scratch/papers
    mkdir -p "$scratch/data/mnist"
    ! bash "$papers" "$top_builddir" "$scratch/none" "$out" s4-hybrid >"$scratch/out" 2>&1 && cat "$scratch/out" &&
        grep -q "^papers.sh: there is no folder '$scratch/none'" "$scratch/out" || return 1
    ! bash "$papers" "$top_builddir" "$scratch/data" "$out" s3-accuracy >"$scratch/out" 2>&1 && cat "$scratch/out" &&
        grep -q "/cifar10'; accepted: the binary version of CIFAR-10, from https:" "$scratch/out" || return 1
    ! bash "$papers" "$top_builddir" "$scratch/data" "$out" s4-hybrid >"$scratch/out" 2>&1 && cat "$scratch/out" &&
        same "$(wc -l <"$scratch/out")" 2 && grep -q "^thinwire-train: cannot open '.*/train-images-idx3-ubyte'" "$scratch/out" &&
        [ ! -e "$out/s4-hybrid.md" ]
}

plan 65
check "good data is good" good_data_is_good
check "unknown option" refused 2 "unknown option '--epoch'" --epoch 3
check "option without its value" refused 2 '--codec needs a value' --codec
check "flag with a value" refused 2 '--help takes no value' --help=1
check "value that is no number" refused 2 "--batch 'many': accepted: a whole number, 1 to" --batch many
check "--resume without --checkpoint" refused 2 '--resume needs --checkpoint' --resume
check "malformed --until" refused 2 "--until 'loss<1': accepted: error<=X or top5<=X" --until 'loss<1'
check "--until out of range" refused 2 "--until 'top5<=101%': accepted: .*, X from 0 to 1" --until 'top5<=101%'
check "--eval-every 0" refused 2 "--eval-every '0': accepted: a whole number" --eval-every 0
check "unknown --device" refused 2 "--device 'gpu': accepted are cpu, auto and 0 to 1023" --device gpu
check "--tf32 without a device" refused 2 "--tf32 and --fast are about a device: add --device" --tf32
check "--fast on the processor" refused 2 "--tf32 and --fast are about a device" --device cpu --fast
check "a loader on a device" refused 2 "--device computes a network: not with --no-train" --device auto --no-train
check "unknown codec" refused 1 "codec 'tree9'.*tree8" --codec tree9
check "unknown codec option" refused 1 "tree8:blok=5" --codec tree8:blok=5
check "block 0" refused 1 "block=0" --codec onebit:block=0
check "unknown --update" refused 2 "--update 'split': accepted are replicated, root and sharded" --update split
check "weights that do not travel" refused 1 'weight=awp: weights travel only with --update root or' --codec weight=awp
check "native sums without owners" refused 1 'grad=mpi .*only with --update replicated' --update sharded --codec grad=mpi
check "unknown codec of weights" refused 1 "weight=tree9.*also accepted: awp" --update root --codec weight=tree9
check "unknown option of awp" refused 1 "awp: 'bits=8' is not understood; accepted are T=X" --update root \
    --codec weight=awp:bits=8
check "awp of an unknown family" refused 1 "awp: 'family=int8' is not understood" --update sharded --codec weight=awp:family=int8
check "awp with more than 32 bits" refused 1 "awp: 'first=33' is not understood" --update sharded \
    --codec weight=awp:T=0,first=33
check "awp with a threshold that is no number" refused 1 "awp: 'T=nan' is not understood" --update sharded \
    --codec weight=awp:T=nan
check "awp with an unknown codec of 8 bits" refused 1 "awp:byte=tree9: unknown codec" --update sharded \
    --codec weight=awp:byte=tree9
check "awp with a codec of 1 bit for 8" refused 1 "awp:byte=onebit: takes .* bits a number; accepted: a codec of 8 bits" \
    --update root --codec weight=awp:byte=onebit
check "awp with an empty option" refused 1 'awp: an option is empty' --update sharded --codec weight=awp:
check "blocks without names of their own" block_names
check "unknown model" refused 1 "vgg" --model vgg
check "unknown data set" refused 1 "data 'cifar'.*accepted are mnist:DIR" --data cifar
check "unknown digits option" refused 1 'digits:size=3' --data digits:size=3
check "batch smaller than the ranks" refused 1 '--batch 2 is smaller than the 3 ranks' --batch 2
check "batch larger than the data" refused 1 'larger than the 60 training' --data digits:train=60
check "missing folder" refused 1 "cannot open '$scratch/none/train-images" --data "mnist:$scratch/none"
check "missing file" refused 1 't10k-labels-idx1-ubyte.*No such file' --data "mnist:$scratch/missing" --batch 3
check "truncated IDX" refused 1 "t10k-images-idx3-ubyte' ends too early" --data "mnist:$scratch/truncated" --batch 3
check "wrong magic" refused 1 'not an IDX file of images: it begins with 00000801' --data "mnist:$scratch/magic" --batch 3
check "label out of range" refused 1 'label 10 of image 3 is out of range (0 to 9)' --data "mnist:$scratch/label" --batch 3
check "images without labels" refused 1 'holds 6 images, but .* 5 labels' --data "mnist:$scratch/five" --batch 3
check "JSON in a missing folder" refused 1 'x.json: cannot be written: No such file' --json "$scratch/none/x.json"
check "JSON to a folder" refused 1 'Is a directory' --json "$scratch"
check "JSON to a full device" refused 1 'cannot be written: No space' --json /dev/full
check "checkpoint in a missing folder" refused 1 'cannot be written' --checkpoint "$scratch/none/x.checkpoint"
check "checkpoint to a device" refused 1 'is not a regular file' --checkpoint /dev/null
check "a pipe is not waited for" pipes_do_not_wait
check "one file for two results" one_file_twice
check "units of --bucket" buckets_have_units
check "--bucket without a size" refused 2 "--bucket '64x': accepted: bytes, 1024 to 1073741824, such as" --bucket 64x
check "what dead processes left is removed" left_by_the_dead
check "tables of papers without data" papers_without_data
check "no checkpoint" refused 1 'x.checkpoint: cannot be read: No such file' --checkpoint "$scratch/x.checkpoint" --resume
check "empty checkpoint" refused 1 'is not a checkpoint of thinwire-train' --checkpoint "$scratch/empty" --resume
check "foreign checkpoint" refused 1 'is not a checkpoint of thinwire-train' --checkpoint "$scratch/junk" --resume
check "ranks with other options" other_options
check "--help for one rank" help_for_one
check "ranks with other data" other_data
check "ranks with other settings" other_settings
check "malformed setting" malformed_setting
check "nothing is left behind" nothing_is_left
check "storage in one bit" refused 1 '--storage onebit: one bit is too coarse for outputs' --model lenet --storage onebit
check "storage of no codec" refused 1 "--storage 'x': .*accepted" --model lenet --storage x
check "storage by choice" refused 1 '--storage auto: only collectives choose' --model lenet --storage auto
check "storage where all outputs are read by others" refused 1 '--storage: lenet has too few layers' --model lenet --storage bf16
check "storage without layers to store" refused 1 '--storage: mlp has too few layers' --storage bf16
check "storage of what is not kept" refused 2 '--recompute keeps no outputs' --model lenet --storage bf16 --recompute
