#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# summary.sh BUILDDIR - count the results of the last make check, with the end of what each program that
# failed has said; fails if nothing ran.
cd "$1" || exit 2
count() { find . -name '*.trs' -exec grep -h "^:test-result: $1" {} + | wc -l; }
passed=$(( $(count PASS) + $(count XFAIL) ))
failed=$(( $(count FAIL) + $(count XPASS) + $(count ERROR) ))
left_out='# SKIP not asked for$' # by TW_RANKS and TW_MODES: as if they were not there
skips() { # the driver names them in the logs only
    find . -name '*.trs' -exec grep -l '^:test-result: SKIP' {} + | sed 's/trs$/log/' | xargs -r grep -h '^SKIP: ' |
        grep -v "$left_out"
}
skipped=$(skips | wc -l)
skips | sed 's/^SKIP:/skipped:/'
find . -name '*.trs' -exec grep -H -E '^:test-result: (FAIL|XPASS|ERROR)' {} + | sed 's/\.trs::test-result:/:/'
find . -name '*.trs' -exec grep -l -E '^:test-result: (FAIL|XPASS|ERROR)' {} + | while read -r trs; do
    log=${trs%.trs}.log
    echo "--- $log"
    if grep -q '^not ok' "$log"; then grep -B 20 '^not ok' "$log"; else cat "$log"; fi | tail -n 60
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
