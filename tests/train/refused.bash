# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests of bad input, after common.bash: runs on 3 ranks that must be refused soon, and aloud.
limit=10
"$program" --version >/dev/null 2>&1 # so that no first start pays for a cold disk
nm "$program" 2>/dev/null | grep -q __asan_init && limit=60

# refused STATUS PATTERN ARG...: on 3 ranks, each of which must leave with that status. Without --data, few digits: all
# of them would be drawn first.
refused() {
    local want=$1 pattern=$2
    shift 2
    [[ " $* " == *" --data"* ]] || set -- --data digits:train=240 "$@"
    # shellcheck disable=SC2016  # for the inner shell
    timeout -k 5 $limit "$MPIRUN" -n 3 sh -c '"$@"; echo $? >>"$left"' sh "$program" "$@" \
        </dev/null >"$scratch/out" 2>&1 || { cat "$scratch/out"; echo "no end"; return 1; }
    judge "$want" "$pattern"
}

judge() {
    cat "$scratch/out"
    all_left 3 "$1" && one_line "$2"
}

# one_line PATTERN: one of ours, with that in it. Open MPI 5 puts a NUL before lines that come while a job is ended.
one_line() {
    local lines
    lines=$(tr -d '\0' <"$scratch/out" | grep '^thinwire')
    [ "$(grep -c . <<<"$lines")" -eq 1 ] || { echo "not one line"; return 1; }
    grep -q -e "$1" <<<"$lines" || { echo "no '$1'"; return 1; }
}
