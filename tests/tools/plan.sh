#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire plan: the numbers of S4 (footnote 4, section 4), in the table and as JSON; what is advised in clear cases;
# the job of --record; the exchange order of a topology; bad machines, models and options.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
sanitized && seconds=100 || seconds=10
file=$scratch/plan.json
machine=$scratch/machine.cfg

value() { "$json_query" "$file" "$1"; }
is() { [ "$(value "$1")" = "$2" ] || { echo "$1 is $(value "$1"), not $2"; return 1; }; }
has() { grep -q -e "$1" "$scratch/out" || { echo "no line with $1"; return 1; }; }
hasnt() { ! grep -q -e "$1" "$scratch/out" || { echo "a line with $1"; return 1; }; }

# near VALUE EXPECTED SHARE
near() { awk -v a="$1" -v b="$2" -v s="$3" 'BEGIN { d = a - b; exit !(a != "" && d <= s * b && -d <= s * b) }' || { echo "$1 is not near $2"; return 1; }; }

# of NETWORK RANKS [LINE...]: a machine.
of() {
    printf 'name = "m"; network = "%s"; ranks = %s;\n' "$1" "$2" >"$machine"
    shift 2
    printf '%s\n' "flops = 2e12;" "$@" >>"$machine"
}

# advise MODEL ARG...
advise() { alone "$thinwire" plan "$1" --machine "$machine" --json "$file" "${@:2}"; }

# ---- the arithmetic ----------------------------------------------------------------------------------

footnote_4() {
    of pcie2:group=4:taper=4 8
    advise alexnet-s4 --batch 1024 || return 1
    has '^fc7  *4096  *4096  *2\.097 us  *2\.731 us  *117\.47 MB  *29\.36 MB  split$' &&
        is layers.1.name fc7 && is layers.1.inputs 4096 && is layers.1.units 4096 && is layers.1.split true || return 1
    near "$(value layers.1.compute_seconds)" 2.097152e-6 1e-9 && near "$(value layers.1.send_seconds)" 2.730667e-6 1e-6 &&
        near "$(value layers.1.gradient_bytes)" 117469184 1e-9 && near "$(value layers.1.split_bytes)" 29360128 1e-9
}
check "footnote 4: 2.097 us computing, 2.731 us sending" footnote_4

# Gradients of all layers are the bytes of a step that is data parallel, on nodes of several ranks, too.
as_a_step() {
    local each
    for each in 1 4; do
        of ethernet-10g 8
        advise mlp --ranks-per-node $each --scheme data --codec fp32 || return 1
        near "$(for i in 0 1 2; do value layers.$i.gradient_bytes; done | awk '{ n += $1 } END { printf "%.0f", n }')" \
            "$(value rows.0.bytes)" 1e-4 || return 1
    done
}
check "bytes of layers and of a step" as_a_step

# 60 million parameters, 0.223 GiB: at 7 GB/s some 31 ms once, 124 ms for 4 GPUs of a bridge, one after another.
transfers() {
    of pcie2:rate=56:usable=1 4
    advise alexnet-s4 || return 1
    within "$(value transfer.parameters)" 60e6 63e6 && near "$(value transfer.bytes)" "$(awk -v n="$(value transfer.parameters)" 'BEGIN { print 4 * n }')" 1e-6 &&
        near "$(value transfer.seconds)" "$(awk -v n="$(value transfer.bytes)" 'BEGIN { printf "%.12g", n / 7e9 }')" 1e-6 &&
        near "$(value transfer.all_ranks_seconds)" "$(awk -v s="$(value transfer.seconds)" 'BEGIN { printf "%.12g", 4 * s }')" 1e-6 &&
        within "$(value transfer.seconds)" 0.031 0.037 && has '^All 61\.84 million parameters in fp32 are 0\.230 GiB: 35\.3 ms over one link, 141 ms for 4 ranks in turn\.$'
}
check "all parameters over a link, and over those of four ranks" transfers

