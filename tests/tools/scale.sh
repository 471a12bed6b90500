#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire scale: a row for every network, number of ranks and codec, in the table and as JSON; the same
# numbers again from the same facts; loops and long jobs; drawings; bad jobs, networks and facts.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
limit=120
sanitized && seconds=100 || seconds=60
file=$scratch/scale.json
job=$scratch/job.cfg
facts=$scratch/facts

cat >"$job" <<'END'
name = "mlp";
ranks = 1;
step = (
  { compute = 0.020; name = "forward"; },
  { compute = 0.010; }, { start = "allreduce"; name = "fc3"; count = 10250; class = "grad"; },
  { compute = 0.020; }, { start = "allreduce"; name = "fc2"; count = 1049600; class = "grad"; },
  { wait = "fc3"; }, { wait = "fc2"; },
  { call = "bcast"; count = 1000; scales = true; },
  { call = "allreduce"; count = 4; type = "double"; },
  { call = "alltoall"; count = 100; type = "other"; },
  { compute = 0.002; fixed = true; }
);
END

plan 76

value() { "$json_query" "$file" "$1"; }
is() { [ "$(value "$1")" = "$2" ] || { echo "$1 is $(value "$1"), not $2"; return 1; }; }

# Every number of every row is finite and in range.
rows_are_sound() {
    local i key n paths=()
    n=$(value "rows.#")
    for ((i = 0; i < n; i++)); do
        for key in seconds compute_seconds exposed codec_seconds speedup bytes interval.{0,1}; do
            paths+=("rows.$i.$key")
        done
    done
    "$json_query" "$file" "${paths[@]}" | LC_ALL=C awk -v n="$n" '
        function fail(what) { print "row " int((NR - 1) / 8) ": " what; bad = 1 }
        { at = (NR - 1) % 8; v[at] = $1 + 0 }
        at < 6 && ($1 !~ /^[0-9.e+-]+$/ || v[at] < 0 || v[at] > 1e15) { fail("number " at " is " $1) }
        at == 7 && (v[0] < v[1] || v[0] > 1e6) { fail("seconds") }
        at == 7 && (v[0] < v[6] || v[0] > v[7]) { fail("the interval") }
        END { if (NR != 8 * n) fail(NR " numbers"); exit bad }'
}

table_and_json() {
    local n=0 network ranks codec networks=("ethernet-10g" "infiniband-100g:latency=2:group=4:taper=3")
    alone "$thinwire" scale "$job" --ranks 1,2,16 --network "${networks[0]},${networks[1]}" \
        --codec fp32,tree8,onebit --json "$file" || return 1
    is "rows.#" 18 && rows_are_sound || return 1
    for network in "${networks[@]}"; do
        grep -q "^$network: rate=[0-9]* Gbit/s, usable=" "$scratch/out" || { echo "no numbers of $network"; return 1; }
        for ranks in 1 2 16; do
            for codec in fp32 tree8 onebit; do
                [ "$(grep -c "^ *$ranks  $codec " "$scratch/out")" -eq 2 ] || { echo "not two of $ranks $codec"; return 1; }
                is "rows.$n.network" "$network" && is "rows.$n.ranks" $ranks && is "rows.$n.codec" $codec &&
                    is "rows.$n.ranks_per_node" 1 || return 1
                n=$((n + 1))
            done
        done
    done
    [ "$(grep -c ' in half of the cases, within [0-9]* % in nine of ten' "$scratch/out")" -eq 1 ] || return 1
    grep -q 'group=4 nodes, taper=3' "$scratch/out" && grep -q '^ethernet-10g: best by ' "$scratch/out" || return 1
    is rows.0.bytes 0 && is rows.0.exposed 0 && is rows.0.speedup 1 || return 1
    is "verdict.#" 2 && is verdict.1.network "${networks[1]}" && is command "$(value command)" &&
        [ -n "$(value verdict.0.text)" ] && within "$(value verdict.0.pays_up_to_gbit)" 0 1000
}
check "a row for each network, number of ranks and codec, in the table and as JSON" table_and_json

