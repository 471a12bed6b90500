#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# THINWIRE_DEVICE where CUDA has no device: with a number every rank says why in one line and all leave; auto
# goes on with the processor; none says nothing. And GPUs of AMD, on which nobody computes.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
unset CUDA_VISIBLE_DEVICES THINWIRE_BIND THINWIRE_DEVICE HWLOC_XMLFILE

has() { grep -q -e "$1" "$scratch/out" || { echo "no line with $1"; return 1; }; }
hasnt() { ! grep -q -e "$1" "$scratch/out" || { echo "a line with $1"; return 1; }; }
bench=("$thinwire" bench allreduce --codec fp32 --min 4k --max 4k)

alone "$thinwire" info
if has '^device path none (no device)$' >/dev/null; then
    plan 6
else
    echo '1..0 # SKIP this machine has a CUDA device'
    exit 0
fi
if has '^CUDA .*not built in$' >/dev/null; then
    why='thinwire was built without CUDA' built=0
else
    why='.*' built=1
fi

a_number() { # of three ranks, two with a number
    ! ranks 3 bash "$top_srcdir/tests/by_rank.sh" env THINWIRE_DEVICE=0 "${bench[@]}" :: \
        env THINWIRE_DEVICE=none "${bench[@]}" :: env THINWIRE_DEVICE=7 "${bench[@]}" || { echo "it goes on"; return 1; }
    has "^thinwire: rank 0: error: THINWIRE_DEVICE=0: $why; accepted: auto, none" &&
        has "^thinwire: rank 2: error: THINWIRE_DEVICE=7: $why; accepted: auto, none" &&
        [ "$(grep -c 'THINWIRE_DEVICE=' "$scratch/out")" -eq 2 ]
}
check "a number that cannot be had: a line on each such rank, and all leave" a_number

automatic() {
    THINWIRE_DEVICE=auto ranks 2 "${bench[@]}" || return 1
    [ "$(grep -c '^thinwire: rank [01]: warning: THINWIRE_DEVICE=auto: .*; computing on the processor$' "$scratch/out")" \
        -eq $((2 * built)) ] || { echo "not a line for each rank"; return 1; }
}
check "auto goes on with the processor, and says so where CUDA is built in" automatic

none() {
    THINWIRE_DEVICE=none ranks 2 "${bench[@]}" && hasnt THINWIRE_DEVICE
}
check "none says nothing" none

malformed() {
    ! THINWIRE_DEVICE=-1 ranks 2 "${bench[@]}" && has 'THINWIRE_DEVICE=-1 is malformed; accepted: none|auto|0..1023$'
}
check "what is neither" malformed

amd() { # hwloc reads the machine from a file
    export HWLOC_XMLFILE=$top_srcdir/tests/topology/amd8.xml
    ! THINWIRE_DEVICE=1 ranks 2 "${bench[@]}" &&
        has "rank 1: error: THINWIRE_DEVICE=1: $why; computing on GPUs of AMD is unsupported; accepted: auto, none$" &&
        THINWIRE_DEVICE=auto THINWIRE_LOG_LEVEL=info ranks 2 "${bench[@]}" &&
        has "rank 1: .*THINWIRE_DEVICE=auto: $why; computing on GPUs of AMD is unsupported; computing on the processor$"
}
check "GPUs of AMD" amd

ucx() { # UCX is told of mlx5_0, which it does not know here, and says nothing
    export HWLOC_XMLFILE=$top_srcdir/tests/topology/amd8.xml
    THINWIRE_TRANSPORT=ucx THINWIRE_DEVICE=auto ranks 3 "${bench[@]}" && hasnt UCX && has '^fp32 '
}
if alone "$thinwire" info && has '^endpoints .*ucx' >/dev/null; then
    check "a near network that UCX does not know" ucx
else
    skip "a near network that UCX does not know" "this needs UCX"
fi
