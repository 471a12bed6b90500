#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# validate.sh BUILD_DIR OUT_DIR [PART...] [HOSTS:RATE...] - is what thinwire predicts what is measured?
#
# Parts (default: all), on each lab of emulated hosts (default 2:1gbit 4:1gbit 4:100mbit; as root), which thinwire
# calibrate measures first:
#     training     steps of MODELS ("lenet mlp resnet-20"; alexnet-s0 is accepted as well) with each codec and scheme,
#                  beside thinwire scale by the layers that one rank recorded with its share of a batch (20 minutes)
#     programs     programs of others under the drop-in, from MPI_Init to MPI_Finalize, beside thinwire scale by a
#                  recording: tests/apps/sgd.py, recorded without the lab, and LAMMPS, recorded on it, without a codec,
#                  since its messages between two ranks are not predicted (6 minutes; python3-mpi4py, lammps)
#     collectives  allreduce, bcast and alltoall of 4 KiB to 4 MiB, beside the model of the codec auto (5 minutes)
# Rows go to standard output and to OUT_DIR/PART.tsv. Then come the median of the errors, from where on the worst tenth
# is, and how many pairs of codecs or schemes that differ by more than 10 % come in the right order.
# Environment: RUNS (3) of each measurement, whose median counts; SECONDS_EACH (6) of a calibration; CODECS ("fp32
# bitpack:2 tree8") and SCHEMES ("data b c") of training. A link's bucket holds NETLAB_BURST bytes (16000), less than most
# messages: what it holds passes at any rate after a pause. The hosts share this machine's cores, which must be idle.
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u -o pipefail
. "$(dirname "$0")/common.bash"
folders "${1-}" "${2-}"
shift 2
export XDG_CACHE_HOME=$out/cache NETLAB_BURST=${NETLAB_BURST:-16000}
runs=${RUNS:-3} parts=() labs=()
for word; do
    case $word in
        training | programs | collectives) parts+=("$word") ;;
        *:*) labs+=("$word") ;;
        *) usage ;;
    esac
done
[ ${#parts[@]} -gt 0 ] || parts=(training programs collectives)
[ ${#labs[@]} -gt 0 ] || labs=(2:1gbit 4:1gbit 4:100mbit)
cd "$out" || exit 1 # LAMMPS writes there

quiet() { "$@" >"$out/run.log" 2>&1 </dev/null || { tail -n 2 "$out/run.log" >&2; exit 1; }; }

# row PART SUBJECT WAY MEASURED PREDICTED: seconds
row() {
    if [ -z "$4" ] || [ -z "$5" ]; then exit 1; fi
    LC_ALL=C awk -v lab="$hosts, $rate" -v subject="$2" -v way="$3" -v a="$4" -v b="$5" -v file="$out/$1.tsv" 'BEGIN {
        printf "| %s | %s | %s | %.4g | %.4g | %+.0f %% |\n", lab, subject, way, 1e3 * a, 1e3 * b, 100 * (b / a - 1)
        printf "%s, %s\t%s\t%s\t%s\n", lab, subject, way, a, b >>file }'
}

# predicted JOB OPTION...: seconds
predicted() {
    quiet "$build/bin/thinwire" scale "$@" --facts "$facts" --json "$out/scale.json"
    rows scale seconds
}

arguments() { # MODEL RANKS: what one of so many ranks computes
    case $1 in
        resnet-20) echo --model resnet-20 --data random:32x32x3,10,n=512,test=16 --batch $((64 / $2)) ;;
        alexnet*) echo --model "$1" --data random:224x224x3,200,n=64,test=16 --batch $((16 / $2)) ;;
        *) echo --model "$1" --data digits --batch $((128 / $2)) ;;
    esac
}