defaults() {
    alone "$thinwire" scale "$job" --json "$file" || return 1
    is "rows.#" 40 && is rows.0.ranks 2 && is rows.39.ranks 1024 && is rows.39.codec onebit &&
        is rows.0.network ethernet-10g && rows_are_sound
}
check "by default 2 to 1024 ranks, four codecs, one network" defaults

weak_and_strong() {
    alone "$thinwire" scale "$job" --ranks 4 --codec fp32 --json "$file" || return 1
    within "$(value rows.0.compute_seconds)" 0.014499 0.014501 || return 1
    grep -q 'strong scaling' "$scratch/out" || return 1
    alone "$thinwire" scale "$job" --ranks 4 --codec fp32 --weak --json "$file" || return 1
    within "$(value rows.0.compute_seconds)" 0.051999 0.052001 && within "$(value rows.0.speedup)" 1 4 &&
        grep -q 'weak scaling' "$scratch/out"
}
# Nothing is gained where nothing is sent, and a report says of which job it is.
nothing_sent() {
    printf 'name = "still"; ranks = 1; step = ({ compute = 0; });\n' >"$scratch/still.cfg"
    alone "$thinwire" scale "$scratch/still.cfg" --ranks 2,4 --json "$file" --codec tree8 || return 1
    grep 'best by fp32 on 2 to 4; on 4 ranks compression pays at no rate' "$scratch/out" &&
        value command | grep -q " scale $scratch/still.cfg --ranks 2,4 --json $file --codec tree8$"
}
check "a job that sends nothing" nothing_sent
# Waits in any order, and calls instead.
orders() {
    local a='start = "allreduce"; name = "A"; count = 10000000' b='start = "allreduce"; name = "B"; count = 10000000' want=""
    for step in "{ $a; }, { $b; }, { wait = \"A\"; }, { wait = \"B\"; }" "{ $a; }, { $b; }, { wait = \"B\"; }, { wait = \"A\"; }"; do
        printf 'name = "o"; ranks = 16; step = (%s);\n' "$step" >"$scratch/order.cfg"
        alone "$thinwire" scale "$scratch/order.cfg" --ranks 2 --facts "$facts" --codec tree8 --json "$file" || return 1
        want=${want:-$(value rows.0.seconds)}
        is rows.0.seconds "$want" || return 1
    done
}
check "strong scaling, and weak" weak_and_strong

nodes() {
    alone "$thinwire" scale "$job" --ranks 2,8 --ranks-per-node 4 --codec fp32 --json "$file" || return 1
    is rows.0.ranks_per_node 2 && is rows.1.ranks_per_node 4 &&
        within "$(value rows.1.bytes)" 1 1e9
}
check "several ranks on a node" nodes

printf 'name = "f"; ranks = 6; fixed_ranks = true; step = ({ compute = 1; }, { call = "bcast"; count = 9; });' >"$scratch/fixed.cfg"
fixed() {
    alone "$thinwire" scale "$scratch/fixed.cfg" --codec fp32,tree8 --json "$file" || return 1
    is "rows.#" 2 && is rows.0.ranks 6 && alone "$thinwire" scale "$scratch/fixed.cfg" --ranks 6 --codec fp32 && within "$(value rows.0.compute_seconds)" 1 1
}
check "a job of its own ranks alone" fixed

