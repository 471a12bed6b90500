# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_bits.py - integers of 4 and 8 bytes in calls that only move elements: as the floats of that size that have
the same bits, which the library moves without looking at them where nothing is to be lost."""
import sys
from typing import Any, Callable, Tuple

import numpy

from thinwire.errors import InvalidTypeError

_FLOATS = {4: "float32", 8: "float64"}


def _as_floats(x: Any) -> Any:
    """A view of x as floats if it is an array of such integers of NumPy or PyTorch; else x."""
    if isinstance(x, numpy.ndarray):
        moved = x.dtype.kind in "iu" and x.dtype.isnative and x.itemsize in _FLOATS
        return x.view(_FLOATS[x.itemsize]) if moved else x
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(x, torch.Tensor):
        return x
    size = x.element_size()
    if size not in _FLOATS or x.dtype == torch.bool or x.dtype.is_floating_point or x.dtype.is_complex:
        return x
    return x.view(getattr(torch, _FLOATS[size]))


def moved(x: Any, out: Any, codec: Any) -> Tuple[Any, Any, Callable[[Any], Any]]:
    """x and out for a movement; and what makes the result of that result."""
    seen = _as_floats(x)
    if seen is x:
        return x, out, _as_it_is
    if codec is not None:
        raise InvalidTypeError("x holds %s, which no codec encodes; accepted: codec None" % x.dtype)
    if out is None:
        return seen, None, lambda result: result.view(x.dtype)
    if getattr(out, "dtype", None) != x.dtype:
        raise InvalidTypeError("x holds %s, out %s" % (x.dtype, getattr(out, "dtype", type(out).__name__)))
    return seen, _as_floats(out), lambda result: out


def _as_it_is(result: Any) -> Any:
    return result
