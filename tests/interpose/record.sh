#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire run --record: the program's results are its own; the job has every call and byte; thinwire scale reads it
# and predicts as many bytes as the drop-in counts; what is hard to record; what is refused.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"
thinwire=$top_builddir/bin/thinwire
json_query=$top_builddir/tests/tools/json_query
job=$scratch/job.cfg

mode watching
quiet=("${settings[@]}")

# record RANKS ARG...: leaves $job, and of the program $scratch/out.
record() {
    local ranks=$1
    shift
    rm -f "$job"
    timeout -k 5 $((limit + 20)) "$MPIRUN" -n "$ranks" env "${quiet[@]}" ${more+"${more[@]}"} THINWIRE_RECORD="$job" \
        THINWIRE_JSON="$scratch/report.json" "$programs/recorded" "$@" </dev/null >"$scratch/out" 2>&1
}
plain() {
    local ranks=$1
    shift
    timeout -k 5 $((limit + 20)) "$MPIRUN" -n "$ranks" "$programs/recorded" "$@" </dev/null >"$scratch/plain" 2>&1
}

# check NAME COMMAND...
check() {
    local name=$1
    shift
    "$@"
    result $? "$name"
}

# What a program that runs the job calls: "OPERATION VALUES STARTS WAITS", loops unfolded.
unfolded() {
    awk '{
        text = $0
        while (match(text, /^[ ,]*\{repeat=[0-9]+;step=\(/)) {
            head = substr(text, 1, RLENGTH); text = substr(text, RLENGTH + 1)
            sub(/.*repeat=/, "", head); times[++depth] = head + 0
        }
        n = 1; for (i = 1; i <= depth; i++) n *= times[i]
        if (match(text, /(call|start)="[a-z_]+"/)) {
            op = substr(text, RSTART, RLENGTH); gsub(/.*="|"/, "", op)
            match(text, /count=[0-9.e+-]+/); values[op] += n * substr(text, RSTART + 6, RLENGTH - 6)
            starts += n * (text ~ /start=/)
        }
        waits += n * (text ~ /\{wait=/)
        while (match(text, /\);\}/)) { text = substr(text, RSTART + RLENGTH); depth-- }
    }
    /^step = / { inside = 1 }
    END {
        split("allreduce reduce reduce_scatter bcast allgather alltoall", names, " ")
        for (i = 1; i <= 6; i++) printf "total %s %.6f\n", names[i], values[names[i]]
        print "under way", starts - waits
    }' "$job"
}

# The job has the values that the program counted itself, and every start its wait.
complete() {
    unfolded >"$scratch/unfolded"
    grep '^total' "$scratch/out" >"$scratch/totals" || { echo "no totals" >>"$scratch/out"; return 1; }
    grep -q '^under way 0$' "$scratch/unfolded" || { cat "$scratch/unfolded" >>"$scratch/out"; return 1; }
    paste -d ' ' "$scratch/totals" <(grep '^total' "$scratch/unfolded") |
        awk '{ d = $3 - $6; if (d < 0) d = -d; if (d > 1e-7 * $3 + 1e-4) { print "values:", $0; bad = 1 } } END { exit bad + (NR != 6) }' \
            >>"$scratch/out"
}

scaled() { # ARG...
    timeout -k 5 "$limit" "$thinwire" scale "$job" --json "$scratch/scale.json" "$@" </dev/null >>"$scratch/out" 2>&1
}

all_forms() { # RANKS
    local n=$1
    plain "$n" forms && record "$n" forms && diff <(grep '^sum' "$scratch/plain") <(grep '^sum' "$scratch/out") &&
        complete && scaled && grep -q -x "ranks = $n;" "$job" && grep -q '^fixed_ranks = true;' "$job" &&
        [ "$(grep -c . "$job")" -lt 160 ] || return 1
    if [ "$n" -eq 4 ]; then
        grep -q 'type="double";ranks=2;}' "$job" && grep -q 'largest of 4 ranks' "$job"
    fi
}