gradients_only() {
    printf 'name = "f"; ranks = 1; step = ({ call = "allreduce"; count = 1000000; class = "act"; });' >"$scratch/act.cfg"
    printf 'name = "f"; ranks = 1; step = ({ call = "allreduce"; count = 1000000; class = "grad"; });' >"$scratch/grad.cfg"
    alone "$thinwire" scale "$scratch/act.cfg" --ranks 4 --codec fp32,onebit --json "$file" || return 1
    is rows.1.bytes "$(value rows.0.bytes)" || return 1
    alone "$thinwire" scale "$scratch/grad.cfg" --ranks 4 --codec fp32,onebit --json "$file" || return 1
    within "$(value rows.1.bytes)" 1 "$(awk -v b="$(value rows.0.bytes)" 'BEGIN { print b / 25 }')"
}
check "a codec with error feedback is for gradients alone" gradients_only

# Two dense layers that can be split. With a codec of activations, that of gradients says nothing about them; measured
# even where no row has it.
act() {
    printf 'name = "l"; ranks = 1; training = { batch = 64; layers = (%s,%s); };' \
        '{ name = "a"; weights = 1000000; biases = 1000; units = 1000; forward = 1e-3; }' \
        '{ name = "b"; weights = 10000; units = 10; }' >"$scratch/split.cfg"
    bytes() { alone "$thinwire" scale "$scratch/split.cfg" --ranks 4 --scheme a --codec "$@" --json "$file" >/dev/null && value rows.0.bytes; }
    local plain coarse
    plain=$(bytes fp32) coarse=$(bytes tree8) || return 1
    within "$coarse" 1 "$(awk -v b="$plain" 'BEGIN { print b / 3.5 }')" || return 1
    [ "$(bytes fp32 --act tree8)" = "$coarse" ] && [ "$(bytes onebit --act tree8)" = "$coarse" ] && [ "$(bytes tree8 --act fp32)" = "$plain" ] &&
        [ "$(bytes onebit)" = "$plain" ] || return 1
    bytes tree8 --act tree8:block=64 && is rows.0.act tree8:block=64,split=0.45 && is rows.0.codec tree8 && grep -q 'strong scaling; activations by tree8:block=64$' "$scratch/out" &&
        rows_are_sound
}
check "--act: a codec of activations beside that of gradients" act

# Of 2 ranks each has half of a million weights, 16 units of 64 more than it needs, and sends it once, by the job's
# codecs or by one for all; gradients by another. Norms are of the job alone. By root, rank 0 sends all of the weights,
# the other all of its gradients.
weights() {
    printf 'name = "l"; ranks = 1; training = { batch = 64; owners = "sharded"; norms = true; layers = (%s,%s); };' \
        '{ name = "a"; weights = 1024000; copy = "bitpack:1"; }' '{ name = "b"; weights = 1024000; copy = "tree8"; }' >"$scratch/owners.cfg"
    sed 's/sharded/root/; s/norms = true;//' "$scratch/owners.cfg" >"$scratch/root.cfg"
    sent() { alone "$thinwire" scale "$@" --network ethernet-1g --ranks 2 --json "$file" >/dev/null && value rows.0.bytes; }
    # gradients 4096000, loss 8, norms of three groups 24
    within "$(sent "$scratch/owners.cfg" --codec fp32)" $((4096000 + 32 + 1024000)) $((4096000 + 32 + 1024000 + 2000)) &&
        is rows.0.weights "bitpack:1 tree8:block=4096,split=0.45" && is rows.0.owners sharded && is rows.0.codec fp32 &&
        grep -q 'strong scaling; weights sharded, by bitpack:1 tree8:block=4096,split=0.45$' "$scratch/out" || return 1
    [ "$(sent "$scratch/owners.cfg" --codec fp32 --weights bitpack:2)" = $((4096000 + 8 + 2048000)) ] && is rows.0.weights bitpack:2 &&
        [ "$(sent "$scratch/owners.cfg" --codec bitpack:2 --weights bitpack:1)" = $((2048000 + 8 + 1024000)) ] &&
        [ "$(sent "$scratch/root.cfg" --codec bitpack:1 --weights bitpack:2)" = $((4096000 + 8)) ] &&
        [ "$(sent "$scratch/root.cfg" --codec fp32 --weights bitpack:2)" = $((8192000 + 8)) ] && is rows.0.owners root &&
        [ "$(sent "$scratch/root.cfg" --codec bitpack:2 --weights fp32 --simulate)" = $((8192000 + 8)) ] || return 1
    sent "$scratch/split.cfg" --codec fp32 && ! grep -e owners -e weights "$file"
}
check "--weights: a codec of weights beside that of gradients" weights

