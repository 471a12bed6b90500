#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# papers.sh list|BUILD_DIR DATA_DIR OUT_DIR TARGET...|all [--quick] - the papers' tables and figures, each by one command.
#
# `list` prints the targets: what each shows, how long it takes on two cores (whole, with --quick), and in what it differs
# from the paper. A target is a file of bench/papers/. `all` runs each; one that fails does not stop the others.
# DATA_DIR holds mnist/, cifar10/, photos/, as the targets need. Tables go to OUT_DIR/TARGET.md and TARGET.table.json,
# figures, by gnuplot, to TARGET*.svg. Every run leaves a JSON file in OUT_DIR, and a checkpoint while it runs: the script may be stopped
# and started. --quick: fewer epochs, seeds and cases, for a look; use another OUT_DIR for it.
# Environment: SEEDS, EPOCHS instead of a target's own.
# shellcheck disable=SC1091,SC2154  # common.bash and what it sets
set -u -o pipefail
. "$(dirname "$0")/common.bash"

targets() { find "$bench/papers" -name '*.bash' | sort | sed 's,.*/,,; s,\.bash$,,'; }

# fact TARGET KEY: from the head of its file.
fact() { sed -n "s/^# $2: //p" "$bench/papers/$1.bash"; }

list() {
    local t
    for t in $(targets); do
        printf '%-14s %s\n%14s %s; differs: %s\n' "$t" "$(fact "$t" shows)" '' "$(fact "$t" time)" "$(fact "$t" differs)"
    done
}

if [ "${1-}" = list ] && [ $# -eq 1 ]; then list; exit 0; fi
quick=
[ "${*: -1}" != --quick ] || { quick=--quick; set -- "${@:1:$#-1}"; }
folders "${1-}" "${3-}"
[ -d "$2" ] || fail "there is no folder '$2'; accepted: one that holds mnist/, cifar10/, photos/, as the targets need"
data=$(cd "$2" && pwd) || exit 1
shift 3
[ $# -gt 0 ] || usage

# either QUICK WHOLE: by --quick.
either() { if [ -n "$quick" ]; then echo "$1"; else echo "$2"; fi; }

# need FOLDER: ends the target unless its data are there.
need() {
    case $1 in
        mnist) from='the four IDX files of MNIST, from http://yann.lecun.com/exdb/mnist/' ;;
        cifar10) from='the binary version of CIFAR-10, from https://www.cs.toronto.edu/~kriz/cifar.html' ;;
        *jpeg.tar.xz) from='train/CLASS/*.jpg and test/CLASS/*.jpg, made of CIFAR-10, from https://www.cs.toronto.edu/~kriz/cifar.html' ;;
        photos) from='the folders that bench/loader.sh names, from where you have photographs' ;;
    esac
    [ -e "$data/$1" ] || fail "there is no $([ "${1%.xz}" != "$1" ] || echo 'folder ')'$data/$1'; accepted: $from"
}

# cifar_jpeg: all of CIFAR-10 as JPEG files, unpacked once; sets files.
cifar_jpeg() {
    need cifar10/cifar10-jpeg.tar.xz
    files=$out/cifar10-jpeg
    [ ! -d "$files" ] || return 0
    mkdir -p "$files.new" && tar -xJf "$data/cifar10/cifar10-jpeg.tar.xz" -C "$files.new" && mv "$files.new" "$files" || exit 1
}

# last KEY NAME: of the last epoch of OUT/NAME.json.
last() { awk -F '": ' -v key="      \"$1" '$1 == key { gsub(/[",]/, "", $2); v = $2 } END { print v }' "$out/$2.json" 2>/dev/null; }

# of_seeds KEY NAME: value KEY of NAME-SEED for each of the target's seeds, one per line.
of_seeds() { local seed; for seed in $seeds; do value "$1" "$2-$seed"; done; }

