#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The manual pages know every setting, codec, option and public function; the example in libthinwire(3)
# runs.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
plan 9
docs=$top_srcdir/docs

settings_documented() {
    local i name value advanced accepted words='^[a-z0-9_]+(\|[a-z0-9_]+)+$'
    alone "$thinwire" info --json "$scratch/info.json" >/dev/null || return 1
    for ((i = 0; i < $("$json_query" "$scratch/info.json" "settings.#"); i++)); do
        name=$("$json_query" "$scratch/info.json" "settings.$i.name")
        value=$("$json_query" "$scratch/info.json" "settings.$i.default")
        [ -n "$value" ] || value=none
        grep -q "^\*\*$name\*\*=.* ($value)\$" "$docs/thinwire.7.md" ||
            { echo "$name (default $value) is not in thinwire(7)"; return 1; }
        accepted=$("$json_query" "$scratch/info.json" "settings.$i.accepted")
        [[ ! $accepted =~ $words ]] || grep -qxF "**$name**=*${accepted//|/*|*}* ($value)" "$docs/thinwire.7.md" ||
            { echo "thinwire(7) has other words for $name than $accepted"; return 1; }
        advanced=$(sed -n '/^## Advanced/,/^# /p' "$docs/thinwire.7.md" | grep -c "^\*\*$name\*\*=")
        [ "$("$json_query" "$scratch/info.json" "settings.$i.advanced")" = "$([ "$advanced" = 1 ] && echo true || echo false)" ] ||
            { echo "$name stands in the wrong part of thinwire(7)"; return 1; }
    done
    for name in $(grep -o '^\*\*THINWIRE_[A-Z_]*' "$docs/thinwire.7.md" | tr -d '*'); do
        grep -q "\"$name\"" "$scratch/info.json" || { echo "$name does not exist"; return 1; }
    done
}
check "every setting stands in thinwire(7), with its default, and no other" settings_documented

codecs_documented() {
    local i name
    for ((i = 0; i < $("$json_query" "$scratch/info.json" "codecs.#"); i++)); do
        name=$("$json_query" "$scratch/info.json" "codecs.$i.name")
        grep -q "\*\*${name}[:*]" "$docs/thinwire.7.md" || { echo "$name is not in thinwire(7)"; return 1; }
        grep -q "\`$name" "$top_srcdir/README.md" || { echo "$name is not in README.md"; return 1; }
    done
}
check "every codec stands in thinwire(7) and README.md" codecs_documented

options_documented() {
    local words option
    for words in info "bench codec" "bench allreduce" "bench bcast" "bench reduce_scatter" "bench allgather" "bench alltoall" "bench overlap" scale plan; do
        # shellcheck disable=SC2086  # a list of words
        alone "$thinwire" $words --help >/dev/null || return 1
        for option in $(grep -o '^  --[a-z0-9-]*' "$scratch/out"); do
            grep -q "^\*\*$option\*\*\|, \*\*$option\*\*" "$docs/thinwire.1.md" ||
                { echo "$option of $words is not in thinwire(1)"; return 1; }
        done
    done
    for option in $(grep -o '^\*\*--[a-z0-9-]*' "$docs/thinwire.1.md" | tr -d '*'); do
        grep -q "\"$option\"" "$top_srcdir"/tools/*.c "$top_srcdir"/tools/scale/*.c || { echo "$option does not exist"; return 1; }
    done
}
check "every option stands in thinwire(1)" options_documented

training_documented() {
    local option
    alone "$top_builddir/bin/thinwire-train" --help >/dev/null || return 1
    for option in $(grep -o '^  --[a-z0-9-]*' "$scratch/out"); do
        grep -q "^\*\*${option}[^a-z0-9-]\|, \*\*${option}\*\*" "$docs/thinwire-train.1.md" ||
            { echo "$option is not in thinwire-train(1)"; return 1; }
    done
}
check "every option of thinwire-train stands in thinwire-train(1)" training_documented

calibrate_documented() {
    local option
    alone "$thinwire" calibrate --help >/dev/null || return 1
    for option in $(grep -o '^  --[a-z0-9-]*' "$scratch/out"); do
        grep -q "^\*\*$option\*\*" "$docs/thinwire-calibrate.1.md" ||
            { echo "$option is not in thinwire-calibrate(1)"; return 1; }
    done
    for option in $(grep -o '^\*\*--[a-z0-9-]*' "$docs/thinwire-calibrate.1.md" | tr -d '*'); do
        grep -q -e "^  $option" "$scratch/out" || { echo "$option does not exist"; return 1; }
    done
}
check "every option of calibrate stands in thinwire-calibrate(1)" calibrate_documented

functions_documented() {
    local name
    for name in $(nm -D --defined-only "$top_builddir/lib/libthinwire.so" | awk '$2 == "T" { print $3 }' | sed 's/@.*//'); do
        case $name in
            tw_i[abgrs]* | *_init) continue ;; # the three forms of a collective
        esac
        grep -q "\*\*$name\*\*" "$docs/libthinwire.3.md" || { echo "$name is not in libthinwire(3)"; return 1; }
    done
}
check "every public function stands in libthinwire(3)" functions_documented

statuses_documented() {
    local name
    for name in $(sed -n 's/^ *X(\(ERR_[A-Z_]*\),.*/TW_\1/p' "$top_srcdir/include/thinwire/status.h"); do
        grep -q "\*\*$name\*\*" "$docs/libthinwire.3.md" || { echo "$name is not in libthinwire(3)"; return 1; }
    done
}
check "every status stands in libthinwire(3)" statuses_documented

manual_example() { # n ranks: the average of i % 1000 + rank
    local n
    for n in 1 3; do
        ranks $n "$top_builddir/tests/tools/manual_example" || return 1
        grep -q "^x\[500\] = [0-9.]* on all $n ranks; sent [0-9]* bytes instead of [0-9]*\$" "$scratch/out" || return 1
        within "$(sed -n 's/^x\[500\] = \([0-9.]*\) .*/\1/p' "$scratch/out")" 485 516 || return 1
    done
}
check "the example of libthinwire(3) runs" manual_example

pages_are_built() {
    local page dir
    for page in "$docs"/*.[1-9].md; do
        page=$(basename "$page" .md)
        dir=$top_builddir
        [ -e "$dir/docs/$page" ] || dir=$top_srcdir # from a tarball
        grep -q '^\.SH NAME' "$dir/docs/$page" || grep -q '^\.SH "NAME"' "$dir/docs/$page" ||
            { echo "$page is no manual page"; return 1; }
    done
}
if grep -q '^enable_man = no$' "$top_builddir/Makefile"; then
    check "the pages are built # SKIP configured with --disable-man" true
else
    check "the pages are built" pages_are_built
fi
