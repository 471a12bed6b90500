#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The collectives between four emulated hosts, over TCP: the programs of tests/mpi with their oracles, and
# the command. Prints TAP; needs root.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/netlab/common.bash"
lab 4 1gbit
plan 11

# Else a thread of one host waits long for its turn beside the computing of another's; cut prints its session.
one_session() {
    hosts 4 cut -d ' ' -f 6 /proc/self/stat &&
        [ "$(grep -x '[0-9][0-9]*' "$scratch/out" | uniq -c | awk '{print $1}')" = 4 ]
}
check "the ranks of all hosts are in one session" one_session

for program in reduction movement feedback_use; do
    check "$program on 4 hosts" hosts 4 "$top_builddir/tests/mpi/$program.mpi" 4
done

if [ $endpoint = ucx ]; then
    check "movement on 4 hosts, by UCX" hosts 4 env THINWIRE_TRANSPORT=ucx "$top_builddir/tests/mpi/movement.mpi" 4
else
    skip "movement on 4 hosts, by UCX" "UCX is not built in"
fi

# exact ROWS: what thinwire bench wrote has so many rows, and those of fp32 are right.
exact() {
    local rows i
    rows=$("$json_query" "$scratch/rows" "rows.#")
    [ "$rows" -eq "$1" ] || { echo "$rows rows, not $1"; return 1; }
    for ((i = 0; i < rows; i++)); do
        [ "$("$json_query" "$scratch/rows" "rows.$i.codec")" != fp32 ] ||
            within "$("$json_query" "$scratch/rows" "rows.$i.max_error")" 0 1e-5 || return 1
    done
}

bench() {
    local operation max=256k sizes=1
    [ -z "${TW_ALL-}" ] || max=1M sizes=2
    for operation in allreduce bcast alltoall; do
        hosts 4 "$thinwire" bench $operation --codec fp32,tree8 --min 256k --max $max --json "$scratch/rows" && exact $((2 * sizes)) ||
            return 1
    done
}
check "thinwire bench on 4 hosts" bench

# Nodes are real here, and their ranks are not neighbours: 0 and 4, 1 and 5, ...
two_on_each() {
    TW_CASE='allreduce is what the model says' hosts 8 "$top_builddir/tests/mpi/reduction.mpi" 8 &&
        TW_CASE='bcast' hosts 8 "$top_builddir/tests/mpi/movement.mpi" 8
}
check "two ranks on each of 4 hosts" two_on_each

hierarchical() {
    local operation
    for operation in allreduce bcast; do
        THINWIRE_ALLREDUCE=hierarchical THINWIRE_BCAST=hierarchical hosts 8 "$thinwire" bench $operation \
            --codec fp32,tree8,onebit --min 1M --max 1M --json "$scratch/rows" && exact 3 || return 1
    done
}
check "nodes of two ranks, hierarchical" hierarchical

# train ARG...: eight ranks, two on each host, which are not neighbours; sets bytes, those of all links.
train() {
    local before
    before=$(links)
    hosts 8 "$top_builddir/bin/thinwire-train" --model lenet --data digits:train=128 --batch 64 --json "$scratch/run.json" "$@" || return 1
    bytes=$(($(links) - before))
}
links() { "$netlab" status | awk '{ for (i = 2; i < NF; i++) if ($i == "sent") n += $(i + 1) } END { printf "%.0f", n }'; }

one_hash() {
    local update hash first=
    for update in replicated root sharded; do
        train --steps 4 --update $update && hash=$("$json_query" "$scratch/run.json" weights_hash) || return 1
        [ "$hash" = "${first:=$hash}" ] || { echo "$hash by $update, not $first"; return 1; }
    done
}
check "the same weights by every --update" one_hash

# What 16 steps more bring onto the links is what thinwire scale says of a node, and up to 3 % of headers.
predicted() {
    local few said
    printf '%s\n' 'name = "lenet"; ranks = 1; training = { batch = 64; layers = (' \
        '{ name = "conv1"; weights = 800; biases = 32; }, { name = "conv2"; weights = 51200; biases = 64; },' \
        '{ name = "fc1"; weights = 524288; biases = 512; units = 512; }, { name = "fc2"; weights = 5120; biases = 10; units = 10; } ); };' \
        >"$scratch/lenet.cfg"
    train --steps 4 --scheme group=2 && few=$bytes && train --steps 20 --scheme group=2 &&
        "$thinwire" scale "$scratch/lenet.cfg" --ranks 8 --ranks-per-node 2 --scheme group=2 --codec fp32 --json "$scratch/rows" || return 1
    said=$("$json_query" "$scratch/rows" rows.0.bytes)
    within "$(awk -v sent=$((bytes - few)) -v said="$said" 'BEGIN { print sent / 16 / 4 / said }')" 1.0 1.03
}
check "bytes of a training by groups" predicted

crossed() { # every host has sent what the tests exchanged: nothing took a shorter way
    local host=0
    "$netlab" status | tee "$scratch/status"
    while read -r bytes; do
        host=$((host + 1))
        [ "$bytes" -gt 10000000 ] || { echo "a host has sent $bytes bytes"; return 1; }
    done < <(sed -n 's/.* sent \([0-9]*\) bytes.*/\1/p' "$scratch/status")
    [ $host -eq 4 ]
}
check "the data went over the links" crossed