# Of each rank, in the mean.
as_many_bytes() { # RANKS
    local counted=0 i bytes
    record "$1" long 20 && complete && scaled --codec fp32 || return 1
    for ((i = 0; i < $("$json_query" "$scratch/report.json" "rows.#"); i++)); do
        bytes=$("$json_query" "$scratch/report.json" "rows.$i.bytes")
        counted=$((counted + bytes))
    done
    awk -v a="$("$json_query" "$scratch/scale.json" rows.0.bytes)" -v b="$counted" -v n="$1" \
        'BEGIN { print "predicted", a, "counted", b / n; exit !(a > 0.99 * b / n && a < 1.01 * b / n) }' >>"$scratch/out"
}

with_a_codec() {
    local more=(THINWIRE_CODEC=tree8 THINWIRE_THRESHOLD=1k)
    record 3 forms && complete && scaled && unfolded >"$scratch/lossy" && record 3 forms >/dev/null &&
        grep -q '"compressed_calls": [1-9]' "$scratch/report.json" || return 1
    more=()
    record 3 forms && unfolded | diff - "$scratch/lossy"
}

approximate() { # WORD LINE PROGRAM CALLS: says so, in the file and on the standard error, on all ranks alike
    record 2 "$3" "$4" && complete && grep -q "^# APPROXIMATE: $1" "$job" && [ "$(grep -c APPROXIMATE "$job")" -eq 1 ] &&
        [ "$(grep -c '^thinwire: ' "$scratch/out")" -eq 1 ] && grep -q "^thinwire: the job $job is approximate: $2" "$scratch/out" &&
        [ "$(wc -c <"$job")" -lt 10000000 ] && scaled
}

exact() { # a few thousand of them are told apart
    record 2 sizes 3000 && complete && ! grep -q APPROXIMATE "$job" && ! grep -q '^thinwire: ' "$scratch/out" && scaled
}

# Of all ranks, though others call from other places: those are rank 0's.
merged() { # PROGRAM
    record 3 "$1" && complete && grep -q 'largest of 3 ranks' "$job" && ! grep -q 'several places' "$job" &&
        ! grep -q '^thinwire: ' "$scratch/out"
}
places() { merged places && grep -q '{repeat=50;' "$job" && [ "$(grep -c '50 times' "$job")" -eq 2 ]; }

# As rank 0 folds it; the time between both calls is that of the last rank, 2 ms.
levels() {
    merged levels && grep -q '{repeat=9;' "$job" || return 1
    awk -F '[=;]' '/repeat=/ { n = $2 } /compute=/ && !/fixed/ { last = $2 } /allreduce/ { sum += (n > 0 ? n : 1) * last } /);}/ { n = 1 }
        END { print "between", sum; exit !(sum > 0.019 && sum < 0.1) }' <(sed -n '/^step/,$p' "$job") >>"$scratch/out"
}

# Seconds of computation and of what is fixed in the loop.
in_the_loop() {
    awk -F '[=;]' '/compute=/ && /fixed/ { fixed += $2 } /compute=/ && !/fixed/ { compute += $2 }
        END { print compute + 0, fixed + 0 }' <(sed -n '/repeat=/,/);}/p' "$job")
}

# The waits of rank 0 and of all others in the order of the starts, whatever was complete first.
in_turn() {
    record 3 turn && complete && grep -q 'largest of 3 ranks' "$job" && ! grep -q '^thinwire: ' "$scratch/out" && scaled &&
        diff <(sed -n 's/.*wait="\(.*\)".*/\1/p' "$job") <(printf 'allreduce %d\n' 1 2 3 4) >>"$scratch/out"
}

# What a completion call takes until a message is complete is not the collective's, and so not left out.
beside() {
    local compute fixed
    record 2 beside && complete && read -r compute fixed < <(in_the_loop) &&
        awk -v f="$fixed" 'BEGIN { print "fixed", f; exit !(f > 0.008) }' >>"$scratch/out"
}

