# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that start jobs themselves: besides what all scripts share, a line about one that has ended.
# shellcheck disable=SC1091,SC2154  # set by make check
. "$top_srcdir/tests/common.bash"

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
