# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_group.py - process groups of torch.distributed and the communicators over the same ranks.

A rank of torch.distributed is the rank of MPI_COMM_WORLD with the same number. Before a communicator is made for a
hook, the ranks of its group tell each other through the store of torch.distributed what they were asked for, with a
limit of time: whoever is missing or wants something else is named on all of them, and nobody waits for ever.
"""
import collections
import json
import os
import re
import socket
import sys
import time
import zlib
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy
import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_store

from thinwire import _mpi
from thinwire._library import lib, without_mpi
from thinwire.comm import Comm
from thinwire.errors import InvalidArgumentError, MismatchError, TimeLimitError

LAUNCH = "start the program by mpirun -n RANKS python3 PROGRAM"
_LONGEST = 255  # bytes of a host's name
_POLL = 0.01  # seconds
_Store: Any = dist.TCPStore  # type: ignore[attr-defined, unused-ignore]  # which torch exports without a stub

_shared: Dict[Tuple[int, ...], Comm] = {}
_made: Dict[Tuple[int, ...], int] = collections.defaultdict(int)  # communicators of these ranks without MPI

# ---- the start -----------------------------------------------------------------------------------

# RANK, WORLD_SIZE, LOCAL_RANK, ranks on this machine, what names the job, and the machines, as launchers of MPI say them,
# and as srun does.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", ""),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_JOBID", ""),
)
_SRUN = (
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_SRUN_COMM_PORT", "SLURM_STEP_NODELIST"),
)
_PORTS = range(20000, 32000)


def take_environment() -> None:
    """Say to PyTorch what mpirun or srun has said, where nobody else has: RANK, WORLD_SIZE and LOCAL_RANK; and, where it
    is known on which machine the first rank is, MASTER_ADDR and MASTER_PORT. With mpirun on several machines the program
    calls init_process_group() here."""
    for names in _LAUNCHERS + _SRUN:
        rank, size, local, beside, job, nodes = (os.environ.get(name) for name in names)
        if rank is None or size is None or local is None or "RANK" in os.environ:
            continue
        if names in _SRUN and "SLURM_PTY_PORT" in os.environ:
            continue  # a shell in a step, from which launchers start ranks
        os.environ.update(RANK=rank)
        os.environ.setdefault("LOCAL_RANK", local)
        os.environ.setdefault("WORLD_SIZE", size)
        first = "127.0.0.1" if beside == size else _first_host(nodes or "")
        if first:
            os.environ.setdefault("MASTER_ADDR", first)
            number = zlib.crc32((job or "").encode()) % len(_PORTS)
            os.environ.setdefault("MASTER_PORT", str(_PORTS[number]))


def _first_host(nodes: str) -> str:
    """Of a list as Slurm writes it: "a[07-12,20]-ib,b3" begins with a07-ib."""
    return re.sub(r"\[([^],-]*)[^]]*\]", r"\1", nodes).split(",")[0]


def init_process_group(backend: str = "gloo", **options: Any) -> None:
    """torch.distributed.init_process_group() for the ranks of MPI_COMM_WORLD, which mpirun has started; further
    arguments go there (timeout, ...). The environment gets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE. Where the
    name of rank 0's machine leads to no address that all others reach, set MASTER_ADDR to one. Processes that no
    launcher of MPI has started have all that already, from torchrun, say, and do without MPI. Collective."""
    if not by_mpi() and "RANK" in os.environ:
        without_mpi()
        dist.init_process_group(backend, **options)
        return
    rank, size = _mpi.rank_and_size()
    if _mpi.strangers():
        raise InvalidArgumentError(_mpi.STRANGERS % _mpi.strangers())
    if int(os.environ.get("WORLD_SIZE", size)) != size:
        raise InvalidArgumentError(_no_ranks(size, int(os.environ["WORLD_SIZE"])))
    name = os.environ.get("MASTER_ADDR") or (_own_name() if rank == 0 else "")
    store = None
    if rank == 0:  # a port that is free
        store = _Store(name, 0, size, is_master=True, wait_for_workers=False)
    name, port = _from_first(name, store.port if store is not None else 0)
    if store is None:
        store = _Store(name, port, size, is_master=False)
    os.environ.update(MASTER_ADDR=name, MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size))
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, **options)


def _own_name() -> str:
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:  # as in containers; serves for one machine
        return "127.0.0.1"
    return name


def _from_first(name: str, port: int) -> Tuple[str, int]:
    """Rank 0's, on all ranks: as numbers, since that is what travels."""
    text = name.encode()[:_LONGEST]
    numbers = numpy.zeros(_LONGEST + 2, numpy.float32)
    numbers[0], numbers[1] = port, len(text)
    numbers[2 : 2 + len(text)] = list(text)
    with Comm() as comm:
        comm.bcast(numbers)
    return bytes(int(x) for x in numbers[2 : 2 + int(numbers[1])]).decode(), int(numbers[0])


