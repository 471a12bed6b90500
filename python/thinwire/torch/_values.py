# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_values.py - what of a tensor travels: real numbers, or, where nothing may be lost, its bytes.

A complex number is a pair of real ones. The library adds up float32, float64, float16 and bfloat16. Integers and bools,
and all that loses nothing, move as bytes.
"""
from typing import Any, Optional

import torch

from thinwire._library import lib
from thinwire.codec import Codec
from thinwire.errors import InvalidArgumentError

WIDE = (torch.float64, torch.complex128)  # which lose nothing, whatever the codec
REALS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)  # as the library has them
_HALF = 2  # bytes of those of 16 bits


def float32_codec(codec: Any) -> Codec:
    """The Codec for real numbers that somebody has named; None: nothing is lost."""
    made = codec if isinstance(codec, Codec) else Codec("fp32" if codec is None else codec)
    if made.dtype != "float32":
        raise InvalidArgumentError("codec %s is of %s; accepted: of float32" % (made.spec, made.dtype))
    return made


def codec_for(codec: Any, dtype: Any) -> Optional[Codec]:
    """For elements of a dtype among REALS, the codec that stands for one of float32. None, nothing is lost: of float64,
    and of 16-bit elements, where it would make them no shorter."""
    made = float32_codec(codec)
    if dtype == torch.float32:
        return made
    shorter = made.traits.chooses or made.traits.bytes < _HALF
    return Codec(made.spec, dtype) if dtype != torch.float64 and shorter else None


def length(parameter: Any) -> int:
    """How many real numbers it holds."""
    return int(parameter.numel()) * (2 if parameter.is_complex() else 1)


def axes(parameter: Any) -> int:
    """As the library counts them, which knows no single value."""
    return max(1, int(parameter.dim()))


def is_small(parameter: Any) -> bool:
    """Whether a parameter is one of those that are not worth a lossy codec."""
    return bool(lib.tw_tensor_is_small(length(parameter), axes(parameter)))


def is_real(tensor: Any) -> bool:
    """Whether it holds real numbers or pairs of them, which have an average."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def reals(tensor: Any) -> Any:
    """A tensor's real numbers, in its memory."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def vector(tensor: Any) -> Any:
    """Its real numbers as a contiguous vector of one of REALS, else of float32; the same memory where that serves."""
    flat = reals(tensor.detach().resolve_conj()).reshape(-1)
    return flat if flat.dtype in REALS else flat.to(torch.float32)


def write(tensor: Any, values: Any) -> None:
    """Such a vector into a tensor."""
    target = reals(tensor)
    target.copy_(values.view(target.shape))


def packed(tensor: Any) -> Any:
    """Its bytes as a vector; the same memory where that serves."""
    return tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)


def unpack(octets: Any, tensor: Any) -> None:
    """What packed() has made of tensors of this dtype, one behind the other, into `tensor`, which holds them all."""
    tensor.copy_(octets.reshape(-1).view(tensor.dtype).view(tensor.shape))
