#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Settings of the drop-in from the environment, right and wrong: one clear line, all ranks leave with
# a status that is not 0, no hang.
# shellcheck source=tests/interpose/launch.sh disable=SC1091,SC2154
. "$top_srcdir/tests/interpose/launch.sh"

mode watching
quiet=("${settings[@]}")
loaded=("${quiet[@]:0:2}") # the library and its name, not THINWIRE_QUIET

# job RANKS NAME=VALUE...: the program under these settings alone; each rank writes how it left.
job() {
    local ranks=$1
    shift
    # shellcheck disable=SC2016  # for the inner shell
    timeout -k 5 60 "$MPIRUN" -n "$ranks" bash -c '"$@"; echo $? >>"$left"' bash \
        env "$@" "$programs/die" well </dev/null >"$scratch/out" 2>&1
}
ours() { grep '^thinwire: ' "$scratch/out"; }

# refused PATTERN NAME=VALUE...
refused() {
    local pattern=$1
    shift
    job 3 "${loaded[@]}" "$@"
    all_left 3 2 && [ "$(ours | wc -l)" -eq 1 ] && ours | grep -q -e "$pattern"
}

# check NAME COMMAND...
check() {
    local name=$1
    shift
    "$@"
    result $? "$name"
}

plan 38

unset_all() {
    job 2 "${loaded[@]}" && all_left 2 0 && ours | grep -q -i watch && grep -q '^the end' "$scratch/out"
}
check "nothing is set: it watches, and says so" unset_all

nothing_said() { job 2 "${quiet[@]}" && all_left 2 0 && [ -z "$(ours)" ]; }
check "THINWIRE_QUIET: not a word" nothing_said

misspelt() {
    job 2 "${quiet[@]}" THINWIRE_CODC=tree8 && all_left 2 0 && [ "$(ours | wc -l)" -eq 1 ] &&
        ours | grep -q 'THINWIRE_CODC.*did you mean THINWIRE_CODEC?'
}
check "a misspelt name is warned about once" misspelt

empty() { job 2 "${quiet[@]}" THINWIRE_CODEC= THINWIRE_RULES= && all_left 2 0 && [ -z "$(ours)" ]; }
check "empty settings are none" empty

check "unknown codec" refused "unknown codec 'tree9'" THINWIRE_CODEC=tree9
check "unknown option of a codec" refused "no option 'blok'" THINWIRE_CODEC=tree8:blok=64
check "codec without its K" refused bitpack THINWIRE_CODEC=bitpack
check "bitpack:9" refused bitpack THINWIRE_CODEC=bitpack:9
check "threshold that is no size" refused 'THINWIRE_THRESHOLD=many is malformed' \
    THINWIRE_CODEC=tree8 THINWIRE_THRESHOLD=many
check "negative verification" refused 'THINWIRE_VERIFY=-1' THINWIRE_VERIFY=-1
check "error limit that is no number" refused 'THINWIRE_MAX_ERROR=low' THINWIRE_CODEC=tree8 \
    THINWIRE_MAX_ERROR=low
check "a switch that is neither on nor off" refused 'THINWIRE_DOUBLE=maybe' THINWIRE_DOUBLE=maybe
check "a rule with an unknown operation" refused allredcue 'THINWIRE_RULES=allredcue=tree8'
check "a rule with a wrong codec" refused tree9 'THINWIRE_RULES=bcast:off;allreduce=tree9'
check "a wrong codec of a rule: where it stands" refused 'THINWIRE_RULES, .* line 1: unknown codec .tree9' \
    'THINWIRE_RULES=bcast:off;allreduce=tree9'
check "a rule without an end" refused . 'THINWIRE_RULES=allreduce:float'
check "a file of rules that is not there" refused 'RULES_FILE=.*missing' \
    THINWIRE_RULES_FILE="$scratch/missing"
printf '# two rules\nbcast=tree8\nbcast:nowhere=tree8\n' >"$scratch/rules"
printf '# two rules\nbcast=tree8\nreduce=tree9\n' >"$scratch/codecs"
check "a wrong codec in a file: its name and line" refused '/codecs, .* line 3: unknown codec .tree9' \
    THINWIRE_RULES_FILE="$scratch/codecs"
