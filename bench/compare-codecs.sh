#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# compare-codecs.sh BUILD_DIR [RANKS] [EPOCHS] [DATA] [CODEC...] - the main job: the same network
# learns the same images with each codec, and one table tells accuracy, bytes and time.
# Defaults: 4 ranks, 5 epochs, digits; fp32, tree8 and onebit. The learning rate falls to a 16th of what it was, so
# that the last weights tell of the codec and not of the last steps. Every rank counts as a node of its own:
# the bytes are those between hosts, where fp32 does not pass through shared memory.
# shellcheck disable=SC1091  # the environment of the tests
set -u
if [ $# -lt 1 ] || [ ! -x "$1/bin/thinwire-train" ]; then
    echo "usage: bench/compare-codecs.sh BUILD_DIR [RANKS] [EPOCHS] [DATA] [CODEC...]" >&2
    exit 2
fi
build=$1 ranks=${2:-4} epochs=${3:-5} data=${4:-digits}
if [ $# -gt 4 ]; then codecs=("${@:5}"); else codecs=(fp32 tree8 onebit); fi
. "$(dirname "$0")/../tests/environment.sh" # more ranks than cores, and as root
export OMP_NUM_THREADS=1 THINWIRE_NODE_RANKS=1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-compare.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_btl_vader_backing_directory=$scratch

value() { awk -F '": ' -v key="  \"$1" '$1 == key { gsub(/^"|"?,?$/, "", $2); print $2; exit }' "$2"; }

begin=$SECONDS
for codec in "${codecs[@]}"; do
    echo
    "${MPIRUN:-mpirun}" -n "$ranks" "$build/bin/thinwire-train" --data "$data" --codec "$codec" \
        --epochs "$epochs" --lr-schedule "dexp:16:$((epochs > 1 ? epochs : 2))" --json "$scratch/run.json" </dev/null || exit 1
    for key in codec test_error bytes_sent_per_step seconds_per_epoch; do
        printf '%s\t' "$(value $key "$scratch/run.json")"
    done >>"$scratch/table"
    echo >>"$scratch/table"
done

# Saved against the first codec of the list, as what was measured, not what was asked for.
awk -F '\t' -v ranks="$ranks" -v epochs="$epochs" -v data="$data" '
function amount(bytes) {
    return bytes == "null" ? "-" : sprintf(bytes < 1e6 ? "%.0f kB" : "%.2f MB", bytes < 1e6 ? bytes / 1e3 : bytes / 1e6)
}
BEGIN {
    printf "\n%s, %d ranks, each as on a host of its own, %d epochs\n\n", data, ranks, epochs
    printf "%-28s %13s %20s %17s %12s\n", "codec", "test accuracy", "sent per rank, step", "seconds per epoch", "bytes saved"
}
{
    if (NR == 1) { first = $3 }
    saved = $3 == "null" || first == "null" || first == 0 ? "-" : NR == 1 ? "" : sprintf("%.1f %%", 100 * (1 - $3 / first))
    printf "%-28s %11.2f %% %20s %17.2f %12s\n", $1, 100 * (1 - $2), amount($3), $4, saved
}' "$scratch/table"
echo
echo "in all $((SECONDS - begin)) s"
