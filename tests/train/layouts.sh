#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# layouts.sh - owners.mpi's case of several hosts on 2 x 2, 2 + 2 + 1, 3 + 2 and 4 x 2 ranks: weights do not depend on who
# updates them. Prints TAP.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
TW_RANKS=${TW_RANKS:-4 5 8} TW_CASE='several hosts' exec "$top_srcdir/tests/mpi/launch.sh" "$top_builddir/tests/train/owners.mpi"