# Data parallel: gradients whatever the batch. Split: inputs by the batch.
by_batch() {
    of pcie2 8
    advise alexnet-s4 --batch 128 && is layers.2.split true && is layers.2.gradient_bytes 28679000 || return 1
    advise alexnet-s4 --batch 4096 && is layers.2.split false && is layers.2.gradient_bytes 28679000 && is layers.0.split true || return 1
    advise alexnet-s4 --batch 8192 && is layers.0.split false && near "$(value layers.0.split_bytes)" "$(awk 'BEGIN { print 2 * 7 / 8 * 4 * 9216 * 8192 }')" 1e-9
}
check "what is sent by batch" by_batch

# fc8 of alexnet-s4 split by input: its 1000 outputs in place of 4096 inputs, in the table and in a step of scheme a.
by_input() {
    local model=$scratch/turned.cfg before
    sed 's/name = "fc8";/& split = "input";/' "$top_srcdir/train/model/zoo/alexnet-s4.cfg" >"$model"
    of ethernet-10g 8
    advise alexnet-s4 --batch 128 --scheme a --codec fp32 && before=$(value rows.0.bytes) || return 1
    advise "$model" --batch 128 --scheme a --codec fp32 && is layers.2.inputs 4096 &&
        near "$(value layers.2.split_bytes)" "$(awk 'BEGIN { print 2 * 7 / 8 * 4 * 1000 * 128 }')" 1e-9 || return 1
    near "$(awk -v a="$before" -v b="$(value rows.0.bytes)" 'BEGIN { print a - b }')" \
        "$(awk 'BEGIN { print 2 * 7 / 8 * 4 * 3096 * 128 }')" 1e-3
}
check "a layer split by input" by_input

defaults() {
    of ethernet-10g 4
    advise lenet || return 1
    is "rows.#" 16 && is "layers.#" 2 && is advice.batch 128 && is advice.ranks 4 && is advice.model lenet && is advice.fits true &&
        is rows.0.scheme data && is rows.15.scheme c && is rows.15.codec onebit || return 1
    advise lenet --ranks 6 --ranks-per-node 2 --batch 60 --scheme c,group=3 --codec tree8 || return 1
    is "rows.#" 2 && is rows.1.scheme group=3 && is rows.0.ranks_per_node 2 && is rows.0.ranks 6 && is advice.batch 60 && is advice.ranks 6
}
check "schemes and codecs, by default and as they are given" defaults

# Operations, or bytes where these take longer; updates.
memory_rates() {
    of ethernet-10g 2
    advise linear --codec fp32 || return 1
    local without
    without=$(value rows.0.compute_seconds)
    of ethernet-10g 2 'memory_rate = 1e9;'
    advise linear --codec fp32 || return 1
    # 7850 parameters: 5 values each in an update; weights, 784 inputs and 10 outputs of each example, thrice
    near "$(value rows.0.compute_seconds)" "$(awk -v b="$(value advice.batch)" 'BEGIN { printf "%.9g", (20 * 7850 + 12 * (7840 + 794 * b) / 2) / 1e9 }')" 1e-6 &&
        near "$without" "$(awk -v b="$(value advice.batch)" 'BEGIN { printf "%.9g", 6 * 7840 * b / 2 / 2e12 }')" 1e-6
}
check "computing by operations and by bytes" memory_rates

# ---- the advice ----------------------------------------------------------------------------------------

slow_network() {
    of ethernet-1g:rate=0.001 4
    advise lenet || return 1
    is advice.one_rank true && has '^One rank is best: ' && has '^  mpirun -n 1 thinwire-train --model lenet --batch 128 --scheme data --codec fp32$' &&
        has '^  mpirun -n 4 thinwire-train ' && hasnt 'do not compress' || return 1
    of infiniband-200g 4 'convolution_flops = 1e9;'
    advise lenet && is advice.one_rank false && hasnt 'One rank'
}
check "one rank, where the network is slow" slow_network

