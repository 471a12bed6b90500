#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# netlab.sh - several emulated "hosts" on one Linux machine, for MPI work.
#
#   netlab.sh up N RATE          make N hosts, each on a link of RATE (1gbit, 500mbit, 10gbit ...)
#   netlab.sh mpirun R [--] ARGS start R ranks, spread round-robin over the hosts;
#                                ARGS are passed to mpirun, so they may begin with options:
#                                  netlab.sh mpirun 4 -- --mca coll_tuned_use_dynamic_rules 1 ./app
#   netlab.sh exec I [--] CMD    run CMD on host I (0-based), e.g. a ping or a packet capture
#   netlab.sh rate RATE          change the rate of every link, in place
#   netlab.sh cut I              host I sends and receives no data any more; mpirun still reaches it
#   netlab.sh mend I             undo it
#   netlab.sh status             the hosts, the rate, bytes sent by each host so far
#   netlab.sh down               remove everything again (safe to repeat)
#
# What it builds.  Each host is a network namespace with one interface, eth0 (10.77.0.<I+1>/24).
# eth0 is one end of a veth pair; the other end is a port of a bridge, the "switch", which lives
# in a namespace of its own.  A token bucket (tc tbf) on each end shapes both directions, so every
# link is full duplex at RATE:
#
#      [host 0] eth0 ==tbf==> p0 \
#      [host 1] eth0 ==tbf==> p1  +-- br0   [switch namespace]
#      [host 2] eth0 ==tbf==> p2 /
#
# mpirun and its daemons talk over a second network without limits: ctl0 (10.78.0.<I+1>/24) and the
# bridge br1. So control costs the data links nothing, and "cut", which takes a host's port out of br0
# (packets vanish, no interface goes down), leaves it alone.
#
# Nothing is added to the machine's own network namespace: no bridge, no address, no route, no
# sysctl.  All names begin with the lab's name (NETLAB_NAME, default "netlab"), so two labs can
# stand side by side, and "down" removes only what this lab's state folder lists.
#
# Why ranks cannot cheat.  mpirun starts one orted per host, inside that host's namespaces, so
# Open MPI sees R different nodes and offers no shared-memory path between them; btl is also
# restricted to tcp,self and UCX (which identifies a machine by its boot id and would otherwise
# find all hosts to be one machine) to tcp,self.  Ranks on the SAME host also talk tcp, unshaped.
# Each host has its own host name (UTS namespace) and /etc/hosts.
#
# Why hosts do not starve each other.  All daemons stay in the session of mpirun.  In a session of
# its own a host would be a group of its own to the scheduler (autogroup), whose weight on a core is
# that of its threads there: a thread that passes messages beside one that computes on another core
# waits for up to 0.2 s for its turn.
#
# Environment:
#   NETLAB_NAME    name of the lab (letters and digits, 8 at most; default netlab)
#   NETLAB_PML     ob1 (default) or ucx
#   NETLAB_BURST   bucket size in bytes (default: 250 us at RATE, no less than 128 KiB, so that a
#                  64 KiB GSO packet always fits)
#   NETLAB_QUEUE   bytes queued per port before it drops (default: 20 ms at RATE, at least 1 MiB)
#   NETLAB_MTU     default 9000
#   MPIRUN         Open MPI's mpirun (default mpirun)
#   NETLAB_CC      TCP congestion control in the hosts, default reno (see tcp_settings)
#
# Limits.  It shapes rate only: latency is that of veth, some 20-60 us with an MPI on top.  All
# ranks share this machine's cores, so above a few Gbit/s the cores, not the links, set the pace:
# compare against "netlab.sh up N 100gbit" before believing a number.
#
# Exit status: that of mpirun/CMD; 2 for wrong use; 77 ("skipped", as automake has it) when not
# root or when the kernel or the tools lack something needed.

set -u