# A million floats on 16 ranks: all to all, or a share of each in two passes.
by_algorithm() {
    echo 'name = "a"; ranks = 1; step = ( { call = "allreduce"; count = 1000000; } );' >"$scratch/one.cfg"
    alone "$thinwire" scale "$scratch/one.cfg" --ranks 16 --codec fp32 --algorithm direct --json "$file" || return 1
    grep -q 'strong scaling; allreduces by direct$' "$scratch/out" && within "$(value rows.0.bytes)" 59e6 61e6 || return 1
    alone "$thinwire" scale "$scratch/one.cfg" --ranks 16 --codec fp32 --algorithm two_pass --json "$file" &&
        within "$(value rows.0.bytes)" 7.4e6 7.6e6
}
check "--algorithm: of allreduces" by_algorithm

# Lists: every combination is a row, and named apart.
combinations() {
    alone "$thinwire" scale "$scratch/one.cfg" --ranks 16 --codec fp32 --algorithm direct,two_pass --ranks-per-node 1,4 --json "$file" || return 1
    is "rows.#" 4 && is rows.1.algorithm two_pass && is rows.1.ranks_per_node 1 && is rows.2.algorithm direct && is rows.2.ranks_per_node 4 || return 1
    within "$(value rows.2.bytes)" 191e6 193e6 && within "$(value rows.3.bytes)" 23.9e6 24.1e6 || return 1 # of a node
    within "$(value rows.0.bytes)" 59e6 61e6 && within "$(value rows.1.bytes)" 7.4e6 7.6e6 &&
        within "$(value rows.2.seconds)" "$(value rows.0.seconds)" 10 && # four ranks share a node's link
        grep -q '^ *algorithm *per node *ranks' "$scratch/out" && grep -q 'best by fp32 by two_pass, [14] per node on 16' "$scratch/out"
}
check "lists of algorithms and of ranks per node" combinations

all_codecs() {
    alone "$thinwire" scale "$job" --ranks 4 --codec fp32,bitpack:1,bitpack:4,bf16,fp16 --json "$file" || return 1
    is "rows.#" 5 && rows_are_sound || return 1
    alone "$thinwire" scale "$job" --ranks 4 --codec static8,mantissa8,int8,tree8:block=64 --json "$file" || return 1
    is "rows.#" 4 && rows_are_sound
}
check "every codec has rows, doubles or not" all_codecs

documented() {
    sed -n '/^# EXAMPLE/,/^# SEE ALSO/s/^    //p' "$top_srcdir/docs/thinwire-job.5.md" >"$scratch/examples.cfg"
    awk -v first="$scratch/example.cfg" -v second="$scratch/layers.cfg" \
        '/^name/ { n++ } { print >(n < 2 ? first : second) }' "$scratch/examples.cfg"
    alone "$thinwire" scale "$scratch/example.cfg" --json "$file" || return 1
    is "rows.#" 40 && rows_are_sound || return 1
    alone "$thinwire" scale "$scratch/layers.cfg" --scheme data,c --json "$file" || return 1
    is "rows.#" 80 && is rows.0.scheme data && rows_are_sound
}
check "the examples in thinwire-job(5)" documented

# ---- measured links ------------------------------------------------------------------------------

