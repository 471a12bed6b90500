#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The examples on 1 to 4 ranks; they check their results themselves. Each has its line in the README.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
plan 25

for n in 1 2 3 4; do
    check "allreduce_gradients onebit on $n ranks" ranks $n "$top_builddir/examples/allreduce_gradients" onebit
    check "allreduce_gradients tree8 on $n ranks" ranks $n "$top_builddir/examples/allreduce_gradients" tree8
    check "broadcast_weights on $n ranks" ranks $n "$top_builddir/examples/broadcast_weights" bitpack:2
    check "global_statistics on $n ranks" ranks $n "$top_builddir/examples/global_statistics"
    check "hybrid_c on $n ranks" ranks $n "$top_builddir/examples/hybrid_c"
    check "sharded_awp on $n ranks" ranks $n "$top_builddir/examples/sharded_awp"
done

readme_lists_all() {
    local file
    for file in "$top_srcdir"/examples/*.c "$top_srcdir"/examples/*.py; do
        grep -q "^- \`$(basename "$file")\`: " "$top_srcdir/examples/README.md" ||
            { echo "$file has no line in README.md"; return 1; }
        [ "$(wc -l <"$file")" -le 100 ] || { echo "$file is longer than 100 lines"; return 1; }
    done
}
check "README.md lists all of them" readme_lists_all
