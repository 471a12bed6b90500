#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The drop-in's report: where it goes, what it says of places, bytes and reasons, and what is left of it
# where a program does not end as it should.
# shellcheck source=tests/interpose/policy.bash disable=SC2015,SC2017,SC2154
. "$top_srcdir/tests/interpose/policy.bash"
plan 22

# ---- what is printed ----------------------------------------------------------------------------

text=$scratch/report.txt

forty_lines() { # of more places than lines, and the first and the last must be there
    local options
    for options in "--codec tree8" "--verify 1 --codec tree8 --max-error 0.5" ""; do
        rm -f "$text"
        # shellcheck disable=SC2086  # words
        on 2 $options --report "$text" -- sites || return 1
        within "$(wc -l <"$text")" 30 40 && says 0 thinwire: && grep -q '^thinwire: .*2 ranks' "$text" &&
            tail -n 1 "$text" | grep -q '^thinwire: ' && grep -q '^ *[0-9]* more  *' "$text" &&
            is 'rows.#' 48 && sums 96 calls && equal "$(awk '$1 == "all" { print $2 }' "$text")" 96 "calls of all" ||
            { cat "$text"; return 1; }
    done
}
check "at most 40 lines, and all calls are in them" forty_lines

line_of() { awk -v site="/* site: $1 */" 'index($0, site) { print NR + 1 }' "$top_srcdir/tests/interpose/policy_calls.c"; }
places() {
    local i n operation sites
    on 2 --codec tree8 -- allreduce bcast reduce allgather alltoall allreduce,dup,int || return 1
    n=$(value 'rows.#')
    equal "$n" 6 rows || return 1
    for ((i = 0; i < n; i++)); do
        operation=$(value "rows.$i.operation")
        [ "$operation" = allreduce ] && sites=2 || sites=1
        is "rows.$i.site" "job_issue at policy_calls.c:$(line_of "$operation")" &&
            says $sites "job_issue at policy_calls.c:$(line_of "$operation") " || return 1
    done
}
if command -v addr2line >/dev/null; then
    check "places in the program: function, file and line" places
else
    skip "places in the program: function, file and line" "no addr2line"
fi

heads() {
    on 2 --codec tree8 -- allreduce,halo allreduce,dup bcast,100 bcast,halo && are tree8 tree8 exact tree8 &&
        says 1 'thinwire: codec tree8, 2 ranks, ' && says 0 'note: ranks may differ' &&
        sums 2 calls comm=halo operation=allreduce && sums 2 calls 'comm=2 ranks' && sums 2 calls comm=world &&
        is totals.reasons.small.text 'below the threshold' && says 1 'below the threshold'
}
check "codec, communicators by their names, reasons" heads

steps_said() {
    on 2 --codec onebit --verify 1 --max-error 0.5 -- allreduce,x3 &&
        says 1 'error contract: rms(error) / rms(exact) of a call at most 5.0e-01' &&
        says 1 'note: error contract: BROKEN in verified calls, worst 5.9e-01; the next calls took a finer codec' &&
        is contract 0.5 && on 2 --codec tree8 --verify 1 --max-error 0.5 -- allreduce,x3 &&
        says 1 'note: error contract: kept in all 6 verified calls, worst 9.9e-03' &&
        on 2 --codec tree8 --max-error 0.5 -- allreduce,100 && says 1 'no call was verified'
}
check "the contract: broken, kept, not looked at" steps_said

verdicts() {
    on 2 --codec tree8 -- allreduce && says 1 'thinwire: codecs reached 100 % of the bytes sent: saved 75 % of all bytes; time was not compared with native MPI (see --verify)' &&
        is totals.bytes 131072 &&
        is totals.wire_bytes 32800 && on 2 --codec tree8 -- allreduce,200,x20 &&
        says 1 'bytes sent: compression does not pay here: 100 % of the collective time is in calls of under 4 KiB' &&
        on 2 --codec tree8 -- allreduce,int,x3 && says 1 'nothing was compressed; 100 % of all bytes: type is not' &&
        on 1 --codec tree8 -- allreduce && are exact && says 1 'thinwire: nothing to compress: one rank sends nothing' &&
        is totals.reasons.single.calls 1 && on 1 -- allreduce,dup && sums 1 calls 'comm=1 rank'
}
check "verdicts" verdicts

