# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_fsdp.py - fully sharded models: the reduce-scatter of gradients, the all-gather of parameters.

FullyShardedDataParallel has a hook for the first alone; fully_shard() of torch 2.8 or newer lets both be replaced.
A reduce-scatter blocks: torch asks for the result at once, or on a stream that host memory does not have.
"""
from typing import Any, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Work as _TorchWork

from thinwire.comm import CodecLike, Comm
from thinwire.errors import InvalidArgumentError, InvalidTypeError, UnsupportedError
from thinwire.feedback import Feedback
from thinwire.requests import Request
from thinwire.torch._group import communicator_for
from thinwire.torch._hook import feedback_name, keeps_residuals
from thinwire.torch._values import REALS, WIDE, codec_for, float32_codec, is_real, packed, reals, vector, write


def register_fsdp(model: Any, codec: CodecLike = "tree8", *, comm: Optional[Comm] = None) -> Comm:
    """Have the gradients of a FullyShardedDataParallel model averaged with a codec: model.register_comm_hook(). For the
    strategies that torch has hooks for: FULL_SHARD, SHARD_GRAD_OP, NO_SHARD. There is no error feedback. The
    parameters travel as torch sends them. Collective over the model's process group. Returns the communicator."""
    if not hasattr(model, "register_comm_hook") or not hasattr(model, "sharding_strategy"):
        raise InvalidTypeError("model is of type %s; accepted: FullyShardedDataParallel" % type(model).__name__)
    comm = communicator_for(model.process_group, comm)
    model.register_comm_hook((comm, codec), _reduce)
    return comm


def _reduce(state, grad, output=None):  # type: ignore[no-untyped-def]  # called by FSDP
    comm, codec = state
    if output is None:  # NO_SHARD
        values, codec = _values(grad, codec)
        write(grad, comm.allreduce(values, codec, op="average", out=values))
    else:
        _scatter(comm, codec, output, grad, "average")


def _values(tensor: Any, codec: Any) -> Tuple[Any, Any]:
    """What is to be added up as vector() has it, and the codec for it."""
    _check_tensor(tensor)
    if not is_real(tensor):
        raise InvalidArgumentError("a gradient is of %s; accepted: real or complex numbers" % tensor.dtype)
    values = vector(tensor)
    return values, codec_for(codec, values.dtype)


def _check_tensor(tensor: Any) -> None:
    if tensor.device.type != "cpu":
        raise InvalidArgumentError("a tensor is on %s; accepted: on cpu" % tensor.device)


def _scatter(comm: Comm, codec: Any, output: Any, source: Any, op: str, residual: Any = lambda count: None) -> None:
    values, codec = _values(source, codec)
    feedback = None if codec is None else residual(values.numel())
    write(output, comm.reduce_scatter(values, codec, op=op, feedback=feedback))


def set_fully_shard(
    model: Any,
    codec: CodecLike = None,
    parameters: CodecLike = None,
    feedback: Optional[bool] = None,
    *,
    comm: Optional[Comm] = None,
) -> Comm:
    """For a model of torch.distributed.fsdp.fully_shard(), and the modules in it that were given to that: gradients
    travel with `codec`, encoded once (ZeRO++'s qgZ, Wang et al. 2023), parameters with the codec `parameters` (qwZ), from
    which all ranks compute while the shards stay exact; None: nothing is lost.

    feedback  whether each rank adds what the codec has lost of a module's gradients to the next ones (LoCo, Xie et al.
              2024); None: if the codec wants it. Two float32 vectors of the size of the whole module, made in its first
              backward; a step in which fewer of its parameters have gradients goes without.
    comm      over the ranks that share a parameter; None: one that is kept for the group of the mesh.
    Collective. Returns the communicator."""
    found = [item for item in model.named_modules() if hasattr(item[1], "set_custom_reduce_scatter")]
    if not found:
        raise InvalidTypeError("model is of type %s; accepted: a model of fully_shard()" % type(model).__name__)
    keeps = keeps_residuals(float32_codec(codec), feedback)
    float32_codec(parameters)
    comm = communicator_for(_group_of(model), comm)
    try:
        comm.start_progress()
    except UnsupportedError:  # parameters for later then travel when somebody waits for them
        pass
    for name, module in found:
        module.set_custom_reduce_scatter(Scatter(comm, codec, feedback_name(name or "model") if keeps else None))
        module.set_custom_all_gather(Gather(comm, parameters))
    return comm


