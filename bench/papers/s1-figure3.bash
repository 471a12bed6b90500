# SPDX-License-Identifier: BSD-3-Clause
# shows: S1, Figure 3: model parallel, test error of the network mlp on MNIST by codec of activations and their gradients
# time: 3 hours (--quick: 1 minute)
# differs: 30 epochs of 75; all dense layers split by output unit; RANKS (4), CODECS; onebit is refused for activations
# shellcheck shell=bash disable=SC2154,SC2034,SC1091  # of papers.sh
. "$bench/papers/s1-figure4.bash" # mlp_by_codec
target() {
    local codecs=${CODECS:-$(either 'fp32 tree8' 'fp32 tree8 int8 static8 mantissa8 bitpack:2')}
    local ranks=${RANKS:-4} epochs=${EPOCHS:-$(either 1 30)} seeds=${SEEDS:-$(either '1 2' '1 2 3 4 5')}
    local -x THINWIRE_NODE_RANKS=1
    mlp_by_codec s1-figure3 a act
}