# ---- where it goes ------------------------------------------------------------------------------

quiet() {
    quietly 2 --codec tree8 -- allreduce && says 0 thinwire && are tree8 && is command run &&
        value version >/dev/null && value machine.host >/dev/null && is ranks 2 && is heard 2 &&
        is rows.0.operation allreduce && is rows.0.type float && is rows.0.comm world && is rows.0.codec tree8
}
check "--quiet, and all of it by --json" quiet

files() { # relative to where it was started, and only there
    rm -f "$text"
    (cd "$scratch" && on 2 --codec tree8 --report report.txt -- allreduce) && says 0 thinwire: &&
        grep -q '^thinwire: codecs reached 100 % of the bytes sent: saved 75 %' "$text" && rm -f "$text" &&
        on 2 --quiet --codec tree8 --report "$text" -- allreduce && [ -s "$text" ]
}
check "--report FILE" files

early() { # OPTION FILE: refused before the program does anything
    under --quiet "$1" "$2"
    ! ranks 2 "${command[@]}" allreduce && one_line "=$2 cannot be written: No such file" &&
        says 0 exact
}
unwritable() {
    early --report "$scratch/none/report" && early --json "$scratch/none/json" || return 1
    if [ -w /dev/full ]; then # which does not say so before
        on 2 --report /dev/full -- allreduce && are exact &&
            one_line 'the report /dev/full cannot be written: No space'
    fi
}
check "files that cannot be written: one line, at the start where that is known" unwritable

# ---- watching -----------------------------------------------------------------------------------

