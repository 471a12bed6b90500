#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# loader.sh BUILD_DIR PHOTOS_DIR OUT_DIR [PART...] - the tables of S2 in form, for the processor as the device.
#
# Parts (default: all):
#     peers     images/s of one loader thread beside torchvision, DALI and libjpeg-turbo alone
#     states    images/s of the loader alone by threads and transfer index, for two lists of operations (S2, slide 26)
#     training  share of the images/s of training without a loader, resnet-20 and alexnet-s0 (slides 26 to 28)
#     tuner     what the tuner takes, beside every state measured for longer (slide 29)
# PHOTOS_DIR has flowers/ and cc0-photos/, folders of JPEG files per class. PYTHON (python3) is one with torchvision and
# nvidia-dali; what it does not have is left out. SECONDS_EACH (6), a whole number, for about each measurement, TURNS
# (3): of how many the median counts, taken in turns. Tables go to standard output, JSON files to OUT_DIR. 20 minutes on
# two cores.
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u
. "$(dirname "$0")/common.bash"
folders "${1-}" "${3-}"
photos=$(cd "$2" && pwd) || exit 1
shift 3
export XDG_CACHE_HOME=$out/cache
seconds=${SECONDS_EACH:-6} turns=${TURNS:-3}
train=$build/bin/thinwire-train
three="crop:224 mirror mean:124,116,104"
jpeg="resize:256 $three deviation:58,57,57"
colour="resize:256 crop:224 mirror colour:brightness=0.4,contrast=0.4,saturation=0.4 mean:124,116,104"

