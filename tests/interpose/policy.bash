# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/interpose/policy*.sh: starting the program policy under the drop-in, and reading what
# it printed and what the drop-in reported.
# shellcheck shell=bash disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
for name in $(compgen -e THINWIRE_); do unset "$name"; done
[ -n "${TW_YIELD-}" ] || unset LD_PRELOAD
limit=${TW_TIME_LIMIT:-90}
policy=$top_builddir/tests/interpose/policy
file=$scratch/report.json
mpi=${TW_MPI:?}
sanitized && asan=$($CC -print-file-name=libasan.so): || asan=

# under OPTION...: sets `command` to what starts policy under the drop-in. The sanitizer's library must
# come first, so there the variables are set by hand.
under() {
    local line
    command=("$thinwire" run "$@" -- "$policy")
    if [ -n "$asan" ]; then
        command=(env)
        while IFS= read -r line; do
            eval "command+=(${line#export })"
        done < <("$thinwire" run --mpi "$mpi" "$@" --print -- "$policy" | sed "s|LD_PRELOAD='|&$asan|")
        command+=("$policy")
    fi
}

# on RANKS [OPTION...] -- WORD...: what was printed is in $scratch/out, the report in $file.
on() {
    local n=$1 options=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    rm -f "$file"
    under --json "$file" "${options[@]}"
    echo "$n ranks, ${options[*]} -- $*"
    ranks "$n" "${command[@]}" "$@"
}
quietly() { # the same without the report
    local n=$1
    shift
    on "$n" --quiet "$@"
}

# What the calls were compressed by, in their order: told by the error, which codecs of the ladder have in
# orders of magnitude of their own for the program's numbers.
results() {
    grep -E '^i?(all|bcast|reduce)[a-z_]* [a-z]+ [0-9]+ [a-z]+: ' "$scratch/out" | awk '
        { said = "unclear"; rms = $6 + 0 }
        $5 == "exact"                   { said = "exact" }
        $5 == "rms" && $6 == "nan"      { said = "nan" }
        rms > 0.3 && rms < 2            { said = "onebit" }
        rms > 0.05 && rms < 0.15        { said = "int4" }
        rms > 0.006 && rms < 0.03       { said = "tree8" }
        rms > 1.2e-3 && rms < 2.7e-3    { said = "bf16" }
        rms > 2.7e-3 && rms < 5e-3      { said = "bitpack:2" }
        rms > 1.5e-4 && rms < 1e-3      { said = "int:12" }
        rms > 1.9e-5 && rms < 5e-5      { said = "int:16" }
        rms > 5e-6 && rms < 1.9e-5      { said = "bitpack:3" }
        rms > 1e-7 && rms < 1e-6        { said = "bitpack:4" } # of doubles, as those below
        rms > 1e-10 && rms < 1e-9       { said = "int:32" }
        rms > 1e-12 && rms < 3e-12      { said = "int:40" }
        rms > 3e-12 && rms < 1e-11      { said = "bitpack:6" }
        /DIFFER/                { said = said "!" }
        { print said }' | paste -s -d ' '
}
are() { # RESULT...
    [ "$(results)" = "$*" ] || { echo "wanted: $*"; echo "seen:   $(results)"; return 1; }
}

value() { "$json_query" "$file" "$1"; } # PATH
equal() { [ "$1" = "$2" ] || { echo "$3: $1, not $2"; return 1; }; }
is() { equal "$(value "$1")" "$2" "$1"; } # PATH VALUE

# sum KEY [KEY=VALUE...]: of the rows with these values; 0 without any. Keys that every row has.
columns=(operation type comm codec calls compressed_calls bytes wire_bytes verified steps site)
sum() {
    local key=$1 paths=() n i column
    shift
    printf '%s\n' "$@" >"$scratch/wishes"
    n=$(value 'rows.#') || return 1
    for ((i = 0; i < n; i++)); do
        for column in "${columns[@]}"; do paths+=("rows.$i.$column"); done
    done
    [ "$n" -gt 0 ] || { echo 0; return; }
    "$json_query" "$file" "${paths[@]}" | awk -v names="${columns[*]}" -v key="$key" -v file="$scratch/wishes" '
        BEGIN {
            n = split(names, name, " ")
            while ((getline line <file) > 0) { if (line != "") { wish[++wishes] = line } }
        }
        { row[name[(NR - 1) % n + 1]] = $0 }
        NR % n == 0 {
            fits = 1
            for (w = 1; w <= wishes + 0; w++) {
                at = index(wish[w], "=")
                fits = fits && row[substr(wish[w], 1, at - 1)] == substr(wish[w], at + 1)
            }
            sum += fits ? row[key] : 0
        }
        END { printf "%.0f\n", sum }'
}
sums() { # NUMBER KEY [KEY=VALUE...]
    local number=$1
    shift
    equal "$(sum "$@")" "$number" "sum of $*"
}

# Lines of the drop-in, and those among them with a text.
says() { # COUNT TEXT
    equal "$(grep -c -F -e "$2" "$scratch/out")" "$1" "lines with '$2'"
}
one_line() { says 1 'thinwire: ' && says 1 "$1"; }
