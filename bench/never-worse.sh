#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# never-worse.sh BUILD_DIR OUT_DIR [LAB...] - with the codec auto no size from 4 bytes to 64 MB takes more
# than 5 % or 0.3 microseconds longer, whichever is more, than the same call of native MPI. Writes
# OUT_DIR/never-worse.tsv and .md; the exit status is 1 if a row does not hold.
#
# LAB is shm:RANKS, or HOSTS:RATE of emulated hosts (netlab.sh, as root); default:
#     shm:2  4:100mbit  4:1gbit  2:10gbit
# Each lab is calibrated first, then every operation runs ROUNDS times. In a run MPI and auto take turns, and
# its figure is the median; what counts is the median over the rounds of auto / MPI and of auto - MPI, each
# of one run, so that a round in which something else ran does not decide. A row whose rounds disagree about
# whether it holds is marked with "?".
# Environment: OPERATIONS, default allreduce,bcast,alltoall; CODEC, default auto; ROUNDS, default 5; MAX,
# default 64M (alltoall: bytes for each rank, a quarter of it); CALIBRATE=no leaves out the calibration.
set -u
if [ $# -lt 2 ] || [ ! -x "$1/bin/thinwire" ]; then
    echo "usage: bench/never-worse.sh BUILD_DIR OUT_DIR [shm:RANKS|HOSTS:RATE...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
shift 2
[ $# -gt 0 ] || set -- shm:2 4:100mbit 4:1gbit 2:10gbit
operations=${OPERATIONS:-allreduce,bcast,alltoall}
codec=${CODEC:-auto}
rounds=${ROUNDS:-5}
max=${MAX:-64M}
export NETLAB_NAME=${NETLAB_NAME:-twworse} THINWIRE_THREADS=1 OMP_NUM_THREADS=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
netlab=$(cd "$(dirname "$0")" && pwd)/netlab.sh
trap '"$netlab" down >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM

quarter() { # of a size such as 64M
    local unit=${1//[0-9]/}
    local number=${1%"$unit"}
    while [ $((number % 4)) -ne 0 ]; do
        number=$((number * 1024))
        case $unit in G) unit=M ;; M) unit=k ;; k) unit= ;; *) break ;; esac
    done
    echo "$((number / 4))$unit"
}

launch() { # LAB ARG...: the command thinwire on all ranks of a lab
    local lab=$1
    shift
    if [ "${lab%%:*}" = shm ]; then
        mpirun -n "${lab#*:}" -x THINWIRE_THREADS -x OMP_NUM_THREADS -x THINWIRE_CALIBRATION "$build/bin/thinwire" "$@"
    else
        "$netlab" mpirun "${lab%%:*}" -- -x THINWIRE_THREADS -x OMP_NUM_THREADS -x THINWIRE_CALIBRATION \
            "$build/bin/thinwire" "$@"
    fi
}

rows() { # FILE: bytes, seconds of thinwire, seconds of MPI
    awk '
    function text(line) { sub(/^[^:]*: *"?/, "", line); sub(/"?,? *$/, "", line); return line }
    /"bytes":/ { bytes = text($0) }
    /"seconds":/ { seconds = text($0) }
    /"mpi_seconds":/ { print bytes "\t" seconds "\t" text($0) }' "$1"
}

: >"$out/never-worse.tsv"
for lab in "$@"; do
    if [ "${lab%%:*}" != shm ]; then
        "$netlab" up "${lab%%:*}" "${lab#*:}" || exit $?
    fi
    export THINWIRE_CALIBRATION=$out/$lab.calibration
    if [ "${CALIBRATE:-yes}" != no ]; then
        launch "$lab" calibrate --output "$THINWIRE_CALIBRATION" </dev/null >"$out/$lab.calibrate.log" 2>&1 ||
            { tail -n 3 "$out/$lab.calibrate.log" >&2; exit 1; }
    fi
    for ((round = 1; round <= rounds; round++)); do
        for operation in ${operations//,/ }; do
            largest=$max
            [ "$operation" != alltoall ] || largest=$(quarter "$max")
            launch "$lab" bench "$operation" --codec "$codec" --min 4 --max "$largest" --json "$out/run.json" \
                </dev/null >"$out/run.log" 2>&1 || { tail -n 3 "$out/run.log" >&2; exit 1; }
            rows "$out/run.json" | sed "s/^/$lab\t$operation\t$round\t/" >>"$out/never-worse.tsv"
        done
    done
    [ "${lab%%:*}" = shm ] || "$netlab" down
done

# Medians over the rounds, and the verdict.
awk -F '\t' '
function median(list, n,    i, j, t, sorted) {
    for (i = 1; i <= n; i++) { sorted[i] = list[i] }
    for (i = 2; i <= n; i++) {
        t = sorted[i]
        for (j = i - 1; j >= 1 && sorted[j] > t; j--) { sorted[j + 1] = sorted[j] }
        sorted[j + 1] = t
    }
    return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}
function us(seconds) { return sprintf("%.2f", seconds * 1e6) }
{
    key = $1 "\t" $2 "\t" $4
    if (!(key in count)) { order[++keys] = key }
    count[key]++
    own[key, count[key]] = $5
    mpi[key, count[key]] = $6
}
END {
    print "| lab | operation | bytes | MPI, us | auto, us | auto / MPI | auto - MPI, us | holds |"
    print "|---|---|---|---|---|---|---|---|"
    for (k = 1; k <= keys; k++) {
        key = order[k]; n = count[key]; well = 0
        split(key, part, "\t")
        for (i = 1; i <= n; i++) {
            a[i] = own[key, i]; b[i] = mpi[key, i]; ratio[i] = a[i] / b[i]; more[i] = a[i] - b[i]
            well += ratio[i] <= 1.05 || more[i] <= 0.3e-6
        }
        holds = median(ratio, n) <= 1.05 || median(more, n) <= 0.3e-6
        bad += !holds
        printf "| %s | %s | %s | %s | %s | %.3f | %s | %s%s |\n", part[1], part[2], part[3], us(median(b, n)),
            us(median(a, n)), median(ratio, n), us(median(more, n)), (holds ? "yes" : "NO"), (well != 0 && well != n ? " ?" : "")
    }
    printf "\n%d of %d rows hold\n", keys - bad, keys
    exit (bad != 0)
}' "$out/never-worse.tsv" | tee "$out/never-worse.md"
exit "${PIPESTATUS[0]}"
