#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The drop-in's error contract: what breaks it moves all ranks up, onebit, int4, tree8, int:12, bf16, int:16,
# bitpack:3, off;
# what is verified is measured, and nothing else changes.
# shellcheck source=tests/interpose/policy.bash disable=SC2154
. "$top_srcdir/tests/interpose/policy.bash"
plan 22

ladder=(onebit int4 tree8 int:12 bf16 int:16 bitpack:3 exact exact)

# rms WHICH: of the WHICHth result; "max" as second word: its largest error.
rms() {
    results_of | sed -n "$1p" | awk -v which="${2:-rms}" '{ print which == "max" ? $8 : $6 }'
}
results_of() { grep -E '^i?(all|bcast|reduce)[a-z_]* [a-z]+ [0-9]+ [a-z]+: ' "$scratch/out"; }

# worst [KEY=VALUE...] of the report: rms_error of the first row with these values.
worst() { # KEY [KEY=VALUE...]
    local key=$1 n i wish fits
    shift
    n=$(value 'rows.#') || return 1
    for ((i = 0; i < n; i++)); do
        fits=1
        for wish in "$@"; do
            [ "$(value "rows.$i.${wish%%=*}")" = "${wish#*=}" ] || { fits=0; break; }
        done
        [ $fits -eq 1 ] && { value "rows.$i.$key"; return; }
    done
    echo "no row with $*" >&2
    return 1
}
near() { # A B WHAT: equal within a thousandth
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0.999 * b && a < 1.001 * b) }' || { echo "$3: $1, not $2"; return 1; }
}

# ---- steps --------------------------------------------------------------------------------------

# climbs OPERATION: to the top, and the report has each step and the worst error of each codec.
climbs() {
    local i
    quietly 2 --codec onebit --verify 1 --max-error 1e-7 -- "$1,x9" && are "${ladder[@]}" || return 1
    for i in 1 2 3 4 5 6 7; do
        sums 2 calls "codec=${ladder[i - 1]}" && sums 2 verified "codec=${ladder[i - 1]}" &&
            [ "$(sum steps "codec=${ladder[i - 1]}")" -gt 0 ] &&
            near "$(worst rms_error "codec=${ladder[i - 1]}")" "$(rms $i)" "rms of ${ladder[i - 1]}" &&
            near "$(worst max_error "codec=${ladder[i - 1]}")" "$(rms $i max)" "max of ${ladder[i - 1]}" ||
            return 1
    done
    is totals.reasons.contract.calls 4 && near "$(value totals.rms_error)" "$(rms 1)" "worst rms"
}
for operation in allreduce allgather allgatherv alltoall alltoallv reduce_scatter reduce_scatter_block; do
    check "$operation climbs the ladder" climbs $operation
done

stops() { # where the contract is kept, on three ranks
    quietly 3 --codec onebit --verify 1 --max-error 0.5 -- allreduce,x3 alltoallv,x3 &&
        are onebit int4 int4 onebit int4 int4 &&
        quietly 3 --codec onebit --verify 1 --max-error 5e-5 --threshold 1k -- allreduce,5000,x7 allgather,5000,x7 &&
        are onebit int4 tree8 int:12 bf16 int:16 int:16 onebit int4 tree8 int:12 bf16 int:16 int:16 &&
        sums 0 steps codec=int:16
}
check "a codec that keeps the contract stays" stops

differing_counts() { # some pairs are below the threshold, and travel as they are
    quietly 3 --codec onebit --verify 1 --max-error 1e-7 -- alltoallv,uneven,x9 allgatherv,uneven,x9 &&
        are "${ladder[@]}" "${ladder[@]}"
}
check "counts that differ much climb as well" differing_counts

with_feedback() { # what onebit has left behind is none of int4's error
    quietly 2 --codec onebit --error-feedback --verify 1 --max-error 0.5 -- allreduce,x6 &&
        sums 2 calls codec=onebit && sums 10 calls codec=int4
}
check "error feedback does not climb further" with_feedback

broadcast() { # the root measures before it sends: no rank ever gets what breaks the contract
    quietly 2 --codec onebit --verify 1 --max-error 0.5 -- bcast,root=1,x2 && are int4 int4 &&
        quietly 2 --codec onebit --verify 1 --max-error 0.005 -- bcast,x2 bcast,dup,root=1 && are int:12 int:12 int:12 &&
        near "$(worst rms_error codec=int:12 comm=world)" "$(rms 1)" "rms" && [ "$(sum steps)" -gt 0 ] &&
        within "$(value totals.rms_error)" 0 0.005
}
check "bcast: the root steps before it sends" broadcast

broadcast_off() {
    on 2 --codec onebit --verify 1 --max-error 1e-7 -- bcast,x2 && are exact exact &&
        is totals.reasons.contract.calls 4 && says 0 BROKEN
}
check "bcast: a contract that no codec keeps is not broken" broadcast_off

kinds() { # counts and communicators step by themselves; a type with an operation of its own too
    quietly 2 --codec onebit --verify 1 --max-error 0.5 --threshold 1k -- allreduce,x2 allreduce,8192,x2 \
        allreduce,dup,x2 allgather,x2 allreduce &&
        are onebit int4 onebit int4 onebit int4 onebit int4 int4
}
check "counts, communicators and operations step by themselves" kinds