calibrated() {
    ranks 2 "$thinwire" calibrate --seconds 1 --output "$facts" || return 1
    alone "$thinwire" scale "$job" --facts "$facts" --ranks 1,2 --json "$file" || return 1
    grep -q '^measured: links as they were measured' "$scratch/out" && is "rows.#" 8 && rows_are_sound &&
        is rows.4.network measured && is verdict.0.network measured || return 1
    cp "$scratch/out" "$scratch/first"
    alone "$thinwire" scale "$job" --facts "$facts" --ranks 1,2 --json "$file" && cmp "$scratch/first" "$scratch/out"
}
check "links and codecs of a calibration: the same numbers twice" calibrated

# ---- long jobs -----------------------------------------------------------------------------------

quick() { # JOB ARG...: within seconds
    local started=$SECONDS
    alone "$thinwire" scale "$@" --json "$file" >/dev/null || return 1
    [ $((SECONDS - started)) -le "$seconds" ] || { echo "it took $((SECONDS - started)) s"; return 1; }
    rows_are_sound
}
folded() {
    printf 'name = "r"; ranks = 1; step = ({ repeat = 1000000; step = ({ compute = 0.001; fixed = true; }, %s); });' \
        '{ call = "allreduce"; count = 1000; }' >"$scratch/repeat.cfg"
    quick "$scratch/repeat.cfg" --codec fp32 --ranks 2,4 && within "$(value rows.0.compute_seconds)" 999.99 1000.01 &&
        within "$(value rows.0.bytes)" 3.99e9 4.01e9
}
check "waits in any order" orders
check "a million rounds of a loop" folded

printf '{ repeat = 9; step = (%.0s' 1 2 3 4 5 6 7 8 >"$scratch/deep"
printf ' ); }%.0s' 1 2 3 4 5 6 7 8 >"$scratch/peed"
nested() {
    echo "name = \"n\"; ranks = 1; step = ($(cat "$scratch/deep") { compute = 1e-3; }, " \
        "{ call = \"allreduce\"; count = 1000; } $(cat "$scratch/peed"));" >"$scratch/nested.cfg"
    quick "$scratch/nested.cfg" --ranks 2,8
}
check "loops nested eight deep" nested

many_items() {
    awk 'BEGIN {
        print "name = \"long\"; ranks = 1; step = ("
        for (i = 0; i < 10000; i++) {
            printf "%s{ compute = 1e-5; },\n{ call = \"allreduce\"; count = %d; }", i ? ",\n" : "", 1000 + i % 100
        }
        print ");"
    }' >"$scratch/long.cfg"
    quick "$scratch/long.cfg"
}
check "twenty thousand items" many_items

# ---- drawings ------------------------------------------------------------------------------------

drawn() {
    alone "$thinwire" scale "$job" --ranks 2,4,8 --network ethernet-1g,ethernet-25g --plot "$scratch/scale.svg" || return 1
    grep -q '<svg' "$scratch/scale.svg" && grep -q 'onebit' "$scratch/scale.svg" && grep -q 'ethernet-25g' "$scratch/scale.svg"
}
if command -v gnuplot >/dev/null; then
    check "--plot draws" drawn
else
    skip "--plot draws" "gnuplot is not installed"
fi
no_gnuplot() {
    alone env PATH="$scratch" "$thinwire" scale "$job" --plot "$scratch/none.svg"
    [ $? -eq 1 ] && grep -q 'there is no gnuplot in PATH' "$scratch/out" && [ ! -e "$scratch/none.svg" ]
}
check "--plot without gnuplot is refused at once" no_gnuplot

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

# bad_job NAME PATTERN STEP: a job with these items in its second line.
bad_job() {
    printf 'name = "x"; ranks = 1;\nstep = (%s);\n' "$3" >"$scratch/bad.cfg"
    check "$1" refused 1 "scale: .*/bad.cfg:2: $2" "$scratch/bad.cfg"
}
call='call = "allreduce"; count'