# MPI_Startall takes 5 ms, which are neither computing nor fixed: of collectives and of messages.
slowly() {
    local compute fixed quiet=("${quiet[@]}" TW_SLOW=1)
    quiet[0]+=:$programs/.libs/between.so
    record 2 slowly && complete && read -r compute fixed < <(in_the_loop) &&
        awk -v c="$compute" -v f="$fixed" 'BEGIN { print "computed", c, "fixed", f; exit !(c < 0.002 && f < 0.0045) }' \
            >>"$scratch/out"
}
# Messages have the neighbours of rank 0, and the mean of all ranks' bytes: (4000 + 6000 + 2000) / 3; the ranks at
# both ends are like the other. What is computed meanwhile is between start and wait.
neighbours() {
    record 3 neighbours && complete && scaled && grep -q 'largest of 3 ranks' "$job" &&
        grep -q '{start="messages";name="messages [0-9]*";count=1000;messages=1;to=\[1\];}' "$job" &&
        awk -F '[=;]' '/start="messages"/ { on = 1 } /compute=/ && !/fixed/ && on { beside += $2 } /wait="messages/ { on = 0 }
            END { print "beside", beside; exit !(beside > 0.0009) }' "$job" >>"$scratch/out"
}
eventually() { "$@" || "$@" || "$@"; } # sleeps are longer where other programs take the processors

# All ranks take the sizes together then.
too_many_on_one() { approximate 'too many' 'too many' again 0 && grep -q 'largest of 2 ranks' "$job"; }

# A job all the same, and one line.
many() {
    approximate 'no loops' 'no loops were found, the order of calls is lost; too many different calls, the places of some are lost$' many 0 &&
        grep -q '^# Too many different calls' "$job"
}

one_rank() {
    record 3 one && complete && grep -q '^# 1 rank made other calls' "$job" &&
        grep -q "^thinwire: the job $job: 1 of 3 ranks made other calls" "$scratch/out" && grep -q '{repeat=20;' "$job" &&
        ! grep -q APPROXIMATE "$job"
}

# Computation of 10 ms a round, by rank 1, which is rank 0's time in MPI_Recv; the first is part of what is before
# the loop.
slowest() {
    record 2 slow && complete || return 1
    awk -F '[=;]' '/compute=/ && /fixed/ { fixed += $2 } /compute=/ && !/fixed/ { compute += $2 }
        END { print compute, fixed; exit !(compute > 0.0085 && compute < 0.02 && fixed < 0.3 * compute) }' <(sed -n '/repeat=/,/);}/p' "$job") >>"$scratch/out"
}

# Each of two ranks has half of a processor; recorded is what they compute with a whole one, and nothing for the other half.
shared() {
    record 2 sharing && complete || return 1
    sed -n 's/.* It computed for \([0-9.]*\) s,.*/\1/p' "$job" | awk '{ print; exit !($1 > 0.199 && $1 < 0.24) }' >>"$scratch/out" &&
        grep -q 'fixed=true;idle=true;' "$job" && grep -q -x 'threshold = 65536L;' "$job"
}

many_threads() {
    record 2 threads
    [ $? -ne 77 ] || return 0
    complete && grep -q '^# 100 collectives of other threads' "$job" && scaled
}

# What is computed after a look at the request stands between start and wait, not behind the wait.
looked_at() {
    record 2 looking && complete && scaled || return 1
    awk -F '[=;]' '/start=/ { between = 1; n = 0 } between && /compute=/ { n += $2 } /wait=/ { if (between) found += n > 0.004; between = 0 }
        END { exit !found }' <(sed -n '/repeat=/,/);}/p' "$job")
}
serialized() { record 2 serialized && complete && ! grep -q 'other threads' "$job"; }
persists() { plain 2 persistent && record 2 persistent && complete && diff <(grep '^sum' "$scratch/plain") <(grep '^sum' "$scratch/out") &&
    grep -q '{repeat=30;' "$job" && scaled; }
nothing_called() { record 2 nothing && complete && scaled; }

