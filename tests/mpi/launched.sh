# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that run other MPI test programs under settings. number counts TAP's lines.

# launched PROGRAM WHAT RANKS: launch.sh's lines, numbered on. With TW_ALL the program's own ranks, else RANKS;
# TW_RANKS overrides.
launched() {
    local line ranks=$3
    [ -z "${TW_ALL-}" ] || ranks=
    ranks=${TW_RANKS:-$ranks}
    while read -r line; do
        case $line in
            1..*) ;;
            ok* | "not ok"*)
                number=$((number + 1))
                echo "${line%% [0-9]*} $number - $2: ${line#* - }"
                ;;
            *) echo "$line" ;;
        esac
    done < <(TW_RANKS=$ranks "$top_srcdir/tests/mpi/launch.sh" "$top_builddir/tests/mpi/$1.mpi")
}

# threaded: the programs in which a thread of the library's own has something to do, with one. Their list
# for a build by --enable-sanitize=thread is in tests/sources.am.
threaded() {
    local program
    for program in request fuzz; do
        THINWIRE_PROGRESS=thread launched $program "with a thread" "1 3"
        THINWIRE_PROGRESS=thread THINWIRE_NODE_RANKS=1 launched $program "with a thread, by messages" "2 7"
    done
    THINWIRE_PROGRESS=thread launched timeout "with a thread" 3
    THINWIRE_PROGRESS=thread launched neighbours "with a thread" 7
}
