#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bad input to the command thinwire: one clear line, a non-zero exit on every rank, no hang.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
sanitized && limit=60 || limit=10

# Lines that are ours; a launcher may add its own about the exit status.
ours() { grep '^thinwire: ' "$scratch/out"; }

# refused STATUS PATTERN ARG...: without mpirun.
refused() {
    local want=$1 pattern=$2 status
    shift 2
    alone "$thinwire" "$@"
    status=$?
    [ $status -eq "$want" ] || { echo "status $status, not $want"; return 1; }
    [ "$(wc -l <"$scratch/out")" -eq 1 ] || { echo "not one line"; return 1; }
    ours | grep -q -e "$pattern" || { echo "no '$pattern'"; return 1; }
}

# job_refused STATUS PATTERN ARG...: on 3 ranks, each of which must leave with that status.
job_refused() {
    local want=$1 pattern=$2
    shift 2
    # shellcheck disable=SC2016  # for the inner shell
    ranks 3 sh -c '"$@"; echo $? >>"$left"' sh "$thinwire" "$@" || return 1
    all_left 3 "$want" || return 1
    [ "$(ours | wc -l)" -eq 1 ] || { echo "not one line"; return 1; }
    ours | grep -q -e "$pattern" || { echo "no '$pattern'"; return 1; }
}

printf abc >"$scratch/odd"
: >"$scratch/empty"
printf '\0\0\0\0\0\0\300\177' >"$scratch/nan"
mkdir "$scratch/folder"

plan 45
check "no command" refused 2 'command is missing; accepted: info, bench, calibrate, run, plan, scale '
check "unknown command" refused 2 "unknown command 'wash'; accepted: info, bench" wash
check "misspelt command" refused 2 'did you mean bench' bnech
check "bench without a subject" refused 2 'command is missing' bench
check "unknown bench" refused 2 'did you mean allreduce' bench allredcue
check "unknown option" refused 2 'did you mean --settings' info --setings
check "stray argument" refused 2 "unexpected argument 'tree8'" bench codec tree8
check "option without its value" refused 2 '--json FILE' info --json
check "flag with a value" refused 2 'takes no value' info --settings=1
check "empty value" refused 2 'not empty' bench codec --codec ''
check "unknown codec" refused 2 "unknown codec 'tree9'; accepted: .*tree8" bench codec --codec tree9
check "unknown codec option" refused 2 "no option 'blok'; accepted: tree8" bench codec --codec tree8:blok=64
check "block 0" refused 2 'block=0' bench codec --codec tree8:block=0
check "bitpack without K" refused 2 'bitpack' bench codec --codec bitpack
check "bitpack:9" refused 2 'bitpack' bench codec --codec bitpack:9
check "empty codec in a list" refused 2 'empty codec' bench codec --codec tree8,,fp32
check "size that is no multiple of 4" refused 2 'a multiple of 4' bench codec --min 6
check "size 0" refused 2 "--min '0': not a size" bench codec --min 0
check "negative size" refused 2 "--min '-4': not a size" bench codec --min -4
check "size beyond 64 bits" refused 2 'not a size' bench codec --max 99999999999G
check "size beyond memory" refused 1 'needs about' bench codec --codec fp32 --max 1000000G
check "min above max" refused 2 '--min 1M is larger than --max 64k' bench codec --min 1M --max 64k
check "threads 0" refused 2 '1 to 1024' bench codec --threads 0
check "threads that are no list" refused 2 '--threads 1,x: accepted' bench codec --threads 1,x
check "threads list that ends in a comma" refused 2 '--threads 1,: accepted' bench codec --threads 1,
check "unknown instruction set" refused 2 '--isa sse: accepted here: all, or of scalar' bench codec --isa sse
check "instruction sets, an empty one" refused 2 '--isa scalar,,scalar: accepted' bench codec --isa scalar,,scalar
check "a drawing in a missing folder" refused 1 'missing/x.svg: cannot be written\|no gnuplot' \
    bench codec --plot "$scratch/missing/x.svg"
check "JSON in a missing folder" refused 1 'missing/x.json: cannot be written' bench codec --json "$scratch/missing/x.json"
check "JSON to a folder" refused 1 'Is a directory' info --json "$scratch/folder"
check "JSON to a full device" refused 1 'cannot be written: No space' bench codec --json /dev/full