def _no_ranks(mpi: int, torch: int) -> str:
    return "MPI has %d ranks, torch.distributed %d%s: %s" % (
        mpi,
        torch,
        " (processes that torchrun starts are no ranks of MPI)" if mpi == 1 else "",
        LAUNCH,
    )


# ---- ranks ---------------------------------------------------------------------------------------


def ranks_of(group: Any) -> List[int]:
    """The ranks of a group, which are those of MPI_COMM_WORLD if the library has MPI."""
    if not dist.is_initialized():
        raise InvalidArgumentError(
            "torch.distributed is not initialised: call thinwire.torch.init_process_group(), and " + LAUNCH
        )
    if not by_mpi() and dist.get_world_size() > 1:
        without_mpi()
    rank, size = _mpi.rank_and_size() if lib.MPI else (dist.get_rank(), dist.get_world_size())
    if dist.get_world_size() != size:
        raise InvalidArgumentError(_no_ranks(size, dist.get_world_size()))
    if dist.get_rank() != rank:
        raise InvalidArgumentError(
            "rank %d of torch.distributed is rank %d of MPI: initialise by thinwire.torch.init_process_group()"
            % (dist.get_rank(), rank)
        )
    if group is None:  # which torch 2.2 does not take
        return list(range(size))
    return dist.get_process_group_ranks(group)


def communicator(ranks: Sequence[int]) -> Comm:
    """A new communicator of these ranks. Collective over them."""
    if not lib.MPI:
        _made[tuple(ranks)] += 1
        name = "thinwire-%d-%s" % (_made[tuple(ranks)], "-".join(map(str, ranks)))
        store = dist.PrefixStore(name, _get_default_store())
        return Comm.from_store(store, ranks.index(dist.get_rank()), len(ranks))
    with _mpi.of_ranks(ranks) as group:
        return Comm(group)


def communicator_for(group: Any, comm: Optional[Comm]) -> Comm:
    """comm if there is one, else the one that is kept for the ranks of the group (None: all of them). The first call
    is collective over them."""
    if comm is not None:
        return comm
    ranks = tuple(ranks_of(group)) if dist.is_initialized() else tuple(range(_mpi.rank_and_size()[1]))
    found = _shared.get(ranks)
    if found is None or found._pointer is None:
        found = _shared[ranks] = communicator(ranks)
    return found


# ---- what all ranks are asked for ----------------------------------------------------------------


def agree(what: str, ranks: Sequence[int], mine: Dict[str, Any], problem: str, details: Any, limit: float) -> None:
    """Compare `mine` over the ranks; `problem` is why this one cannot take part, or "". An exception on all ranks if
    one has a problem, if they differ (`details`, a list, tells where), or if one does not come within `limit`
    seconds."""
    store, rank = _get_default_store(), dist.get_rank()
    place = _place(store, what, ranks)
    store.set("%sdetails/%d" % (place, rank), json.dumps(details))
    store.set(place + str(rank), json.dumps({"problem": problem, "asked": mine}))
    _show(store, place + str(rank))
    _meet(store, place, what, ranks, limit)
    found = {r: json.loads(store.get(place + str(r))) for r in ranks}
    problems = ["rank %d: %s" % (r, found[r]["problem"]) for r in ranks if found[r]["problem"]]
    if problems:
        raise InvalidArgumentError("%s: %s" % (what, "; ".join(problems)))
    first = ranks[0]
    for r in ranks[1:]:
        for name, value in found[r]["asked"].items():
            other = found[first]["asked"].get(name)
            if value == other:
                continue
            here, there = "%s %s" % (name, value), other
            if name == "parameters":  # these are hashes
                here, there = _difference(*(json.loads(store.get("%sdetails/%d" % (place, x))) for x in (r, first)))
            raise MismatchError("%s: rank %d has %s, rank %d %s" % (what, r, here, first, there))


