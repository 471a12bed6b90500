#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Whole runs of the input pipeline: the same batches and weights from every source, rank, thread and transfer index;
# the automatic search; traces; broken images; thinwire-train pack. Its images are sheets of --show-images, JPEGs that
# pack has made of them, and photos where they are at hand (THINWIRE_DATA, or shared/data beside the tree).
. "$top_srcdir/tests/train/common.bash"
# shellcheck source=/dev/null
. "$top_srcdir/tests/train/refused.bash"
soon=$limit # for what must be refused
limit=${TW_TIME_LIMIT:-120}
json_query=$top_builddir/tests/tools/json_query
photos=${THINWIRE_DATA:-$top_srcdir/../shared/data}/photos/flowers
export XDG_CACHE_HOME=$scratch/cache

# ---- images ----------------------------------------------------------------------------------------------------------

own=$scratch/own # 17 PNG and 2 JPEG files for training, 6 files for tests
model() { # FILE CHANNELS
    printf '%s\n' 'name = "tiny"; input = { channels = 3; height = 24; width = 24; }; classes = 2;' \
        'training = { batch = 8; epochs = 2; rate = 1e-5; };' \
        "layers = ( { type = \"conv\"; channels = $2; kernel = 3; stride = 2; activation = \"relu\"; }," \
        '{ type = "dense"; name = "out"; } );' >"$1"
}
model "$scratch/tiny.cfg" 4
model "$scratch/other.cfg" 5
tiny="--model $scratch/tiny.cfg"

# Sheets with 1 to 9 images of noise, all of them different, and of different sizes.
make_sheets() {
    local i class
    mkdir -p "$scratch/sheets/a" "$scratch/sheets/b"
    for i in 1 2 3 4 5 6 7 8 9; do
        for class in a b; do
            timeout "$limit" "$program" --data "random:$((19 + i))x$((30 - i))x3,4,seed=$((2 * i))$((36#$class))" \
                --batch $i --show-images "$scratch/sheets/$class/$i.png" </dev/null >/dev/null 2>&1 &
        done
        [ $((i % 3)) -ne 0 ] || wait
    done
}

# JPEG files, as they lie in a database: docs/image-records.md. LMDB may leave parts of others in its pages.
make_jpegs() {
    local at n i=1 data=$scratch/jpegs.lmdb/data.mdb
    timeout "$limit" "$program" pack "folder:$scratch/sheets" "$scratch/jpegs.lmdb" --resize 32 --quality 90 >/dev/null
    for at in $(LC_ALL=C grep -aboF $'\xff\xd8\xff' "$data" | tr -dc '0-9\n'); do
        n=$(od -An -tu1 -j$((at - 4)) -N3 "$data" | awk '{ print $1 + 256 * ($2 + 256 * $3) }')
        tail -c +$((at + 1)) "$data" | head -c "$n" >"$scratch/$i.jpg"
        [ "$(LC_ALL=C grep -aoF $'\xff\xd8\xff' "$scratch/$i.jpg" | wc -l)" -eq 1 ] &&
            [ "$(tail -c 2 "$scratch/$i.jpg" | od -An -tx1)" = ' ff d9' ] && i=$((i + 1))
        [ $i -lt 4 ] || break
    done
}

