# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that start jobs themselves: scratch, removed at the end; the environment; TAP's lines.
# shellcheck disable=SC2154  # set by make check
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export OMPI_MCA_btl_vader_backing_directory=$scratch
export LSAN_OPTIONS=suppressions=$top_srcdir/tests/lsan.supp:print_suppressions=0
export OMP_NUM_THREADS=1
number=0

# result STATUS NAME
result() {
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        sed 's/^/# /;$a\' "$scratch/out" | tail -n 20
        echo "not ok $number - $2"
    fi
}