PROG=${0##*/}
SELF=$(readlink -f -- "$0")
NAME=${NETLAB_NAME:-netlab}
SUBNET=10.77.0
CONTROL=10.78.0
MTU=${NETLAB_MTU:-9000}
MPIRUN=${MPIRUN:-mpirun}

usage() { sed -n '3,14s/^# \{0,1\}//p' "$SELF" >&2; exit 2; }
fail()  { echo "$PROG: $*" >&2; exit 1; }
skip()  { echo "$PROG: $*" >&2; exit 77; }

[[ $NAME =~ ^[A-Za-z0-9]{1,8}$ ]] || fail "NETLAB_NAME must be 1 to 8 letters or digits"
STATE=/run/netlab-$NAME            # files: hosts (how many), rate, made (one namespace a line)
SWITCH=$NAME-sw
ns()    { echo "$NAME-h$1"; }

need_root() {
    [ "$(id -u)" -eq 0 ] ||
        skip "this needs root (it makes network namespaces); try: sudo $SELF ..."
}
need_tools() {
    local t
    for t in ip tc unshare hostname; do
        command -v "$t" >/dev/null || skip "$t is missing (Debian: iproute2, util-linux, hostname)"
    done
}
need_up() { [ -s "$STATE/hosts" ] || fail "no lab named $NAME is up; start one: $PROG up 4 1gbit"; }
number()  { [[ $1 =~ ^[0-9]+$ ]]; }

# RATE (tc's spelling, bits) -> bytes a second
bytes_per_s() {
    local r=${1,,} n u
    [[ $r =~ ^([0-9]+)(k|m|g)?bit$ ]] || return 1
    n=${BASH_REMATCH[1]}; u=${BASH_REMATCH[2]}
    case $u in k) n=$((n * 1000));; m) n=$((n * 1000000));; g) n=$((n * 1000000000));; esac
    [ "$n" -ge 8 ] || return 1
    echo $((n / 8))
}

# shape NAMESPACE INTERFACE RATE
shape() {
    local bps burst queue
    bps=$(bytes_per_s "$3") || return 1
    burst=${NETLAB_BURST:-$((bps / 4000))}
    [ -n "${NETLAB_BURST:-}" ] || [ "$burst" -ge 131072 ] || burst=131072
    queue=${NETLAB_QUEUE:-$((bps / 50))}
    [ -n "${NETLAB_QUEUE:-}" ] || [ "$queue" -ge 1048576 ] || queue=1048576
    tc -n "$1" qdisc replace dev "$2" root tbf rate "$3" burst "$burst" limit "$queue"
}

# The hosts' own TCP settings, in their namespace only.  reno, because it is in every kernel, may
# be set in a namespace and has no pacing or bandwidth model of its own: with bbr (some machines'
# default) the same run took 1x or 2x as long, by what had run before it.
tcp_settings() {
    # shellcheck disable=SC2016  # expanded by the inner shell
    ip netns exec "$1" /bin/sh -c '
        cd /proc/sys/net/ipv4 &&
        echo "$0" >tcp_congestion_control &&
        echo 0 >tcp_slow_start_after_idle &&
        echo "4096 131072 33554432" >tcp_rmem &&
        echo "4096 131072 33554432" >tcp_wmem' "${NETLAB_CC:-reno}"
}

remember() { echo "$1" >>"$STATE/made"; }   # written before the namespace exists: never lost

cmd_down() {
    local n pid tries
    [ -d "$STATE" ] || return 0
    if [ -f "$STATE/made" ]; then
        # End what still runs inside our namespaces: first politely, then for good.
        for tries in TERM TERM KILL KILL; do
            local left=0
            while read -r n; do
                [ -e "/run/netns/$n" ] || continue
                for pid in $(ip netns pids "$n" 2>/dev/null); do
                    [ "$pid" = $$ ] && continue
                    left=1; kill -"$tries" "$pid" 2>/dev/null
                done
            done <"$STATE/made"
            [ $left -eq 0 ] && break
            sleep 0.3
        done
        # A namespace's interfaces, bridge and qdiscs go with it.
        while read -r n; do
            [ -e "/run/netns/$n" ] && ip netns del "$n"
            if [ -d "/etc/netns/$n" ]; then
                rm -f "/etc/netns/$n/hosts"; rmdir "/etc/netns/$n" 2>/dev/null
            fi
        done <"$STATE/made"
    fi
    [ -e "$STATE/etc-netns" ] && rmdir /etc/netns 2>/dev/null
    rm -rf "${STATE:?}/tmp"            # session folders of jobs that were cut short
    rm -f "$STATE"/{hosts,rate,made,etc-netns,rsh,hostfile}
    rmdir "$STATE"
}