list_of() { # FOLDER: its files and labels, in the order of folder:
    local class label=0
    for class in "$1"/*/; do
        (LC_ALL=C; for file in "$class"*; do echo "$file $label"; done)
        label=$((label + 1))
    done
}

make_sheets
make_jpegs
mkdir -p "$own"/{train,val}/{a,b}
cp "$scratch"/sheets/a/* "$scratch/1.jpg" "$own/train/a"
cp "$scratch"/sheets/b/[1-8].png "$scratch/2.jpg" "$own/train/b"
cp "$scratch"/sheets/a/[123].png "$own/val/a"
cp "$scratch"/sheets/b/9.png "$scratch/3.jpg" "$own/val/b/"
cp "$scratch/1.jpg" "$own/val/b/4.JPEG"
list_of "$own/train" >"$scratch/train.txt"
list_of "$own/val" >"$scratch/val.txt"
timeout "$limit" "$program" pack "folder:$own" "$scratch/own.lmdb" >/dev/null

# ---- batches ---------------------------------------------------------------------------------------------------------

words="resize:28 crop:24,random mirror colour:brightness=0.3,contrast=0.2,saturation=0.4 noise:0.1 mean:120,110,100"
words="$words deviation:60,50,40"
operations=8 # of them, with decode

# load RANKS SOURCE [ARG...]: the loader alone; prints the hash of all batches.
load() {
    local n=$1 source=$2
    shift 2
    rm -f "$scratch/l.json"
    # shellcheck disable=SC2086  # a list of words
    train "$n" --no-train $tiny --data "$source" "$@" --json "$scratch/l.json" >&2 && value batches_hash "$scratch/l.json"
}

# every_way STEP THREADS,... INDEX,... SOURCE...: each number of threads with every STEP-th transfer index; ranks and
# sources change with every run, so that each meets all others. --batch and further arguments are in $options.
every_way() {
    local -a number source threads index
    local want hash t i n s step=$1
    read -ra number <<<"${TW_RANKS:-1 2 4}"
    IFS=, read -ra threads <<<"$2"
    IFS=, read -ra index <<<"$3"
    shift 3
    source=("$@")
    want=$(load 1 "$1" "${options[@]}" --loader-threads 1) || return 1
    echo "$want of ${options[*]}"
    for t in "${!threads[@]}"; do
        for ((i = t % step; i < ${#index[@]}; i += step)); do
            n=${number[(t + i) % ${#number[@]}]}
            s=${source[(i + 2 * t) % ${#source[@]}]}
            hash=$(load "$n" "$s" "${options[@]}" --loader-threads "${threads[t]}" --transfer-index "${index[i]}") || return 1
            same "$hash" "$want" ||
                { echo "$n ranks, $s, ${threads[t]} threads, transfer index ${index[i]}"; return 1; }
            same "$("$json_query" "$scratch/l.json" loader.{threads,transfer_index,automatic} ranks | xargs)" \
                "${threads[t]} ${index[i]} false $n" || return 1
        done
    done
}

batches_are_the_same() {
    local -a options=(--augment "$words" --epochs 2 --batch 8)
    every_way "$([ -n "${TW_ALL-}" ] && echo 2 || echo 8)" 0,1,2,3,5 "$(seq -s, 0 $operations)" "folder:$own" \
        "list:$scratch/train.txt,test=$scratch/val.txt" "lmdb:$scratch/own.lmdb" || return 1
    same "$("$json_query" "$scratch/l.json" images steps)" $'38\n6' &&
        grep -q "transfer index $("$json_query" "$scratch/l.json" loader.transfer_index) of $operations," "$scratch/out"
}

# Two epochs are not the same, nor are two seeds or two lists of operations.
batches_differ() {
    local first second
    first=$(load 2 "folder:$own" --augment "$words" --epochs 2) && grep '^epoch' "$scratch/out" &&
        same "$(awk '/^epoch/ { print $NF }' "$scratch/out" | sort -u | wc -l)" 2 || return 1
    same "$("$json_query" "$scratch/l.json" loader.operations)" "$words" || return 1
    second=$(load 2 "folder:$own" --augment "$words" --epochs 2 --seed 2) && [ -n "$first" ] && [ "$first" != "$second" ] || return 1
    second=$(load 2 "folder:$own" --augment "${words/noise:0.1/noise:0.2}" --epochs 2) && [ "$first" != "$second" ]
}

# JPEGs of several sizes, which a resize to 28 decodes at a part of their size.
photos_are_the_same() {
    local -a options=(--augment "$words" --epochs 2 --batch 12)
    local class
    for class in daisy dandelion roses; do
        mkdir -p "$scratch/flowers/$class"
        for file in $(cd "$photos/$class" && printf '%s\n' *.jpg | head -n 9); do
            ln -s "$(realpath "$photos/$class/$file")" "$scratch/flowers/$class/" || return 1
        done
    done
    (cd "$scratch/flowers" && list_of . | sed 's|^\./||' >list)
    alone "$program" pack "folder:$scratch/flowers,split=0.7,seed=3" "$scratch/flowers.lmdb" --threads 2 || return 1
    every_way "$([ -n "${TW_ALL-}" ] && echo 2 || echo 5)" 0,2,5 0,1,2,5,8 "folder:$scratch/flowers,split=0.7,seed=3" \
        "list:$scratch/flowers/list,split=0.7,seed=3" "lmdb:$scratch/flowers.lmdb" && same "$("$json_query" "$scratch/l.json" images)" 36
}

# ---- weights ---------------------------------------------------------------------------------------------------------

crop="crop:24,random mirror scale:0.004"
learning="--data folder:$own --epochs 2 --eval-every 2"

learn() { # RANKS THREADS INDEX [ARG...]
    # shellcheck disable=SC2086  # lists of words
    train "$1" $tiny $learning --augment "$crop" --loader-threads "$2" --transfer-index "$3" --json "$scratch/w.json" "${@:4}"
}
learned() { "$json_query" "$scratch/w.json" weights_hash evaluations.{0,1,2,3}.{step,test_error,train_loss} | xargs; }

# 3 steps in an epoch, 4 operations: every index, in turn on one and two ranks, with another number of threads.
weights_are_the_same() {
    local -a loaders=(0 1 3)
    local n want i
    for n in 1 2; do
        learn "$n" 0 0 && want=$(learned) || return 1
        for ((i = n - 1; i < 5; i += 2)); do
            echo "$n ranks, ${loaders[(i + n) % 3]} threads, transfer index $i"
            learn "$n" "${loaders[(i + n) % 3]}" "$i" && same "$(learned)" "$want" || return 1
        done
        same "$("$json_query" "$scratch/w.json" loader.{threads,transfer_index} evaluations.# | xargs)" "${loaders[(i - 2 + n) % 3]} $((i - 2)) 4" ||
            return 1
        # Whole and last batches of training, and those of tests: prepared for once each.
        same "$("$json_query" "$scratch/w.json" graphs)" 3 || return 1
        rm -f "$scratch/c"
        learn "$n" 3 1 --steps 4 --checkpoint "$scratch/c" && learn "$n" 1 3 --checkpoint "$scratch/c" --resume &&
            grep '^resumed in epoch 2, after step 4' "$scratch/out" && same "$(learned)" "$want" || return 1
    done
}

# Ten views of test images, on any ranks and by any threads: their mean, within what sums in another order change.
views_are_averaged() {
    local ranks scheme threads index want="" error digits=digits:train=3000,seed=4
    while read -r ranks scheme threads index; do
        train "$ranks" --data $digits --model lenet --augment "crop:24 scale:0.01" --augment-test "crop:24,five mirror:both scale:0.01" \
            --steps 10 --eval-every 10 --scheme "$scheme" --loader-threads "$threads" --transfer-index "$index" \
            --json "$scratch/v.json" || return 1
        same "$("$json_query" "$scratch/v.json" loader.views_test evaluations.# graphs)" $'10\n1\n2' || return 1
        error=$("$json_query" "$scratch/v.json" evaluations.0.test_error)
        want=${want:-$error}
        echo "$ranks ranks, scheme $scheme: $error"
        LC_ALL=C awk -v a="$error" -v b="$want" 'BEGIN { exit !(a - b < 0.003 && b - a < 0.003) }' || return 1
    done <<<$'1 data 0 0\n2 b 1 2\n3 c 2 0'$([ -z "${TW_ALL-}" ] || printf '\n%s' '1 data 3 2' '2 data 1 1')
    train 1 --data $digits --model lenet --augment "crop:24 scale:0.01" --steps 10 --eval-every 10 --json "$scratch/v.json" || return 1
    same "$("$json_query" "$scratch/v.json" loader.views_test)" 1 &&
        LC_ALL=C awk -v a="$("$json_query" "$scratch/v.json" evaluations.0.test_error)" -v b="$want" 'BEGIN { exit !(b - a > 0.01) }'
}

# A mean that only the list for tests asks for is that of all views: 19 training images, 10 of each.
views_are_learned_from() {
    rm -rf "$XDG_CACHE_HOME"
    # shellcheck disable=SC2086  # a list of words
    train 2 $tiny --data "folder:$own" --augment "resize:30 crop:24" --augment-test "resize:30 crop:24,five mirror:both mean:planes" \
        --steps 1 || return 1
    same "$(od -An -tu8 -N8 "$XDG_CACHE_HOME"/thinwire/*.mean | xargs)" 190
}

# ---- the automatic search --------------------------------------------------------------------------------------------

# 16 samples of a state, and at most 64 more each time that states are compared: six states are settled within 1,850
# steps, however long these take.
for i in 1 2 3 4 5 6 7 8 9 10; do cat "$scratch/train.txt"; done >"$scratch/long.txt"
search() { # RANKS STEPS ARG...
    local n=$1 steps=$2
    shift 2
    # shellcheck disable=SC2086  # a list of words
    train "$n" $tiny --data "list:$scratch/long.txt,test=$scratch/val.txt" --augment crop:24,random --steps "$steps" \
        --json "$scratch/s.json" "$@" | grep -v '^step '
    return "${PIPESTATUS[0]}"
}
of_loader() { "$json_query" "$scratch/s.json" "${@/#/loader.}" | xargs; }
kept_file() { echo "$XDG_CACHE_HOME"/thinwire/*.loader; }

search_settles() {
    rm -rf "$XDG_CACHE_HOME"
    search 1 2000 --loader-threads auto:2 || return 1
    same "$(of_loader automatic kept)" "true false" || return 1
    grep '^loader: threads  transfer index  s a step  steps$' "$scratch/out" && grep '^ *[12]  *[012]  .*  taken$' "$scratch/out" &&
        grep '^loader: [3-6] of 6 states measured, in [0-9]* steps$' "$scratch/out" || return 1
    if [ "$(of_loader searching)" = false ]; then # steps have not drifted since
        ! grep 'still searching' "$scratch/out" || return 1
        same "$(of_loader tried.# search_steps)" \
            "$(sed -n 's/^loader: \([3-6]\) of 6 .* in \([0-9]*\) steps$/\1 \2/p' "$scratch/out" | tail -n 1)" || return 1
        of_loader tried.0.{threads,transfer_index,seconds,steps} threads transfer_index || return 1
    fi
    same "$(find "$XDG_CACHE_HOME" -name '*.loader' | wc -l)" 1 && cat "$(kept_file)" || return 1
    searched=$(value weights_hash "$scratch/s.json")
}

# S2's search: every state by as many steps, and none twice.
search_of_all() {
    local try
    for try in 1 2 3 4 5; do # on a busy machine another search may have begun by the end
        echo "try $try"
        rm -rf "$XDG_CACHE_HOME"
        search 1 2000 --loader-threads all:2 || return 1
        [ "$(of_loader searching)" = true ] || break
    done
    same "$(of_loader automatic kept tried.#)" "true false 6" || return 1
    grep '^loader: 6 of 6 states measured, in [0-9]* steps$' "$scratch/out" &&
        same "$(of_loader tried.{0,1,2,3,4,5}.steps | tr ' ' '\n' | sort -u | wc -l)" 1
}

same_weights_without() { search 1 2000 --loader-threads 0 && same "$(value weights_hash "$scratch/s.json")" "$searched"; }

# The state of the search, though nothing is searched; and no longer than that.
search_is_kept() {
    local now
    search 1 20 --loader-threads auto:2 && same "$(of_loader kept searching tried.#)" "true false 0" || return 1
    [ "$(of_loader search_steps)" -le 1 ] || return 1
    same "$(of_loader threads transfer_index)" "$(awk 'NR == 1 { print $5, $7 }' "$(kept_file)")" || return 1
    now=$(value weights_hash "$scratch/s.json")
    # Any other state that a file names is taken, if it can be.
    sed -i '1s/threads [0-9]* index [0-9]*/threads 2 index 0/' "$(kept_file)"
    search 1 20 --loader-threads auto:2 && same "$(of_loader kept threads transfer_index)" "true 2 0" &&
        same "$(value weights_hash "$scratch/s.json")" "$now"
}

