# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_parameters.py - whole models: averaged or broadcast, for example every few steps or at the start."""
from typing import Any, Iterator, Optional, Tuple

import torch

from thinwire.comm import CodecLike, Comm
from thinwire.errors import InvalidArgumentError
from thinwire.torch._exchange import is_small
from thinwire.torch._group import communicator_for


@torch.no_grad()
def average_parameters(model: torch.nn.Module, codec: CodecLike = None, *, comm: Optional[Comm] = None) -> None:
    """Replace parameters and buffers of floating point by their average over the ranks; others are left alone.

    codec  of float32, float16 and bfloat16 tensors, the last two as float32; None: nothing is lost. Small tensors
           (as in register()) and float64 lose nothing.
    comm   a Comm; None: one that is kept for the ranks of the model's process group, if it has one, else of all.
    Collective.
    """
    comm = communicator_for(getattr(model, "process_group", None), comm)
    for tensor, values, spec in _tensors(model, codec):
        if tensor.is_floating_point():
            comm.allreduce(values, spec, op="average", out=values)
            tensor.copy_(values.view(tensor.shape))


@torch.no_grad()
def broadcast_parameters(
    model: torch.nn.Module, codec: CodecLike = None, root: int = 0, *, comm: Optional[Comm] = None
) -> None:
    """Replace parameters and buffers by those of rank `root` (of comm, or of the process group). With a codec that
    loses something all ranks, the root too, get the same. Arguments as in average_parameters(); what is not of
    floating point loses nothing. Collective."""
    comm = communicator_for(getattr(model, "process_group", None), comm)
    for tensor, values, spec in _tensors(model, codec):
        comm.bcast(values, spec, root=root, same=True)
        tensor.copy_(values.view(tensor.shape))


def _tensors(model: torch.nn.Module, codec: CodecLike) -> Iterator[Tuple[Any, Any, Any]]:
    """Each tensor, its values as a new vector of float32 or float64, and the codec for these."""
    tensors = [*model.parameters(), *model.buffers()]
    for tensor in tensors:  # all before the first is sent
        if tensor.device.type != "cpu" or tensor.is_complex():
            raise InvalidArgumentError(
                "a tensor of the model is of %s on %s; accepted: real numbers on cpu" % (tensor.dtype, tensor.device)
            )
    for tensor in tensors:
        exact = not tensor.is_floating_point() or tensor.dtype == torch.float64
        values = tensor.detach().to(torch.float64 if exact else torch.float32, copy=True).reshape(-1)
        yield tensor, values, None if exact or is_small(tensor) else codec
