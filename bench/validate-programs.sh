#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# validate-programs.sh BUILD_DIR OUT_DIR [HOSTS:RATE...] - is what `thinwire scale` predicts of a program of others what it
# takes?
#
# tests/apps/sgd.py (python3-mpi4py, python3-numpy) is recorded without a lab, on as many ranks as a lab of emulated hosts
# has (default 2:1gbit 4:1gbit 4:100mbit; bench/netlab.sh, needs root), calibrated there, and run there under the
# drop-in with CODECS ("fp32 bitpack:2 tree8"). A run's time is that of its own recording, the median of three. On more ranks
# than CORES (2) the recording's had a part of a processor each. Prints a table. A minute on two cores.
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
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 THINWIRE_THREADS=1 XDG_CACHE_HOME=$out/cache NETLAB_NAME=programs
trap '"$here/netlab.sh" down >/dev/null 2>&1' EXIT
thinwire=$build/bin/thinwire codecs=${CODECS:-fp32 bitpack:2 tree8} cores=${CORES:-2}

lab() { "$here/netlab.sh" "$@" >"$out/lab.log" 2>&1 </dev/null || { tail -n 1 "$out/lab.log" >&2; exit 1; }; }

app() { echo /usr/bin/python3 "$here/../tests/apps/sgd.py" "$1"; }

# Seconds of a recorded run, by the head of its job.
total() { LC_ALL=C awk '/^# Rank 0 made/ { s = $0 } /^# \(|^# Rank 0/ { while (match($0, /for [0-9.]+ s/)) { n += substr($0, RSTART + 4, RLENGTH - 6); $0 = substr($0, RSTART + RLENGTH) } } END { print n }' "$1"; }

echo "| hosts, rate | codec | measured, ms | predicted, ms | error |"
echo "|---|---|---|---|---|"
for one in "${@:-2:1gbit 4:1gbit 4:100mbit}"; do
    for where in $one; do
        hosts=${where%%:*} rate=${where#*:}
        # shellcheck disable=SC2046  # words
        "${MPIRUN:-mpirun}" -n "$hosts" "$thinwire" run --quiet --record "$out/app.cfg" -- $(app "$hosts") >/dev/null || exit 1
        [ "$hosts" -le "$cores" ] ||
            sed -i "s/^fixed_ranks/processor = $(LC_ALL=C awk "BEGIN { print $cores / $hosts }");\n&/" "$out/app.cfg"
        lab down
        lab up "$hosts" "$rate"
        lab mpirun "$hosts" -- "$thinwire" calibrate --seconds "${SECONDS_EACH:-8}" --output "$out/facts"
        for codec in $codecs; do
            for _ in 1 2 3; do
                # shellcheck disable=SC2046  # words
                lab mpirun "$hosts" -- "$thinwire" run --quiet --codec "$codec" --threshold 4k --record "$out/run.cfg" -- $(app "$hosts")
                total "$out/run.cfg"
            done | sort -g | sed -n 2p >"$out/median"
            "$thinwire" scale "$out/app.cfg" --facts "$out/facts" --codec "$codec" --json "$out/scale.json" >/dev/null || exit 1
            LC_ALL=C awk -v h="$hosts, $rate" -v c="$codec" -v a="$(cat "$out/median")" \
                -v b="$("$build/tests/tools/json_query" "$out/scale.json" rows.0.seconds)" \
                'BEGIN { printf "| %s | %s | %.0f | %.0f | %+.0f %% |\n", h, c, 1e3 * a, 1e3 * b, 100 * (b / a - 1) }'
        done
    done
done
