#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire calibrate: it measures, prints, writes a file that is used afterwards, in the cache folder or where
# it is told to; bad options; damaged files are named and ignored.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
limit=120
export XDG_CACHE_HOME=$scratch/cache

plan 10

measures() {
    ranks 2 "$thinwire" calibrate --seconds 1 --json "$scratch/c.json" || return 1
    local written
    written=$(sed -n 's/^written to //p' "$scratch/out")
    grep -q '^inside node' "$scratch/out" && grep -q '^tree8:block=4096' "$scratch/out" &&
        grep -q '^allreduce *two_pass' "$scratch/out" || { echo "a table is missing"; return 1; }
    [ "${written%/*}" = "$scratch/cache/thinwire" ] && [ -s "$written" ] || { echo "'$written'"; return 1; }
    grep -q '^While all ranks compute, each has [01][.][0-9]* of a processor[.]$' "$scratch/out" &&
        within "$("$json_query" "$scratch/c.json" processor)" 0.00001 1 || { echo "no processor"; return 1; }
    [ "$("$json_query" "$scratch/c.json" command)" != "" ] &&
        [ "$("$json_query" "$scratch/c.json" output)" = "$written" ] &&
        [ "$("$json_query" "$scratch/c.json" "rows.#")" -gt 20 ]
}
check "it measures, prints and writes into the cache folder" measures

# What a bench with auto says about its decisions, and warns of.
bench_auto() { ranks 2 env THINWIRE_EXPLAIN=1 "$@" "$thinwire" bench allreduce --codec auto --min 4k --max 4k; }

cache_is_used() {
    bench_auto THINWIRE_LOG_LEVEL=warn || return 1
    grep -q 'info: auto:0.02, allreduce of 1024 floats: ' "$scratch/out" || { echo "no decision"; return 1; }
    ! grep -q 'ignored\|cannot be read' "$scratch/out"
}
check "the file in the cache folder is taken" cache_is_used

named_file() {
    ranks 2 "$thinwire" calibrate --seconds 1 --output "$scratch/named" || return 1
    [ -s "$scratch/named" ] && [ "$(sed -n 's/^written to //p' "$scratch/out")" = "$scratch/named" ] || return 1
    bench_auto THINWIRE_CALIBRATION="$scratch/named" || return 1
    ! grep -q 'ignored\|cannot be read' "$scratch/out"
}
check "--output, and THINWIRE_CALIBRATION" named_file

ignored() { # PATTERN: one warning, and auto decides all the same
    bench_auto THINWIRE_CALIBRATION="$scratch/bad" || return 1
    [ "$(grep -c 'warning: calibration .*bad' "$scratch/out")" -eq 1 ] || { echo "not one warning"; return 1; }
    grep -q "warning: calibration .*bad $1" "$scratch/out" && grep -q 'info: auto:0.02, allreduce' "$scratch/out"
}
cut_file() { head -c 300 "$scratch/named" >"$scratch/bad" && ignored 'is ignored: its checksum is missing'; }
check "a file that was cut is named and ignored" cut_file
changed_file() { sed 's/^engine .*/engine 1/' "$scratch/named" >"$scratch/bad" && ignored 'is ignored: its checksum'; }
check "a file that was changed is named and ignored" changed_file
foreign_file() {
    rm -f "$scratch/bad"
    ranks 3 "$thinwire" calibrate --seconds 1 --output "$scratch/bad" || return 1
    ignored 'is ignored: it is of other hosts or another layout: .*[*]3'
}
check "a file of another layout is named and ignored" foreign_file
missing_file() { rm -f "$scratch/bad" && ignored 'cannot be read: No such file'; }
check "a missing file is named" missing_file

bad_options() {
    ranks 2 "$thinwire" calibrate --seconds 0 && return 1
    grep -q "thinwire: calibrate: --seconds '0'" "$scratch/out" || return 1
    ranks 2 "$thinwire" calibrate --outputs x && return 1
    grep -q 'did you mean --output' "$scratch/out"
}
check "bad options" bad_options

one_rank() {
    local status
    alone "$thinwire" calibrate --seconds 1 --output "$scratch/one"
    status=$?
    [ $status -eq 2 ] && [ ! -e "$scratch/one" ] &&
        [ "$(grep -c 'thinwire: calibrate: one rank alone' "$scratch/out")" -eq 1 ] || return 1
    ranks 1 "$thinwire" calibrate --seconds 1 && return 1
    grep -q 'thinwire: calibrate: one rank alone' "$scratch/out"
}
check "one rank has nothing to measure: a line, and status 2" one_rank

unwritable() {
    ranks 2 "$thinwire" calibrate --seconds 600 --output "$scratch/missing/x" # longer than the limit
    [ $? -eq 1 ] && [ "$(grep -c '^thinwire' "$scratch/out")" -eq 1 ] &&
        grep -q 'thinwire: --output .*missing/x: cannot be written: No such file' "$scratch/out"
}
check "a folder that is missing is found before anything is measured" unwritable
