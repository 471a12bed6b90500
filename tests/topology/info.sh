#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire info --topology: the tree, the places, JSON; what is refused. THINWIRE_BIND.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
plan 17
s4=$top_srcdir/tests/topology/s4.xml
unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER THINWIRE_BIND

has() { grep -q -e "$1" "$scratch/out" || { echo "no line with $1"; return 1; }; }
hasnt() { ! grep -q -e "$1" "$scratch/out" || { echo "a line with $1"; return 1; }; }

tree() {
    alone "$thinwire" info --topology --xml "$s4" || return 1
    has '^machine  *2 packages, 2 NUMA nodes, 24 cores, 8 GPUs, 0 network interfaces$' &&
        has '^      PCIe root 0000:80$' && has '^        PCIe switch 1$' &&
        has '^          GPU 7  0000:86:00.0  Tesla K20  *rank 7$' && has '^      cores 21-23  *rank 7$' &&
        has '^   7    7     7  21-23 ' && has '^    1  same switch     0-1 2-3 4-5 6-7$' &&
        has '^   19  far             3-7$' && hasnt '^   20 ' && hasnt '^build '
}
check "a machine as a tree, its places and the exchange order" tree

fewer_and_more() {
    alone "$thinwire" info --topology --xml "$s4" --ranks 1 && has '^   0    0     0  0-11 ' || return 1
    alone "$thinwire" info --topology --xml "$s4" --ranks 25 && has '25 local ranks on 24 cores: ' &&
        has '^  24   0\*     0  0\* ' && has '^\* shared with another rank$' || return 1
    alone "$thinwire" info --topology --xml "$s4" --ranks 9 && has 'warning: 9 local ranks on 8 GPUs: 2 of them ' &&
        has '^   8   0\*     0 ' && has '^   1    1     1 '
}
check "--ranks" fewer_and_more

visible() {
    CUDA_VISIBLE_DEVICES=5,2 alone "$thinwire" info --topology --xml "$s4" &&
        has '^   0    5     0  12-23 ' && has '^   1    2     1  0-11 ' && has 'GPU 3 .*(hidden)$' || return 1
    CUDA_VISIBLE_DEVICES=5,nine alone "$thinwire" info --topology --xml "$s4" &&
        has "^thinwire: warning: CUDA_VISIBLE_DEVICES: 'nine' names no GPU" && has '^   0    5     0 '
}
check "CUDA_VISIBLE_DEVICES" visible

amd() {
    alone "$thinwire" info --topology --xml "$top_srcdir/tests/topology/amd8.xml" --json "$scratch/amd.json" &&
        has '^machine .* 8 GPUs, 4 network interfaces$' && has '^          GPU 7  0000:73:00.0  Instinct MI250X  *rank 7$' &&
        has '^   7    7     -  14-15 .* mlx5_3   same switch$' && has '^XGMI joins 0-1 .* 6-7 with up to 100 GB/s' &&
        has '^    1  XGMI            0-1 2-3 4-5 6-7$' && has 'on them is unsupported' && hasnt 'hidden' && hasnt NVLink &&
        has '^UCX_NET_DEVICES by local rank: mlx5_0:1 mlx5_0:1 mlx5_1:1 .* mlx5_3:1$' ||
        return 1
    [ "$(grep -c '"vendor": "AMD"' "$scratch/amd.json")" -eq 8 ]
}
check "GPUs of AMD, placed and joined by XGMI" amd

far_away() { # no network at package 0, so its GPUs use that of package 1
    sed '/name="mlx5_[01]"/,+4d; /name="ib[01]"/d' "$top_srcdir/tests/topology/amd8.xml" >"$scratch/far.xml"
    alone "$thinwire" info --topology --xml "$scratch/far.xml" --json "$scratch/far.json" || return 1
    for rank in 0 1 2 3; do
        has "^warning: rank $rank: GPU $rank is far from mlx5_[23]: package 0, not 1\$" || return 1
    done
    [ "$(grep -c '^warning: ' "$scratch/out")" -eq 4 ] && [ "$(grep -c '"warning": ' "$scratch/far.json")" -eq 4 ] || return 1
    # Package 0 has cores for 12 of 13 ranks, who all see one GPU.
    CUDA_VISIBLE_DEVICES=2 alone "$thinwire" info --topology --xml "$s4" --ranks 13 &&
        has '^warning: rank 12: GPU 2 is far from its cores: package 0, not 1$' && [ "$(grep -c '^warning: ' "$scratch/out")" -eq 1 ]
}
check "a GPU that is far from the rank's network or cores is warned about" far_away

