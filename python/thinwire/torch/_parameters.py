# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_parameters.py - whole models: averaged or broadcast, for example every few steps or at the start."""
from typing import Any, Iterable, List, Optional

import torch
from torch.nn.parameter import is_lazy

from thinwire.codec import Codec
from thinwire.comm import CodecLike, Comm
from thinwire.errors import InvalidArgumentError
from thinwire.torch._group import communicator_for
from thinwire.torch._values import WIDE, codec_for, float32_codec, is_real, is_small, packed, unpack, vector, write


@torch.no_grad()
def average_parameters(model: torch.nn.Module, codec: CodecLike = None, *, comm: Optional[Comm] = None) -> None:
    """Replace parameters and buffers of floating point, or complex ones, by their average over the ranks; others are
    left alone.

    codec  of float32, float16 and bfloat16 tensors, the last two as they are where it makes them no shorter, and of
           complex ones, as pairs; None: nothing is lost. Small tensors (as in register()) and float64 lose nothing.
    comm   a Comm; None: one that is kept for the ranks of the model's process group, if it has one, else of all.
    Collective.
    """
    made = float32_codec(codec)
    found = tensors(model)
    average(found, made, communicator_for(getattr(model, "process_group", None), comm))


def average(tensors: Iterable[Any], codec: Codec, comm: Comm) -> None:
    """Those that hold real numbers, in place."""
    for tensor in filter(is_real, tensors):
        values = vector(tensor).clone()
        chosen = None if _exact(tensor) else codec_for(codec, values.dtype)
        comm.allreduce(values, chosen, op="average", out=values)
        write(tensor, values)


@torch.no_grad()
def broadcast_parameters(
    model: torch.nn.Module, codec: CodecLike = None, root: int = 0, *, comm: Optional[Comm] = None
) -> None:
    """Replace parameters and buffers by those of rank `root` (of comm, or of the process group). With a codec that
    loses something all ranks, the root too, get the same. Arguments as in average_parameters(); what loses nothing,
    integers and bools among it, is the same bits afterwards. Collective."""
    made = float32_codec(codec)
    found = tensors(model)
    comm = communicator_for(getattr(model, "process_group", None), comm)
    for tensor in found:
        if _exact(tensor) or made.traits.lossless:
            values = packed(tensor).clone()
            comm.bcast(values, root=root)
            unpack(values, tensor)
        else:
            values = vector(tensor).clone()
            comm.bcast(values, codec_for(made, values.dtype), root=root, same=True)
            write(tensor, values)


def _exact(tensor: Any) -> bool:
    """Whether it loses nothing, with any codec."""
    return not is_real(tensor) or tensor.dtype in WIDE or is_small(tensor)


def tensors(model: torch.nn.Module) -> List[Any]:
    """Parameters and buffers, all of which can be sent and written to: looked at before the first is sent."""
    found = []
    for kind, named in (("parameter", model.named_parameters()), ("buffer", model.named_buffers())):
        for name, tensor in named:
            problem = _problem(tensor)
            if problem:
                raise InvalidArgumentError(
                    "the %s '%s' %s; accepted: dense tensors on cpu, of which each element has memory of its own"
                    % (kind, name, problem)
                )
            found.append(tensor)
    return found


def _problem(tensor: Any) -> str:
    if is_lazy(tensor):
        return "is not initialised"
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided or tensor.is_quantized:
        return "is of %s, %s, on %s" % (tensor.dtype, tensor.layout, tensor.device)
    if hasattr(tensor, "device_mesh"):
        return "is sharded"
    if any(length > 1 and step == 0 for length, step in zip(tensor.shape, tensor.stride())):
        return "is expanded"
    return "was made in inference mode" if tensor.is_inference() else ""
