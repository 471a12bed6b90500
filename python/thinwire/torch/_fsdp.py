# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_fsdp.py - fully sharded models: the reduce-scatter of gradients, the all-gather of parameters.

FullyShardedDataParallel has a hook for the first alone; fully_shard() of torch 2.8 or newer lets both be replaced.
These calls block: torch asks for the result at once, or on a stream that host memory does not have.
"""
from typing import Any, Optional, Sequence, Tuple

import torch
import torch.distributed as dist

from thinwire.comm import CodecLike, Comm
from thinwire.errors import InvalidArgumentError, InvalidTypeError, UnsupportedError
from thinwire.torch._group import communicator_for
from thinwire.torch._values import WIDE, codec_for, is_real, packed, unpack, vector, write


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


def _scatter(comm: Comm, codec: Any, output: Any, source: Any, op: str) -> None:
    values, codec = _values(source, codec)
    write(output, comm.reduce_scatter(values, codec, op=op))


def set_fully_shard(
    model: Any, codec: CodecLike = "tree8", parameters: CodecLike = None, *, comm: Optional[Comm] = None
) -> Comm:
    """For a model of torch.distributed.fsdp.fully_shard(), and the modules in it that were given to that: gradients
    travel with `codec`, parameters with the codec `parameters` (None: nothing is lost). Gradients lose without error
    feedback. All ranks shard over one mesh of one axis, whose group is all ranks unless comm is given.
    Collective. Returns the communicator."""
    comm = communicator_for(None, comm)
    found = [module for module in model.modules() if hasattr(module, "set_custom_reduce_scatter")]
    if not found:
        raise InvalidTypeError("model is of type %s; accepted: a model of fully_shard()" % type(model).__name__)
    for module in found:
        module.set_custom_reduce_scatter(Scatter(comm, codec))
        module.set_custom_all_gather(Gather(comm, parameters))
    return comm


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
    """A ReduceScatter as fully_shard() wants it."""

    def __call__(self, output_tensor: Any, input_tensor: Any, group: Any, op: Any, async_op: bool = False) -> None:
        """The sum, or average, of this rank's part: output_tensor.numel() of the elements of input_tensor."""
        self._check(group)
        names = {str(dist.ReduceOp.SUM): "sum", str(dist.ReduceOp.AVG): "average"}
        if str(op) not in names:
            raise UnsupportedError("reduction %s; accepted: sum, average" % op)
        _scatter(self._comm, self._codec, output_tensor, input_tensor, names[str(op)])


class Gather(_Allocating):
    """An AllGather as fully_shard() wants it."""

    def __call__(self, output_tensor: Any, input_tensor: Any, group: Any, async_op: bool = False) -> None:
        """The input_tensor of all ranks of the group, one after another, into output_tensor. Collective; blocks."""
        self._check(group)
        _check_tensor(input_tensor)
        if self._codec is None or not is_real(input_tensor) or input_tensor.dtype in WIDE:
            unpack(self._comm.allgather(packed(input_tensor)), output_tensor)
        else:
            values = vector(input_tensor)
            write(output_tensor, self._comm.allgather(values, codec_for(self._codec, values.dtype)))
