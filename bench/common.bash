# SPDX-License-Identifier: BSD-3-Clause
# common.bash - what the scripts of this folder share: arguments, runs, labs of emulated hosts, numbers, figures.
#
# Sourced. Sets bench, this folder, and what mpirun needs to start more ranks than cores, as root too; a rank has one
# thread. Line 3 of a script is its name, its arguments, " - " and what it does.
# shellcheck shell=bash disable=SC1091,SC2034  # the environment of the tests; build and out, which scripts use
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../tests/environment.sh"
export OMP_NUM_THREADS=1 THINWIRE_THREADS=1 NETLAB_NAME=${NETLAB_NAME:-twbench}
trap 'exit 1' INT TERM

fail() { echo "${0##*/}: $*" >&2; exit 1; }
usage() { sed -n '3s/^# \(.*\) - .*/usage: bench\/\1/p' "$0" >&2; exit 2; }

# folders BUILD_DIR OUT_DIR: sets build and out.
folders() {
    if [ ! -x "${1-}/bin/thinwire-train" ] || [ -z "${2-}" ]; then usage; fi
    build=$(cd "$1" && pwd) && mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
}

# once NAME COMMAND...: leaves OUT/NAME.json by the command's --json, and OUT/NAME.log; nothing if NAME.json is there, so
# that a script may be stopped and started.
once() {
    local name=$1
    shift
    [ ! -s "$out/$name.json" ] || return 0
    echo "$name" >&2
    "$@" --json "$out/$name.json" </dev/null >"$out/$name.log" 2>&1 ||
        { grep -m 1 '^thinwire' "$out/$name.log" || tail -n 3 "$out/$name.log"; return 1; } >&2
}

on_ranks() { "${MPIRUN:-mpirun}" -n "$@"; } # N COMMAND...

# lab_up N RATE: N emulated hosts (netlab.sh, as root), until lab_down or the end of the script.
lab_up() {
    "$bench/netlab.sh" up "$1" "$2" >&2 || exit
    trap lab_down EXIT
}
lab_down() { "$bench/netlab.sh" down; }
on_hosts() { # N [OPTION of mpirun...] COMMAND..., for LIMIT seconds (3600) at most
    local hosts=$1
    shift
    timeout "${LIMIT:-3600}" "$bench/netlab.sh" mpirun "$hosts" -- -x OMP_NUM_THREADS -x THINWIRE_THREADS "$@"
}

# value KEY NAME: of OUT/NAME.json, at its top level; nothing if it is not there.
value() { awk -F '": ' -v key="  \"$1" '$1 == key { gsub(/[",]/, "", $2); print $2; exit }' "$out/$2.json" 2>/dev/null; }

# rows NAME KEY...: of OUT/NAME.json a line for each of its rows, with these values and tabs between them.
rows() {
    awk -F '": ' -v keys="${*:2}" '
        /^  "/ { inside = $1 ~ /"rows$/ }
        inside { key = $1; gsub(/[ "]/, "", key); gsub(/^"|"?,?$/, "", $2); cell[key] = $2 }
        inside && /^    }/ {
            n = split(keys, name, " ")
            for (i = 1; i <= n; i++) { printf "%s%s", cell[name[i]], i < n ? "\t" : "\n" }
            split("", cell)
        }' "$out/$1.json"
}

median() { LC_ALL=C sort -g | awk '{ v[NR] = $1 } END { printf "%.10g\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

# draw NAME WIDTH,HEIGHT: OUT/NAME.svg, by gnuplot's commands on standard input, which have colour() of palette.gnuplot.
draw() {
    local codecs
    command -v gnuplot >/dev/null || { echo "no gnuplot (Debian, Ubuntu: gnuplot-nox), so no $out/$1.svg" >&2; return 0; }
    codecs=$("$build/bin/thinwire" info | awk '/^codec / { on = 1; next } !NF { on = 0 } on { sub(":.*", "", $1); if (!seen[$1]++) print $1 }')
    { printf "codecs = '%s'\ncolours = '%s'\n" "$(tr '\n' ' ' <<<"$codecs")" "$(grep -o '#[0-9a-f]\{6\}' "$bench/../tools/palette.h" | tr '\n' ' ')"
      cat "$bench/palette.gnuplot"
      printf "set terminal svg size %s font 'sans,12' background '#ffffff'\nset output '%s'\nset grid ytics lc rgb '#dddddd'\n" \
        "$2" "$out/$1.svg"
      cat; } | gnuplot && echo "figure: $out/$1.svg" >&2
}