def _group_of(model: Any) -> Any:
    """That which shares the parameters: of the axes of their mesh the first over which they are not replicated."""
    for parameter in model.parameters():
        if hasattr(parameter, "device_mesh"):
            shared = (axis for axis, placement in enumerate(parameter.placements) if not placement.is_replicate())
            return parameter.device_mesh.get_group(next(shared, 0))
    return None


class _Allocating:
    def __init__(self, comm: Comm, codec: Any) -> None:
        self._comm, self._codec = comm, codec

    def allocate(self, size: Sequence[int], *, dtype: Any, device: Any) -> Any:
        """A new tensor, for fully_shard()."""
        return torch.empty(*size, dtype=dtype, device=device)

    def _check(self, group: Any) -> None:
        if dist.get_world_size(group) != self._comm.size:
            raise InvalidArgumentError(
                "the group has %d ranks, the communicator %d" % (dist.get_world_size(group), self._comm.size)
            )


class Scatter(_Allocating):
    """A ReduceScatter as fully_shard() wants it, of one module; with the name of a residual, it has one."""

    def __init__(self, comm: Comm, codec: Any, residual: Optional[str] = None) -> None:
        super().__init__(comm, codec)
        self._name, self._feedback = residual, None  # type: Optional[str], Optional[Feedback]

    def __call__(self, output_tensor: Any, input_tensor: Any, group: Any, op: Any, async_op: bool = False) -> None:
        """The sum, or average, of this rank's part: output_tensor.numel() of the elements of input_tensor. Collective;
        blocks."""
        self._check(group)
        names = {str(dist.ReduceOp.SUM): "sum", str(dist.ReduceOp.AVG): "average"}
        if str(op) not in names:
            raise UnsupportedError("reduction %s; accepted: sum, average" % op)
        _scatter(self._comm, self._codec, output_tensor, input_tensor, names[str(op)], self._residual)

    def _residual(self, count: int) -> Optional[Feedback]:
        """Of the most elements so far; fewer are of parameters that need not be its first ones."""
        if self._name is not None and (self._feedback is None or self._feedback.count < count):
            self._feedback = self._comm.feedback(self._name, count)
        return self._feedback if self._feedback is not None and self._feedback.count == count else None


class _Gathering(_TorchWork):  # type: ignore[misc]
    def __init__(self, request: Request) -> None:
        super().__init__()
        self._request = request

    def wait(self, timeout: Any = None) -> bool:
        self._request.wait()
        return True


class Gather(_Allocating):
    """An AllGather as fully_shard() wants it."""

    def __call__(self, output_tensor: Any, input_tensor: Any, group: Any, async_op: bool = False) -> Any:
        """The input_tensor of all ranks of the group, one after another, into output_tensor, of which it may be this
        rank's part. Both are contiguous. Collective; returns a Work for which fully_shard() waits before it needs the
        parameters, whatever async_op is: those that it fetches ahead travel while it computes."""
        self._check(group)
        _check_tensor(input_tensor)
        lossy = self._codec is not None and input_tensor.dtype not in WIDE and reals(input_tensor).dtype in REALS
        view = vector if lossy else packed
        values, out = view(input_tensor), view(output_tensor).view(self._comm.size, -1)
        return _Gathering(self._comm.iallgather(values, codec_for(self._codec, values.dtype) if lossy else None, out=out))
