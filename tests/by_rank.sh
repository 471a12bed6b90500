#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# by_rank.sh COMMAND [:: COMMAND]... - under mpirun, each rank's own command: the first on rank 0, the next on
# rank 1 and so on, the last on all others. So would mpirun's own `COMMAND : COMMAND`, but that crashes the
# launcher of Open MPI 5.0.7.
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:?not started by the mpirun of Open MPI or MPICH}}
at=0
mine=()
for word in "$@"; do
    if [ "$word" != :: ]; then
        mine+=("$word")
    elif [ $at -lt "$rank" ]; then
        at=$((at + 1))
        mine=()
    else
        break
    fi
done
exec "${mine[@]}"