own_devices() { # each rank calls its GPU 0, as where a launcher withholds the others
    local line
    line=$(grep -n 'pci_busid="0000:03:00.0"' "$s4" | cut -d: -f1)
    sed "$line,/<\/object>/d" "$s4" >"$scratch/no3.xml"
    ranks 3 bash "$top_srcdir/tests/by_rank.sh" env HWLOC_XMLFILE="$s4" CUDA_VISIBLE_DEVICES=5 "$thinwire" info --topology \
        :: env HWLOC_XMLFILE="$scratch/no3.xml" CUDA_VISIBLE_DEVICES=0 "$thinwire" info --topology \
        :: env HWLOC_XMLFILE="$s4" CUDA_VISIBLE_DEVICES=-1 "$thinwire" info --topology &&
        has '^   0    5     0 ' && has '^   1    1     0 ' && has '^   2    -     - '
}
check "each rank's own devices" own_devices

subnets() { # mlx5_2 is of another one
    sed '/name="mlx5_2"/,+4s/fe80:0000/fe80:0001/' "$top_srcdir/tests/topology/amd8.xml" >"$scratch/subnets.xml"
    alone "$thinwire" info --topology --xml "$scratch/subnets.xml" --json "$scratch/subnets.json" &&
        has '^The networks near the GPUs are of different InfiniBand subnets: UCX chooses among all\.$' &&
        hasnt UCX_NET_DEVICES && [ "$(grep -c '"subnet": "fe80:0001:0000:0000"' "$scratch/subnets.json")" -eq 1 ]
}
check "near networks of different subnets" subnets

this_machine() {
    alone "$thinwire" info --topology && has '^topology  *this machine$' && has '^  package 0' &&
        has '^   0  ' || return 1
    ranks 2 "$thinwire" info --topology && [ "$(grep -c '^topology ' "$scratch/out")" -eq 1 ] && has '^   1  '
}
check "this machine, alone and for the ranks of mpirun" this_machine

