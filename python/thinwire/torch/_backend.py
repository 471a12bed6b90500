# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_backend.py - the backend "thinwire" of torch.distributed: process groups whose collectives are the
library's, for tensors in host memory.

    import thinwire.torch
    torch.distributed.init_process_group("thinwire")
"""
import json
import sys
from typing import Any, List, Optional

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as _c10d

from thinwire.errors import Error, InvalidArgumentError, UnsupportedError
from thinwire.torch import _policy
from thinwire.torch._collectives import Methods
from thinwire.torch._group import by_mpi, for_ranks
from thinwire.torch._work import failure, seconds

NAME = "thinwire"


def _open(group: Any, options: Any, wishes: Optional[_policy.Options]) -> None:
    """Give a group its communicator. Collective."""
    rank, size, wished = options.group_rank, options.group_size, _wished(wishes)
    _compare(options.store, rank, size, wished)
    ranks = list(options.global_ranks_in_group) or list(range(size))
    comm = for_ranks(ranks, rank, size, options.store)
    group._begin(rank, size, comm, wished.check(), seconds(options.timeout, 1800.0))


def _wished(wishes: Any) -> _policy.Options:
    if wishes is not None and not isinstance(wishes, _policy.Options):
        raise InvalidArgumentError("pg_options is of type %s; accepted: thinwire.torch.Options" % type(wishes).__name__)
    return _policy.from_environment() if wishes is None else wishes


def _compare(store: Any, rank: int, size: int, options: _policy.Options) -> None:
    """All ranks see what all others were asked for; raises on all of them where it differs."""
    store.set("options/%d" % rank, json.dumps("%r, %s MPI" % (options, "with" if by_mpi() else "without")))
    said = [json.loads(store.get("options/%d" % other)) for other in range(size)]
    for other in range(1, size):
        if said[other] != said[0]:
            raise InvalidArgumentError("rank %d of the process group has %s, rank 0 %s" % (other, said[other], said[0]))


# ---- the classes that torch.distributed takes -----------------------------------------------------


class _Named:
    def getBackendName(self) -> str:
        return NAME

    def name(self) -> str:
        return NAME


class Group(_Named, Methods, dist.ProcessGroup):  # type: ignore[misc]
    """A process group by itself: its Work objects reach the caller as they are."""

    def __init__(self, options: Any, wishes: Any) -> None:
        dist.ProcessGroup.__init__(self, options.group_rank, options.group_size)
        self._named = str(options.group_id)
        _open(self, options, wishes)

    supports_coalescing = True

    def _group(self) -> Any:
        return self

    def _get_backend(self, _: Any) -> Any:
        return self

    @property
    def _device_types(self) -> List[Any]:
        """None while the group is made: torch's recorder of calls would then look for a backend in it, and find none."""
        return [torch.device("cpu")] if self in dist.distributed_c10d._world.pg_map else []

    def _set_group_name(self, name: str) -> None:
        self._named = name

    setGroupName = _set_group_name

    def getGroupName(self) -> str:
        return self._named

    @property
    def group_name(self) -> str:  # type: ignore[override]
        return self._named

    def _set_group_desc(self, text: str) -> None:
        self._described = text

    @property
    def group_desc(self) -> str:  # type: ignore[override]
        return getattr(self, "_described", "")


def _classes() -> Any:
    base = getattr(_c10d, "Backend")
    flags = (
        "supports_splitting supports_shrinking supports_reconfigure supports_window _supports_time_estimate "
        "supports_abort_hooks supports_completion_hooks supports_tensor_alloc"
    )
    no = property(lambda self: False)
    body = dict.fromkeys(flags.split(), no)
    body["supports_coalescing"] = property(lambda self: True)

    def init(self: Any, options: Any, wishes: Any) -> None:
        try:
            base.__init__(self, options.group_rank, options.group_size)
        except TypeError:
            said = "PyTorch %s takes no backend of Python beside those of other devices; accepted: 2.14 or newer, or thinwire alone"
            raise UnsupportedError(said % torch.__version__) from None
        self._of = options.process_group
        _open(self, options, wishes)

    body["__init__"], body["_group"] = init, lambda self: self._of
    return type("BackendOfDevice", (_Named, Methods, base), body)


BackendOfDevice = _classes()  # of a process group that has other backends for other devices


def _alone() -> bool:
    """Whether the process group that is being made has no other backend."""
    frame = sys._getframe()
    while frame is not None:
        config = frame.f_locals.get("backend_config") if frame.f_code.co_name == "_new_process_group_helper" else None
        if config is not None:
            return len(set(config.get_device_backend_map().values())) == 1
        frame = frame.f_back  # type: ignore[assignment]
    return True


def create(options: Any, wishes: Any = None) -> Any:
    """What torch.distributed calls to make a group."""
    try:
        return (Group if _alone() else BackendOfDevice)(options, wishes)
    except Error as error:
        raise failure(error) from None


def register_backend() -> None:
    dist.Backend.register_backend(NAME, create, extended_api=True, devices=["cpu"])