# run NAME RANKS ARG...: a training; one that fails ends the target with the trainer's line.
run() {
    local name=$1 ranks=$2 resume=()
    shift 2
    [ ! -s "$out/$name.state" ] || resume=(--resume)
    once "$name" on_ranks "$ranks" "$build/bin/thinwire-train" "$@" --checkpoint "$out/$name.state" "${resume[@]}" || exit 1
    rm -f "$out/$name.state"
}

# spread: of fractions, one per line, mean and range in percent, and with three or more the 95 % confidence interval of the
# mean by Student's t.
spread() {
    LC_ALL=C awk '
        BEGIN { split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262", t, " ") }
        NF { v = 100 * $1; s += v; q += v * v; n++; if (n == 1 || v < a) a = v; if (n == 1 || v > b) b = v }
        END {
            if (!n) { printf "not run"; exit }
            m = s / n
            printf "%.2f", m
            if (n > 1) { printf " (%.2f to %.2f)", a, b }
            h = n > 2 ? (n < 11 ? t[n - 1] : 1.96) * sqrt((q - n * m * m) / (n - 1) / n) : 0
            if (n > 2) { printf ", mean in [%.2f, %.2f]", m - h, m + h }
        }'
}

# welch FILE FILE: Welch's t of two samples of fractions, one per line, and its degrees of freedom; nothing of fewer than 2.
welch() {
    LC_ALL=C awk '
        FNR == 1 { f++ }
        NF { n[f]++; s[f] += $1; q[f] += $1 * $1 }
        END {
            if (n[1] < 2 || n[2] < 2) { exit }
            for (f = 1; f < 3; f++) { m[f] = s[f] / n[f]; e[f] = (q[f] - n[f] * m[f] * m[f]) / (n[f] - 1) / n[f] }
            if (e[1] + e[2] <= 0) { exit }
            printf "t = %.2f, %.1f degrees of freedom", (m[1] - m[2]) / sqrt(e[1] + e[2]),
                (e[1] + e[2]) ^ 2 / (e[1] ^ 2 / (n[1] - 1) + e[2] ^ 2 / (n[2] - 1))
        }' "$1" "$2"
}

# json: the tables of a Markdown text as lists of objects, in order.
json() {
    awk '
        function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return "\"" text "\"" }
        function cells(line, into,    k, n) {
            sub(/^\| */, "", line); sub(/ *\|$/, "", line); gsub(/`/, "", line)
            n = split(line, into, / *\| */)
            return n
        }
        BEGIN { printf "{ \"tables\": [" }
        !/^\|/ { if (on) { printf " ]" } on = 0; next }
        !on { columns = cells($0, head); printf "%s\n[", (tables++ ? "," : ""); on = 1; rows = 0; next }
        /^\|[-:| ]*$/ { next }
        {
            n = cells($0, cell)
            printf "%s\n  {", (rows++ ? "," : "")
            for (k = 1; k <= columns; k++) { printf "%s %s: %s", (k > 1 ? "," : ""), quoted(head[k]), quoted(k <= n ? cell[k] : "") }
            printf " }"
        }
        END { if (on) { printf " ]" } print "\n] }" }'
}

# one TARGET: its table, whole or not at all.
one() {
    [ -f "$bench/papers/$1.bash" ] || fail "no target '$1'; accepted: all, $(targets | paste -s -d ' ')"
    # shellcheck disable=SC1090  # which target it is, is known when it runs
    (. "$bench/papers/$1.bash"; target) >"$out/$1.md.new" || { rm -f "$out/$1.md.new"; return 1; }
    mv "$out/$1.md.new" "$out/$1.md" && json <"$out/$1.md" >"$out/$1.table.json"
    cat "$out/$1.md"
}

if [ "$*" != all ]; then
    for t; do one "$t" || exit 1; done
    exit 0
fi
failed=
for t in $(targets); do
    begin=$SECONDS
    printf '\n%s: %s\n\n' "$t" "$(fact "$t" shows)"
    one "$t" || failed="$failed $t"
    echo "$t: $((SECONDS - begin)) s" >&2
done
[ -z "$failed" ] || fail "not made:$failed"
