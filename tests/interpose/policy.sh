#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The drop-in's policy: which calls are compressed, by which codec, and who decides. The program tells
# by its errors, the report by its rows.
# shellcheck source=tests/interpose/policy.bash disable=SC2016,SC2154
. "$top_srcdir/tests/interpose/policy.bash"
plan 32

# ---- threshold ----------------------------------------------------------------------------------

threshold() { # of the vector, or of the block that goes to one rank
    quietly 2 --codec bitpack:2 --threshold 32k -- allreduce,8191 allreduce,8192 bcast,8191 bcast,8192 \
        allgather,8191 allgather,8192 alltoall,8191 alltoall,8192 allreduce,complex,4095 \
        allreduce,complex,4096 &&
        are exact bitpack:2 exact bitpack:2 exact bitpack:2 exact bitpack:2 exact bitpack:2 &&
        is totals.reasons.small.calls 10 && is totals.compressed_calls 10 &&
        sums 10 calls codec=bitpack:2
}
check "just below the threshold, and at it" threshold

thresholds() {
    quietly 2 --codec bitpack:2 -- allreduce,16383 allreduce,16384 && are exact bitpack:2 &&
        quietly 2 --codec bitpack:2 --threshold 0 -- allreduce,64 allreduce,1 && are bitpack:2 exact &&
        is totals.reasons.not_paying.calls 2 &&
        quietly 2 --codec bitpack:2 --threshold inf -- allreduce,1000000 && are exact
}
check "the threshold as it is, 0 and inf" thresholds

# ---- rules --------------------------------------------------------------------------------------

cat >"$scratch/rules" <<'RULES'
# A file of rules; the first that holds decides.

allreduce:float:>=64k:<128k=tree8   # a range
allreduce:float:off
comm=2:bcast = onebit
	comm=world:alltoall=bf16; comm=world:float=bitpack:3
*=bitpack:2
RULES
rules() {
    quietly 3 --rules "$scratch/rules" -- allreduce allreduce,32767 allreduce,32768 allreduce,16383 \
        bcast,pair bcast bcast,dup alltoall,5000 alltoall,5000,dup allgather,5000 allreduce,dup,16383 &&
        are tree8 tree8 exact exact onebit bitpack:3 bitpack:2 bf16 bitpack:2 bitpack:3 exact &&
        is totals.reasons.rule.calls 9 && sums 6 calls codec=tree8 operation=allreduce &&
        sums 2 calls codec=onebit 'comm=2 ranks' operation=bcast &&
        sums 3 calls codec=bitpack:2 operation=alltoall 'comm=3 ranks' && is codec 'by rules'
}
check "rules from a file: size, operation, type, communicator, off" rules

options_first() {
    quietly 2 --rule 'bcast:off' --rule 'allreduce:double=bitpack:6' --rules "$scratch/rules" -- bcast \
        allreduce,double allreduce && are exact bitpack:6 tree8
}
check "--rule comes before the file, and the first before the second" options_first

and_codec() { # rules do not obey the threshold, the codec does
    quietly 2 --codec bf16 --rule 'comm=world:bcast=tree8' --rule 'allgather:off' -- bcast,500 \
        bcast,500,dup bcast,dup allgather allreduce && are tree8 exact bf16 exact bf16
}
check "rules beside --codec" and_codec

named() { # either it holds, or it is refused: a rule that never holds would be a trap
    if quietly 2 --codec tree8 --rule 'comm=halo:off' -- allreduce,halo allreduce,dup; then
        are exact tree8
    else
        says 1 'comm=halo'
    fi
}
check "a rule for a named communicator" named

# Every rank leaves with status 2, and one line says why.
all_refuse() { # RANKS TEXT OPTION...
    local n=$1 text=$2
    shift 2
    under "$@"
    ranks "$n" bash -c '"$@"; echo $? >>"$left"' bash "${command[@]}" allreduce
    all_left "$n" 2 && one_line "$text"
}
wrong_rules() {
    all_refuse 3 "unknown codec 'tree9'" --rule 'bcast:off' --rule 'allreduce=tree9' &&
        all_refuse 2 "'allredcue' is no condition, did you mean 'allreduce'?" --rule 'allredcue=tree8' &&
        printf 'bcast:off\nallreduce=bitpack:9\n' >"$scratch/wrong" &&
        all_refuse 2 'bitpack' --rules "$scratch/wrong"
}
check "wrong rules: one line, and all ranks leave" wrong_rules

