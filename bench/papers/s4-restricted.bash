# SPDX-License-Identifier: BSD-3-Clause
# shows: S4, proposals at its end: restricted connectivity of dense layers, and a small linear projection in place of activations
# time: 12 minutes (--quick: 3)
# differs: two dense layers of 1024 units on MNIST; the projection is all that leaves a rank and all that stays
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    local mnist=mnist:$data/mnist seeds=${SEEDS:-$(either 1 '1 2')} epochs=${EPOCHS:-$(either 1 3)} kind s
    local -x THINWIRE_NODE_RANKS=1 # bytes as between hosts: inside one, float32 passes through memory
    need mnist
    restricted whole ''
    restricted groups '' 'groups = 4;'
    restricted projection '{ type = "dense"; units = 64; groups = 4; bias = false; },'
    for kind in whole groups projection; do
        for s in $seeds; do
            run "s4-restricted-$kind-$s" 4 --model "$out/s4-restricted-$kind.cfg" --data "$mnist" --epochs "$epochs" --seed "$s" --scheme c
        done
    done
    echo "Second dense layer of 1024 units, 4 ranks, hybrid c, \`fp32\`, $epochs epochs, seeds $seeds; test error in %: mean (range)."
    echo
    echo "| second layer | parameters | test error | MB sent per rank and step |"
    echo "|---|---|---|---|"
    for kind in whole groups projection; do
        of_seeds test_error "s4-restricted-$kind" | spread |
            awk -v k="$kind" -v p="$(value parameters "s4-restricted-$kind-${seeds%% *}")" \
                -v m="$(value bytes_sent_per_step "s4-restricted-$kind-${seeds%% *}")" \
                '{ printf "| %s | %d | %s | %.3f |\n", k, p, $0, m / 1e6 }'
    done
}

# restricted KIND BEFORE KEYS: a model whose second layer has these keys and this layer before it.
restricted() {
    cat >"$out/s4-restricted-$1.cfg" <<END
input    = { channels = 1; height = 28; width = 28; };
classes  = 10;
training = { rate = 0.1; momentum = 0.9; batch = 128; };
layers   = ( { type = "dense"; units = 1024; activation = "relu"; }, $2
    { type = "dense"; units = 1024; activation = "relu"; ${3-} }, { type = "dense"; } );
END
}
