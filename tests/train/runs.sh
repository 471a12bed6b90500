#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Whole runs of thinwire-train on the embedded digits: reports, bytes, stopping and going on.
. "$top_srcdir/tests/train/common.bash"
# The usual network, with fewer units.
sed 's/units = 1024/units = 128/' "$top_srcdir/train/model/zoo/mlp.cfg" >"$scratch/small.cfg"
few="--data digits:train=240 --batch 60"
small="--model $scratch/small.cfg $few"

help_is_complete() {
    local option
    timeout 30 "$program" --help >"$scratch/out" 2>&1 || return 1
    for option in --model --data --codec --epochs --batch --lr --seed --threads --until --checkpoint \
        --resume --json --help --version mpi tree8 onebit mnist:DIR digits linear; do
        grep -q -e "$option" "$scratch/out" || { echo "no $option"; return 1; }
    done
}

page_is_complete() {
    local option page=$top_srcdir/docs/thinwire-train.1.md
    timeout 30 "$program" --help >"$scratch/out" 2>&1 || return 1
    for option in $(grep -o '^  --[a-z0-9-]*' "$scratch/out"); do
        grep -q "^\*\*$option\|, \*\*$option" "$page" || { echo "$option is not in the page"; return 1; }
    done
    for option in $(grep -o '^\*\*--[a-z0-9-]*' "$page" | tr -d '*'); do
        grep -q "^  $option " "$scratch/out" || { echo "$option does not exist"; return 1; }
    done
}

version_is_known() { timeout 30 "$program" --version | grep -x 'thinwire-train [0-9.]*'; }

json_has_its_keys() {
    local key
    # shellcheck disable=SC2086  # a list of words
    train 3 $small --codec tree8 --epochs 2 --json "$scratch/a.json" || return 1
    for key in version command machine test_error test_error_top5 train_loss images_per_second bytes_sent_per_step \
        weights_hash epochs ranks batch seed codec; do
        "$json_query" "$scratch/a.json" "$key" >/dev/null || { echo "no $key"; return 1; }
    done
    same "$("$json_query" "$scratch/a.json" codec)" 'tree8:block=4096,split=0.45' || return 1
    same "$("$json_query" "$scratch/a.json" epochs.1.test_error)" "$("$json_query" "$scratch/a.json" test_error)" || return 1
    same "$("$json_query" "$scratch/a.json" epochs.1.test_error_top5)" "$("$json_query" "$scratch/a.json" test_error_top5)"
}

one_line_per_epoch() {
    # shellcheck disable=SC2086
    train 2 $small --epochs 3 || return 1
    same "$(grep -cE '^epoch +[123]/3 .* test error .* top-5 .* images/s(  [0-9]+ (s|min) left)?$' "$scratch/out")" 3 &&
        ! awk '/^epoch/ && length > 100' "$scratch/out" | grep . || return 1
    ! grep -q $'\r' "$scratch/out"
}

# What each codec sends is counted, and a fraction of what float32 takes.
bytes_are_saved() {
    local codec
    local -x THINWIRE_NODE_RANKS=1 # as between nodes: fp32 sends nothing within one
    for codec in fp32 tree8 onebit mpi; do
        # shellcheck disable=SC2086
        train 4 $few --codec $codec --steps 2 --json "$scratch/$codec.json" || return 1
    done
    awk -v plain="$(value bytes_sent_per_step "$scratch/fp32.json")" \
        -v tree="$(value bytes_sent_per_step "$scratch/tree8.json")" \
        -v bit="$(value bytes_sent_per_step "$scratch/onebit.json")" \
        'BEGIN { printf "%g %g %g\n", plain, tree / plain, bit / plain
                 exit !(plain > 7e6 && tree > 0 && tree <= 0.26 * plain && bit > 0 && bit <= 0.035 * plain) }' ||
        return 1
    same "$(value bytes_sent_per_step "$scratch/mpi.json")" null && grep -q '^bytes sent: -' "$scratch/out"
}

same_run_same_weights() {
    # shellcheck disable=SC2086
    train 3 $small --codec onebit --epochs 1 --json "$scratch/one.json" &&
        train 3 $small --codec onebit --epochs 1 --json "$scratch/two.json" &&
        same "$(value weights_hash "$scratch/one.json")" "$(value weights_hash "$scratch/two.json")"
}