check "no job" refused 2 'scale: which JOB?'
check "a missing job" refused 1 "scale: cannot read '.*/none.cfg': No such file" "$scratch/none.cfg"
check "a folder" refused 1 "scale: cannot read '.*': Is a directory" "$scratch"
check "endless bytes" refused 1 "scale: cannot read '/dev/zero': File too large" /dev/zero
bad_job "a syntax error" 'syntax error' '{ compute = ; }'
bad_job "an item that both starts and calls" "'call' is no key here" '{ start = "allreduce"; call = "bcast"; name = "A"; count = 10; }'
many_keys() {
    { printf 'name = "n"; ranks = 1; step = ({ compute = 1; });\n'; seq -f 'k%.0f = 1;' 200000; } >"$scratch/keys.cfg"
    refused 1 'scale: .*/keys.cfg:6[0-9]: a group has more than 64 keys' "$scratch/keys.cfg"
}
check "a group of many keys" many_keys
bad_job "an unknown key" "'fixd' is no key here; accepted are compute, fixed, idle, name" '{ compute = 1; fixd = true; }'
bad_job "seconds below 0" 'compute: accepted is a number from 0 to 1e+06' '{ compute = -1; }'
bad_job "seconds that are no number" 'compute: accepted' '{ compute = "nan"; }'
bad_job "too large a count" 'count: accepted is a number from 0 to 1e+15' "{ $call = 1e16; }"
bad_job "a count that libconfig would cut" 'a whole number above 2147483647 needs an L' "{ $call = 5000000000; }"
bad_job "a part of no ranks" 'ranks: accepted is a number from 1 to 65536' "{ $call = 1; ranks = 0; }"
bad_job "half a stride" 'stride: accepted is a whole number' "{ $call = 1; ranks = 4; stride = 1.5; }"
bad_job "a stride of all ranks" 'stride: accepted is it beside ranks' "{ $call = 1; stride = 2; }"
bad_job "a wait for nothing" "wait: nothing called 'a' is started" '{ wait = "a"; }'
bad_job "loops nested too deep" 'repeat: nested more than 8 deep' \
    "$(cat "$scratch/deep") { repeat = 2; step = ({ compute = 1; }); } $(cat "$scratch/peed")"
bad_job "an empty step" 'step: it is empty' ''
sed 's/^ranks = 1/ranks = 65537/' "$job" >"$scratch/ranks.cfg"
check "a job of 65537 ranks" refused 1 'scale: .*/ranks.cfg:2: ranks: accepted is a number from 1 to 65536' "$scratch/ranks.cfg"
check "65537 ranks" refused 2 "scale: --ranks '65537': accepted are up to 64 rising numbers" "$job" --ranks 65537
check "ranks that do not rise" refused 2 "scale: --ranks '4,2'" "$job" --ranks 4,2
check "ranks that are no numbers" refused 2 "scale: --ranks '2,'" "$job" --ranks 2,
check "--ranks of a job that has its own" refused 2 'scale: --ranks: this job runs on its 6 ranks only' "$scratch/fixed.cfg" --ranks 6,12
check "an unknown network" refused 2 "scale: --network 'token-ring': accepted are ethernet-1g, " "$job" --network token-ring
check "an unknown key of a network" refused 2 "scale: --network: 'speed=1': accepted are rate=N" "$job" --network ethernet-1g:speed=1
check "a number of a network out of range" refused 2 "scale: --network: 'taper=0': accepted are numbers from 1 to 1000" \
    "$job" --network ethernet-1g:taper=0
check "no number behind a key of a network" refused 2 "scale: --network: 'message=': accepted are numbers from 0" \
    "$job" --network ethernet-10g:message=
