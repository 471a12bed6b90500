#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire info, --settings, --help and --version; unknown settings.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
plan 11

says_what_is_here() {
    alone "$thinwire" info || return 1
    local word
    for word in '^thinwire  *[0-9]' '^build ' '^machine ' '^CPU level ' '^MPI ' '^fabric ' '^CUDA-aware ' '^endpoints *mpi' \
        '^CUDA ' '^tree8 .*4096' '^onebit ' '^bitpack:1 '; do
        grep -q "$word" "$scratch/out" || { echo "no line with $word"; return 1; }
    done
}
check "info says what is here" says_what_is_here
one_core() { alone taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" "$thinwire" info && grep -q '^machine .* 1 core for this process' "$scratch/out"; }
check "on one core it says so" one_core

level_is_capped() {
    THINWIRE_CPU=scalar alone "$thinwire" info && grep -q '^CPU level  *scalar$' "$scratch/out"
}
check "THINWIRE_CPU caps the level" level_is_capped

under_mpirun() {
    ranks 3 "$thinwire" info && [ "$(grep -c '^thinwire  ' "$scratch/out")" -eq 1 ] &&
        ! grep -q '^fabric  *unknown' "$scratch/out"
}
check "one rank speaks under mpirun, and knows the fabric" under_mpirun

settings_with_values() {
    THINWIRE_CHUNK=64k alone "$thinwire" info --settings &&
        grep -q '^  THINWIRE_CHUNK=64k$' "$scratch/out" && grep -q 'default: 1M' "$scratch/out" &&
        grep -q '^  THINWIRE_LOG_LEVEL=' "$scratch/out" && grep -q 'default: (none)$' "$scratch/out" &&
        ! grep -q 'default: *$' "$scratch/out"
}
check "--settings lists values, help and defaults" settings_with_values

json_is_whole() {
    local file=$scratch/info.json
    alone "$thinwire" info --json "$file" || return 1
    "$json_query" "$file" version command machine.cpu machine.cores build cpu_level mpi.library mpi.fabric \
        mpi.cuda_aware cuda.linked cuda.devices codecs.0.codec codecs.# settings.0.name settings.0.help || return 1
    [ -z "$(find "$scratch" -name 'info.json?*')" ] || { echo "a temporary file is left"; return 1; }
}
check "--json is one object with all of it" json_is_whole

by_type() { # bitpack:4 is all of a float32, and half of a double; int4 is of 16-bit floats, too
    local file=$scratch/info.json i
    alone "$thinwire" info --json "$file" && grep -q '^bitpack:4  *4.0000 =  *4.0000  *-  *-  *1 ' "$scratch/out" &&
        grep -q '^bitpack:3  *3.0000  *3.0000  *-  *-  *1 ' "$scratch/out" && grep -q '^fp32  *4.0000 =  *-  *-  *- ' "$scratch/out" &&
        grep -q '^int4  *0.5625  *-  *0.5625  *0.5625  *4096 ' "$scratch/out" && grep -q '^fp16  *2.0000  *-  *2.0000 =  *- ' "$scratch/out" &&
        grep -q '^int:48  *-  *6.0312  *-  *- ' "$scratch/out" || return 1
    grep -q '^  float  *onebit (0.1289), int4 (0.5625), tree8 (1.001), int:12 (1.516), bf16 (2), int:16 (2.016), bitpack:3 (3), off$' "$scratch/out" &&
        grep -q '^  bfloat16  *onebit (0.1289), .*bf16 (2), off$' "$scratch/out" && grep -q '^  double  *int:4 .*int:48 (6.031), bitpack:7 (7), off$' "$scratch/out" &&
        [ "$("$json_query" "$file" finer.double.1)" = int:8 ] || return 1
    grep -E -o '^(onebit|int4|tree8|int:12|bf16|int:16|bitpack:3|int:24|int:32|int:48) ' "$scratch/out" | paste -s -d '' >"$scratch/order"
    [ "$(cat "$scratch/order")" = 'onebit int4 tree8 int:12 bf16 int:16 bitpack:3 int:24 int:32 int:48 ' ] || { cat "$scratch/order"; return 1; }
    for i in $(seq 0 $(($("$json_query" "$file" codecs.#) - 1))); do
        "$json_query" "$file" codecs.$i.codec codecs.$i.lossless.float32 codecs.$i.lossless.double | paste -s -d ' '
    done >"$scratch/lossless"
    grep -q '^bitpack:4 true false$' "$scratch/lossless" && grep -q '^fp32 true null$' "$scratch/lossless" &&
        grep -q '^tree8 false null$' "$scratch/lossless"
}
check "lossless, for each type" by_type

warned_once() {
    THINWIRE_CHUNKS=64k ranks 2 "$thinwire" info || return 1
    [ "$(grep -c 'THINWIRE_CHUNKS.*did you mean THINWIRE_CHUNK?' "$scratch/out")" -eq 1 ]
}
check "an unknown setting is warned about once, with the nearest" warned_once

malformed() {
    THINWIRE_WINDOW=99 alone "$thinwire" info && return 1
    [ "$(wc -l <"$scratch/out")" -eq 1 ] && grep -q 'THINWIRE_WINDOW=99.*1\.\.8' "$scratch/out"
}
check "a malformed setting is an error that says what is accepted" malformed

help_everywhere() {
    local words
    for words in "" info bench "bench codec" "bench allreduce" "bench bcast" "bench reduce_scatter" "bench allgather" "bench alltoall" "bench overlap"; do
        # shellcheck disable=SC2086  # a list of words
        alone "$thinwire" $words --help || return 1
        grep -q '^Usage: .*thinwire' "$scratch/out" || return 1
    done
}
check "--help works everywhere" help_everywhere

version_matches() {
    alone "$thinwire" --version && grep -qx 'thinwire [0-9.]*' "$scratch/out"
}
check "--version" version_matches
