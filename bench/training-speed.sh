#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# training-speed.sh BUILD_DIR OUT_DIR [MODEL[@RANKS]...] - images per second of thinwire-train beside PyTorch
# on the CPU, one thread per process, random images. Writes OUT_DIR/training-speed.tsv and .md.
#
# MODEL is one of pytorch_models.py --list; with @RANKS so many processes share the batch of one, those of
# thinwire-train by mpirun, those of PyTorch by its DDP over gloo. Default: every model, and alexnet-s0@2.
# In each round thinwire-train, PyTorch and PyTorch tuned (channels-last tensors, fused SGD) take turns, each
# in a new process, in every second round the other way about. A run gives the median of its steps but the
# first two, the table the median of the runs. The ratio is that to the faster of the two PyTorch, above 1
# if thinwire-train is faster; after it come the lowest and the highest of the rounds. Runs whose JSON is in
# OUT_DIR are not run again, so it can be stopped and started.
# Environment: PYTHON (python3), with torch; ROUNDS (4); STEPS (10) that are timed; CORES, such as 0,1:
# taskset puts everything there; TRAIN_OPTIONS: more options of thinwire-train where RANKS is above 1.
# shellcheck disable=SC1091  # the environment of the tests
set -u
if [ $# -lt 2 ] || [ ! -x "$1/bin/thinwire-train" ]; then
    echo "usage: [PYTHON=python3] [ROUNDS=4] [STEPS=10] bench/training-speed.sh BUILD_DIR OUT_DIR [MODEL[@RANKS]...]" >&2
    exit 2
fi
bench=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
shift 2
python=${PYTHON:-python3} rounds=${ROUNDS:-4} steps=${STEPS:-10} warm=2
. "$bench/../tests/environment.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 THINWIRE_THREADS=1 PYTHONDONTWRITEBYTECODE=1
place=()
[ -z "${CORES:-}" ] || place=(taskset -c "$CORES")
read -r -a split_options <<<"${TRAIN_OPTIONS:-}"
models=$("$python" "$bench/pytorch_models.py" --list) || exit 1
mapfile -t every < <(cut -d ' ' -f 1 <<<"$models")
[ $# -gt 0 ] || set -- "${every[@]}" alexnet-s0@2

thinwire() { # MODEL RANKS BATCH DATA JSON
    local launch=() options=()
    if [ "$2" -gt 1 ]; then
        launch=("${MPIRUN:-mpirun}" -n "$2")
        options=("${split_options[@]}")
    fi
    "${place[@]}" "${launch[@]}" "$build/bin/thinwire-train" --model "$1" --batch "$3" --threads 1 \
        --data "$4,n=$(((warm + steps) * $3))" --steps $((warm + steps)) --json "$5" "${options[@]}"
}

pytorch() { # MODEL RANKS BATCH JSON [--tuned]
    local program=("$bench/pytorch_models.py")
    [ "$2" -eq 1 ] || program=("$bench/pytorch_ddp.py" --ranks "$2")
    "${place[@]}" "$python" "${program[@]}" "$1" --batch "$3" --warm "$warm" --steps "$steps" --json "$4" "${@:5}"
}

measure() { # WHO MODEL RANKS BATCH DATA ROUND
    local json=$out/$2@$3-round$6-$1.json
    [ ! -s "$json" ] || return 0
    echo "$2, $3 process(es), round $6: $1"
    case $1 in
    thinwire) thinwire "$2" "$3" "$4" "$5" "$json.part" ;;
    pytorch) pytorch "$2" "$3" "$4" "$json.part" ;;
    tuned) pytorch "$2" "$3" "$4" "$json.part" --tuned ;;
    esac </dev/null >"$out/last.log" 2>&1 || { tail -n 5 "$out/last.log" >&2; return 1; }
    mv "$json.part" "$json"
}

for name; do
    model=${name%@*} ranks=1
    [ "$model" = "$name" ] || ranks=${name#*@}
    read -r batch data < <(awk -v model="$model" '$1 == model { print $2, $3 }' <<<"$models")
    if [ -z "${batch:-}" ] || [[ ! $ranks =~ ^[1-9][0-9]*$ ]]; then
        echo "training-speed.sh: '$name' is no MODEL or MODEL@RANKS; accepted are" "${every[@]}" >&2
        exit 2
    fi
    for ((round = 1; round <= rounds; round++)); do
        order=(thinwire pytorch tuned)
        [ $((round % 2)) -eq 1 ] || order=(tuned pytorch thinwire)
        for who in "${order[@]}"; do
            measure "$who" "$model" "$ranks" "$batch" "$data" "$round" || exit 1
        done
    done
done

# model, processes, batch, round, images per second of the three
for name; do
    model=${name%@*} ranks=1
    [ "$model" = "$name" ] || ranks=${name#*@}
    batch=$(awk -v model="$model" '$1 == model { print $2 }' <<<"$models")
    for ((round = 1; round <= rounds; round++)); do
        printf '%s\t%s\t%s\t%s' "$model" "$ranks" "$batch" "$round"
        for who in thinwire pytorch tuned; do
            awk -F '[:,]' '$1 ~ /^  "images_per_second"$/ { printf "\t%.3f", $2 }' "$out/$model@$ranks-round$round-$who.json"
        done
        echo
    done
done >"$out/training-speed.tsv"

version=$(sed -n 's/^  "torch": "\(.*\)",*$/\1/p' "$out"/*-pytorch.json "$out"/*-tuned.json | sort -u | paste -sd ' ')
awk -F '\t' -v version="$version" -v rounds="$rounds" -v steps="$steps" '
function median(values, n,    i, k, t) {
    for (i = 2; i <= n; i++) {
        for (k = i; k > 1 && values[k - 1] > values[k]; k--) { t = values[k]; values[k] = values[k - 1]; values[k - 1] = t }
    }
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}
function most(a, b) { return a > b ? a : b }
function finish() {
    if (n == 0) { return }
    mine = median(a, n); stock = median(b, n); tuned = median(c, n)
    printf "| %s | %s | %s | %.4g | %.4g | %.4g | %.2f (%.2f to %.2f) |\n", model, ranks, batch, mine, stock, tuned, mine / most(stock, tuned), low, high
    n = 0
}
BEGIN {
    printf "Images per second, one thread per process, PyTorch %s, medians of %d rounds of %d steps.\n\n", version, rounds, steps
    print "| model | processes | batch | thinwire-train | PyTorch | PyTorch tuned | ratio to the faster (rounds) |"
    print "|---|---|---|---|---|---|---|"
}
NF != 7 { print "line " NR " of training-speed.tsv is not whole" >"/dev/stderr"; exit 1 }
$1 "@" $2 != key { finish(); key = $1 "@" $2 }
{
    model = $1; ranks = $2; batch = $3
    a[++n] = $5 + 0; b[n] = $6 + 0; c[n] = $7 + 0
    ratio = $5 / most(b[n], c[n])
    if (n == 1 || ratio < low) { low = ratio }
    if (n == 1 || ratio > high) { high = ratio }
}
END { finish() }' "$out/training-speed.tsv" >"$out/training-speed.md" || exit 1
cat "$out/training-speed.md"
