#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire scale --scheme: rows of a training by each scheme, and bad trainings and lists of schemes.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
sanitized && seconds=100 || seconds=10
file=$scratch/scale.json
job=$scratch/job.cfg

cat >"$job" <<'END'
name = "small";
ranks = 1;
training = {
  batch = 64; update = 0.001;
  layers = (
    { name = "conv"; weights = 51200; biases = 64; forward = 0.02; backward = 0.04; },
    { name = "fc1"; weights = 524288; biases = 512; units = 512; forward = 0.01; backward = 0.02; },
    { name = "fc2"; weights = 5120; biases = 10; units = 10; forward = 0.001; backward = 0.002; }
  );
};
END
printf 'name = "s"; ranks = 1; step = ({ compute = 1; });\n' >"$scratch/step.cfg"
printf 'name = "c"; ranks = 1; training = { batch = 8; layers = ({ name = "conv"; weights = 9; }); };\n' >"$scratch/conv.cfg"

plan 38

value() { "$json_query" "$file" "$1"; }
is() { [ "$(value "$1")" = "$2" ] || { echo "$1 is $(value "$1"), not $2"; return 1; }; }

by_scheme() {
    local n=0 ranks scheme codec key
    alone "$thinwire" scale "$job" --ranks 1,2,8 --scheme data,a,b,c,group=2 --codec fp32,tree8 --json "$file" || return 1
    is "rows.#" 30 && grep -q '^small: measured on 1 rank, 3 layers; strong scaling$' "$scratch/out" || return 1
    for ranks in 1 2 8; do
        for scheme in data a b c group=2; do
            for codec in fp32 tree8; do
                is "rows.$n.ranks" $ranks && is "rows.$n.scheme" $scheme && is "rows.$n.codec" $codec || return 1
                grep -q "^$scheme  *$ranks  $codec " "$scratch/out" || { echo "no row of $scheme $ranks $codec"; return 1; }
                for key in seconds compute_seconds exposed codec_seconds speedup bytes; do
                    [[ $(value "rows.$n.$key") =~ ^[0-9.e+-]+$ ]] || { echo "row $n: $key is no number"; return 1; }
                done
                [ $ranks -gt 1 ] || { is "rows.$n.bytes" 0 && is "rows.$n.seconds" "$(value rows.0.seconds)"; } || return 1
                n=$((n + 1))
            done
        done
    done
    within "$(value rows.0.seconds)" 0.09399 0.09401 && [[ $(value verdict.0.text) == *" with scheme "* ]]
}
check "a row for each number of ranks, scheme and codec" by_scheme

# One scheme more changes nothing; data is the default.
alike() {
    alone "$thinwire" scale "$job" --ranks 8 --codec fp32 --scheme "data,c" --json "$file" || return 1
    local data c
    data=$(value rows.0.bytes) c=$(value rows.1.bytes)
    alone "$thinwire" scale "$job" --ranks 8 --codec fp32 --json "$file" && is rows.0.scheme data && is rows.0.bytes "$data" || return 1
    alone "$thinwire" scale "$job" --ranks 8 --codec fp32 --scheme group=8 --json "$file" && is rows.0.bytes "$c"
}
check "schemes by themselves and together" alike

# Links of ranks that do not give examples are free for what follows: groups of two take little longer than all at once.
groups() {
    alone "$thinwire" scale "$job" --ranks 4 --codec fp32 --scheme c,group=2 --network ethernet-1g:rate=0.002 --json "$file" || return 1
    within "$(awk -v c="$(value rows.0.seconds)" -v g="$(value rows.1.seconds)" 'BEGIN { print g / c }')" 1.0 1.1
}
check "groups in turn" groups

weak() {
    alone "$thinwire" scale "$job" --ranks 1,3,8 --codec fp32 --scheme data --weak --json "$file" || return 1
    is rows.1.compute_seconds "$(value rows.0.compute_seconds)" && is rows.2.compute_seconds "$(value rows.0.compute_seconds)"
}
check "weak scaling: the examples of a rank stay" weak

many() {
    local started=$SECONDS
    alone "$thinwire" scale "$job" --ranks 7,1000,65536 --codec fp32,tree8 --scheme data,a,b,c,group=1,group=7,group=65536,c \
        --json "$file" >/dev/null || return 1
    is "rows.#" 48 && [ $((SECONDS - started)) -le "$seconds" ]
}
check "65536 ranks by eight schemes" many

documented() {
    sed -n '/^The same network data parallel/,/^# SEE ALSO/s/^    //p' "$top_srcdir/docs/thinwire-job.5.md" >"$scratch/example.cfg"
    alone "$thinwire" scale "$scratch/example.cfg" --scheme data,c --json "$file" && is "rows.#" 80
}
check "the second example in thinwire-job(5)" documented

# ---- bad input -----------------------------------------------------------------------------------

# refused STATUS PATTERN ARG...: one line, which begins so, within seconds.
refused() {
    local want=$1 pattern=$2 status limit=$seconds
    shift 2
    alone "$thinwire" scale "$@"
    status=$?
    [ $status -eq "$want" ] || { echo "status $status, not $want"; return 1; }
    [ "$(wc -l <"$scratch/out")" -eq 1 ] || { echo "not one line"; return 1; }
    grep -q -e "^thinwire: $pattern" "$scratch/out" || { echo "no '$pattern'"; return 1; }
}

