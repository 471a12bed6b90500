# SPDX-License-Identifier: BSD-3-Clause
# Sourced by .ci/run and .ci/long: parts, each of which says what it ran, and at the end one line for all:
# "N passed, N failed, N skipped". Builds and logs: build*/.
# shellcheck shell=bash
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
top=$PWD
jobs=$(nproc)
logs=$top/build-ci/logs
mkdir -p "$logs" || exit 2
# configure, and libtool, which is started for most files, take half the time in dash.
[ ! -x /bin/dash ] || export CONFIG_SHELL=/bin/dash
sum_passed=0 sum_failed=0 sum_skipped=0 parts=0
# Types are compared while linking.
# shellcheck disable=SC2034  # for those that source this
with_types="-O1 -flto=$jobs -Werror=lto-type-mismatch -Wno-error=maybe-uninitialized"
line_of_counts='^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$'

# part NAME COMMAND...: the command's own last line of counts is added to the sum. One that prints none has
# failed, and so has one that says that nothing failed but has a status that is not 0.
part() {
    local name=$1 started=$SECONDS status passed failed skipped log
    shift
    parts=$((parts + 1))
    log=$logs/$parts.log
    echo "=== $parts. $name"
    "$@" </dev/null 2>&1 | tee "$log" | grep -v -E "$line_of_counts"
    status=${PIPESTATUS[0]}
    read -r passed _ failed _ skipped _ < <(grep -E "$line_of_counts" "$log" | tail -n 1)
    if [ -z "${passed:-}" ]; then
        passed=0 failed=1 skipped=0
    elif [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
        failed=1
    fi
    sum_passed=$((sum_passed + passed))
    sum_failed=$((sum_failed + failed))
    sum_skipped=$((sum_skipped + skipped))
    echo "=== $parts. $name: $passed passed, $failed failed, $skipped skipped, $((SECONDS - started)) s"
}

# ahead FUNCTION...: each builds for a later part, which waits for it by `ready`: one after the other, in the background,
# at the lowest priority, so that it uses the time in which tests wait and takes none from them. Its group of processes
# ends with this script.
ahead() {
    local name
    for name; do
        rm -f "$logs/$name".{log,built,ended}
    done
    set -m
    {
        renice -n 19 -p "$BASHPID"
        for name; do
            ("$name") >"$logs/$name.log" 2>&1 && : >"$logs/$name.built"
            : >"$logs/$name.ended"
        done
    } </dev/null >/dev/null &
    set +m
    builder=$!
    trap 'kill -- -"$builder" 2>/dev/null' EXIT
}

# ready FUNCTION: it has been done ahead; what it printed, and whether it went well.
ready() {
    while [ ! -e "$logs/$1.ended" ] && kill -0 "$builder" 2>/dev/null; do
        sleep 0.5
    done
    cat "$logs/$1.log"
    [ -e "$logs/$1.built" ]
}

# The sum, as the last line, and the status of the whole.
finish() {
    echo "$sum_passed passed, $sum_failed failed, $sum_skipped skipped"
    [ "$sum_passed" -gt 0 ] && [ "$sum_failed" -eq 0 ]
    exit
}

# missing TOOL...: says so and counts as one that was skipped; false if all are here.
missing() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null && continue
        echo "skipped: no $tool here"
        echo "0 passed, 0 failed, 1 skipped"
        return 0
    done
    return 1
}

logged() { # LOG COMMAND...: quiet, but the end of the log on failure
    local log=$1
    shift
    "$@" >>"$log" 2>&1 || { tail -n 40 "$log"; echo "failed: $*"; return 1; }
}

# configured DIR OPTION...
configured() {
    local dir=$1 log=$1/ci.log
    shift
    mkdir -p "$dir" && : >"$log" || return 1
    [ -e configure ] || logged "$log" autoreconf -fi || return 1
    if [ "$(cat "$dir/ci.options" 2>/dev/null)" != "$*" ] || [ configure -nt "$dir/config.status" ]; then
        # Objects do not depend on the flags that they were compiled with.
        [ ! -e "$dir/Makefile" ] || logged "$log" make -C "$dir" clean || return 1
        # By a relative path: configure refuses names with blanks.
        (cd "$dir" && logged ci.log "$(realpath --relative-to=. "$top")/configure" --with-cuda=no "$@") || return 1
        echo "$*" >"$dir/ci.options"
    fi
    echo "in $dir: configure $*"
}

# compiled DIR OPTION...: configured, and all of it built in DIR, tests too.
compiled() {
    local dir=$1 log=$1/ci.log
    configured "$@" && logged "$log" make -C "$dir" -j"$jobs" && logged "$log" make -C "$dir" -j"$jobs" check TESTS= || return 1
    echo "all of it is built, tests too"
}

# programs DIR PROGRAM...: these are built, the library, the drop-in and the command.
programs() {
    local dir=$1
    shift
    logged "$dir/ci.log" make -C "$dir" -j"$jobs" programs PROGRAMS="$*" && echo "built: $*"
}

# tested DIR [TEST...]: these tests, whose programs are built (default: all), in a build folder, and their counts.
tested() {
    local dir=$1 tests=(check) status=0
    shift
    [ $# -eq 0 ] || tests=(check-only "TESTS=$*")
    find "$dir" -name '*.trs' -delete
    echo "running: ${*:-all tests}${TW_RANKS:+, on $TW_RANKS ranks}${TW_MODES:+, $TW_MODES}"
    make --no-print-directory -C "$dir" -j"${TW_JOBS:-1}" "${tests[@]}" >>"$dir/ci.log" 2>&1 || status=1
    sh tests/summary.sh "$dir" || status=1
    return $status
}

# sources: every file that clang-format is asked about.
sources() { find bench command examples include interpose runtime scaling simulation tests tools train -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' | sort; }

# long_comments: lines of comments of more than 100 columns, which clang-format leaves as they are.
long_comments() { sources | xargs awk 'length > 100 && /\/\*|\*\/|^ *\*/ { print FILENAME ":" FNR ": a comment of " length " columns; most: 100" }'; }

# formatted: by clang-format 14, whose successors format otherwise.
formatted() {
    local tool version
    tool=$(command -v clang-format-14 || command -v clang-format)
    missing "${tool:-clang-format}" && return
    version=$("$tool" --version | sed 's/.*version \([0-9]*\).*/\1/')
    if [ "$version" != 14 ]; then
        echo "skipped: clang-format is version $version, and .clang-format is for 14"
        echo "0 passed, 0 failed, 1 skipped"
        return
    fi
    echo "clang-format on $(sources | wc -l) files"
    if sources | xargs "$tool" --dry-run -Werror && ! long_comments | grep .; then
        echo "1 passed, 0 failed, 0 skipped"
    else
        echo "0 passed, 1 failed, 0 skipped"
        return 1
    fi
}