check "an unknown codec" refused 2 "--codec: unknown codec 'tree9'" "$job" --codec tree9
check "--act of a job without layers" refused 2 'scale: --act: this job has no layers' "$job" --act tree8
check "--act with error feedback" refused 2 "scale: --act 'onebit': it needs error feedback" "$scratch/split.cfg" --act onebit
check "--act that chooses" refused 2 "scale: --act 'auto': it chooses a codec" "$scratch/split.cfg" --act auto
check "--weights of a job whose weights have no owners" refused 2 "scale: --weights: this job's weights have no owners" "$scratch/split.cfg" --weights tree8
check "--weights that chooses" refused 2 "scale: --weights 'auto': it chooses a codec" "$scratch/root.cfg" --weights auto
check "--weights that is no codec" refused 2 "scale: --weights: unknown codec 'awp'" "$scratch/root.cfg" --weights awp
check "--weights that is empty" refused 2 "scale: --weights needs a SPEC that is not empty" "$scratch/root.cfg" --weights ''
taken() { # OPTION...: accepted, and said
    alone "$thinwire" scale "$@" && grep -q '^Not in --facts, so taken to be as fast as another one: static8:offset=10 as ' "$scratch/out"
}
check "--weights that the facts have not" taken "$scratch/root.cfg" --weights static8 --facts "$facts" --ranks 2
for copy in tree9 auto awp:T=1 bitpack:9; do
    sed "s/tree8/$copy/" "$scratch/root.cfg" >"$scratch/copy.cfg"
    check "a job with weights by $copy" refused 1 "scale: .*/copy.cfg: layer 'b': copy" "$scratch/copy.cfg"
done
check "--act that is no codec" refused 2 "scale: --act: unknown codec 'tree9'" "$scratch/split.cfg" --act tree9
check "--act that the facts have not" taken "$scratch/split.cfg" --act static8 --scheme a --facts "$facts" --ranks 2
check "--algorithm that is none" refused 2 "scale: --algorithm 'ring': accepted are direct, two_pass" "$job" --algorithm ring
check "--algorithm, empty" refused 2 "scale: --algorithm '': accepted are direct" "$job" --algorithm direct,
check "--ranks-per-node that is none" refused 2 "scale: --ranks-per-node '4x': accepted are numbers from 1 to 65536" "$job" --ranks-per-node 2,4x
check "too many combinations" refused 2 "scale: more than 64 combinations of --scheme, --algorithm" "$job" --ranks-per-node "$(seq -s, 65)"
check "--algorithm that cannot serve" refused 2 "scale: 'fc3': nothing is known of fp32 by node on 4 ranks" "$job" --algorithm node --ranks 4 --codec fp32
check "auto is no codec to compare" refused 2 "scale: --codec 'auto'" "$job" --codec auto
check "--facts with --network" refused 2 'scale: --facts has the links: not with --network' "$job" --facts "$facts" --network ethernet-1g
head -c 300 "$facts" >"$scratch/cut"
check "facts that were cut" refused 2 'scale: --facts .*/cut: its checksum is missing' "$job" --facts "$scratch/cut"
sed 's/^engine .*/engine 1/' "$facts" >"$scratch/changed"
check "facts that were changed" refused 2 'scale: --facts .*/changed: its checksum' "$job" --facts "$scratch/changed"
check "missing facts" refused 2 'scale: --facts .*/nofacts: No such file' "$job" --facts "$scratch/nofacts"
check "facts of one node for several" refused 2 'scale: --facts .*/facts: it knows no links between nodes' "$job" --facts "$facts" --ranks 4
check "codecs that the facts have not" refused 2 "scale: 'fc3': nothing is known of static8" "$job" --facts "$facts" --ranks 2 --codec static8
json_full() {
    alone "$thinwire" scale "$job" --ranks 2 --json /dev/full
    [ $? -eq 1 ] && [ "$(grep -c '^thinwire: ' "$scratch/out")" -eq 1 ] &&
        grep -q '^thinwire: .*/dev/full.*cannot be written: No space' "$scratch/out"
}
check "JSON to a full device" json_full
check "JSON in a missing folder" refused 1 '.*missing/x.json: cannot be written' "$job" --json "$scratch/missing/x.json"