# bad_training NAME PATTERN TEXT: a training of this text in its second line.
bad_training() {
    printf 'name = "x"; ranks = 1;\ntraining = { %s };\n' "$3" >"$scratch/bad.cfg"
    check "$1" refused 1 "scale: .*/bad.cfg:2: $2" "$scratch/bad.cfg"
}
layer='name = "a"; weights = 10'

bad_training "an unknown key of a training" "'epochs' is no key here; accepted are batch" "batch = 8; epochs = 3; layers = ({ $layer; });"
bad_training "an unknown key of a layer" "'kernel' is no key here; accepted are name" "batch = 8; layers = ({ $layer; kernel = 3; });"
bad_training "a negative number" 'forward: accepted is a number from 0 to 1e+06' "batch = 8; layers = ({ $layer; forward = -1e-3; });"
bad_training "NaN" 'syntax error' "batch = 8; layers = ({ $layer; forward = nan; });"
bad_training "a number in quotes" 'backward: accepted' "batch = 8; layers = ({ $layer; backward = \"1\"; });"
bad_training "an infinite number" 'update: accepted' "batch = 8; update = 1e999; layers = ({ $layer; });"
bad_training "too many values" 'biases: accepted is a number from 0 to 1e+12' "batch = 8; layers = ({ $layer; biases = 1e13; });"
bad_training "half a value" 'channels: accepted is a whole number' "batch = 8; layers = ({ $layer; channels = 0.5; });"
bad_training "more units than weights" "'a': a dense layer has at least as many weights as units" "batch = 8; layers = ({ $layer; units = 11; });"
bad_training "no batch" 'training: it needs batch and layers' "layers = ({ $layer; });"
bad_training "a batch of 0" 'batch: accepted is a number from 1' "batch = 0; layers = ({ $layer; });"
bad_training "no layers" 'training: it needs batch and layers' "batch = 8;"
bad_training "an empty list of layers" 'layers: accepted is a list of 1 to 4096' "batch = 8; layers = ();"
bad_training "4097 layers" 'layers: accepted is a list of 1 to 4096' \
    "batch = 8; layers = ($(yes "{ $layer; }," | head -4096) { $layer; });"
bad_training "an unknown loss" 'loss: accepted are softmax and logistic' "batch = 8; loss = \"l2\"; layers = ({ $layer; });"
bad_training "unknown owners" 'owners: accepted are replicated, root and sharded' "batch = 8; owners = \"nobody\"; layers = ({ $layer; });"
bad_training "owners that are a list" 'owners: accepted are replicated' "batch = 8; owners = (1, 2); layers = ({ $layer; });"
bad_training "norms without owners" 'norms: accepted for weights that have owners' "batch = 8; norms = true; layers = ({ $layer; });"
bad_training "blocks that are a number" 'blocks: accepted is true or false' "batch = 8; owners = \"root\"; blocks = 1; layers = ({ $layer; });"
bad_training "a copy without owners" 'copy: accepted for weights that have owners' "batch = 8; layers = ({ $layer; copy = \"fp32\"; });"
bad_training "a long copy" 'copy: accepted is a text of 1 to 63' "batch = 8; owners = \"root\"; layers = ({ $layer; copy = \"$(printf '%064d' 0)\"; });"
both() {
    sed 's/^training/step = ({ compute = 1; });\ntraining/' "$job" >"$scratch/both.cfg"
    refused 1 'scale: .*/both.cfg:4: training: it has a step already; accepted is one of them' "$scratch/both.cfg"
}
check "both step and training" both
# Nothing but brackets.
deep() {
    local open
    for open in '(' '['; do
        { printf 'name = "x"; ranks = 1; training = '; yes "$open" | head -1000000 | tr -d '\n'; } >"$scratch/deep.cfg"
        refused 1 'scale: .*/deep.cfg:1: ' "$scratch/deep.cfg" || return 1
    done
}
check "a million brackets" deep

accepted='accepted are data, a, b, c and group=G'
check "an unknown scheme" refused 2 "scale: --scheme 'x': $accepted" "$job" --scheme x
check "no scheme" refused 2 'scale: --scheme needs a LIST that is not empty' "$job" --scheme ''
check "an empty place in the list" refused 2 "scale: --scheme '': $accepted" "$job" --scheme data,,c
check "groups of 0" refused 2 "scale: --scheme 'group=0': $accepted, G from 1 to 65536" "$job" --scheme a,group=0
check "groups of 70000" refused 2 "scale: --scheme 'group=70000': $accepted" "$job" --scheme group=70000
check "65 schemes" refused 2 'scale: more than 64 combinations of --scheme' "$job" --scheme "a$(printf ',b%.0s' {1..64})"
check "--scheme of a job with a step" refused 2 'scale: --scheme: this job has no layers' "$scratch/step.cfg" --scheme c
check "no dense layers that could be split" refused 2 "scale: --scheme c: 'c' has no dense layers at its end" "$scratch/conv.cfg" --scheme data,c
split_below() {
    printf 'name = "d"; ranks = 1; training = { batch = 8; layers = ({ name = "fc"; weights = 9; units = 3; }, { name = "conv"; weights = 9; }); };\n' \
        >"$scratch/below.cfg"
    refused 2 "scale: --scheme a: 'd' has no dense layers at its end" "$scratch/below.cfg" --scheme a
}
check "dense layers elsewhere" split_below