check "3 ranks: unknown codec" job_refused 2 "unknown codec 'tree9'" bench allreduce --codec tree9
check "3 ranks: missing data file" job_refused 1 '--data .*missing: No such file' bench bcast --data "$scratch/missing"
check "3 ranks: data that are no float32" job_refused 1 '--data .*odd: not a file of float32' bench bcast --data "$scratch/odd"
check "3 ranks: empty data file" job_refused 1 '--data .*empty: not a file' bench alltoall --data "$scratch/empty"
check "3 ranks: data that are not finite" job_refused 1 '--data .*value 1 is not finite' bench bcast --min 8 --max 8 --data "$scratch/nan"
check "3 ranks: JSON cannot be written" job_refused 1 'cannot be written' bench allreduce --json "$scratch/missing/x.json"
check "3 ranks: rank 0 fails alone" job_refused 1 'cannot be written' info --json "$scratch/missing/x.json"

different_settings() {
    local command=("$thinwire" bench allreduce --codec fp32 --max 4k) status
    ranks 3 bash "$top_srcdir/tests/by_rank.sh" "${command[@]}" :: "${command[@]}" :: env THINWIRE_CHUNK=64k "${command[@]}"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(ours | wc -l)" -eq 1 ] &&
        ours | grep -q 'rank 2 has THINWIRE_CHUNK=65536'
}
check "ranks with different settings" different_settings

# The processes of the bench that runs with this argument, without the launcher.
members() {
    local line
    for line in /proc/[0-9]*/cmdline; do
        if tr '\0' '\n' <"$line" 2>/dev/null | head -n 1 | grep -qxF "$thinwire" &&
            tr '\0' '\n' <"$line" 2>/dev/null | grep -qxF "$1"; then
            line=${line#/proc/}
            echo "${line%/cmdline}"
        fi
    done
}

rank_dies() {
    local mark=$scratch/dies.json job status started=$SECONDS victims
    timeout -k 5 120 "$MPIRUN" -n 3 "$thinwire" bench allreduce --min 4k --max 4M --json "$mark" \
        </dev/null >"$scratch/out" 2>&1 &
    job=$!
    while ! grep -q '^fp32 .*16k' "$scratch/out"; do # in the middle of it
        [ $((SECONDS - started)) -lt 60 ] || { echo "it did not start"; kill $job; return 1; }
        sleep 0.2
    done
    victims=$(members "$mark")
    echo "processes: $victims"
    kill -KILL "$(echo "$victims" | tail -n 1)"
    started=$SECONDS
    wait $job
    status=$?
    cat "$scratch/out"
    [ $status -ne 0 ] && [ $status -ne 124 ] || { echo "status $status"; return 1; }
    [ $((SECONDS - started)) -le 10 ] || { echo "it took $((SECONDS - started)) s to end"; return 1; }
    [ -z "$(members "$mark")" ] || { sleep 2; [ -z "$(members "$mark")" ]; } || { echo "ranks are left"; return 1; }
    [ ! -e "$mark" ]
}
check "a rank dies in the middle" rank_dies

other_arguments() {
    ranks 2 bash "$top_srcdir/tests/by_rank.sh" "$thinwire" bench allreduce --max 4k :: "$thinwire" bench allreduce --max 16k
    local status=$?
    [ $status -eq 2 ] || { echo "status $status"; return 1; }
    [ "$(grep -c '^thinwire' "$scratch/out")" -eq 1 ] && grep -q 'rank 1 was started with other arguments' "$scratch/out"
}
check "ranks with other arguments" other_arguments
check "a codec list that ends in a comma" job_refused 2 "'tree8,': an empty" bench allreduce --codec tree8,
json_by_link() {
    echo old >"$scratch/target.json"
    ln -s target.json "$scratch/link.json"
    alone "$thinwire" info --json "$scratch/link.json" && [ -L "$scratch/link.json" ] &&
        grep -q '"version"' "$scratch/target.json"
}
check "a link given to --json is followed" json_by_link

# Under the name that the file beside it would have, there is a link to something else.
json_beside_a_planted_link() {
    echo old >"$scratch/victim"
    # shellcheck disable=SC2016  # for the inner shell, whose number the command keeps
    alone bash -c 'ln -s victim "$1.$$.tmp" && exec "$2" info --json "$1"' bash "$scratch/out.json" "$thinwire" &&
        [ "$(cat "$scratch/victim")" = old ] && grep -q '"version"' "$scratch/out.json"
}
check "a planted link is not in the way" json_beside_a_planted_link

# The end that MPI's own calls get: time in which the process was stopped does not count.
watched() {
    alone "$top_builddir/tests/tools/watched" stopped && [ ! -s "$scratch/out" ] || return 1
    alone "$top_builddir/tests/tools/watched" stuck
    [ $? -eq 1 ] && grep -q '^thinwire: a test did not end within 1 s' "$scratch/out"
}
check "a call that is watched, in a process that is stopped" watched
