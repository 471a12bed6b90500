#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# validate-scale.sh BUILD_DIR OUT_DIR [HOSTS:RATE...] - is what `thinwire scale` predicts what is measured?
#
# For each lab of emulated hosts (default 2:1gbit 4:1gbit 4:100mbit; bench/netlab.sh, needs root): thinwire calibrate on
# it; then steps of MODELS ("lenet mlp resnet-20"; alexnet-s0 is accepted as well) with CODECS ("fp32 bitpack:2 tree8")
# and SCHEMES ("data b c"), measured, and predicted from the layers that one rank recorded with its share of a batch and
# nobody beside it. Hosts share this machine's cores: how much of a processor each has is in the
# calibration. STEPS (30) of each of RUNS (3) runs, whose median counts; SECONDS_EACH (6) of a calibration. Prints a table, then the median of the errors and
# how many pairs of codecs or schemes that differ by more than 10 % come in the right order. 20 minutes on two cores.
set -u
if [ $# -lt 2 ] || [ ! -x "$1/bin/thinwire" ]; then
    echo "usage: bench/validate-scale.sh BUILD_DIR OUT_DIR [HOSTS:RATE...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
shift 2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/environment.sh
. "$here/../tests/environment.sh"
export OMP_NUM_THREADS=1 THINWIRE_THREADS=1 XDG_CACHE_HOME=$out/cache NETLAB_NAME=scale
steps=${STEPS:-30} runs=${RUNS:-3} models=${MODELS:-lenet mlp resnet-20} codecs=${CODECS:-fp32 bitpack:2 tree8} schemes=${SCHEMES:-data b c}
trap '"$here/netlab.sh" down >/dev/null 2>&1' EXIT
query=$build/tests/tools/json_query
[ -x "$query" ] || make -s -C "$build" tests/tools/json_query >&2

arguments() { # MODEL RANKS: a share of 16, 64 or 128 examples
    case $1 in
        resnet-20) echo --model resnet-20 --data random:32x32x3,10,n=512,test=16 --batch $((64 / $2)) ;;
        alexnet*) echo --model "$1" --data random:224x224x3,200,n=64,test=16 --batch $((16 / $2)) ;;
        *) echo --model "$1" --data digits --batch $((128 / $2)) ;;
    esac
}

# Lines SCHEME CODEC.
ways() {
    local scheme codec
    for scheme in $schemes; do
        for codec in $codecs; do
            echo "$scheme $codec"
        done
    done
}

record() { # MODEL RANKS
    [ -s "$out/$1-$2.job" ] && return
    # shellcheck disable=SC2046  # words
    "${MPIRUN:-mpirun}" -n 1 "$build/bin/thinwire-train" $(arguments "$1" "$2") --steps "$((steps < 20 ? steps : 20))" --record "$out/$1-$2.job" \
        >"$out/record.log" 2>&1 || { tail -n 1 "$out/record.log" >&2; return 1; }
}

# measure MODEL CODEC SCHEME: seconds of a step, the median of RUNS runs.
measure() {
    local run
    for ((run = 0; run < runs; run++)); do
        # shellcheck disable=SC2046  # words
        "$here/netlab.sh" mpirun "$hosts" -- "$build/bin/thinwire-train" $(arguments "$1" 1) --codec "$2" --scheme "$3" \
            --steps "$steps" --json "$out/run.json" >"$out/run.log" 2>&1 </dev/null || { tail -n 1 "$out/run.log" >&2; return 1; }
        "$query" "$out/run.json" step_seconds
    done | sort -g | awk '{ s[NR] = $1 } END { print s[int((NR + 1) / 2)] }'
}

echo "| hosts, rate | model | scheme | codec | measured, ms | predicted, ms | error |"
echo "|---|---|---|---|---|---|---|"
: >"$out/errors"
: >"$out/order"
for lab in "${@:-2:1gbit 4:1gbit 4:100mbit}"; do
    for one in $lab; do
        hosts=${one%%:*} rate=${one#*:}
        "$here/netlab.sh" down >/dev/null 2>&1
        "$here/netlab.sh" up "$hosts" "$rate" >"$out/lab.log" 2>&1 || { tail -n 1 "$out/lab.log" >&2; exit 1; }
        facts=$out/$hosts-$rate.facts
        "$here/netlab.sh" mpirun "$hosts" -- "$build/bin/thinwire" calibrate --seconds "${SECONDS_EACH:-6}" --output "$facts" \
            >"$out/calibrate.log" 2>&1 || { tail -n 1 "$out/calibrate.log" >&2; exit 1; }
        for model in $models; do
            record "$model" "$hosts" || exit 1
            : >"$out/pairs"
            while read -r scheme codec; do
                seconds=$(measure "$model" "$codec" "$scheme") || continue
                "$build/bin/thinwire" scale "$out/$model-$hosts.job" --facts "$facts" --weak --ranks "$hosts" --codec "$codec" --scheme "$scheme" \
                    --json "$out/scale.json" >"$out/scale.log" 2>&1 </dev/null || { tail -n 1 "$out/scale.log" >&2; continue; }
                LC_ALL=C awk -v h="$hosts, $rate" -v m="$model" -v s="$scheme" -v c="$codec" -v a="$seconds" \
                    -v b="$("$query" "$out/scale.json" rows.0.seconds)" -v errors="$out/errors" -v pairs="$out/pairs" 'BEGIN {
                        e = 100 * (b / a - 1)
                        printf "| %s | %s | %s | %s | %.2f | %.2f | %+.0f %% |\n", h, m, s, c, 1e3 * a, 1e3 * b, e
                        print (e < 0 ? -e : e) >>errors
                        print a, b >>pairs }'
            done < <(ways)
            awk '{ a[NR] = $1; b[NR] = $2 } END { for (i in a) for (j in a) if (a[i] > 1.1 * a[j]) print (b[i] > b[j] ? "right" : "wrong") }' \
                "$out/pairs" >>"$out/order"
        done
    done
done
echo
sort -g "$out/errors" | awk '{ e[NR] = $1 } END { printf "median error %.1f %%, worst tenth from %.1f %% on, of %d; ", e[int((NR + 1) / 2)], e[int(0.9 * NR) + 1], NR }'
sort "$out/order" | uniq -c | awk '{ n[$2] = $1 } END { printf "%d of %d pairs in the right order\n", n["right"], n["right"] + n["wrong"] }'