ignored() { # the kept file says, on standard input
    cat >"$file"
    cat "$file"
    search 1 20 --loader-threads auto:2 && same "$(of_loader kept searching)" "false true" || return 1
    grep '^loader: still searching after [0-9]* steps, [0-6] of 6 states measured; now [12] threads' "$scratch/out" || return 1
    ! grep '^thinwire' "$scratch/out"
}

bad_state_is_ignored() {
    local file good
    file=$(kept_file) # threads 2, index 0
    good=$(cat "$file")
    ignored </dev/null && head -c 500 /dev/urandom | ignored && ignored <<<"${good%%$'\n'*}" || return 1
    ignored <<<"${good/, model ????????/, model 01234567}" && ignored <<<"${good/threads 2/threads 9}" &&
        ignored <<<"${good/index 0/index 3}" || return 1
    echo "$good" >"$file"
    search 1 20 --loader-threads auto:2 --model "$scratch/other.cfg" && same "$(of_loader kept)" false || return 1
    search 1 20 --loader-threads auto:1 && same "$(of_loader kept)" false || return 1
    search 1 20 --loader-threads auto:2 && same "$(of_loader kept)" true
}

# Ranks change their states together; where there is no folder to keep them in, nothing is said.
search_on_two_ranks() {
    local fixed
    search 2 150 --loader-threads 2 --transfer-index 1 && same "$(of_loader automatic searches)" "false 0" || return 1
    fixed=$(value weights_hash "$scratch/s.json")
    XDG_CACHE_HOME=$scratch/train.txt search 2 150 --loader-threads auto:2 && ! grep '^thinwire' "$scratch/out" &&
        same "$(of_loader automatic kept)" "true false" && same "$(value weights_hash "$scratch/s.json")" "$fixed"
}