# Who advances what travels changes no bit.
a_thread_changes_nothing() {
    local split="--data digits:train=240 --batch 60 --model lenet --scheme c --codec act=tree8,grad=onebit --epochs 1"
    # shellcheck disable=SC2086
    train 3 $split --json "$scratch/alone.json" &&
        THINWIRE_PROGRESS=thread train 3 $split --json "$scratch/thread.json" &&
        ! grep -q '^thinwire' "$scratch/out" &&
        same "$(value weights_hash "$scratch/alone.json")" "$(value weights_hash "$scratch/thread.json")"
}

until_of() { "$json_query" "$scratch/until.json" until.{condition,reached,seconds,steps}; }

until_stops() {
    # shellcheck disable=SC2086
    train 2 $small --epochs 4 --until 'error<=100%' --json "$scratch/until.json" || return 1
    same "$("$json_query" "$scratch/until.json" epochs.# until.steps)" $'1\n4' && grep '^reached: error<=100% ' "$scratch/out"
}

# Inside an epoch, with a line of its own.
until_stops_inside() {
    local seconds
    # shellcheck disable=SC2086
    train 3 $small --epochs 4 --eval-every 3 --until 'top5<=1' --json "$scratch/until.json" || return 1
    seconds=$("$json_query" "$scratch/until.json" evaluations.0.seconds)
    same "$(until_of)" "top5<=1"$'\n'"true"$'\n'"$seconds"$'\n'"3" || return 1
    same "$("$json_query" "$scratch/until.json" epochs.# evaluations.#)" $'1\n1' || return 1
    same "$(grep -c '^reached: top5<=1 after [0-9.]* s of training, 3 steps$' "$scratch/out")" 1
}

until_tells() {
    # shellcheck disable=SC2086
    train 2 $small --epochs 2 --until 'error<=0' --json "$scratch/until.json" || return 1
    same "$(until_of)" $'error<=0\nfalse\nnull\nnull' || return 1
    same "$(grep -c '^not reached: error<=0 after [0-9.]* s of training, 8 steps$' "$scratch/out")" 1
}

# What was reached before the stop, with the seconds of then; what was not, with those of both runs.
until_goes_on() {
    local error
    # shellcheck disable=SC2086
    train 2 $small --steps 3 --eval-every 3 --checkpoint "$scratch/u" --until 'error<=0' --json "$scratch/until.json" || return 1
    error=$("$json_query" "$scratch/until.json" evaluations.0.test_error)
    # shellcheck disable=SC2086
    train 2 $small --epochs 4 --checkpoint "$scratch/u" --resume --until "error<=$error" --json "$scratch/now.json" &&
        same "$("$json_query" "$scratch/now.json" until.{steps,seconds} evaluations.#)" \
            "$("$json_query" "$scratch/until.json" evaluations.0.{step,seconds})"$'\n1' || return 1
    # shellcheck disable=SC2086
    train 2 $small --epochs 12 --checkpoint "$scratch/u" --resume --until 'error<=50%' --json "$scratch/later.json" || return 1
    "$json_query" "$scratch/later.json" until.{seconds,steps} evaluations.0.seconds | xargs |
        awk '{ exit !($1 > $3 && $2 > 3 && $2 % 4 == 0) }' || { "$json_query" "$scratch/later.json" until.{seconds,steps}; return 1; }
}

resumed_equals_straight() {
    # shellcheck disable=SC2086
    train 3 $small --codec onebit --epochs 3 --json "$scratch/straight.json" &&
        train 3 $small --codec onebit --epochs 1 --checkpoint "$scratch/c" &&
        train 3 $small --codec onebit --epochs 3 --checkpoint "$scratch/c" --resume \
            --json "$scratch/resumed.json" &&
        same "$(value weights_hash "$scratch/straight.json")" "$(value weights_hash "$scratch/resumed.json")" &&
        same "$("$json_query" "$scratch/resumed.json" epochs.# evaluations.#)" $'3\n3'
}

