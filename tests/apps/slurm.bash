# SPDX-License-Identifier: BSD-3-Clause
# Sourced by run.sh: a cluster of Slurm's that is this machine alone, as root, in a folder.
# shellcheck shell=bash

slurm_daemons=()
# slurm_up FOLDER: SLURM_CONF is for srun; slurm_down ends it.
slurm_up() {
    local to=$1 port=$((20000 + RANDOM % 9000)) host plugins
    host=$(hostname -s)
    plugins=$(compgen -G '/usr/lib/*/slurm-wlm' | head -n 1)
    mkdir -p "$to/state" "$to/spool" && chmod 755 "$to" || return 1
    (umask 377 && head -c 1024 /dev/urandom >"$to/munge.key") || return 1
    cat >"$to/slurm.conf" <<CONF || return 1
ClusterName=thinwire
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$to/munge.socket
CredType=cred/munge
PluginDir=$plugins
StateSaveLocation=$to/state
SlurmdSpoolDir=$to/spool
SlurmctldPidFile=$to/slurmctld.pid
SlurmdPidFile=$to/slurmd.pid
SlurmctldLogFile=$to/slurmctld.log
SlurmdLogFile=$to/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/linear
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE OverSubscribe=FORCE:8 State=UP
CONF
    export SLURM_CONF=$to/slurm.conf
    munged --foreground --force "--key-file=$to/munge.key" "--socket=$to/munge.socket" "--pid-file=$to/munge.pid" \
        "--log-file=$to/munge.log" "--seed-file=$to/munge.seed" >"$to/out" 2>&1 &
    slurm_daemons+=($!)
    for _ in {1..50}; do
        [ ! -S "$to/munge.socket" ] || break
        sleep 0.1
    done
    slurmctld -D >>"$to/out" 2>&1 &
    slurm_daemons+=($!)
    slurmd -D >>"$to/out" 2>&1 &
    slurm_daemons+=($!)
    for _ in {1..100}; do
        [ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && return
        sleep 0.2
    done
    tail -n 5 "$to"/slurmctld.log "$to"/slurmd.log "$to/out"
    return 1
}
slurm_down() {
    [ ${#slurm_daemons[@]} = 0 ] || kill "${slurm_daemons[@]}" 2>/dev/null
    wait "${slurm_daemons[@]}" 2>/dev/null
    slurm_daemons=()
}