from_rule() { # from the rung of the rule, for all operations alike
    quietly 2 --rule '*=bitpack:3' --verify 1 --max-error 1e-7 -- allreduce,x2 alltoallv,x3 &&
        are bitpack:3 exact bitpack:3 exact exact &&
        quietly 2 --rule '*=onebit' --verify 1 --max-error 1e-7 -- allreduce,x3 alltoallv,x3 &&
        are onebit int4 tree8 onebit int4 tree8
}
check "steps from the codec of a rule" from_rule

info_later() {
    quietly 2 --codec onebit --verify 1 --max-error 0.5 -- allreduce,x2 info=bitpack:3 allreduce,x2 info=off allreduce &&
        are onebit int4 bitpack:3 bitpack:3 exact
}
check "thinwire_codec that is set later decides" info_later

doubles() { # far from 1 too, where squares leave the range of a double
    local data
    for data in normal huge tiny; do
        quietly 2 --codec bitpack:4 --double --verify 1 --max-error 1e-10 -- allreduce,double,data=$data,x4 bcast,double,data=$data &&
            are bitpack:4 int:32 int:40 int:40 int:40 &&
            near "$(worst rms_error codec=bitpack:4)" "$(rms 1)" "rms" || return 1
    done
}
check "doubles, whatever their magnitude" doubles

not_finite() { # tree8 and int lose a block that holds Inf; all that was finite counts
    quietly 2 --codec tree8 --verify 1 --max-error 0.5 -- allreduce,data=inf,x4 bcast,data=inf,x2 &&
        are nan nan bf16 bf16 bf16 bf16 && equal "$(worst max_error codec=tree8)" null "error of tree8"
}
check "finite values that become NaN break the contract" not_finite

# ---- what cannot be verified --------------------------------------------------------------------

exact_under_contract() {
    quietly 2 --codec tree8 --verify 1 --max-error 0.5 -- iallreduce ibcast ialltoall ialltoallv iallgather \
        ireduce reduce ireduce_scatter && are exact exact exact exact exact exact exact exact &&
        is totals.reasons.contract.calls 16 && is totals.compressed_calls 0
}
check "nonblocking calls and reduce are exact under a contract" exact_under_contract

# ---- samples ------------------------------------------------------------------------------------

default_samples() { # the first call, the 257th and so on: of each kind by itself
    quietly 2 --codec onebit --max-error 0.5 --threshold 1k -- allreduce,1000,x256 allreduce,1001,x257 &&
        sums 4 calls codec=onebit && sums 4 verified codec=onebit && sums 1022 calls codec=int4 &&
        sums 2 verified codec=int4 && sums 0 steps codec=int4
}
check "one call in 256 is verified, the first one too" default_samples

only_measures() { # a verified call returns what it would without
    local before
    quietly 2 --codec onebit -- allreduce,x7 alltoall,x2 reduce bcast iallgather || return 1
    before=$(results_of)
    quietly 2 --codec onebit --verify 3 -- allreduce,x7 alltoall,x2 reduce bcast iallgather || return 1
    equal "$(results_of)" "$before" "results" && sums 6 verified operation=allreduce &&
        sums 2 verified operation=alltoall && sums 0 steps &&
        near "$(worst rms_error operation=allreduce)" "$(rms 1)" "rms of allreduce" &&
        near "$(worst max_error operation=allreduce)" "$(rms 1 max)" "max of allreduce" &&
        near "$(worst rms_error operation=alltoall)" "$(rms 8)" "rms of alltoall" &&
        near "$(worst rms_error operation=reduce)" "$(rms 10)" "rms of reduce" &&
        near "$(worst rms_error operation=bcast)" "$(rms 11)" "rms of bcast"
}
check "--verify without a contract measures and changes nothing" only_measures

time_saved() { # what verified calls say of time is the only thing that can be said of it
    quietly 2 --codec tree8 --verify 1 -- allreduce,200000,x4 && value totals.exact_seconds >/dev/null &&
        value verdict | grep -q 'verified calls took .* time'
}
check "verified calls say what time was saved" time_saved

# ---- an absolute bound --------------------------------------------------------------------------

within_all() { # BOUND: no error is larger, and no ranks differ
    results_of | awk -v bound="$1" '/DIFFER/ || /nan/ || ($5 == "rms" && !($8 <= bound)) { bad = 1; print } END { exit bad }'
}
absolute() { # the first call learns; Inf, and what is far larger, travels again; what cannot repeat is exact
    on 3 --max-abs-error 1e-3 --double --threshold 1k -- allreduce,x4 bcast,root=1,x4 allgather,x4 allgatherv,uneven,x4 \
        bcast,data=inf bcast,double,x3 bcast,double,data=huge bcast,double,x3 allreduce,double,x3 iallreduce reduce &&
        within_all 1e-3 && is totals.bounded 81 && is totals.repeats 6 && is totals.bits 16 &&
        is totals.reasons.contract.calls 6 && says 1 'absolute error bound: kept in every call of' &&
        [ "$(sum wire_bytes codec=abs:1e-3 operation=allgather)" -lt \
            "$(($(sum bytes codec=abs:1e-3 operation=allgather) * 7 / 10))" ]
}
check "an absolute bound is kept in every call" absolute
