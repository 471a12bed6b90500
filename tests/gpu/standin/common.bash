# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts here: programs on the stand-in, whose seed is printed.
# shellcheck shell=bash disable=SC2154,SC2034  # set by make check; for those that source this
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
# shellcheck source=tests/common.bash
. "$top_srcdir/tests/common.bash"
here=$top_builddir/tests/gpu/standin
seed=${THINWIRE_SEED:-$RANDOM}
echo "# THINWIRE_SEED=$seed"

on() { # RANKS DEVICES NAME=VALUE... PROGRAM ARGUMENT...
    local n=$1 devices=$2
    shift 2
    TW_SCRATCH=$scratch ranks "$n" env STANDIN_DEVICES="$devices" STANDIN_SEED=$((seed + n)) THINWIRE_SEED=$((seed + n)) "$@"
}
clean() { ! grep '^standin: ' "$scratch/out"; } # the stand-in has found nothing
