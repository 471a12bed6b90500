# SPDX-License-Identifier: BSD-3-Clause
# shows: S1, Figure 4: data parallel, test error of the network mlp on MNIST by codec of the gradients, with its t-test
# time: 3 hours (--quick: 2 minutes)
# differs: 30 epochs of 75; RANKS (4), CODECS
# shellcheck shell=bash disable=SC2154,SC2034  # of papers.sh
target() {
    local codecs=${CODECS:-$(either 'fp32 tree8 onebit' 'fp32 tree8 int8 static8 mantissa8 bitpack:2 onebit')}
    local ranks=${RANKS:-4} epochs=${EPOCHS:-$(either 1 30)} seeds=${SEEDS:-$(either '1 2' '1 2 3 4 5')}
    local -x THINWIRE_NODE_RANKS=1 # bytes as between hosts: inside one, float32 passes through memory
    mlp_by_codec s1-figure4 data grad
}

# mlp_by_codec NAME SCHEME CLASS: trainings, table and figure; the codecs are for gradients, or activations with theirs.
mlp_by_codec() {
    local name=$1 scheme=$2 class=$3 seed codec tested spec
    need mnist
    for seed in $seeds; do
        for codec in $codecs; do
            spec=$class=$codec
            [ "$class" != act ] || spec="act=$codec,grad=fp32"
            run "$name-$codec-$seed" "$ranks" --data "mnist:$data/mnist" --scheme "$scheme" --codec "$spec" --seed "$seed" \
                --epochs "$epochs" --batch 128
        done
    done
    echo "MNIST, 784x1024x1024x10, $ranks ranks, batch 128, $epochs epochs, seeds $seeds, scheme $scheme."
    echo
    echo "| codec | test error %: mean (range) | against fp32, Welch's t | kB sent per rank and step |"
    echo "|---|---|---|---|"
    for codec in $codecs; do
        tested=$(of_seeds test_error "$name-$codec")
        echo "| \`$codec\` | $(spread <<<"$tested")" \
            "| $([ "$codec" = fp32 ] || welch <(echo "$tested") <(of_seeds test_error "$name-fp32"))" \
            "| $(value bytes_sent_per_step "$name-$codec-${seeds%% *}" | awk '{ printf "%.0f", $1 / 1e3 }') |"
    done
    # A block for each codec: the mean over the seeds after each epoch.
    for codec in $codecs; do
        echo "\"$codec\""
        for seed in $seeds; do
            awk -F '": ' '/^  "/ { inside = $1 ~ /"epochs$/ } inside && $1 ~ /"epoch$/ { epoch = $2 + 0 }
                inside && $1 ~ /"test_error$/ { print epoch, 100 * $2 }' "$out/$name-$codec-$seed.json"
        done | awk '{ sum[$1] += $2; n[$1]++ } END { for (e = 1; e in n; e++) { print e, sum[e] / n[e] } }'
        printf '\n\n'
    done >"$out/$name.dat"
    draw "$name" 800,500 <<GNUPLOT
set title 'MNIST, $ranks ranks, scheme $scheme: test error, mean over seeds $seeds'
set xlabel 'epoch'
set ylabel 'test error, %'
set yrange [0:*]
plot for [i=0:$(($(wc -w <<<"$codecs") - 1))] '$out/$name.dat' index i using 1:2 with lines lw 2 lc rgb colour(word('$codecs', i + 1)) title columnheader(1)
GNUPLOT
}