def _place(store: Any, what: str, ranks: Sequence[int]) -> str:
    """Where this call meets those of the others: at the same number, which a rank that missed some has to catch up
    with if the others have tried again since."""
    here = "thinwire/%s/%s/" % (what, "-".join(map(str, ranks)))
    calls = "%scalls/%d" % (here, dist.get_rank())
    number = store.add(calls, 1)
    while _shown(store, "%s%d/missing" % (here, number)) and any(
        _shown(store, "%s%d/%d" % (here, number + 1, r)) for r in ranks
    ):
        number = store.add(calls, 1)
    return "%s%d/" % (here, number)


def _show(store: Any, key: str) -> None:
    """Say that a key is set: Store.check() is in later versions of torch alone, and get() waits."""
    store.add(key + "/shown", 1)


def _shown(store: Any, key: str) -> bool:
    return bool(store.add(key + "/shown", 0) > 0)


def _difference(one: List[Any], other: List[Any]) -> Tuple[str, str]:
    for mine, theirs in zip(one, other):
        if mine != theirs:
            return "the parameter " + " ".join(map(str, mine)), " ".join(map(str, theirs))
    return "%d parameters" % len(one), "%d" % len(other)


def _meet(store: Any, place: str, what: str, ranks: Sequence[int], limit: float) -> None:
    """Wait until all are there. The first that sees all, or whose time is over, writes down who is missing; that
    counts for all of them."""
    end = time.monotonic() + limit
    while True:
        missing = [r for r in ranks if not _shown(store, place + str(r))]
        if not missing or time.monotonic() > end or _shown(store, place + "missing"):
            missing = json.loads(store.compare_set(place + "missing", "", json.dumps(missing)))
            _show(store, place + "missing")
            if not missing:
                return
            raise TimeLimitError("%s: %s" % (what, _lateness(missing, limit)))
        time.sleep(_POLL)


def _lateness(missing: Sequence[int], limit: float) -> str:
    if dist.get_rank() in missing:
        return "the other ranks did not wait for this one longer than %g s" % limit
    return "not called on rank %s within %g s; all ranks of the group must call it" % (
        ", ".join(map(str, missing)),
        limit,
    )


def by_mpi() -> bool:
    """Whether a launcher of MPI has started this process, or the program has MPI. srun with PMIx is one, too; what
    torchrun starts has the variables of whatever started torchrun."""
    if "mpi4py.MPI" in sys.modules:
        return True
    names = [names[0] for names in _LAUNCHERS] + ["PMIX_RANK"]
    return "TORCHELASTIC_RUN_ID" not in os.environ and any(name in os.environ for name in names)


def for_ranks(ranks: Sequence[int], rank: int, size: int, store: Any) -> Comm:
    """A communicator of these ranks of torch.distributed for the backend, of which this process is the rank-th: over MPI
    if a launcher of MPI has started it, or the program has MPI; else it meets the others in the store. Collective over
    them."""
    if not by_mpi():
        comm = Comm.from_store(store, rank, size)
        comm.start_progress()
        return comm
    mine, ranks_of_mpi = _mpi.rank_and_size()
    if ranks_of_mpi <= max(ranks) or ranks[rank] != mine:
        raise InvalidArgumentError(
            "rank %d of torch.distributed is rank %d of %d of MPI; %s" % (ranks[rank], mine, ranks_of_mpi, LAUNCH)
        )
    if not _mpi.multiple():  # the group's thread and the program's call the library
        raise InvalidArgumentError("MPI was not initialised with MPI_THREAD_MULTIPLE, which the backend needs")
    comm = communicator(ranks)
    comm.start_progress()
    return comm
