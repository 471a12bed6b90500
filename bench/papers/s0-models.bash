# SPDX-License-Identifier: BSD-3-Clause
# shows: S0, Table I: the networks, with the parameters that follow from the table
# time: 1 s (--quick: the same)
# differs: the paper names layers, not counts; 200 classes, as in its section V
# shellcheck shell=bash disable=SC2154  # of papers.sh
target() {
    local model want
    echo "| network | layers with parameters | parameters | by hand from Table I |"
    echo "|---|---|---|---|"
    while read -r model want; do
        "$build/bin/thinwire-train" --describe "$model" </dev/null | awk -v model="$model" -v want="$want" '
            $4 ~ /^[0-9]+$/ && $4 > 0 && $1 != "total" { layers++ }
            $1 == "total" { n = $2 }
            END { printf "| %s | %d | %d | %d |\n", model, layers, n, want; exit n != want }' || return 1
    done <<<"alexnet-s0 75341960
alexnet-s0-valid 63807624
vgg-a 129585736
resnet-34 21387272"
}
