# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that run other MPI test programs under settings. number counts TAP's lines.

# launched PROGRAM WHAT: launch.sh's lines, numbered on.
launched() {
    local line
    while read -r line; do
        case $line in
            1..*) ;;
            ok* | "not ok"*)
                number=$((number + 1))
                echo "${line%% [0-9]*} $number - $2: ${line#* - }"
                ;;
            *) echo "$line" ;;
        esac
    done < <("$top_srcdir/tests/mpi/launch.sh" "$top_builddir/tests/mpi/$1.mpi")
}
