#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# validate-programs.sh BUILD_DIR OUT_DIR [HOSTS:RATE...] - is what `thinwire scale` predicts of programs of others what they
# take?
#
# PROGRAMS ("sgd lammps"; python3-mpi4py and python3-numpy, lammps) are recorded, with as many ranks as a lab of emulated
# hosts has (default 2:1gbit 4:1gbit 4:100mbit; bench/netlab.sh, needs root) that is calibrated, and run there under the
# drop-in with codecs. sgd is tests/apps/sgd.py, recorded without a lab: its 200 allreduces of 77 KB are predicted on a network
# that it has not seen. lammps is tests/apps/lammps.in with few atoms and a fine mesh, dominated by the alltoallv of its Fourier
# transforms. Its point-to-point messages are not predicted, so it is recorded on the lab, without a codec: what would codecs do?
#
# What the drop-in compresses is told by the codec; fp32 is nothing, so all is MPI's own. A run's time is that of its own
# recording, from MPI_Init to MPI_Finalize, the median of RUNS (5). Prints a table and the median of the errors. The lab's
# buckets hold NETLAB_BURST bytes (16000), less than a message: what a bucket holds passes free after each computation.
# 6 minutes on two cores.
set -u
if [ $# -lt 2 ] || [ ! -x "$1/bin/thinwire" ]; then
    echo "usage: bench/validate-programs.sh BUILD_DIR OUT_DIR [HOSTS:RATE...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
shift 2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/environment.sh
. "$here/../tests/environment.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 THINWIRE_THREADS=1 XDG_CACHE_HOME=$out/cache
export NETLAB_NAME=${NETLAB_NAME:-programs} NETLAB_BURST=${NETLAB_BURST:-16000}
trap '"$here/netlab.sh" down >/dev/null 2>&1' EXIT
thinwire=$build/bin/thinwire query=$build/tests/tools/json_query runs=${RUNS:-5}
[ -x "$query" ] || make -s -C "$build" tests/tools/json_query >&2

lab() { timeout 300 "$here/netlab.sh" "$@" >"$out/lab.log" 2>&1 </dev/null || { tail -n 1 "$out/lab.log" >&2; exit 1; }; }

# app PROGRAM HOSTS: its words; run in $out.
app() {
    case $1 in
        sgd) echo /usr/bin/python3 "$here/../tests/apps/sgd.py" "$2" ;;
        lammps) echo lmp -in "$here/../tests/apps/lammps.in" -log none -var cells 3 -var mesh 64 -var steps "${STEPS:-8}" ;;
        *) echo "PROGRAMS: accepted are sgd and lammps" >&2; exit 2 ;;
    esac
}
# Codecs, of floats and of doubles, and what the drop-in needs to apply them.
codecs() {
    case $1 in
        sgd) echo fp32 bitpack:2 tree8 ;;
        *) echo fp32 bitpack:3 bitpack:2 ;;
    esac
}
wide() { [ "$1" = sgd ] || echo --double; }

echo "| hosts, rate | program | codec | measured, ms | predicted, ms | error |"
echo "|---|---|---|---|---|---|"
: >"$out/errors"
cd "$out" || exit 1
for one in "${@:-2:1gbit 4:1gbit 4:100mbit}"; do
    for where in $one; do
        hosts=${where%%:*} rate=${where#*:}
        lab down
        lab up "$hosts" "$rate"
        lab mpirun "$hosts" -- "$thinwire" calibrate --seconds "${SECONDS_EACH:-8}" --output "$out/$where.facts"
        for program in ${PROGRAMS:-sgd lammps}; do
            words=$(app "$program" "$hosts") || exit 2
            job=$out/$program-$where.cfg
            # shellcheck disable=SC2086  # words
            if [ "$program" = sgd ]; then
                "${MPIRUN:-mpirun}" -n "$hosts" "$thinwire" run --quiet --threshold 4k --record "$job" -- $words >/dev/null || exit 1
            else
                lab mpirun "$hosts" -- "$thinwire" run --quiet --threshold 4k --record "$job" -- $words
            fi
            for codec in $(codecs "$program"); do
                for ((k = 0; k < runs; k++)); do
                    # shellcheck disable=SC2046,SC2086  # words
                    lab mpirun "$hosts" -- "$thinwire" run --quiet --codec "$codec" $(wide "$program") --threshold 4k --json "$out/run.json" -- $words
                    "$query" "$out/run.json" seconds
                done | sort -g | sed -n "$(((runs + 1) / 2))p" >"$out/median"
                "$thinwire" scale "$job" --facts "$out/$where.facts" --codec "$codec" --json "$out/scale.json" >/dev/null || exit 1
                LC_ALL=C awk -v h="$hosts, $rate" -v p="$program" -v c="$codec" -v a="$(cat "$out/median")" \
                    -v b="$("$query" "$out/scale.json" rows.0.seconds)" -v errors="$out/errors" 'BEGIN {
                        e = 100 * (b / a - 1)
                        printf "| %s | %s | %s | %.0f | %.0f | %+.0f %% |\n", h, p, c, 1e3 * a, 1e3 * b, e
                        print (e < 0 ? -e : e) >>errors }'
            done
        done
    done
done
echo
sort -g "$out/errors" | LC_ALL=C awk '{ e[NR] = $1 } END { printf "median error %.1f %%, of %d\n", (e[int((NR + 1) / 2)] + e[int(NR / 2) + 1]) / 2, NR }'
