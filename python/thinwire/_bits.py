# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_bits.py - elements of any type but the library's four, in calls that only move them: as their bytes, which
are one more axis behind the others."""
import sys
from typing import Any, Callable, NamedTuple, Optional, Tuple

import numpy

from thinwire._buffers import DTYPES, FLOAT32, FLOAT64, dlpack_dtype
from thinwire.errors import InvalidArgumentError, InvalidTypeError


class _Octets(NamedTuple):
    view: Any  # of uint8, in the memory of the elements
    dtype: Any  # of these
    item: int  # bytes of one


def _of_tensor(torch: Any, x: Any, name: str) -> Optional[_Octets]:
    kind = str(x.dtype).rpartition(".")[2]
    if kind in DTYPES or x.layout is not torch.strided or x.requires_grad or x.is_quantized:
        return None
    if not x.is_contiguous():
        raise InvalidArgumentError("%s is not contiguous (in C order)" % name)
    if x.is_conj() or x.is_neg():
        raise InvalidArgumentError("%s is a conjugate; its resolve_conj().resolve_neg() can be sent" % name)
    item = x.element_size()
    return _Octets(x.view(-1).view(torch.uint8).view((*x.shape, item)), x.dtype, item)


def _octets_of(x: Any, name: str) -> Optional[_Octets]:
    """None: elements() takes x as it is, or says why it cannot be sent."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _of_tensor(torch, x, name)
    try:
        array = numpy.asarray(x if isinstance(x, numpy.ndarray) else memoryview(x))
    except (TypeError, ValueError, BufferError):
        dtype = dlpack_dtype(x, name)
        return None if dtype is None else _Octets(x, dtype, dtype.itemsize)
    dtype = array.dtype
    if dtype.hasobject or dtype.itemsize == 0:
        raise InvalidTypeError("%s has elements of %s; accepted: elements of a fixed size, and no objects" % (name, dtype))
    if dtype.isnative and dtype.name in DTYPES:
        return None
    if not array.flags.c_contiguous:
        raise InvalidArgumentError("%s is not contiguous (in C order); numpy.ascontiguousarray() gives a copy" % name)
    item = dtype.itemsize
    return _Octets(array.reshape(-1).view(numpy.uint8).reshape((*array.shape, item)), dtype, item)


def moved(x: Any, out: Any, codec: Any) -> Tuple[Any, Any, Tuple[int, ...], Callable[[Any], Any]]:
    """x and out for a movement; the axis that their elements have become; and what makes the result of that result."""
    if type(x) is numpy.ndarray and (x.dtype is FLOAT32 or x.dtype is FLOAT64):  # most calls
        return x, out, (), _as_it_is
    seen = _octets_of(x, "x")
    if seen is None:
        return x, out, (), _as_it_is
    if codec is not None:
        raise InvalidTypeError("x holds %s, which no codec encodes; accepted: codec None" % seen.dtype)
    if out is None:
        return seen.view, None, (seen.item,), lambda made: made.reshape(-1).view(seen.dtype).reshape(made.shape[:-1])
    into = _octets_of(out, "out")
    if into is None or into.dtype != seen.dtype:
        raise InvalidTypeError("x holds %s, out %s" % (seen.dtype, getattr(out, "dtype", type(out).__name__)))
    return seen.view, into.view, (seen.item,), lambda made: out


def _as_it_is(result: Any) -> Any:
    return result