# One rank has OPTIONS of its own: the job ends with one line that names it.
differs() { # TEXT LINE OPTIONS...: rank 2 has the option or the file that is different
    local text=$1 first second
    shift
    under "$1" "$2"
    first=("${command[@]}")
    under "$3" "$4"
    second=("${command[@]}")
    ranks 3 bash "$top_srcdir/tests/by_rank.sh" "${first[@]}" allreduce :: "${first[@]}" allreduce :: \
        "${second[@]}" allreduce
    equal $(($? != 0)) 1 "a status that is not 0" && says 1 "$text"
}
differing() {
    sed 's/onebit/bf16/' "$scratch/rules" >"$scratch/other"
    differs 'rank 2 has another THINWIRE_RULES' --rule allreduce=tree8 --rule allreduce=onebit &&
        differs 'rank 2 has another rules file' --rules "$scratch/rules" --rules "$scratch/other" &&
        differs 'rank 2 has another THINWIRE_THRESHOLD' --threshold 64k --threshold 32k
}
check "rules that differ between ranks: one line names the rank" differing

# ---- the program decides ------------------------------------------------------------------------

pcontrol() {
    quietly 2 --pcontrol --codec tree8 -- allreduce pcontrol=0 allreduce bcast,dup ialltoall pcontrol=1 allreduce &&
        are tree8 exact exact exact tree8 && is totals.reasons.pcontrol.calls 6 &&
        is totals.compressed_calls 4 &&
        quietly 2 --codec tree8 -- allreduce pcontrol=0 allreduce && are tree8 tree8
}
check "MPI_Pcontrol" pcontrol

# From tree8, which has no form for doubles, to one that has.
feedback_of_doubles() {
    quietly 2 --codec tree8 --double --error-feedback --max-error 1e-6 --verify 1 -- allreduce,double \
        allreduce,double allreduce,double
}
check "error feedback goes on where the contract changes the type of the codes" feedback_of_doubles

info() {
    quietly 2 --codec tree8 -- allreduce,100 info=bitpack:2 allreduce,100 bcast allreduce,dup info=off \
        allreduce bcast,dup info=bf16@dup allreduce,dup,100 allreduce &&
        are exact bitpack:2 bitpack:2 bitpack:2 exact bitpack:2 bf16 exact && is totals.reasons.info.calls 4
}
check "thinwire_codec of a communicator: a codec, off" info

info_first() { # before rules; that of a duplicate is its own
    quietly 2 --rule '*=tree8' -- dupinfo=onebit allreduce allreduce,dup allreduce,double,dup &&
        are tree8 onebit exact && quietly 2 -- dupinfo=bitpack:6 allreduce allreduce,double,dup allreduce,dup &&
        are exact bitpack:6 exact && is totals.reasons.codec.calls 2
}
check "thinwire_codec by MPI_Comm_dup_with_info, before rules and without" info_first

info_kept() { # by duplicates, and theirs; not by a part, nor by one with another MPI_Info
    quietly 2 --codec tree8 -- info=off allreduce,dup allreduce,other allreduce,again allreduce,pair \
        info=bf16@other allreduce,other allreduce,again allreduce &&
        are exact exact exact tree8 bf16 exact exact &&
        quietly 2 --codec tree8 -- info=off dupinfo=- allreduce,dup && are tree8
}
check "thinwire_codec is kept by MPI_Comm_dup and MPI_Comm_idup" info_kept

info_wrong() {
    quietly 2 --codec tree8 -- info=nonsense allreduce && are tree8 && one_line "unknown codec 'nonsense'" &&
        quietly 3 --codec tree8 -- info=off info=onebit/bf16 allreduce info=-/bf16 allreduce bcast,dup &&
        are exact exact exact && says 2 'thinwire: thinwire_codec differs between the ranks'
}
check "thinwire_codec that is nonsense, or differs between ranks: one line" info_wrong

info_in_place() {
    quietly 3 -- in-place bitpack:2 && says 1 'in place: 0 wrong' &&
        quietly 3 --codec tree8 --threshold inf -- in-place bitpack:2 && says 1 'in place: 0 wrong'
}
check "thinwire_codec and ranks that have nothing to encode" info_in_place

# ---- the root of a broadcast --------------------------------------------------------------------

# Memory that may be written is; what may not stays, the others get theirs, and the report counts it.
kinds_of_memory() {
    quietly 2 --codec bitpack:2 --threshold 1k -- roots || return 1
    cat >"$scratch/wanted" <<'KINDS'
writable: took
writable, nonblocking: took
many pages: took
read-only: kept
read-only, nonblocking: kept
many pages, read-only: kept
the last page read-only: kept
up to a read-only page: took
holes: took
holes, nonblocking: took
holes that are not mapped: took
holes that are read-only: kept
KINDS
    grep -v -e twice -e absolute "$scratch/out" | diff "$scratch/wanted" - &&
        says 1 'an element named twice: ' && ! grep 'far off' "$scratch/out" &&
        grep -E '^two places, absolute: (took|kept)$' "$scratch/out" &&
        within "$(value totals.root_exact)" 5 6 # the address of the last may be anywhere
}
check "the root takes what the others have, if its memory may be written" kinds_of_memory