part_training() {
    local model codec scheme share whole job run seconds
    for model in ${MODELS:-lenet mlp resnet-20}; do
        read -ra share <<<"$(arguments "$model" "$hosts")"
        read -ra whole <<<"$(arguments "$model" 1)"
        job=$out/$model-$hosts.job
        [ -s "$job" ] || quiet on_ranks 1 "$build/bin/thinwire-train" "${share[@]}" --steps 20 --record "$job"
        for scheme in ${SCHEMES:-data b c}; do
            for codec in ${CODECS:-fp32 bitpack:2 tree8}; do
                seconds=$(for ((run = 0; run < runs; run++)); do
                    quiet on_hosts "$hosts" "$build/bin/thinwire-train" "${whole[@]}" --codec "$codec" --scheme "$scheme" \
                        --steps 30 --json "$out/train.json"
                    value step_seconds train
                done | median) || exit 1
                row training "$model" "$scheme, $codec" "$seconds" \
                    "$(predicted "$job" --weak --ranks "$hosts" --codec "$codec" --scheme "$scheme")"
            done
        done
    done
}

part_programs() {
    local codec job run seconds record
    measure() { # NAME CODECS RECORD WORDS...: RECORD is on_ranks or on_hosts
        local name=$1 codecs=$2 record=$3 wide=()
        shift 3
        [ "$name" = sgd ] || wide=(--double)
        job=$out/$name-$hosts.cfg
        quiet "$record" "$hosts" "$build/bin/thinwire" run --quiet --threshold 4k --record "$job" -- "$@"
        for codec in $codecs; do
            seconds=$(for ((run = 0; run < runs; run++)); do
                quiet on_hosts "$hosts" "$build/bin/thinwire" run --quiet --codec "$codec" "${wide[@]}" --threshold 4k \
                    --json "$out/program.json" -- "$@"
                value seconds program
            done | median) || exit 1
            row programs "$name" "$codec" "$seconds" "$(predicted "$job" --codec "$codec" "${wide[@]}")"
        done
    }
    measure sgd "fp32 bitpack:2 tree8" on_ranks /usr/bin/python3 "$bench/../tests/apps/sgd.py" "$hosts"
    measure lammps "fp32 bitpack:3 bitpack:2" on_hosts lmp -in "$bench/../tests/apps/lammps.in" -log none -var cells 3 \
        -var mesh 64 -var steps 8
}

part_collectives() {
    local operation codec bytes seconds model
    for operation in allreduce bcast alltoall; do
        quiet on_hosts "$hosts" -x THINWIRE_CALIBRATION="$facts" "$build/bin/thinwire" bench $operation \
            --codec fp32,bitpack:2,tree8 --min 4k --max 4M --model --json "$out/bench.json"
        while IFS=$'\t' read -r codec bytes seconds model; do
            row collectives "$operation of $bytes bytes" "$codec" "$seconds" "$model"
        done < <(rows bench codec bytes seconds predicted_seconds)
    done
}

for part in "${parts[@]}"; do
    : >"$out/$part.tsv"
done
echo "| hosts, rate | what | codec | measured, ms | predicted, ms | error |"
echo "|---|---|---|---|---|---|"
for one in "${labs[@]}"; do
    hosts=${one%%:*} rate=${one#*:} facts=$out/$one.facts
    lab_up "$hosts" "$rate"
    quiet on_hosts "$hosts" "$build/bin/thinwire" calibrate --seconds "${SECONDS_EACH:-6}" --output "$facts"
    for part in "${parts[@]}"; do
        "part_$part"
    done
    lab_down
done
for part in "${parts[@]}"; do
    echo
    awk -F '\t' '{ e = 100 * ($4 / $3 - 1); print e < 0 ? -e : e }' "$out/$part.tsv" | LC_ALL=C sort -g | awk -v part="$part" '
        { e[NR] = $1 }
        END { printf "%s: median error %.1f %%, worst tenth from %.1f %% on, of %d; ", part, e[int((NR + 1) / 2)], e[int(0.9 * NR) + 1], NR }'
    awk -F '\t' '
        { for (i = 1; i <= n[$1]; i++) {
              if ($3 > 1.1 * a[$1, i] || a[$1, i] > 1.1 * $3) { pairs++; right += ($3 > a[$1, i]) == ($4 > b[$1, i]) }
          }
          n[$1]++
          a[$1, n[$1]] = $3
          b[$1, n[$1]] = $4 }
        END { printf "%d of %d pairs in the right order\n", right, pairs }' "$out/$part.tsv"
done