json() {
    local file=$scratch/t.json
    alone "$thinwire" info --topology --xml "$s4" --json "$file" || return 1
    "$json_query" "$file" version command machine.cpu topology.source topology.parts.0.kind topology.places.7.gpu \
        topology.places.7.cores.0 topology.places.7.threads topology.exchange.0.3.1 || return 1
    [ "$("$json_query" "$file" "topology.places.#")" = 8 ] &&
        [ "$("$json_query" "$file" "topology.exchange.#")" = 19 ] &&
        [ "$("$json_query" "$file" topology.places.7.cores.2)" = 23 ]
}
check "--json" json

# refused STATUS PATTERN ARG...
refused() {
    local want=$1 pattern=$2 status
    shift 2
    alone "$thinwire" info "$@"
    status=$?
    [ $status -eq "$want" ] || { echo "status $status, not $want"; return 1; }
    [ "$(wc -l <"$scratch/out")" -eq 1 ] || { echo "not one line"; return 1; }
    has "^thinwire: .*$pattern"
}
bad_input() {
    echo '<?xml version="1.0"?><topology version="3.0"></topology>' >"$scratch/v3.xml"
    head -c 3000 "$s4" >"$scratch/half.xml"
    refused 1 'missing.xml: cannot be read: No such file' --topology --xml "$scratch/missing.xml" &&
        refused 1 "$0: no topology; accepted: XML of hwloc, format 2" --topology --xml "$0" &&
        refused 1 "v3.xml: hwloc's XML format 3.0, .*accepted: format 2" --topology --xml "$scratch/v3.xml" &&
        refused 1 'half.xml: a damaged or incomplete topology; accepted' --topology --xml "$scratch/half.xml" &&
        refused 2 -- "--ranks '0': accepted: a whole number, 1 to 4096" --topology --ranks 0 &&
        refused 2 'go with --topology' --xml "$s4"
}
check "files that are no topology, options that do not fit" bad_input

bound_threads() { sed -n "s/^thinwire: rank $1: info: bound to hardware threads \([0-9,-]*\);.*/\1/p" "$scratch/out"; }
binding() { # two ranks get different threads where there are two cores; without the setting nothing is bound
    local cores
    alone "$thinwire" info --topology --json "$scratch/here.json" >/dev/null || return 1
    cores=$(grep -c '"kind": "core"' "$scratch/here.json")
    THINWIRE_BIND=yes THINWIRE_LOG_LEVEL=info ranks 2 "$thinwire" bench allreduce --codec fp32 --min 4k --max 4k || return 1
    [ "$(grep -c 'info: bound to hardware threads' "$scratch/out")" -eq 2 ] || { echo "not bound"; return 1; }
    [ "$cores" -lt 2 ] || [ "$(bound_threads 0)" != "$(bound_threads 1)" ] || { echo "both the same"; return 1; }
    THINWIRE_LOG_LEVEL=info ranks 2 "$thinwire" bench allreduce --codec fp32 --min 4k --max 4k && hasnt 'bound to'
}
check "THINWIRE_BIND binds the ranks of a communicator" binding

last_thread() { # the last hardware thread this process may use
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | sed 's/.*[,-]//'
}
stays_inside() { # what taskset, or mpirun, has bound stays bound: both ranks share the thread
    local thread
    thread=$(last_thread)
    taskset -c "$thread" true || { echo "taskset does not work here"; return 1; }
    alone taskset -c "$thread" "$thinwire" info --topology --ranks 2 --json "$scratch/bound.json" || return 1
    [ "$("$json_query" "$scratch/bound.json" topology.places.0.threads)" = "$thread" ] &&
        [ "$("$json_query" "$scratch/bound.json" topology.places.1.threads)" = "$thread" ] || return 1
    THINWIRE_BIND=yes THINWIRE_LOG_LEVEL=info ranks 2 taskset -c "$thread" "$thinwire" bench allreduce --codec fp32 \
        --min 4k --max 4k || return 1
    [ "$(bound_threads 0)" = "$thread" ] && [ "$(bound_threads 1)" = "$thread" ]
}
check "a binding that is there already is kept" stays_inside

# mpirun binds the ranks to a core each: they keep it. That of Open MPI 5 does not where it may oversubscribe.
mpirun_has_bound() {
    # shellcheck disable=SC2016  # expanded by the inner shell
    OMPI_MCA_hwloc_base_binding_policy=core \
        PRTE_MCA_hwloc_default_binding_policy=core PRTE_MCA_rmaps_default_mapping_policy= \
        THINWIRE_BIND=yes THINWIRE_LOG_LEVEL=info ranks 2 bash -c \
        'echo "mpirun: $OMPI_COMM_WORLD_RANK: $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)"
         exec "$0" bench allreduce --codec fp32 --min 4k --max 4k' "$thinwire" || return 1
    for rank in 0 1; do
        has "^mpirun: $rank: $(bound_threads $rank)\$" || return 1
    done
}
if [ "${TW_MPI:?}" = openmpi ] && [ "$(env -u OMP_NUM_THREADS nproc)" -ge 2 ]; then
    check "a binding by mpirun is kept" mpirun_has_bound
else
    skip "a binding by mpirun is kept" "this needs Open MPI's mpirun and two cores"
fi

own_bindings() { # each rank's own, which only it knows
    local command=("$thinwire" info --topology --json "$scratch/own.json") first
    first=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | sed 's/[,-].*//')
    ranks 2 bash "$top_srcdir/tests/by_rank.sh" taskset -c "$(last_thread)" "${command[@]}" :: \
        taskset -c "$first" "${command[@]}" || return 1
    [ "$("$json_query" "$scratch/own.json" topology.places.0.threads)" = "$(last_thread)" ] &&
        [ "$("$json_query" "$scratch/own.json" topology.places.1.threads)" = "$first" ]
}
check "under mpirun each rank's own binding" own_bindings

# A cpuset, in the one cgroup hierarchy or in the other: what it forbids is no part of the machine.
cgroup=
for each in /sys/fs/cgroup/cpuset /sys/fs/cgroup; do
    { [ -e "$each/cgroup.procs" ] && mkdir "$each/thinwire-$$" 2>/dev/null; } || continue
    cgroup=$each/thinwire-$$
    { last_thread >"$cgroup/cpuset.cpus" && echo 0 >"$cgroup/cpuset.mems"; } 2>/dev/null && break
    rmdir "$cgroup"
    cgroup=
done
in_a_cgroup() {
    local thread status
    thread=$(last_thread)
    ( # shellcheck disable=SC2016  # expanded by the inner shell
        alone bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" env THINWIRE_BIND=yes THINWIRE_LOG_LEVEL=info \
            "$thinwire" info --topology --ranks 2 --json "$scratch/cgroup.json"
    )
    status=$?
    for ((i = 0; i < 50; i++)); do ! rmdir "$cgroup" 2>/dev/null || break; sleep 0.1; done
    [ $status -eq 0 ] && has '2 local ranks on 1 core: 2 of them share' &&
        [ "$(grep -c '"kind": "core"' "$scratch/cgroup.json")" -eq 1 ] &&
        [ "$("$json_query" "$scratch/cgroup.json" topology.places.1.threads)" = "$thread" ]
}
if [ -n "$cgroup" ]; then
    check "what a cgroup forbids is no part of the machine" in_a_cgroup
else
    skip "what a cgroup forbids is no part of the machine" "no cpuset can be made here"
fi

one_is_all() { # yes on one rank is yes on all, and no rank waits for the others
    local command=(env THINWIRE_LOG_LEVEL=info "$thinwire" bench allreduce --codec fp32 --min 4k --max 4k)
    ranks 3 bash "$top_srcdir/tests/by_rank.sh" env THINWIRE_BIND=yes "${command[@]}" :: "${command[@]}" || return 1
    [ "$(grep -c 'info: bound to hardware threads' "$scratch/out")" -eq 3 ]
}
check "one rank's wish to bind is that of all" one_is_all

no_hwloc() {
    local so found=1
    for so in "$top_builddir"/lib/.libs/libthinwire-preload-*.so; do
        [ -e "$so" ] || continue
        found=0
        ! objdump -p "$so" | grep 'NEEDED.*hwloc' || return 1
    done
    return $found
}
if ls "$top_builddir"/lib/.libs/libthinwire-preload-*.so >/dev/null 2>&1; then
    check "the drop-in needs no hwloc" no_hwloc
else
    skip "the drop-in needs no hwloc" "no drop-in was built"
fi