exact_root() {
    quietly 3 --codec tree8 -- bcast bcast,root=1 ibcast bcast,double && are tree8 tree8 tree8 exact &&
        is totals.root_exact 0 &&
        on 3 --codec tree8 --bcast-root exact -- bcast bcast,root=1 ibcast bcast,double &&
        are tree8! tree8! tree8! exact && is totals.root_exact 3 &&
        says 1 'note: ranks may differ: the root kept its exact values in 3 broadcasts'
}
check "all ranks have the same after a broadcast; not with --bcast-root exact" exact_root

# ---- doubles ------------------------------------------------------------------------------------

doubles() {
    quietly 2 --codec tree8 -- allreduce,double alltoallv,dcomplex bcast,int allreduce &&
        are exact exact exact tree8 && is totals.reasons.double.calls 4 && is totals.reasons.type.calls 2
}
check "doubles are not for tree8" doubles

wide() {
    quietly 2 --codec tree8 --double -- allreduce,double alltoallv,dcomplex bcast,double \
        reduce_scatter,double iallgather,double bcast,int &&
        are tree8 tree8 tree8 tree8 tree8 exact && sums 2 calls codec=tree8 'type=double complex' &&
        within "$(($(sum bytes codec=tree8) * 100 / $(sum wire_bytes codec=tree8)))" 790 800
}
check "doubles with --double" wide

six() {
    quietly 2 --codec bitpack:6 -- allreduce,double alltoall,dcomplex allgatherv,double allreduce \
        bcast,complex && are bitpack:6 bitpack:6 bitpack:6 exact exact &&
        is totals.reasons.codec.calls 4 && equal "$(sum wire_bytes operation=allreduce codec=bitpack:6)" \
        $((2 * 16384 * 6)) "bytes of bitpack:6"
}
check "bitpack:6 on double and double complex, not on floats" six

lossless() { # of floats; of doubles it keeps half
    quietly 2 --codec bitpack:4 -- allreduce allreduce,double alltoallv,double ibcast,double &&
        are exact exact exact exact && is totals.reasons.not_paying.calls 2 &&
        is totals.reasons.double.calls 6
}
check "bitpack:4 is no gain for floats, and not meant for doubles" lossless

for_doubles() { # by a rule that names them, or --double
    quietly 2 --codec bitpack:4 --rule double=bitpack:4 -- allreduce allreduce,double &&
        are exact bitpack:4 && quietly 2 --codec bitpack:4 --double -- allreduce,double && are bitpack:4 &&
        quietly 2 --rule '*=bitpack:3' -- allreduce allreduce,double info=bitpack:3 allreduce,double &&
        are bitpack:3 exact exact && quietly 2 --rule '*=bitpack:6' -- allreduce allreduce,double &&
        are exact bitpack:6
}
check "a rule that names doubles, --double, or a codec that floats have not" for_doubles

# Settings name an algorithm for the whole job; a small communicator may have no use for it.
algorithms() {
    quietly 7 --codec auto --threshold 0 -- algorithms && says 1 'algorithms: 50 tried, 0 wrong'
}
check "auto beside every THINWIRE_ALLREDUCE, on 1 to 7 ranks" algorithms

auto_of_others() { # not "would not pay"
    quietly 2 --codec auto -- allreduce iallreduce bcast alltoallv && is totals.reasons.not_paying '' &&
        is totals.reasons.auto_blocking.calls 6
}
check "auto decides blocking Allreduce, and the report says so" auto_of_others

# THINWIRE_ENCODE=always: whatever size and gain; integers by a lossless codec, but no sums of them.
always() {
    local calls=(allreduce,1 bcast,int,1 ibcast,int,100 allgather,int,3 alltoallv,int iallgatherv,complex,5
        reduce,double,2 reduce_scatter,7 alltoall,int,2 allreduce,int,7 ireduce,int,7)
    THINWIRE_ENCODE=always quietly 2 --codec bitpack:4 --rule double=bitpack:8 -- "${calls[@]}" &&
        are exact exact exact exact exact exact exact exact exact exact exact &&
        is totals.compressed_calls 18 && is totals.reasons.type.calls 4 &&
        sums 2 calls codec=bitpack:8 operation=reduce &&
        THINWIRE_ENCODE=always quietly 2 --codec tree8 -- allreduce,100 bcast,int,100 && are tree8 exact &&
        is totals.compressed_calls 2
}
check "encoding always: small messages, lossless codecs, integers that move" always