# ---- traces ----------------------------------------------------------------------------------------------------------

# Of each image of an epoch, in this order and on their tracks: read, operations, transfer; and a span of the step that
# took it and did not end before. In the file what belongs to a step stands behind its span.
trace_has_every_image() { # THREADS INDEX
    rm -f "$scratch/t.json"
    # shellcheck disable=SC2086
    train 2 $tiny --data "folder:$own" --augment "$crop" --steps 3 --loader-threads "$1" --transfer-index "$2" --trace "$scratch/t.json" || return 1
    awk -F '[":,{}]+' '
        function fail(what) { print what " at line " NR ": " $0; bad = 1 }
        $5 == "thread_name" { track[$7, $9] = $12; sub(/ .*/, "", track[$7, $9]) }
        $3 != "X" { next }
        { end = $11 + $13 }
        $5 == "images" {
            if (track[$7, $9] != "compute" || $16 != steps[$7]++) fail("step")
            taken[$7] = end
        }
        $5 == "read" {
            if (track[$7, $9] != "read" || ($16 in done)) fail("read")
            done[$16] = 1
            stage[$7, $16] = "read"
            ended[$7, $16] = end
        }
        $5 == "operations" || $5 == "transfer" {
            first = $5 == "operations"
            if (track[$7, $9] != (first ? "prepare" : "transfer") || stage[$7, $16] != (first ? "read" : "operations") ||
                $11 < ended[$7, $16] - 0.0015) fail($5)
            stage[$7, $16] = $5
            ended[$7, $16] = end
            if (!first) { through++; if (end > taken[$7] + 0.0015) fail("late") }
        }
        END {
            for (i = 0; i < 19; i++) if (!(i in done)) fail("no image " i)
            print through " images, steps " steps[0] " and " steps[1]
            exit !(!bad && through == 19 && steps[0] == 3 && steps[1] == 3)
        }' "$scratch/t.json"
}
traces() { trace_has_every_image 3 4 && trace_has_every_image 0 1; }

