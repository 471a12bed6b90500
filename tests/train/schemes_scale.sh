#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bytes that thinwire scale says of a training are those that thinwire-train counts, by every scheme and with every kind
# of codec, each rank on a node of its own. The layers are written by hand, from thinwire-train --describe.
#
# Both count the busiest rank; in scheme b, whose broadcasts and reductions have each rank as root in turn, a mean one.
# What remains are numbers of values that the ranks do not divide: less than 0.05 %.
# shellcheck disable=SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/train/common.bash"
limit=${TW_TIME_LIMIT:-120}
json_query=$top_builddir/tests/tools/json_query

cat >"$scratch/lenet.cfg" <<'END'
name = "lenet"; ranks = 1;
training = { batch = 16; layers = (
  { name = "conv1"; weights = 800; biases = 32; }, { name = "conv2"; weights = 51200; biases = 64; },
  { name = "fc1"; weights = 524288; biases = 512; units = 512; }, { name = "fc2"; weights = 5120; biases = 10; units = 10; }
); };
END
cat >"$scratch/mlp.cfg" <<'END'
name = "mlp"; ranks = 1;
training = { batch = 16; layers = (
  { name = "input"; forward = 1e-5; },
  { name = "fc1"; weights = 802816; biases = 1024; units = 1024; }, { name = "fc2"; weights = 1048576; biases = 1024; units = 1024; },
  { name = "fc3"; weights = 10240; biases = 10; units = 10; }
); };
END

# The same where the second dense layer is split by input.
sed 's/units = 10; }/units = 10; split = "input"; }/' "$scratch/lenet.cfg" >"$scratch/turned.cfg"
sed 's/{ type = "dense"; name = "fc2";/& split = "input";/' "$top_srcdir/train/model/zoo/lenet.cfg" >"$scratch/turned.model.cfg"
grep -q 'split = ' "$scratch/turned.model.cfg" || echo "# lenet has other layers"

# The layers above have as many parameters as the model.
all_parameters() {
    local model counted
    for model in lenet mlp; do
        counted=$(grep -oE '(weights|biases) = [0-9]+' "$scratch/$model.cfg" | awk '{ n += $3 } END { print n }')
        same "$counted" "$("$program" --describe $model | awk '$1 == "total" { print $2 }')" || return 1
    done
}

# predict MODEL RANKS: $scratch/predicted has lines SCHEME CODEC BYTES.
predict() {
    local i file=$scratch/scale.json
    timeout -k 5 "$limit" "$top_builddir/bin/thinwire" scale "$scratch/$1.cfg" --ranks "$2" --network ethernet-1g:rate=0.01:latency=20 \
        --scheme data,a,b,c,group=2 --codec fp32,bitpack:2,tree8:block=64 --json "$file" </dev/null >&2 || return 1
    for ((i = 0; i < 15; i++)); do
        echo "$("$json_query" "$file" "rows.$i.scheme") $("$json_query" "$file" "rows.$i.codec") $("$json_query" "$file" "rows.$i.bytes")"
    done >"$scratch/predicted"
}

# sent MODEL RANKS SCHEME CODEC: bytes of a step in a run.
sent() {
    local model=$1
    [ ! -f "$scratch/$1.model.cfg" ] || model=$scratch/$1.model.cfg
    THINWIRE_NODE_RANKS=1 train "$2" --model "$model" --data digits:train=240 --batch 16 --steps 3 --scheme "$3" \
        --codec "$4" --json "$scratch/run.json" >&2 && value bytes_sent_per_step "$scratch/run.json"
}

# agree MODEL RANKS SCHEME...: without TW_ALL each scheme with one codec, by turns.
turn=0
agree() {
    local model=$1 n=$2 scheme codec bytes counted
    shift 2
    predict "$model" "$n" || return 1
    for scheme in "$@"; do
        turn=$((turn + 1))
        for codec in fp32 bitpack:2 tree8:block=64; do
            turn=$((turn + 1))
            [ -n "${TW_ALL-}" ] || [ $((turn % 3)) -eq 0 ] || continue
            bytes=$(awk -v s="$scheme" -v c="$codec" '$1 == s && $2 == c { print $3 }' "$scratch/predicted")
            counted=$(sent "$model" "$n" "$scheme" "$codec") || return 1
            LC_ALL=C awk -v a="$bytes" -v b="$counted" 'BEGIN { exit !(b > 0 && a > 0.9995 * b && a < 1.0005 * b) }' ||
                { echo "$model by $scheme, $codec, $n ranks: $bytes predicted, $counted sent"; return 1; }
        done
    done
}

# Without layers below the split ones but the input (mlp) no gradients return; groups of two of two ranks are scheme c.
plan 6
check "the layers are those of the models" all_parameters
check "lenet on 2 ranks" agree lenet 2 data b
check "lenet on 4 ranks" agree lenet 4 data a b c group=2
check "mlp on 2 ranks" agree mlp 2 c
check "mlp on 4 ranks" agree mlp 4 data b
check "a layer split by input, on 2 ranks" agree turned 2 a c