fast_network() {
    of infiniband-200g:rate=100000:latency=0.001:message=0 8 'codec_rate = 1e6;'
    advise alexnet-s4 || return 1
    is advice.grad fp32 && is advice.act fp32 && is advice.one_rank false && has 'do not compress' || return 1
    of ethernet-1g 8 'codec_rate = 1e12;'
    advise alexnet-s4 --scheme data && hasnt 'do not compress' && is advice.act fp32 && [ "$(value advice.grad)" != fp32 ]
}
check "no codec, where the network is fast" fast_network

who_is_split() {
    of ethernet-10g 8
    advise vgg-a --batch 8 --codec fp32 || return 1
    [ "$(value advice.scheme)" != data ] && is layers.0.split true || return 1
    advise resnet-20 --batch 1024 && is advice.scheme data
}
check "few examples and large layers are split; many and small are not" who_is_split

# A codec of activations that makes a step 5 % shorter, and of gradients apart from it.
codec_of_activations() {
    of ethernet-1g 8 'codec_rate = 1e12;'
    advise alexnet-s4 --scheme a --codec onebit,tree8 || return 1
    is advice.act tree8 && has 'activations by tree8' && has 'mpirun .*--scheme a --codec ' || return 1
    advise alexnet-s4 --scheme a --codec onebit && is advice.act fp32
}
check "codecs of gradients and of activations" codec_of_activations

memory() { awk -v a="$(value advice.memory_bytes)" -v f="$1" 'BEGIN { printf "%.0fL", a * f }'; }
short_memory() {
    local data split
    of ethernet-100g 8
    advise alexnet-s4 --batch 128 --scheme data --codec fp32 || return 1
    data=$(memory 0.99)
    advise alexnet-s4 --batch 128 --scheme c --codec fp32 || return 1
    split=$(memory 1.01)
    of ethernet-100g 8 "memory = $split;"
    advise alexnet-s4 --batch 128 --scheme data,c --codec fp32 && is advice.scheme c && is advice.fits true && hasnt 'Memory is short' || return 1
    of ethernet-100g 8 "memory = $data;"
    advise alexnet-s4 --batch 128 --scheme data --codec fp32 && is advice.fits false &&
        has '^Memory is short: a rank has ' && has '^One rank alone would need about '
}
check "memory that is short" short_memory

# A model of a file is named by it; a shell reads the command back.
model_file() {
    cp "$top_srcdir/train/model/zoo/lenet.cfg" "$scratch/it's mine.cfg"
    of ethernet-10g 2
    advise "$scratch/it's mine.cfg" || return 1
    is advice.model "$scratch/it's mine.cfg" && eval "set -- $(value advice.command)" && [ "$6" = "$scratch/it's mine.cfg" ]
}
check "a model of a file" model_file

# ---- a job, a topology ----------------------------------------------------------------------------------