# ---- bad input -------------------------------------------------------------------------------------------------------

# told RANKS ARG...: how each rank left goes to a file; mpirun itself, which is slow where a rank fails, sees no failure
# unless the job is ended by MPI_Abort.
told() {
    local n=$1 limit=$soon
    shift
    rm -f "$left"
    # shellcheck disable=SC2016  # for the inner shell
    ranks "$n" sh -c '"$@"; echo $? >>"$left"' sh "$program" "$@"
}

# refuses STATUS PATTERN ARG...: on 3 ranks, and with TW_ALL on one.
refuses() {
    local limit=$soon
    rm -f "$left"
    refused "$@" || return 1
    [ -z "${TW_ALL-}" ] || { told 1 "${@:3}" && all_left 1 "$1" && one_line "$2"; }
}

# breaks PATTERN ARG...: the rank that meets a broken image tells and ends the job, in which no rank succeeds; alone, and
# on 3 ranks.
breaks() {
    local status=0 pattern=$1
    shift
    # shellcheck disable=SC2086  # a list of words
    told 1 $tiny "$@" && all_left 1 1 && one_line "$pattern" || return 1
    # shellcheck disable=SC2086
    told 3 $tiny "$@" || status=$?
    echo "3 ranks: status $status"
    [ $status -gt 0 ] && [ $status -lt 124 ] && ! grep -x 0 "$left" || return 1
    rm -f "$left"
    one_line "$pattern"
}

# with_bad NAME FILE: own images in $bad, with one more for training, FILE of class b, from standard input (no pipe:
# that would be another shell's $bad).
with_bad() {
    bad=$scratch/bad/$1
    mkdir -p "$scratch/bad"
    cp -r "$own" "$bad"
    cat >"$bad/train/b/$2"
}

# skips FILE ARG...: that image is replaced by others, and named, as every way of loading does it.
skips() {
    local file=$1 first second
    shift
    first=$(load 3 "folder:$bad" "$@" --bad-images skip --loader-threads 2) &&
        grep -x "1 broken image was replaced: $bad/$file" "$scratch/out" || return 1
    second=$(load 1 "folder:$bad" "$@" --bad-images skip --loader-threads 0 --transfer-index 0) &&
        grep -x "1 broken image was replaced: $bad/$file" "$scratch/out" && same "$first" "$second"
}

