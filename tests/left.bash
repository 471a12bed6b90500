# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests/common.bash and tests/interpose/launch.sh: names for LD_PRELOAD, and how each rank of a job left. Ranks
# append it to a file, as a launcher may mix the lines of several ranks:
#     "$MPIRUN" -n 3 sh -c '"$@"; echo $? >>"$left"' sh COMMAND...; all_left 3 2
# shellcheck shell=bash disable=SC2154  # set by who sources this
export left=$scratch/left

all_left() { # COUNT STATUS
    local all
    all=$(paste -s -d ' ' "$left")
    rm -f "$left"
    [ "$all" = "$(yes "$2" | head -n "$1" | paste -s -d ' ')" ] || { echo "$1 ranks left with: $all, not with $2 each"; return 1; }
}

# loadable FILE: the same by a name that LD_PRELOAD can hold, in which blanks separate.
loadable() {
    local link
    case $1 in
        *[[:blank:]]*)
            link=$(mktemp -d "$scratch/XXXXXX")/folder && # of its folder: it looks for others beside it
                ln -s "$(realpath "${1%/*}")" "$link" && echo "$link/${1##*/}" ;;
        *) echo "$1" ;;
    esac
}