cmd_up() {
    [ $# -eq 2 ] || usage
    local n=$1 rate=$2 i j h
    { number "$n" && [ "$n" -ge 1 ] && [ "$n" -le 64 ]; } || fail "N must be 1 to 64"
    bytes_per_s "$rate" >/dev/null || fail "RATE must look like 500mbit or 10gbit"
    [ ! -e "$STATE" ] || fail "lab $NAME is already up (or half torn down): $PROG down"
    for h in "$SWITCH" $(for ((i = 0; i < n; i++)); do ns $i; done); do
        [ ! -e "/run/netns/$h" ] || fail "a namespace $h exists and is not ours; use another NETLAB_NAME"
        [ ! -e "/etc/netns/$h" ] || fail "/etc/netns/$h exists and is not ours; use another NETLAB_NAME"
    done
    mkdir "$STATE" "$STATE/tmp" || fail "cannot make $STATE"
    trap 'cmd_down; exit 1' INT TERM HUP
    # Any failure from here on: undo everything.
    if build "$n" "$rate"; then
        trap - INT TERM HUP
        echo "$PROG: lab $NAME up: $n hosts at $rate"
    else
        cmd_down
        skip "could not build the lab (the message above says what the kernel refused)"
    fi
}

build() {
    local n=$1 rate=$2 i j h
    if [ ! -d /etc/netns ]; then : >"$STATE/etc-netns"; mkdir -p /etc/netns || return 1; fi
    remember "$SWITCH"
    ip netns add "$SWITCH" || return 1
    ip -n "$SWITCH" link add name br0 type bridge || return 1
    ip -n "$SWITCH" link set br0 mtu "$MTU" up || return 1
    ip -n "$SWITCH" link add name br1 type bridge || return 1
    ip -n "$SWITCH" link set br1 up || return 1
    for ((i = 0; i < n; i++)); do
        h=$(ns $i)
        remember "$h"
        ip netns add "$h" || return 1
        ip -n "$h" link set lo up || return 1
        # The pair is born with both ends in place: it never exists in the machine's namespace.
        ip -n "$SWITCH" link add name "p$i" mtu "$MTU" type veth peer name eth0 mtu "$MTU" netns "$h" ||
            return 1
        ip -n "$SWITCH" link set "p$i" master br0 up || return 1
        ip -n "$h" addr add "$SUBNET.$((i + 1))/24" dev eth0 || return 1
        ip -n "$h" link set eth0 up || return 1
        ip -n "$SWITCH" link add name "c$i" type veth peer name ctl0 netns "$h" || return 1
        ip -n "$SWITCH" link set "c$i" master br1 up || return 1
        ip -n "$h" addr add "$CONTROL.$((i + 1))/24" dev ctl0 || return 1
        ip -n "$h" link set ctl0 up || return 1
        tcp_settings "$h" || return 1
        shape "$h" eth0 "$rate" || return 1
        shape "$SWITCH" "p$i" "$rate" || return 1
        # "ip netns exec" shows this file to the host as /etc/hosts.
        mkdir "/etc/netns/$h" || return 1
        {
            echo "127.0.0.1 localhost"
            for ((j = 0; j < n; j++)); do echo "$SUBNET.$((j + 1)) $(ns $j)"; done
        } >"/etc/netns/$h/hosts" || return 1
        echo "$h slots=64" >>"$STATE/hostfile" || return 1
    done
    # What mpirun calls instead of ssh:  rsh HOST COMMAND-LINE
    cat >"$STATE/rsh" <<RSH || return 1
#!/bin/bash
h=\$1; shift
exec ip netns exec "\$h" unshare -u -- /bin/bash -c 'hostname "\$0"; eval "\$1"' "\$h" "\$*"
RSH
    chmod 755 "$STATE/rsh" || return 1
    echo "$rate" >"$STATE/rate"
    echo "$n" >"$STATE/hosts"          # last: its presence says the lab is whole
}

cmd_rate() {
    [ $# -eq 1 ] || usage
    need_up
    bytes_per_s "$1" >/dev/null || fail "RATE must look like 500mbit or 10gbit"
    local i n; n=$(<"$STATE/hosts")
    for ((i = 0; i < n; i++)); do
        { shape "$(ns $i)" eth0 "$1" && shape "$SWITCH" "p$i" "$1"; } || fail "tc refused"
    done
    echo "$1" >"$STATE/rate"
}

a_host() { { number "$1" && [ "$1" -lt "$(<"$STATE/hosts")" ]; } || fail "no host $1"; }

cmd_cut() {
    [ $# -eq 1 ] || usage
    need_up
    a_host "$1"
    ip -n "$SWITCH" link set "p$1" nomaster || fail "ip refused"
}

cmd_mend() {
    [ $# -eq 1 ] || usage
    need_up
    a_host "$1"
    ip -n "$SWITCH" link set "p$1" master br0 || fail "ip refused"
}

# run_on I CMD...: in the host's network, mount and UTS namespaces
run_on() {
    local h; h=$(ns "$1"); shift
    # shellcheck disable=SC2016  # expanded by the inner shell
    exec ip netns exec "$h" unshare -u -- /bin/bash -c 'hostname "$0"; exec "$@"' "$h" "$@"
}

cmd_exec() {
    [ $# -ge 2 ] || usage
    need_up
    local i=$1; shift
    [ "$1" = -- ] && shift
    [ $# -ge 1 ] || usage
    a_host "$i"
    run_on "$i" "$@"
}

cmd_mpirun() {
    [ $# -ge 2 ] || usage
    need_up
    local ranks=$1 net launch; shift
    [ "$1" = -- ] && shift
    [ $# -ge 1 ] || usage
    { number "$ranks" && [ "$ranks" -ge 1 ]; } || fail "R must be a number"
    command -v "$MPIRUN" >/dev/null || skip "$MPIRUN is missing (Debian: openmpi-bin)"
    case ${NETLAB_PML:-ob1} in
        # eth0 only: were lo included, two hosts would take each other's 127.0.0.1 for reachable
        # and the job would hang.  Ranks of one host reach each other by eth0's own address.
        ob1) net=(--mca pml ob1 --mca btl "tcp,self" --mca btl_tcp_if_include eth0
                  --mca btl_tcp_disable_family 6) ;;
        ucx) net=(--mca pml ucx --mca osc ucx --mca pml_ucx_tls any --mca pml_ucx_devices any
                  -x "UCX_TLS=tcp,self" -x UCX_NET_DEVICES=eth0) ;;
        *) fail "NETLAB_PML must be ob1 or ucx" ;;
    esac
    # The launcher of Open MPI 5 is another program (PRRTE), with options of its own.
    case $("$MPIRUN" --version 2>/dev/null) in
        *"Open MPI) "[1-4].*) launch=(--mca plm rsh --mca plm_rsh_agent "$STATE/rsh" --mca plm_rsh_no_tree_spawn 1
                      --mca orte_tmpdir_base "$STATE/tmp" --mca oob_tcp_if_include ctl0
                      --mca orte_leave_session_attached 1) ;;
        *) launch=(--prtemca plm ssh --prtemca plm_ssh_agent "$STATE/rsh" --prtemca plm_ssh_no_tree_spawn 1
                   --prtemca prte_tmpdir_base "$STATE/tmp" --prtemca prte_if_include ctl0
                   --prtemca prte_leave_session_attached 1) ;;
    esac
    # Idle ranks yield: there are usually more ranks than cores here.
    run_on 0 "$MPIRUN" --allow-run-as-root --np "$ranks" \
        --hostfile "$STATE/hostfile" --map-by node --bind-to none \
        "${launch[@]}" --mca mpi_yield_when_idle 1 "${net[@]}" "$@"
}

cmd_status() {
    [ -s "$STATE/hosts" ] || { echo "no lab named $NAME"; return 0; }
    local i n h; n=$(<"$STATE/hosts")
    echo "lab $NAME: $n hosts at $(<"$STATE/rate")"
    for ((i = 0; i < n; i++)); do
        h=$(ns $i)
        printf '%s %s.%d ' "$h" "$SUBNET" $((i + 1))
        tc -n "$h" -s qdisc show dev eth0 | tr '\n' ' ' |
            sed 's/.*Sent \([0-9]*\) bytes.*dropped \([0-9]*\).*/sent \1 bytes, dropped \2\n/'
    done
}

[ $# -ge 1 ] || usage
verb=$1; shift
case $verb in
    up | down | mpirun | exec | rate | cut | mend | status) need_root; need_tools; "cmd_$verb" "$@" ;;
    *) usage ;;
esac