cut_jpeg() {
    with_bad cut cut.jpg < <(head -c 700 "$scratch/1.jpg")
    breaks "$bad/train/b/cut.jpg: JPEG file is damaged" --data "folder:$bad" --augment "$words" --no-train &&
        breaks "$bad/train/b/cut.jpg: JPEG file is damaged" --data "folder:$bad" --augment "$words" --loader-threads 0 &&
        skips train/b/cut.jpg --augment "$words" --epochs 2
}
cut_jpeg_in_training() {
    mv "$bad/train/b/cut.jpg" "$bad/val/b/cut.jpg"
    breaks "$bad/val/b/cut.jpg: JPEG file is damaged" --data "folder:$bad" --augment "$words" --epochs 1 || return 1
    # shellcheck disable=SC2086
    train 3 $tiny --data "folder:$bad" --augment "$words" --bad-images skip &&
        same "$(grep -c "^1 broken image was replaced: $bad/val/b/cut.jpg$" "$scratch/out")" 1
}
text_as_jpeg() {
    with_bad text text.jpg <<<"no image"
    breaks "$bad/train/b/text.jpg: is neither a JPEG nor a PNG file" --data "folder:$bad" --augment "$words" --no-train &&
        skips train/b/text.jpg --augment "$words"
}
empty_file() {
    with_bad empty empty.png </dev/null
    breaks "'$bad/train/b/empty.png': it is empty" --data "folder:$bad" --augment "$words" --no-train &&
        skips train/b/empty.png --augment "$words"
}
huge_png() { # 65500 x 65500, and nothing behind the header
    with_bad huge huge.png < <(printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xff\xdc\0\0\xff\xdc\b\2\0\0\0\1\2\3\4')
    breaks "$bad/train/b/huge.png: 65500x65500 pixels .*; accepted are up to 67108864" --data "folder:$bad" --augment "$words" \
        --no-train && breaks "$bad/train/b/huge.png: PNG file" --data "folder:$bad" --augment "$words" --no-train \
        --max-pixels 4294967296 && skips train/b/huge.png --augment "$words"
}
too_many_pixels() { # one sheet of 9 images is the largest of all
    bad=$own
    breaks "$own/train/a/9.png: [0-9x]* pixels .*; accepted are up to 8000" --data "folder:$own" --augment "$words" --no-train \
        --max-pixels 8000 && skips train/a/9.png --max-pixels 8000 --augment "$words"
}
small_image() {
    timeout "$limit" "$program" --data random:4x4x3,2 --batch 1 --show-images "$scratch/small.png" >/dev/null
    with_bad small small.png <"$scratch/small.png"
    breaks "$bad/train/b/small.png: an image of [0-9x]* is smaller than the crop of 24x24" --data "folder:$bad" --augment "$crop" \
        --no-train && skips train/b/small.png --augment "$crop" --epochs 2
}

# Each of several ranks may find that at the same time, and tell.
all_are_small() {
    local status=0
    # shellcheck disable=SC2086  # a list of words
    told 3 $tiny --data "folder:$own" --augment crop:99 --no-train || status=$?
    [ $status -gt 0 ] && [ $status -lt 124 ] && ! grep -x 0 "$left" || return 1
    grep "^thinwire-train: rank [012]: $own/train/[ab]/.*: an image of .* is smaller than the crop of 99x99$" "$scratch/out" || return 1
    # shellcheck disable=SC2086
    told 1 $tiny --data "folder:$own" --augment crop:99 --no-train --bad-images skip && all_left 1 1 &&
        one_line "$own/train/.*: it is broken, and so are all images of its class"
}

bad_sources() {
    local list=$scratch/bad.txt
    refuses 1 "cannot read the folder '$scratch/none': No such file" --data "folder:$scratch/none" &&
        refuses 1 "cannot read the list '$scratch/none': No such file" --data "list:$scratch/none" &&
        refuses 1 "cannot read '$scratch/none': No such file" --data "lmdb:$scratch/none" || return 1
    with_bad class any.txt </dev/null
    rm "$bad"/train/b/*.*g
    refuses 1 "no image .* in the class folder '$bad/train/b'" --data "folder:$bad" || return 1
    { cat "$scratch/train.txt"; echo "$own/val/a/1.png 2"; } >"$list"
    refuses 1 "$list:20: '2' is no label; .* from 0 to 1" --data "list:$list,classes=2" || return 1
    { cat "$scratch/train.txt"; echo "$own/val/a/none.png 1"; } >"$list"
    refuses 1 "$list:20: cannot read '$own/val/a/none.png': No such file" --data "list:$list"
}

bad_databases() {
    local size
    mkdir -p "$scratch/cut.lmdb" "$scratch/plain.lmdb"
    size=$(stat -c %s "$scratch/own.lmdb/data.mdb")
    head -c $((size - 1)) "$scratch/own.lmdb/data.mdb" >"$scratch/cut.lmdb/data.mdb"
    refuses 1 "cannot read '$scratch/cut.lmdb/data.mdb': it ends too early" --data "lmdb:$scratch/cut.lmdb" || return 1
    head -c 100 "$scratch/own.lmdb/data.mdb" >"$scratch/cut.lmdb/data.mdb"
    refuses 1 "cannot read '$scratch/cut.lmdb/data.mdb': it ends too early" --data "lmdb:$scratch/cut.lmdb" || return 1
    head -c "$size" /dev/urandom >"$scratch/plain.lmdb/data.mdb"
    refuses 1 "cannot read '$scratch/plain.lmdb/data.mdb': it is no LMDB database" --data "lmdb:$scratch/plain.lmdb"
}

bad_lists_of_operations() {
    # shellcheck disable=SC2086  # a list of words
    refuses 1 "--augment: crop:31: a resized image of 30x30 is smaller than the crop of 31x31" $tiny --data "folder:$own" \
        --augment "resize:30 crop:31" &&
        refuses 1 "--augment: 'rotate:3' is no operation; accepted are decode" $tiny --data "folder:$own" --augment rotate:3 &&
        refuses 1 "--augment: images differ in size, and nothing in 'mirror' makes them equal" $tiny --data "folder:$own" \
            --augment mirror &&
        refuses 1 "training images become 24x24x3 and test images 20x20x3" $tiny --data "folder:$own" --augment crop:24 \
            --augment-test crop:20 &&
        refuses 1 "--augment: 'crop:24,five mirror:both' makes 10 views of an image, which only tests can take" $tiny \
            --data "folder:$own" --augment "crop:24,five mirror:both"
}

bad_options() {
    refuses 2 "--transfer-index 'x': accepted are 0 to 16 and auto" --transfer-index x &&
        refuses 2 "--loader-threads '300': accepted are 0 to 256, auto, auto:MOST, all and all:MOST" --loader-threads 300 &&
        refuses 2 "--no-train only loads images: not with --checkpoint" --no-train --checkpoint "$scratch/c" &&
        refuses 1 "--show-images $scratch/none/x.png: cannot be written: No such file" --show-images "$scratch/none/x.png"
}

# ---- pack ------------------------------------------------------------------------------------------------------------

pack() { alone "$program" pack "$@"; }
packs_not() { # STATUS PATTERN ARG...
    local want=$1 pattern=$2 status=0
    shift 2
    pack "$@" || status=$?
    same "$status" "$want" && one_line "$pattern"
}

pack_refuses() {
    packs_not 2 'pack needs a SOURCE, as --data takes it, and OUT' && packs_not 2 'pack needs a SOURCE' "folder:$own" &&
        packs_not 2 "unknown option '--qualty'" "folder:$own" "$scratch/no.lmdb" --qualty 3 &&
        packs_not 2 "--quality '0': accepted: a whole number, 1 to 100" "folder:$own" "$scratch/no.lmdb" --quality 0 &&
        packs_not 2 "--bad-images 'no': accepted are fail and skip" "folder:$own" "$scratch/no.lmdb" --bad-images no &&
        packs_not 1 "cannot read the folder '$scratch/none'" "folder:$scratch/none" "$scratch/no.lmdb" &&
        packs_not 1 "--json $scratch/none/x: cannot be written" "folder:$own" "$scratch/no.lmdb" --json "$scratch/none/x" &&
        packs_not 1 "cannot make the folder '$scratch/train.txt': it is a file" "folder:$own" "$scratch/train.txt" &&
        packs_not 1 "cannot make the folder '$scratch/train.txt/x': Not a directory" "folder:$own" "$scratch/train.txt/x" &&
        packs_not 1 "cannot make the folder '$scratch/none/x': No such file" "folder:$own" "$scratch/none/x" || return 1
    [ ! -e "$scratch/no.lmdb" ]
}

pack_leaves_out() {
    with_bad left cut.jpg < <(head -c 700 "$scratch/1.jpg")
    # Stored as it is, nothing looks inside.
    packs_not 1 "$bad/train/b/cut.jpg: JPEG file is damaged" "folder:$bad" "$scratch/left.lmdb" --resize 32 || return 1
    pack "folder:$bad" "$scratch/left.lmdb" --resize 32 --bad-images skip --json "$scratch/p.json" &&
        one_line "left out: $bad/train/b/cut.jpg: JPEG file is damaged" && grep -x '25 images, .*; 1 left out' "$scratch/out" || return 1
    same "$("$json_query" "$scratch/p.json" images skipped)" $'25\n1' &&
        same "$("$json_query" "$scratch/p.json" images_per_second | awk '{ printf "%.0f images/s; 1 left out", $1 }')" \
            "$(grep -o '[0-9]* images/s; 1 left out' "$scratch/out")"
}

pack_tells() {
    pack "folder:$own" "$scratch/told.lmdb" --threads 2 --json "$scratch/p.json" || return 1
    grep -x "25 images, [0-9.]* MB, in $scratch/told.lmdb; [0-9.]* s, [0-9]* images/s" "$scratch/out" || return 1
    same "$("$json_query" "$scratch/p.json" images bytes skipped continued | xargs)" \
        "25 $(cat "$own"/*/*/* | wc -c) 0 0" && "$json_query" "$scratch/p.json" version command machine.cores seconds || return 1
    "$json_query" "$scratch/p.json" images_per_second | awk '{ exit !($1 > 0) }'
}

# What pack has resized is what the loader makes itself; JPEGs are not that, to the bit.
pack_resizes() {
    local want jpegs out=$scratch/resized.lmdb rest="crop:24,random mirror noise:0.1 scale:0.01"
    want=$(load 1 "folder:$own" --augment "resize:32 $rest") || return 1
    pack "folder:$own" "$out" --resize 32 --quality 90 && jpegs=$(load 1 "lmdb:$out" --augment "$rest") || return 1
    [ "$(LC_ALL=C grep -aoF $'\xff\xd8\xff' "$out/data.mdb" | wc -l)" -ge 25 ] || { echo "no JPEGs"; return 1; }
    [ "$jpegs" != "$want" ] || { echo "JPEGs lose nothing"; return 1; }
    # The second one replaces the first.
    pack "folder:$own" "$out" --resize 32 && same "$(load 2 "lmdb:$out" --augment "$rest")" "$want" || return 1
    same "$(LC_ALL=C grep -acF $'\xff\xd8\xff' "$out/data.mdb") $(ls "$out")" "0 data.mdb"
}

# Stopped, or done before that could happen.
pack_goes_on() {
    local out=$scratch/stopped.lmdb stopped=0 status i
    for i in 1 2 3 4; do cat "$scratch/long.txt"; done >"$scratch/longer.txt" # 760 images
    set -- "list:$scratch/longer.txt,test=$scratch/val.txt" --resize 64 --quality 95
    pack "$1" "$scratch/straight.lmdb" "${@:2}" || return 1
    for i in 1 2 3; do
        timeout -k 5 "$limit" "$program" pack "$1" "$out" "${@:2}" --json "$scratch/p.json" </dev/null >"$scratch/out" 2>&1 &
        sleep 0.1
        kill -INT $! # which timeout passes on
        status=0
        wait $! || status=$?
        cat "$scratch/out"
        [ $status -ne 0 ] || break
        [ $status -ne 130 ] || continue # before it was ready for that
        same "$status" 1 && one_line "stopped after [1-9][0-9]* of 766 images: the same command goes on with '$out/data.mdb.part'" || return 1
        stopped=$(awk '/^thinwire/ { print $4 }' "$scratch/out")
        [ ! -e "$out/data.mdb" ] || { echo "a database that is not whole"; return 1; }
    done
    if [ $status -ne 0 ]; then
        [ $stopped -eq 0 ] || refuses 1 "cannot read '$out/data.mdb.part': its packing was not completed" --data "lmdb:$out" || return 1
        pack "$1" "$out" "${@:2}" --json "$scratch/p.json" || return 1
    fi
    echo "stopped after $stopped"
    same "$("$json_query" "$scratch/p.json" images continued)" $'766\n'"$stopped" || return 1
    same "$(load 1 "lmdb:$out" --augment "$crop" --batch 100)" "$(load 2 "lmdb:$scratch/straight.lmdb" --augment "$crop" --batch 100)"
}

# ---- --show-images ---------------------------------------------------------------------------------------------------

sheet_is_png() {
    local folder=$scratch/shown
    mkdir -p "$folder"/{train,val}/{x,y}
    cp "$own/val/a/1.png" "$folder/train/y" && cp "$own/val/a/1.png" "$folder/val/x" && cp "$own/val/a/1.png" "$folder/val/y" ||
        return 1
    # shellcheck disable=SC2086
    train 3 $tiny --data "folder:$own" --augment "$words" --show-images "$folder/train/x/1.png" || return 1
    grep "^8 training images of the first batch, 24x24x3, in $folder/train/x/1.png$" "$scratch/out" &&
        same "$(sed -n '/^  [01] [ab]$/p' "$scratch/out" | xargs)" "0 a 1 b" || return 1
    same "$(head -c 24 "$folder/train/x/1.png" | od -An -tx1 | xargs)" \
        "89 50 4e 47 0d 0a 1a 0a 00 00 00 0d 49 48 44 52 00 00 00 d2 00 00 00 23" || return 1
    # 8 images of 24 x 24 pixels in a row, with gaps, and their labels under them. The other image is smaller.
    cp "$folder/train/x/1.png" "$folder/train/y/2.png"
    load 2 "folder:$folder" --augment crop:35x210 --batch 2 --bad-images skip &&
        grep -x "1 broken image was replaced: $folder/train/y/1.png" "$scratch/out"
}

plan 27
check "the same batches from every source, rank, thread and transfer index" batches_are_the_same
check "other batches in another epoch, for another seed and list" batches_differ
if [ -d "$photos/roses" ]; then
    check "the same batches of photos" photos_are_the_same
else
    skip "the same batches of photos" "no photos in $photos (set THINWIRE_DATA)"
fi
check "the same weights, across tests, epochs and a stop" weights_are_the_same
check "ten views of test images" eval 'views_are_averaged && views_are_learned_from'
check "the search of all states measures each alike" search_of_all
check "the search settles, and tells" search_settles
check "a search changes no weight" same_weights_without
check "the next run begins with its result" search_is_kept
check "a result that is damaged, or of something else, is ignored" bad_state_is_ignored
check "two ranks search together" search_on_two_ranks
check "a trace has every image, in order" traces
check "a truncated JPEG" cut_jpeg
check "a truncated JPEG among the test images" cut_jpeg_in_training
check "a text that is named .jpg, and an empty file" eval 'text_as_jpeg && empty_file'
check "a PNG that claims to be huge" huge_png
check "--max-pixels" too_many_pixels
check "an image smaller than the crop" small_image
check "all images smaller than the crop" all_are_small
check "bad folders and lists" bad_sources
check "bad databases" bad_databases
check "bad --augment" bad_lists_of_operations
check "bad options" bad_options
check "pack refuses, and leaves out" eval 'pack_refuses && pack_leaves_out'
check "pack tells, resizes and replaces" eval 'pack_tells && pack_resizes'
check "pack goes on after a stop" pack_goes_on
check "--show-images" sheet_is_png
