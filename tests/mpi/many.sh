#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# many.sh - grid.mpi on 5, 9, 12, 13 and 16 ranks: full grids, and last rows of one, two and more. Prints
# TAP.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
TW_RANKS="5 9 12 13 16" exec "$top_srcdir/tests/mpi/launch.sh" "$top_builddir/tests/mpi/grid.mpi"