a_million() {
    local more=() most
    record 1 order 1000000 && most=$(wc -c <"$job") && [ "$most" -lt 10000000 ] && complete && scaled
}

not_written() { # WORD PROGRAM: in one line
    local status
    record 2 "$2"
    status=$?
    echo "status $status" >>"$scratch/out"
    [ ! -e "$job" ] && [ -z "$(compgen -G "$job*")" ] && [ "$(grep -c "^thinwire: the job $job is not written: .*$1" "$scratch/out")" -eq 1 ]
}

# refused PATTERN PATH: before the program does anything, in one line.
refused() {
    local job=$2
    timeout -k 5 60 "$MPIRUN" -n 2 env "${quiet[@]}" THINWIRE_RECORD="$job" "$programs/recorded" forms </dev/null >"$scratch/out" 2>&1
    [ $? -eq 2 ] && [ "$(grep -c '^thinwire: ' "$scratch/out")" -eq 1 ] && grep -q "^thinwire: THINWIRE_RECORD=$1" "$scratch/out" &&
        ! grep -q '^sum' "$scratch/out"
}

keeps_the_old() {
    echo old >"$job"
    timeout -k 5 60 "$MPIRUN" -n 2 env "${quiet[@]}" THINWIRE_RECORD="$job" "$programs/recorded" abort </dev/null >"$scratch/out" 2>&1
    [ "$(cat "$job")" = old ]
}

by_command() {
    rm -f "$job"
    (cd "$scratch" && timeout -k 5 60 "$MPIRUN" -n 2 "$thinwire" run --quiet --record job.cfg -- "$programs/recorded" one </dev/null >"$scratch/out" 2>&1) &&
        complete && grep -q '^name = "recorded";' "$job" && grep -q '^#   allreduce 1: 20 times, 2 ranks, ' "$job"
}

chosen=${TW_RANKS:-1 2 3 4}
plan 35
for n in 1 2 3 4; do
    if wanted "$chosen" $n; then
        check "all forms on $n ranks: results, values, loops" all_forms $n
    else
        skip "all forms on $n ranks" "not asked for"
    fi
done
check "thinwire scale predicts the bytes that the drop-in counts, 2 ranks" as_many_bytes 2
check "and of 4" as_many_bytes 4
check "with a codec the same calls are recorded" with_a_codec
check "some thousand sizes are told apart" exact
check "more sizes than are told apart: means, and the same bytes" approximate 'too many' 'too many' sizes 100000
check "no loops: no order, and the same calls and bytes" approximate 'no loops' 'no loops' order 200000
check "a million calls without loops are less than 10 MB" a_million
check "the same calls from different places" places
check "the same calls from different places, in other loops" levels
check "other calls of one rank" one_rank
check "completion in another order on each rank" in_turn
check "a message that is complete before the collective beside it" beside
check "messages to neighbours" neighbours
check "a slow MPI_Startall" eventually slowly
check "more places than are told apart" many
check "the same calls, which are too many on one rank alone" too_many_on_one
check "the slowest rank's computation, which others wait for" slowest
check "ranks that share a processor: its time" shared
check "a look at a request completes nothing" looked_at
check "threads: those of the thread that called MPI_Init" many_threads
check "calls of another thread, one at a time" serialized
check "persistent collectives" persists
check "no collectives at all" nothing_called
check "no MPI_Finalize: no job, and one line" not_written MPI_Finalize exit
check "MPI_Abort: no job, and one line" not_written 'rank [01] ends' abort
check "MPI_Abort: a job that is there is kept" keeps_the_old
check "by thinwire run, a relative path" by_command
check "a missing folder" refused '.*/missing/job cannot be written: No such' "$scratch/missing/job"
check "a folder" refused '.* cannot be written: ' "$scratch"
mkfifo "$scratch/pipe"
check "what is no file" refused '.*/pipe cannot be written: it is no regular file' "$scratch/pipe"
left_over() { [ -z "$(compgen -G "$scratch/*.tmp")" ]; }
check "nothing is left of what was tried" left_over