check "a wrong rule in a file: its name and line" refused 'rules.*3.*nowhere' \
    THINWIRE_RULES_FILE="$scratch/rules"
{ printf 'bcast=tree8\n'; yes '# far beyond what anyone writes' | head -c 1100000; printf '\nreduce=tree9\n'; } >"$scratch/long"
check "a file of rules that is too long" refused '/long: longer than 1 MiB' THINWIRE_RULES_FILE="$scratch/long"
printf 'bcast=tree8\n\0reduce=tree9\n' >"$scratch/nul"
check "a file of rules with a NUL in it" refused '/nul: byte 13 is a NUL' THINWIRE_RULES_FILE="$scratch/nul"
check "a folder for a file of rules" refused 'RULES_FILE=.*cannot be read: Is a directory' \
    THINWIRE_RULES_FILE="$scratch"
check "a report that cannot be written at the end" refused 'THINWIRE_REPORT=.*missing/x cannot be written: No such' \
    THINWIRE_REPORT="$scratch/missing/x"
check "nor as JSON" refused 'THINWIRE_JSON=.* cannot be written: Is a directory' THINWIRE_JSON="$scratch"
check "nor a job" refused 'THINWIRE_RECORD=.*missing/x cannot be written: No such' THINWIRE_RECORD="$scratch/missing/x"
ln -s "$scratch/one" "$scratch/other"
check "one file for two" refused 'THINWIRE_REPORT and THINWIRE_JSON are the same file' \
    THINWIRE_REPORT="$scratch/one" THINWIRE_JSON="$scratch/./one"
: >"$scratch/one"
check "one by a link" refused 'THINWIRE_JSON and THINWIRE_RECORD are the same file' \
    THINWIRE_JSON="$scratch/one" THINWIRE_RECORD="$scratch/other"
mkfifo "$scratch/pipe"
unread() {
    job 2 "${quiet[@]}" THINWIRE_REPORT="$scratch/pipe" && all_left 2 0 &&
        ours | grep -q 'the report .*pipe cannot be written: nobody reads this pipe'
}
check "a report into a pipe that nobody reads" unread
piped() {
    cat "$scratch/pipe" >"$scratch/text" &
    job 2 "${quiet[@]}" THINWIRE_JSON="$scratch/pipe" && all_left 2 0 && wait && grep -q operation "$scratch/text"
}
check "JSON into a pipe" piped
kept() { # no file is left by the try, and one that is there is kept until there is another
    echo old >"$scratch/kept"
    refused tree9 THINWIRE_JSON="$scratch/kept" THINWIRE_REPORT="$scratch/none" THINWIRE_CODEC=tree9 &&
        [ "$(cat "$scratch/kept")" = old ] && [ ! -e "$scratch/none" ] &&
        job 2 "${quiet[@]}" THINWIRE_JSON="$scratch/kept" && all_left 2 0 && grep -q operation "$scratch/kept"
}
check "a file that is there is kept until the end" kept
check "an error limit and no codec" refused 'THINWIRE_MAX_ERROR' THINWIRE_MAX_ERROR=0.1

check "encoding always, and no codec" refused 'THINWIRE_ENCODE=always without a codec' \
    THINWIRE_ENCODE=always

# differ PATTERN SETTING SETTING: rank 1 has another one than rank 0.
differ() {
    local status
    timeout -k 5 60 "$MPIRUN" -n 2 bash "$top_srcdir/tests/by_rank.sh" env "${loaded[@]}" "$2" "$programs/die" well :: \
        env "${loaded[@]}" "$3" "$programs/die" well </dev/null >"$scratch/out" 2>&1
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(ours | wc -l)" -eq 1 ] &&
        ours | grep -q -e "$1" && ! grep -q '^the end' "$scratch/out"
}
check "codecs differ" differ 'rank 1 has another THINWIRE_CODEC' \
    THINWIRE_CODEC=tree8 THINWIRE_CODEC=int8
check "thresholds differ" differ 'rank 1 has another THINWIRE_THRESHOLD' \
    THINWIRE_THRESHOLD=1k THINWIRE_THRESHOLD=2k
check "rules differ" differ 'rank 1 has another THINWIRE_RULES' \
    'THINWIRE_RULES=bcast=tree8' 'THINWIRE_RULES=bcast=int8'
check "encoding always on one rank" differ 'rank 1 has another THINWIRE_ENCODE' \
    THINWIRE_ENCODE=auto THINWIRE_ENCODE=always
check "recording on one rank" differ 'rank 1 has another THINWIRE_RECORD' \
    THINWIRE_RECORD= THINWIRE_RECORD="$scratch/job.cfg"
check "one rank has a wrong codec" differ 'rank 1 has another THINWIRE_CODEC' \
    THINWIRE_CODEC=tree8 THINWIRE_CODEC=tree9