# same_step ARG...: a row of plan and of scale with one scheme and codec.
same_step() {
    local step compute bytes
    step=$(value rows.0.seconds) compute=$(value rows.0.compute_seconds) bytes=$(value rows.0.bytes)
    alone "$thinwire" scale "$scratch/job.cfg" --json "$scratch/scale.json" "$@" || return 1
    near "$("$json_query" "$scratch/scale.json" rows.0.seconds)" "$step" 0.05 &&
        near "$("$json_query" "$scratch/scale.json" rows.0.compute_seconds)" "$compute" 1e-6 &&
        near "$("$json_query" "$scratch/scale.json" rows.0.bytes)" "$bytes" 1e-9
}
recorded() {
    local how scheme codec network=ethernet-1g
    of $network 8 'memory_rate = 1e11;'
    for how in data,fp32 data,tree8 c,bitpack:2 b,fp32; do
        scheme=${how%,*} codec=${how#*,}
        advise alexnet-s4 --scheme "$scheme" --codec "$codec" --record "$scratch/job.cfg" || return 1
        same_step --ranks 8 --scheme "$scheme" --codec "$codec" --network $network || return 1
    done
    for how in root sharded; do
        advise alexnet-s4 --scheme data --codec bitpack:2 --update $how --weights bitpack:1 --record "$scratch/job.cfg" &&
            is advice.update $how && is advice.weight bitpack:1 && is rows.0.owners $how && is rows.0.weights bitpack:1 &&
            same_step --ranks 8 --codec bitpack:2 --network $network || return 1
    done
    printf 'name = "a \\"b\\" \\\\"; network = "ethernet-1g"; ranks = 4; flops = 3e19;\n' >"$machine"
    advise lenet --scheme data --codec fp32 --record "$scratch/job.cfg" && same_step --ranks 4 --codec fp32 --network $network
}
check "the job of --record takes as long by thinwire scale" recorded

# A row of the same job by thinwire scale; S0's balance: 7.9 GB/s and 6.44e12 operations a second.
at_a_root() {
    local bits
    printf '%s\n' 'name = "m"; network = "pcie2:rate=63:usable=1"; ranks = 4;' 'flops = 1.61e12; codec_rate = 2.6e10;' >"$machine"
    advise alexnet-s0 --batch 16 --scheme c --codec tree8 --record "$scratch/job.cfg" || return 1
    near "$(value root.bytes_per_1000_operations)" 1.2228 1e-3 && has 'link has 1\.22 bytes' && is "root.rows.#" 4 || return 1
    sed -i 's/^training = {/&\n  owners = "root";/' "$scratch/job.cfg"
    for bits in 32 8; do
        alone "$thinwire" scale "$scratch/job.cfg" --ranks 4 --codec fp32 --weights "bitpack:$((bits / 8))" \
            --network pcie2:rate=63:usable=1 --json "$scratch/scale.json" || return 1
        near "$("$json_query" "$scratch/scale.json" rows.0.seconds)" "$(value root.rows.$(((32 - bits) / 8)).seconds)" 0.02 || return 1
    done
    is root.rows.3.bits 8 && advise lenet --ranks 1 && hasnt 'Weights at a root'
}
check "weights at a root, in fewer bits" at_a_root

exchange_order() {
    of pcie2:group=4:taper=4 8
    (unset CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER
     advise alexnet-s4 --topology "$top_srcdir/tests/topology/s4.xml") || return 1
    has '^    1  same switch     0-1 2-3 4-5 6-7$' && has '^   7    7     7  21-23 ' && is "topology.exchange.#" 19 && is "topology.places.#" 8
}
check "--topology: the order in which GPUs exchange" exchange_order

under_mpirun() {
    of ethernet-10g 4
    ranks 2 "$thinwire" plan lenet --machine "$machine" && [ "$(grep -c '^Best on 4 ranks' "$scratch/out")" -eq 1 ]
}
check "under mpirun rank 0 prints" under_mpirun

# ---- bad input ------------------------------------------------------------------------------------------

# refused STATUS PATTERN ARG...: one line, soon; the files of an earlier plan stay as they are.
refused() {
    local want=$1 pattern=$2 status limit=$seconds each
    shift 2
    for each in job json; do echo old >"$scratch/old.$each"; done
    alone "$thinwire" plan "$@" --json "$scratch/old.json" --record "$scratch/old.job"
    status=$?
    [ $status -eq "$want" ] || { echo "status $status, not $want"; return 1; }
    [ "$(grep -c '^thinwire: ' "$scratch/out")" -eq 1 ] || { echo "not one line"; return 1; }
    grep -q -e "^thinwire: $pattern" "$scratch/out" || { echo "no '$pattern'"; return 1; }
    for each in job json; do [ "$(cat "$scratch/old.$each")" = old ] || { echo "$each was written"; return 1; }; done
    [ -z "$(find "$scratch" -name 'old.*' ! -name old.job ! -name old.json)" ] || { echo "something is left"; return 1; }
}
alone_refused() { refused "$@" && [ "$(wc -l <"$scratch/out")" -eq 1 ]; }

# bad_machine PATTERN LINE...: behind a good first line.
bad_machine() {
    printf 'name = "m"; network = "pcie2";\n' >"$scratch/bad.cfg"
    printf '%s\n' "${@:2}" >>"$scratch/bad.cfg"
    alone_refused 1 "plan: .*/bad.cfg:$1" lenet --machine "$scratch/bad.cfg"
}
of ethernet-10g 4

usage() {
    alone_refused 2 'plan: which --machine FILE?' lenet && alone_refused 2 'plan: which MODEL?' --machine "$machine" &&
        alone_refused 2 ".*--bach" lenet --machine "$machine" --bach 1
}
check "no machine, no model" usage
unreadable() {
    alone_refused 1 "plan: cannot read '.*/none.cfg': No such file" lenet --machine "$scratch/none.cfg" &&
        alone_refused 1 "plan: cannot read '.*': Is a directory" lenet --machine "$scratch" &&
        alone_refused 1 "plan: cannot read '/dev/zero': File too large" lenet --machine /dev/zero &&
        alone_refused 1 "plan: .*'lenot'" lenot --machine "$machine" && alone_refused 1 "plan: .*/no.cfg" "$scratch/no.cfg" --machine "$machine"
}
check "machines and models that cannot be read" unreadable
keys() {
    bad_machine "2: 'flop' is no key here; accepted are name, ranks" 'flop = 1e9;' && bad_machine '1: it needs name, network and flops' '' &&
        bad_machine '2: syntax error' 'flops = ;' && bad_machine "2: .*name" 'name = "n"; flops = 1e9;' &&
        bad_machine '2: .*@include' '@include "x"'
}
check "keys" keys
numbers() {
    local key each
    for key in flops convolution_flops memory_rate memory codec_rate; do
        for each in -1 0 999 -1e9 1e22 1e400 '"nan"' '"1e9"' true '( 1 )' '{ }'; do
            printf 'name = "m"; network = "pcie2";\n%s' "$([ $key = flops ] || echo 'flops = 1e9; ')" >"$scratch/bad.cfg"
            echo "$key = $each;" >>"$scratch/bad.cfg"
            alone_refused 1 "plan: .*/bad.cfg:2: $key: accepted is a number from 1000 to 1e+21" lenet --machine "$scratch/bad.cfg" || return 1
        done
    done
    bad_machine '2: a whole number above 2147483647 needs an L' 'flops = 5000000000;' &&
        bad_machine '2: syntax error' 'flops = nan;'
}
check "numbers" numbers
counts() {
    local key each
    for key in ranks ranks_per_node; do
        for each in 0 -1 70000 1e9 '"4"'; do
            bad_machine "2: $key: accepted is a number from 1 to 65536" "flops = 1e12; $key = $each;" || return 1
        done
        bad_machine "2: $key: accepted is a whole number" "flops = 1e12; $key = 1.5;" || return 1
    done
    alone_refused 2 ".*--ranks '70000'" lenet --machine "$machine" --ranks 70000 && alone_refused 2 ".*--ranks '0'" lenet --machine "$machine" --ranks 0 &&
        alone_refused 2 ".*--ranks 'x'" lenet --machine "$machine" --ranks x && alone_refused 2 ".*--batch '0'" lenet --machine "$machine" --batch 0 &&
        alone_refused 2 ".*--batch '1000001'" lenet --machine "$machine" --batch 1000001 &&
        alone_refused 2 'plan: a batch of 3 is smaller than the 4 ranks' lenet --machine "$machine" --batch 3
}
check "ranks and examples" counts
words() {
    local name
    printf 'network = "token-ring"; name = "m"; flops = 1e12;\n' >"$scratch/bad.cfg"
    alone_refused 1 "plan: .*/bad.cfg:1: network 'token-ring': accepted are ethernet-1g, " lenet --machine "$scratch/bad.cfg" || return 1
    printf 'network = 3; name = "m"; flops = 1e12;\n' >"$scratch/bad.cfg"
    alone_refused 1 'plan: .*/bad.cfg:1: network: accepted is a text' lenet --machine "$scratch/bad.cfg" || return 1
    printf 'network = "pcie2:rate=0"; name = "m"; flops = 1e12;\n' >"$scratch/bad.cfg"
    alone_refused 1 "plan: .*/bad.cfg:1: network: 'rate=0': accepted are numbers" lenet --machine "$scratch/bad.cfg" || return 1
    for name in '' "$(printf 'x%.0s' {1..64})" 'a\nb' 'a\x01'; do
        printf 'network = "pcie2"; name = "%s"; flops = 1e12;\n' "${name//\\/\\\\}" | sed 's/\\\\/\\/g' >"$scratch/bad.cfg"
        alone_refused 1 'plan: .*/bad.cfg:1: name: accepted is a text of 1 to 63 characters, none of control' lenet --machine "$scratch/bad.cfg" || return 1
    done
}
check "names and networks" words
choices() {
    alone_refused 2 "plan: --scheme 'd': accepted are data, a, b, c and group=G" lenet --machine "$machine" --scheme d &&
        alone_refused 2 "plan: --scheme ''" lenet --machine "$machine" --scheme data, && alone_refused 2 "plan: more than 64 combinations" lenet \
        --machine "$machine" --scheme "a$(printf ',a%.0s' {1..64})" && alone_refused 2 "--codec: unknown codec 'tree9'" lenet --machine "$machine" --codec tree9 &&
        alone_refused 2 "plan: --codec 'auto'" lenet --machine "$machine" --codec auto &&
        alone_refused 2 "plan: --update 'all': accepted are replicated, root and sharded" lenet --machine "$machine" --update all &&
        alone_refused 2 'plan: --weights: weights travel only with --update root or sharded' lenet --machine "$machine" --weights tree8 &&
        alone_refused 2 "plan: --weights 'onebit': it needs error feedback" lenet --machine "$machine" --update root --weights onebit &&
        alone_refused 2 'plan: --weights: unknown codec' lenet --machine "$machine" --update root --weights awp
}
check "schemes and codecs that do not exist" choices
too_long() {
    of ethernet-10g 4
    sed -i 's/2e12/1e3/' "$machine"
    alone_refused 1 'plan: layer conv1 would take .* s for 128 examples; accepted are up to 1e+06 s' alexnet-s4 --machine "$machine"
    local status=$?
    of ethernet-10g 4
    return $status
}
check "a layer that takes years" too_long
outputs() {
    local old
    refused 1 '.*none.xml' lenet --machine "$machine" --topology "$scratch/none.xml" || return 1
    echo old >"$scratch/old"
    alone "$thinwire" plan lenet --machine "$machine" --json "$scratch/old" --record "$scratch/none/job"
    [ $? -eq 1 ] && has '^thinwire: --record .*/none/job: cannot be written: No such file' && [ "$(wc -l <"$scratch/out")" -eq 1 ] || return 1
    alone "$thinwire" plan lenet --machine "$machine" --json "$scratch/none/x.json" --record "$scratch/old"
    [ $? -eq 1 ] && has '^thinwire: --json .*/none/x.json: cannot be written: No such file' && [ "$(wc -l <"$scratch/out")" -eq 1 ] || return 1
    alone "$thinwire" plan lenet --machine "$machine" --json "$scratch/old" --record "$scratch/old"
    [ $? -eq 2 ] && has '--json and --record are the same file' && old=$(cat "$scratch/old") && [ "$old" = old ]
}
check "files that cannot be written, and a missing topology" outputs
plan "$number"