# 4 steps in an epoch: tests after steps 3, 4, 6, 8.
tests_inside_epochs() {
    local query
    # shellcheck disable=SC2086
    train 3 $small --epochs 2 --json "$scratch/plain.json" &&
        train 3 $small --epochs 2 --eval-every 3 --json "$scratch/every.json" || return 1
    same "$(grep -c '^test after step' "$scratch/out")" 2 && same "$(grep -c '^epoch' "$scratch/out")" 2 || return 1
    query=$("$json_query" "$scratch/every.json" evaluations.{0,1,2,3}.{step,epoch} evaluations.#)
    same "$(echo $query)" "3 1 4 1 6 2 8 2 4" || return 1
    same "$("$json_query" "$scratch/every.json" evaluations.3.test_error evaluations.3.train_loss)" \
        "$("$json_query" "$scratch/every.json" epochs.1.test_error epochs.1.train_loss)" || return 1
    same "$(value weights_hash "$scratch/plain.json")" "$(value weights_hash "$scratch/every.json")"
}

steps_may_be_tested() {
    # shellcheck disable=SC2086
    train 2 $small --steps 7 --eval-every 3 --json "$scratch/steps.json" || return 1
    same "$("$json_query" "$scratch/steps.json" evaluations.{0,1,2}.step evaluations.# epochs.#)" $'3\n4\n6\n3\n2' || return 1
    same "$(grep -c '^step .* exposed' "$scratch/out")" 7 && same "$(grep -c '^test after step' "$scratch/out")" 3 || return 1
    same "$("$json_query" "$scratch/steps.json" epochs.1.test_error)" null
}

# Stopped after step 6 of 12, in the second epoch, where dropout is halved; another run would go on with another one.
resumed_inside_an_epoch() {
    local late="--codec onebit --eval-every 3 --lr-schedule exp:0.9:1:0.5 --dropout-schedule"
    # shellcheck disable=SC2086
    train 3 $small $late steps:1.5:0.5 --epochs 3 --json "$scratch/straight.json" &&
        train 3 $small $late constant --epochs 3 --json "$scratch/constant.json" &&
        train 3 $small $late steps:1.5:0.5 --steps 7 --checkpoint "$scratch/c" &&
        ! train 3 $small $late constant --epochs 3 --checkpoint "$scratch/c" --resume &&
        grep 'is of dropout schedule steps:1.5:0.5, this run of constant' "$scratch/out" &&
        train 3 $small $late steps:1.5:0.5 --epochs 3 --checkpoint "$scratch/c" --resume --json "$scratch/resumed.json" &&
        [ "$(value weights_hash "$scratch/constant.json")" != "$(value weights_hash "$scratch/straight.json")" ] &&
        grep '^resumed in epoch 2, after step 6' "$scratch/out" &&
        same "$(value weights_hash "$scratch/straight.json")" "$(value weights_hash "$scratch/resumed.json")" &&
        same "$("$json_query" "$scratch/straight.json" evaluations.{0,1,2,3,4,5}.{step,test_error,train_loss} epochs.1.train_loss)" \
            "$("$json_query" "$scratch/resumed.json" evaluations.{0,1,2,3,4,5}.{step,test_error,train_loss} epochs.1.train_loss)"
}

# Two tables of 257 magnitudes that rise; of other runs than those of one rank and so many steps there are none.
quantiles_are_written() {
    # shellcheck disable=SC2086
    train 1 $small --steps 2 --quantiles "$scratch/q" &&
        tr -d '{}\n ' <"$scratch/q" | sed 's/"[a-z]*",/\n&/g' | awk -F, '
            /gradients|activations/ { tables++; for (i = 5; i <= 261; i++) bad += !($i >= (i > 5 ? $(i - 1) : 1e-40)) }
            END { exit !(tables == 2 && bad == 0) }' || return 1
    rm "$scratch/q"
    # shellcheck disable=SC2086
    ! train 2 $small --steps 2 --quantiles "$scratch/q" && grep 'takes 1 rank, not 2' "$scratch/out" &&
        ! train 1 $small --quantiles "$scratch/q" && grep 'it goes only with --steps N' "$scratch/out" &&
        [ ! -e "$scratch/q" ]
}

# root RANKS ARG...: in a folder that has images on rank 0, and in an empty one on the others.
root() {
    local n=$1
    shift
    ranks "$n" bash "$top_srcdir/tests/by_rank.sh" env -C "$scratch/images" "$program" "$@" :: \
        env -C "$scratch/nothing" "$program" "$@"
}
rank_0_has_the_images() {
    local run="--model lenet --epochs 2 --batch 50 --eval-every 3 --update root --codec weight=awp" n
    mkdir "$scratch/images" "$scratch/nothing"
    alone "$program" pack digits:train=120 "$scratch/images/d" || return 1
    for n in 1 3 4; do # shellcheck disable=SC2086
        train $n --data lmdb:"$scratch/images/d" $run --json "$scratch/files.json" &&
            root $n --data root:lmdb:d $run --json "$scratch/root.json" &&
            same "$("$json_query" "$scratch/files.json" weights_hash test_error)" \
                "$("$json_query" "$scratch/root.json" weights_hash test_error)" || return 1
    done
}
# One line, soon, on all ranks: no images, ranks that would wait for rank 0, what cannot be sent.
images_of_rank_0_are_refused() {
    ! root 3 --data root:lmdb:none --steps 1 && grep "^thinwire-train: cannot read 'none'" "$scratch/out" || return 1
    ! root 3 --data root:lmdb:d --steps 1 --json "$scratch/none/x" && grep '^thinwire-train: --json' "$scratch/out" || return 1
    ! root 2 --data root:lmdb:d --steps 1 --bad-images skip && grep 'not with --bad-images skip' "$scratch/out" || return 1
    ! root 2 --data root:root:lmdb:d --steps 1 && grep '^thinwire-train: --data root:lmdb:d: rank 0 sends' "$scratch/out" || return 1
    ! alone "$program" pack root:digits "$scratch/x" && grep 'to nobody else' "$scratch/out"
}

# Rounded outputs change the weights, alike on all ranks, and need less memory; a checkpoint goes on without.
outputs_are_stored() {
    local run="--model resnet-20 --data random:32x32x3,10,n=40,test=20 --batch 20 --checkpoint $scratch/stored" way
    for way in fp32 bf16; do # shellcheck disable=SC2086
        rm -f "$scratch/stored"
        train 2 $run --epochs 1 --storage $way --json "$scratch/$way.json" || return 1
    done
    # shellcheck disable=SC2086
    train 3 $run --epochs 2 --resume || return 1
    "$json_query" "$scratch/fp32.json" compute_bytes | cat - <("$json_query" "$scratch/bf16.json" compute_bytes) | xargs |
        awk '{ print; exit !($2 < 0.95 * $1) }' &&
        [ "$(value weights_hash "$scratch/fp32.json")" != "$(value weights_hash "$scratch/bf16.json")" ]
}

threads_change_nothing_that_matters() {
    # shellcheck disable=SC2086
    train 2 $small --codec tree8 --epochs 1 --threads 2 || return 1
    ! grep -q '^thinwire' "$scratch/out"
}

# The digits are hard for a line, and not for the network.
linear_stays_below() {
    train 1 --data digits --model linear --lr 0.002 --epochs 30 --json "$scratch/linear.json" || return 1
    within "$(value test_error_min "$scratch/linear.json")" 0.08 0.14
}
network_passes() {
    train 2 --data digits --epochs 3 --json "$scratch/network.json" || return 1
    within "$(value test_error "$scratch/network.json")" 0 0.03
}

json_query=$top_builddir/tests/tools/json_query
plan 23
check "outputs are stored" outputs_are_stored
check "--help names all options" help_is_complete
check "thinwire-train(1) knows the same options" page_is_complete
check "--version" version_is_known
check "the JSON report" json_has_its_keys
check "one line per epoch where nobody watches" one_line_per_epoch
check "bytes are counted, and saved" bytes_are_saved
check "the same run gives the same weights" same_run_same_weights
check "a progress thread changes no weight" a_thread_changes_nothing
check "--until stops when it is reached" until_stops
check "--until stops inside an epoch" until_stops_inside
check "--until tells when it is not reached, and succeeds" until_tells
check "--until counts what was before a stop" until_goes_on
check "a resumed run ends where a straight one does" resumed_equals_straight
check "--eval-every tests inside epochs, and changes no weight" tests_inside_epochs
check "--steps with tests" steps_may_be_tested
check "a run that stopped inside an epoch ends where a straight one does" resumed_inside_an_epoch
check "--quantiles writes distributions" quantiles_are_written
check "rank 0 reads the images and sends them" rank_0_has_the_images
check "images that rank 0 cannot send" images_of_rank_0_are_refused
check "two threads per rank" threads_change_nothing_that_matters
check "a linear classifier stays below 92 % on the digits" linear_stays_below
check "the network passes 97 % on the digits" network_passes