# value KEY NAME: the first of that name in OUT/NAME.json, at any depth.
value() { awk -F '": ' -v key="\"$1" '{ name = $1; gsub(/ /, "", name) } name == key { gsub(/[",]/, "", $2); print $2; exit }' "$out/$2.json"; }
of() { LC_ALL=C awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", (b > 0 ? a / b : 0) }'; }

# A run: run FILE ARG... leaves FILE.json and FILE.log.
run() {
    local name=$1
    shift
    "$train" --json "$out/$name.json" "$@" >"$out/$name.log" 2>&1 || { tail -n 1 "$out/$name.log" >&2; return 1; }
}

# Of one loader thread: images / its processor seconds, the median of the turns.
per_thread() { # SOURCE LIST BATCH EPOCHS
    for _ in $(seq "$turns"); do
        run thread --no-train --data "$1" --augment "$2" --model resnet-34 --batch "$3" --epochs "$4" --loader-threads 1 --transfer-index 16 &&
            LC_ALL=C awk -v n="$(value images thread)" -v s="$(value thread_seconds thread)" 'BEGIN { print n / s }'
    done | median
}

part_peers() {
    local set batch epochs bare own packed peer name memory raw tv dali files
    echo "| photos | thinwire, one thread | from LMDB | torchvision, one worker | DALI, one thread | libjpeg-turbo, from memory, decoding only | to torchvision | to DALI | LMDB to decoding |"
    echo "|---|---|---|---|---|---|---|---|---|"
    for set in flowers cc0-photos; do
        files=("$photos/$set"/*/*.jpg)
        batch=32 epochs=12
        [ $set = flowers ] || batch=16 epochs=60
        bare=() own=() packed=() peer=""
        [ -s "$out/$set.lmdb/data.mdb" ] || "$train" pack "folder:$photos/$set,split=0.95" "$out/$set.lmdb" >&2
        for _ in $(seq "$turns"); do
            bare+=("$("$build/bin/decode-loop" "$seconds" 256 "${files[@]}" | awk '{ print $2 }')")
            own+=("$(turns=1 per_thread "folder:$photos/$set,split=0.95" "$jpeg" $batch $epochs)")
            packed+=("$(turns=1 per_thread "lmdb:$out/$set.lmdb" "$jpeg" $batch $epochs)")
            peer+=$("${PYTHON:-python3}" "$bench/loader_peers.py" "$photos/$set" --seconds "$seconds" --batch $batch 2>/dev/null)$'\n'
        done
        name=$(printf '%s\n' "${own[@]}" | median)
        raw=$(printf '%s\n' "${bare[@]}" | median)
        tv=$(awk '/^torchvision/ { print $4 }' <<<"$peer" | median)
        dali=$(awk '/^dali/ { print $4 }' <<<"$peer" | median)
        memory=$(printf '%s\n' "${packed[@]}" | median)
        printf '| %s, %d files | %.0f | %.0f | %.0f | %.0f | %.0f | %s | %s | %s |\n' "$set" ${#files[@]} "$name" "$memory" "$tv" "$dali" \
            "$raw" "$(of "$name" "$tv")" "$(of "$name" "$dali")" "$(of "$memory" "$raw")"
    done
}

part_states() {
    local list threads index last
    for list in "$three" "$colour"; do
        last=$(($(wc -w <<<"$list") + 1))
        [ "$list" = "$colour" ] || list="resize:256 $list" last=$((last + 1))
        echo "Images/s of the loader alone, \`$list\`, flowers, batch 32, one computing thread:"
        echo
        printf '| threads |'; printf ' index %d |' $(seq 0 $last); echo
        printf '|---|'; printf -- '---|%.0s' $(seq 0 $last); echo
        for threads in 1 2 3; do
            printf '| %d |' $threads
            for index in $(seq 0 $last); do
                for _ in $(seq "$turns"); do
                    run state --no-train --data "folder:$photos/flowers" --augment "$list" --model resnet-34 --batch 32 --epochs $((seconds / 2 + 1)) \
                        --loader-threads $threads --transfer-index "$index" && value images_per_second state
                done | median | xargs printf ' %.0f |'
            done
            echo
        done
        echo
    done
}

# Images/s of a run.
speed() { run "$@" && value images_per_second "$1"; }

part_training() {
    local model threads loaders list steps from random file busy
    echo "| model | computing threads | loader threads | without a loader, images/s | from JPEG | share | loader's processor seconds, share of a core | what remains for training | share of that |"
    echo "|---|---|---|---|---|---|---|---|---|"
    for model in resnet-20 alexnet-s0; do
        for pair in "1 1" "2 1" "2 2"; do
            read -r threads loaders <<<"$pair"
            list="resize:37 crop:32x32 crop:pad=4 mirror mean:120.7 scale:0.0156" random=random:32x32x3,5,n=360,test=5 steps=120
            [ $model = resnet-20 ] || list=$jpeg random=random:224x224x3,5,n=360,test=5 steps=14
            from=() file=() busy=()
            for _ in $(seq "$turns"); do
                from+=("$(speed none --model $model --data $random --batch 32 --steps $steps --threads "$threads")")
                file+=("$(speed jpeg --model $model --data "folder:$photos/flowers" --augment "$list" --batch 32 --steps $steps \
                    --threads "$threads" --loader-threads "$loaders" --transfer-index 16)")
                busy+=("$(LC_ALL=C awk -v b="$(value thread_seconds jpeg)" -v n="$(value images jpeg)" -v r="${file[-1]}" 'BEGIN { print b / n * r }')")
            done
            LC_ALL=C awk -v m=$model -v t="$threads" -v l="$loaders" -v a="$(printf '%s\n' "${from[@]}" | median)" \
                -v b="$(printf '%s\n' "${file[@]}" | median)" -v c="$(printf '%s\n' "${busy[@]}" | median)" \
                'BEGIN { left = t == 1 ? 1 : 1 - c / t
                         printf "| %s | %d | %d | %.1f | %.1f | %.3f | %.3f | %.3f | %.3f |\n", m, t, l, a, b, b / a, c, left, b / a / left }'
        done
    done
}

part_tuner() {
    local index threads last
    rm -rf "$out/cache"
    run tuned --model resnet-20 --data "folder:$photos/flowers" --batch 32 --steps 400 --loader-threads auto:3 || return 1
    sed -n '/^loader/p;/^        *[0-9]/p' "$out/tuned.log"
    echo
    echo "Every state for $((10 * seconds)) steps, $turns turns, median seconds of a step:"
    echo
    last=$(($(awk -F '"' '/"operations"/ { print $4; exit }' "$out/tuned.json" | wc -w) + 1))
    printf '| threads |'; printf ' index %d |' $(seq 0 $last); echo
    printf '|---|'; printf -- '---|%.0s' $(seq 0 $last); echo
    for threads in 1 2 3; do
        printf '| %d |' $threads
        for index in $(seq 0 $last); do
            for _ in $(seq "$turns"); do
                run state --model resnet-20 --data "folder:$photos/flowers" --batch 32 --steps $((10 * seconds)) --loader-threads $threads \
                    --transfer-index "$index" && value step_seconds state
            done | median | xargs printf ' %.5f |'
        done
        echo
    done
    echo
    echo "taken: $(value threads tuned) computing, loader $(awk '/"loader"/ { on = 1 } on && /"threads"/ { gsub(/[^0-9]/, ""); print; exit }' "$out/tuned.json") threads, index $(value transfer_index tuned)"
}

[ $# -gt 0 ] || set -- peers states training tuner
for part; do
    declare -F "part_$part" >/dev/null || fail "no part '$part'; accepted: peers states training tuner"
    echo "### $part"
    echo
    "part_$part"
    echo
done