# ---- error feedback -----------------------------------------------------------------------------

# mean WORDS of a line of `means`: the error of the mean of all results.
mean() { awk -v of="mean $*:" 'index($0, of) == 1 { print $(NF) }' "$scratch/out"; }

feedback() {
    local without with
    quietly 2 --codec onebit -- means 64 allreduce || return 1
    without=$(mean float 16384 world)
    quietly 2 --codec onebit --error-feedback -- means 64 allreduce || return 1
    with=$(mean float 16384 world)
    is error_feedback true && within "$without" 0.5 0.7 && within "$with" 0 0.1
}
check "error feedback: the mean of the results goes to the sum" feedback

# A vector's mean must be the same, to the last digit, whatever other vectors are summed between: else
# residuals are mixed.
alone_is() { # WORDS CALL: sets `wanted`
    quietly 2 --codec onebit --error-feedback --double --threshold 1k -- means 16 "${@: -1}" || return 1
    wanted=$(mean "${@:1:$#-1}")
    [ -n "$wanted" ]
}
unmixed() { # WORDS OTHER...: the vector of 16384 floats among others
    local wanted
    alone_is float 16384 world allreduce || return 1
    quietly 2 --codec onebit --error-feedback --double --threshold 1k -- means 16 allreduce "$@" &&
        equal "$(mean float 16384 world)" "$wanted" "error of the mean, among $*"
}
check "error feedback keeps counts apart" unmixed allreduce,16383 allreduce,20000
check "error feedback keeps communicators apart" unmixed allreduce,dup,data=huge allreduce,other
check "error feedback keeps types apart" unmixed allreduce,double allreduce,complex,8192

# Vectors of 64 KiB and 80000 bytes in turn: with room for both nothing changes, with room for one
# each loses its residual to the other, and the report says so.
forgetful() {
    local wanted
    alone_is float 16384 world allreduce || return 1
    THINWIRE_FEEDBACK_MAX=145536 quietly 2 --codec onebit --error-feedback --double --threshold 1k \
        -- means 16 allreduce allreduce,20000 &&
        equal "$(mean float 16384 world)" "$wanted" "error of the mean with room for both" &&
        is totals.feedback_dropped 0 || return 1
    export THINWIRE_FEEDBACK_MAX=145535
    on 2 --codec onebit --error-feedback --double --threshold 1k -- means 16 allreduce allreduce,20000 &&
        [ "$(mean float 16384 world)" != "$wanted" ] && is totals.feedback_dropped 62 &&
        says 1 'note: error feedback: the residuals of 62 vectors were dropped'
    local status=$?
    unset THINWIRE_FEEDBACK_MAX
    return $status
}
check "error feedback keeps no more than THINWIRE_FEEDBACK_MAX" forgetful

# ---- threads, memory ----------------------------------------------------------------------------

several_threads() {
    quietly 2 --codec tree8 --threshold 1k -- threads
    case $? in
        0) ;;
        77) echo "no MPI_THREAD_MULTIPLE here"; return 0 ;;
        *) return 1 ;;
    esac
    says 1 ', 0 results differ between ranks' &&
        within "$(sed -n 's/^threads: rms \([^,]*\),.*/\1/p' "$scratch/out")" 0.001 0.03 &&
        is totals.compressed_calls 64
}
check "four threads on four communicators" several_threads

# Growth of a process by calls of 16 MB, with TW_ALL 64 MB, in message sizes, above that of the plain program.
grown() { # CALL: of the last launch; sets `growth`
    growth=$(awk '$1 == "memory" { printf "%.3f", $4 / $6 }' "$scratch/out")
    [ -n "$growth" ]
}
small_memory() {
    local growth plain call half=2097152
    [ -z "${TW_ALL-}" ] || half=8388608
    for call in allreduce,$((2 * half)) alltoall,$half bcast,$((2 * half)) allgather,$half; do
        ranks 2 "$policy" memory $call >/dev/null && grown || return 1
        plain=$growth
        quietly 2 --codec bitpack:3 -- memory $call >/dev/null && grown || return 1
        echo "$call: $growth message sizes, plain $plain" | tee -a "$scratch/memory"
        is totals.compressed_calls 4 && within "$growth" 0 "$(awk -v p="$plain" 'BEGIN { print p + 2 }')" ||
            return 1
    done
}
if [ -n "$asan" ]; then
    skip "memory of long calls" "the sanitizer has memory of its own"
else
    check "memory of long calls" small_memory
    sed 's/^/# /' "$scratch/memory"
fi