# Bytes of n values by the wire format, and those in units of 64.
size_of() { # SPEC N
    case $1 in
        bitpack:?) echo $(($2 * ${1#*:})) ;;
        bf16) echo $(($2 * 2)) ;;
        tree8 | int8) echo $(($2 + 4 * (($2 + 4095) / 4096))) ;;
        int4) echo $((2 * (($2 + 31) / 32) + ($2 + 1) / 2)) ;;
        int:*) echo $(($2 / 256 * (4 + 32 * ${1#*:}) + ($2 % 256 ? 4 + ($2 % 256 * ${1#*:} + 7) / 8 : 0))) ;;
        onebit) echo $(($2 / 2048 * 264 + ($2 % 2048 ? 8 + ($2 % 2048 + 7) / 8 : 0))) ;;
    esac
}
in_units() { echo $((($1 + 63) / 64 * 64)); }

candidate() { # SPEC KEY
    local i n
    n=$(value 'candidates.#')
    for ((i = 0; i < n; i++)); do
        [ "$(value "candidates.$i.codec")" = "$1" ] && { value "candidates.$i.$2"; return; }
    done
    echo "no candidate $1" >&2
    return 1
}

by_formula() { # an allgather of 33333 and an allreduce of 50001 complex values, 3 ranks
    local spec wanted seen
    quietly 3 -- allgather,33333 allreduce,complex,25001 allreduce,16383 bcast,int && are exact exact exact exact &&
        is watching true && is totals.compressed_calls 0 || return 1
    for spec in bitpack:3 bf16 bitpack:2 int:16 int:12 tree8 int8 int4 onebit; do
        wanted=$((6 * $(in_units "$(size_of $spec 33333)") + 4 * $(size_of $spec 50002)))
        seen=$(candidate $spec wire_bytes)
        within "$seen" $((wanted - 3)) $((wanted + 3)) && # each rank rounds
            within "$(candidate $spec bytes)" $((24 * 33333 + 16 * 50002 - 3)) $((24 * 33333 + 16 * 50002 + 3)) || return 1
    done
    is totals.reasons.watching.calls 9
}
check "watching: bytes by the sizes of the codecs" by_formula

# What watching says that a codec would send is what the same calls do send with it, but for rounding.
true_for() { # WORD...
    local spec asked could=() sent specs=(tree8 bitpack:3 onebit)
    quietly 3 -- "$@" >/dev/null || return 1
    asked=$(value totals.bytes)
    for spec in "${specs[@]}"; do # what could not be compressed is sent as it is
        could+=($((asked - $(candidate "$spec" bytes) + $(candidate "$spec" wire_bytes))))
    done
    for spec in "${specs[@]}"; do
        quietly 3 --codec "$spec" "${narrow[@]}" -- "$@" || return 1
        sent=$(value totals.wire_bytes)
        is totals.bytes "$asked" && within "${could[0]}" $((sent - 6)) $((sent + 6)) ||
            { echo "$spec: ${could[0]} said, $sent sent, $asked asked for"; return 1; }
        could=("${could[@]:1}")
    done
}
narrow=()
even() {
    true_for allreduce,100000 allgather,33000 alltoall,33000 reduce_scatter,33000 \
        reduce_scatter_block,33000 bcast,40000
}
uneven() { true_for allgatherv,33000,uneven alltoallv,33000,uneven reduce_scatter,33000,uneven; }
others() { true_for reduce,100000 ireduce,50000 ibcast,50000 iallgather,20000 iallreduce,100000; }
doubles() { # as floats, or by what the codec has for them
    local narrow=(--double)
    true_for allreduce,double,100000 allgather,double,20000 alltoallv,double,20000,uneven \
        reduce_scatter,double,20000,uneven bcast,20000 && quietly 2 -- allreduce,double,50000 &&
        [ "$(candidate tree8 needs_double)" = true ] && [ "$(candidate bitpack:3 needs_double)" = true ]
}
check "watching: what a codec would send is what it sends" even
check "watching: the same of doubles" doubles
check "watching: the same with counts that differ" uneven
check "watching: the same of reduce and nonblocking calls" others

# 3 ranks; every block has 4000 bytes. The mean rank sends 2/3 of a vector in a scan, one block to or from a
# root on all ranks but it, two blocks to others, two to its neighbours.
each() { # WANTED_BYTES OPERATION...
    local bytes=$1 name
    shift
    for name; do
        sums 3 calls operation="$name" && sums "$bytes" bytes operation="$name" && sums 3 calls operation="i$name" &&
            sums "$bytes" bytes operation="i$name" || return 1
    done
}
every() {
    on 3 -- every && says 1 ' 0 wrong' && says 0 'no collective' &&
        each 0 barrier && each 8000 gather gatherv scatter scatterv && each 8001 scan exscan && each 24000 alltoallw \
        neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw || return 1
    if grep -q '^every: persistent' "$scratch/out"; then # the starts
        sums 9 calls operation=gather_init && sums 24000 bytes operation=gather_init &&
            sums 6 calls operation=bcast_init || return 1
    fi
    if grep -q '^every: .*large' "$scratch/out"; then
        sums 3 calls operation=gather_c && sums 8000 bytes operation=gatherv_c &&
            sums 24000 bytes operation=allgatherv_c || return 1
    fi
}
check "watching: every collective is counted, persistent ones when they start" every

# 3 ranks, 1000 doubles to the next one in each kind of message; see the program.
sent() { # CALLS BYTES OPERATION [TYPE]
    sums "$1" calls operation="$3" ${4:+type="$4"} && sums "$2" bytes operation="$3" ${4:+type="$4"}
}
messages() {
    local name total
    on 3 -- messages && says 1 ' 0 wrong' || return 1
    for name in send bsend ssend isend ibsend issend sendrecv_replace put get accumulate rget; do
        sent 3 24000 $name || return 1
    done
    sent 9 72000 rsend_init && sent 3 24000 sendrecv double && sent 6 0 sendrecv float &&
        sent 2 16000 sendrecv MPI_LONG && sent 3 24000 sendrecv 'derived(double)' && sent 3 84000 sendrecv derived &&
        sent 3 3000 sendrecv MPI_BYTE && sent 3 24 fetch_and_op || return 1
    total=$((8 * 24000 + 72000 + 16000 + 24000 + 84000 + 3000))
    if grep -q '^messages: newest' "$scratch/out"; then
        sent 3 24000 send_c && sent 3 24000 isendrecv && sent 3 24000 psend_init || return 1
        total=$((total + 72000))
    fi
    is traffic.2.kind point-to-point && is traffic.2.bytes $total && is traffic.2.integer 16000 &&
        is traffic.2.byte 3000 && is traffic.2.other 84000 && is traffic.3.bytes $((4 * 24000 + 24)) &&
        is totals.bytes $((total + 4 * 24000 + 24)) && says 1 ' of messages looked at hold' &&
        grep -q ' isend  *double .* integers 100 %$' "$scratch/out" && says 1 'thinwire: codecs can reach 0 % of the bytes sent: nothing'
}
check "watching: messages and one-sided transfers of every kind are counted" messages

rules_said() {
    on 3 --rule 'allreduce:float:>=1k=tree8' --rule 'bcast:>=1G=bf16' --rule 'allreduce=bf16' --rule '*:comm=17:off' \
        -- allreduce allgather && are tree8 exact && says 1 '(no_rule)' && says 1 'no rule matches' &&
        says 0 'a rule says off' && is totals.reasons.no_rule.calls 3 &&
        says 1 "note: no call was decided by the rule 'bcast:>=1G=bf16'" &&
        says 1 "note: no call was decided by the rule 'allreduce=bf16'" &&
        says 1 "note: no call was decided by the rule 'comm=17:off'" && says 3 'no call was decided' &&
        on 2 --rule 'allreduce=tree8' --rule '*:off' -- allreduce allgather && says 0 'no call was decided' &&
        says 1 'a rule says off'
}
check "rules: those that matched nothing are named, and calls that none matched" rules_said

no_guess() { # of time: what a collective inside one machine would take is not known from here
    on 2 -- allreduce,500000,x4 alltoall,20000 && says 1 'thinwire: watching, no codec named, 2 ranks' &&
        says 0 'estimated ms' && says 1 'thinwire: codecs can reach 100 % of the bytes sent: those advised would save 75 % of all bytes; time is not estimated' &&
        says 1 "advice for float: tree8 saves 75 % of all bytes, error up to 1.3e-02 of the largest of 4096 values (--rule 'float:>=64k=tree8')"
}
check "watching: times are not guessed" no_guess

# ---- other ends ---------------------------------------------------------------------------------

aborted() {
    on 2 --codec tree8 --threshold 1k -- leave abort 7
    equal $(($? != 0)) 1 "a status that is not 0" &&
        says 1 'MPI_Abort was called: these are the counters of rank 1' &&
        grep -q '^ *add_up at policy_more.c:[0-9]*  *world  *allreduce  *float  *tree8  *3 ' "$scratch/out"
}
check "MPI_Abort: the aborting rank prints its counters" aborted

failed() { # the handler that ends jobs is MPI's own, and stays so; one that returns ends nothing
    on 2 --codec tree8 --threshold 1k -- leave error 7
    equal $(($? != 0)) 1 "a status that is not 0" && says 1 'thinwire: MPI has ended the job (' &&
        says 1 ': these are the counters of rank 1' && says 1 'note: a message was longer than its receiver expected' &&
        says 1 'they may have parted: try' &&
        grep -q '^ *add_up at policy_more.c:[0-9]*  *world  *allreduce  *float  *tree8  *3 ' "$scratch/out" || return 1
    on 2 -- leave error 7
    equal $(($? != 0)) 1 "a status that is not 0" && says 1 ': these are the counters of rank 1' && says 0 'may have parted'
}
check "an error that ends the job: the counters, and what may have led there" failed

left() { # the launcher ends the rest; nobody waits for the rank that is gone
    local start=$SECONDS
    on 3 --codec tree8 --threshold 1k -- leave exit 3
    equal $(($? != 0 && $? != 124)) 1 "a status" && within $((SECONDS - start)) 0 30
}
check "a rank that leaves without MPI_Finalize" left

without() {
    on 2 -- no-collectives && says 0 'NOTHING WAS INTERCEPTED' && says 2 'messages from rank to rank, which' && is traffic.0.calls 0 &&
        on 2 --codec tree8 -- no-collectives && says 1 'codecs can reach 0 % of the bytes sent: nothing was compressed; 100 %'
}
check "a program without collectives" without

# thinwire run leaves a mark for its own process, which variables set by hand do not have.
outside() { # nothing can be compressed there, and that is said loudly
    ranks 2 "$thinwire" run -- true && one_line 'NOTHING WAS INTERCEPTED'
}
if [ -n "$asan" ]; then
    skip "a program without MPI" "the sanitizer's library must come first"
else
    check "a program without MPI" outside
fi
