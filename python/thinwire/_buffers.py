# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_buffers.py - from Python's objects to addresses: the buffer protocol, DLPack, and new arrays.

elements(x) is a tuple, because it is made for every call:

    address, count, dtype, shape, device, anchor

dtype is _c.F32, F64, BF16 or F16, device None for host memory, else a Place; as long as the anchor lives, the memory
stays where it is, even of a bytearray that somebody wants to grow.
"""
import ctypes
import functools
import importlib
import operator
import sys
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy

from thinwire import _c
from thinwire.errors import Error, InvalidArgumentError, InvalidTypeError, NoMemoryError


class Place(NamedTuple):
    """Memory of a CUDA device."""

    device: int
    stream: int  # cudaStream_t that the work has to be put on


Elements = Tuple[int, int, int, Tuple[int, ...], Optional[Place], Any]

FLOAT32 = numpy.dtype("float32")
FLOAT64 = numpy.dtype("float64")
UINT8, UINT16 = numpy.dtype("uint8"), numpy.dtype("uint16")
DTYPES = ("float32", "float64", "bfloat16", "float16")  # by _c.F32, ...
ITEM = (4, 8, 2, 2)
LOSSLESS = ("fp32", "bitpack:8", "bf16", "fp16")  # the codec that leaves elements as they are
RESIDUALS = (_c.F32, _c.F64, _c.F32, _c.F32)  # of what dtype they are
ACCEPTED = "accepted: contiguous arrays of %s or %s with the buffer protocol or DLPack" % (
    ", ".join(DTYPES[:-1]),
    DTYPES[-1],
)
OCTETS = -1  # codes, and elements of other types as their bytes; no tw_dtype_t

MOST = 2 ** (8 * ctypes.sizeof(ctypes.c_size_t)) - 1  # what a size_t holds; ctypes cuts off the rest

_ORDER = "<" if sys.byteorder == "little" else ">"
_FORMATS = {
    mark + letter: dtype
    for mark in ("", "@", "=", _ORDER)
    for letter, dtype in (("f", _c.F32), ("d", _c.F64), ("e", _c.F16), ("B", OCTETS), ("b", OCTETS), ("c", OCTETS))
}
_ndarray = numpy.ndarray
_addressof = ctypes.addressof


class _Anchor(Structure):
    """Nothing, at the address of a writable buffer, which it holds."""

    _fields_ = []


_anchor: Any = _Anchor.from_buffer


def dtype_number(dtype: Any) -> int:
    """_c.F32, ... of "float32", numpy.float32, torch.float32, ..."""
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype).rpartition(".")[2]
    if name in DTYPES:
        return DTYPES.index(name)
    raise InvalidTypeError("dtype %s; accepted: %s" % (name, ", ".join(DTYPES)))


def numpy_dtype(number: int) -> Any:
    """NumPy's dtype of elements; it has bfloat16 from the package ml_dtypes."""
    if number == OCTETS:
        return UINT8
    if number == _c.BF16:
        try:
            return numpy.dtype(importlib.import_module("ml_dtypes").bfloat16)
        except ImportError:
            raise InvalidTypeError("NumPy has no bfloat16 without the package ml_dtypes: pass out=") from None
    return numpy.dtype(DTYPES[number])


# ---- numbers -------------------------------------------------------------------------------------


def integer(x: Any, name: str) -> int:
    """An argument called `name` that has to be an integer."""
    try:
        return operator.index(x)
    except TypeError:
        raise InvalidTypeError("%s is of type %s; accepted: an integer" % (name, type(x).__name__)) from None


def shown(number: int) -> str:
    """As text, which very long ones do not have."""
    return str(number) if abs(number) <= MOST else "of %d bits" % number.bit_length()


def size_of(x: Any, name: str) -> int:
    """An argument called `name` that says how many elements there are."""
    found = integer(x, name)
    if not 0 <= found <= MOST:
        raise InvalidArgumentError("%s is %s; accepted: numbers of elements, 0 to %d" % (name, shown(found), MOST))
    return found


# ---- the buffer protocol -------------------------------------------------------------------------


def elements(x: Any, name: str, write: bool = False) -> Elements:
    """The elements of x, an argument called `name`, to be written to or only read."""
    if type(x) is _ndarray:
        dtype = x.dtype
        if dtype is FLOAT32:
            number = _c.F32
        elif dtype is FLOAT64:
            number = _c.F64
        else:
            return _checked(_any(x, name, write), name)
        try:
            anchor = _anchor(x)
        except TypeError:  # read-only or not contiguous
            return _any(x, name, write)
        return _addressof(anchor), x.size, number, x.shape, None, anchor
    return _checked(_any(x, name, write), name)


def octets(x: Any, name: str, write: bool = False, wide: bool = False) -> Elements:
    """As elements(), of codes: anything whose items are bytes. wide: DLPack's elements of any other type too, whose bytes
    are one more axis."""
    if type(x) is _ndarray and x.dtype is UINT8:
        try:
            anchor = _anchor(x)
        except TypeError:  # read-only or not contiguous
            return _any(x, name, write)
        return _addressof(anchor), x.size, OCTETS, x.shape, None, anchor
    found = _any(x, name, write, wide)
    if found[2] != OCTETS:
        raise InvalidTypeError("%s holds %s; accepted: bytes, or an array of uint8" % (name, DTYPES[found[2]]))
    return found


def _checked(found: Elements, name: str) -> Elements:
    if found[2] == OCTETS:
        raise InvalidTypeError("%s holds bytes; %s" % (name, ACCEPTED))
    return found


def _any(x: Any, name: str, write: bool, wide: bool = False) -> Elements:
    if isinstance(x, _ndarray):
        if x.dtype.name == "bfloat16":  # which the buffer protocol has no letter for
            return _viewed(memoryview(x.view(UINT16)), _c.BF16, name, write)
    else:
        found = _tensor(x)
        if found is not None:
            return found
    try:
        view = memoryview(x)
    except TypeError:
        return _dlpack(x, name, write, wide)
    except (ValueError, BufferError) as error:  # what has no format, such as NumPy's datetime64
        raise InvalidTypeError("%s: %s; %s" % (name, error, ACCEPTED)) from None
    number = _FORMATS.get(view.format)
    if number is None:
        raise InvalidTypeError(
            "%s has elements of %s; %s" % (name, getattr(x, "dtype", "format '%s'" % view.format), ACCEPTED)
        )
    return _viewed(view, number, name, write)


def _viewed(view: memoryview, number: int, name: str, write: bool) -> Elements:
    if not view.c_contiguous:
        raise InvalidArgumentError("%s is not contiguous (in C order); numpy.ascontiguousarray() gives a copy" % name)
    if write and view.readonly:
        raise InvalidArgumentError("%s is read-only, and would be written to" % name)
    count = view.nbytes // view.itemsize
    if not view.readonly:
        anchor = _anchor(view)
        return _addressof(anchor), count, number, view.shape or (), None, anchor
    array = numpy.asarray(view)
    return array.__array_interface__["data"][0], count, number, view.shape or (), None, array


# ---- PyTorch -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def _torch_numbers(torch: Any) -> Dict[Any, int]:
    found = {getattr(torch, name): number for number, name in enumerate(DTYPES)}
    return {**found, torch.uint8: OCTETS, torch.int8: OCTETS}


def _tensor(x: Any) -> Optional[Elements]:
    """Those of a plain tensor in host memory, which DLPack takes ten times as long for; None: of anything else."""
    torch = sys.modules.get("torch")
    if torch is None or type(x) is not torch.Tensor or not x.is_cpu or x.layout is not torch.strided:
        return None
    number = _torch_numbers(torch).get(x.dtype)
    if number is None or x.requires_grad or not x.is_contiguous() or x.is_conj() or x.is_neg():
        return None
    return x.data_ptr(), x.numel(), number, tuple(x.shape), None, (x.untyped_storage(), x)


# ---- DLPack --------------------------------------------------------------------------------------

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_DEFAULT_STREAM = 1  # what DLPack calls the legacy default stream
_DLPACK_TYPES = {(2, 32): _c.F32, (2, 64): _c.F64, (2, 16): _c.F16, (4, 16): _c.BF16, (0, 8): OCTETS, (1, 8): OCTETS}
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # NumPy's letters


class _Tensor(Structure):  # DLTensor
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _Versioned(Structure):  # DLManagedTensorVersioned
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),  # 1: read-only
        ("tensor", _Tensor),
    ]


_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = c_char_p, [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]


def _place(x: Any, device_type: int, device: int) -> Tuple[Optional[Place], Any]:
    """Where x is, and what to tell the producer about streams."""
    if device_type in (_CPU, _CUDA_HOST):
        return None, None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return Place(device, torch.cuda.current_stream(x.device).cuda_stream), -1  # no waiting: x's work is there
    return Place(device, 0), _DEFAULT_STREAM


def _capsule(x: Any, stream: Any) -> Any:
    wishes = {} if stream is None else {"stream": stream}
    try:
        return x.__dlpack__(max_version=(1, 0), **wishes)
    except TypeError:  # from before DLPack 1.0, which cannot say what is read-only
        return x.__dlpack__(**wishes)


def _compact(tensor: _Tensor, shape: Tuple[int, ...]) -> bool:
    expected = 1
    if not tensor.strides or 0 in shape:
        return True
    for i in reversed(range(len(shape))):
        if shape[i] != 1 and tensor.strides[i] != expected:
            return False
        expected *= shape[i]
    return True


def _opened(x: Any, name: str) -> Tuple[_Tensor, bool, Optional[Place], Any]:
    """What DLPack says of x, whether it is read-only, where it is, and what all of that belongs to."""
    if not hasattr(x, "__dlpack__"):
        raise InvalidTypeError("%s is of type %s; %s" % (name, type(x).__name__, ACCEPTED))
    try:
        device_type, device = (int(part) for part in x.__dlpack_device__())
        if device_type not in (_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED):
            raise InvalidArgumentError("%s is on a device of another kind; accepted: memory of the host or CUDA" % name)
        place, wish = _place(x, device_type, device)
        capsule = _capsule(x, wish)
    except Error:
        raise
    except Exception as error:  # whatever the producer has against it, such as a tensor that requires a gradient
        raise InvalidArgumentError("%s gives no DLPack: %s" % (name, " ".join(str(error).split()))) from None
    title = _capsule_name(capsule)
    pointer = _capsule_pointer(capsule, title)
    if title == b"dltensor_versioned":
        managed = _Versioned.from_address(pointer)
        return managed.tensor, bool(managed.flags & 1), place, capsule
    return _Tensor.from_address(pointer), False, place, capsule


def _number_of(tensor: _Tensor) -> Optional[int]:
    return _DLPACK_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None


def _dtype_of(tensor: _Tensor) -> Any:
    """NumPy's dtype of other elements than the library's; None: it has none."""
    if tensor.lanes != 1 or tensor.bits % 8 or _number_of(tensor) not in (None, OCTETS):
        return None
    try:
        return numpy.dtype("%s%d" % (_DLPACK_KINDS[tensor.code], tensor.bits // 8))
    except (KeyError, TypeError):
        return None


def dlpack_dtype(x: Any, name: str) -> Any:
    """NumPy's dtype of what x has for octets(wide=True); None: nothing."""
    if not hasattr(x, "__dlpack__") or str(getattr(x, "dtype", "")).rpartition(".")[2] in DTYPES:
        return None
    opened = _opened(x, name)
    return _dtype_of(opened[0])


def _dlpack(x: Any, name: str, write: bool, wide: bool) -> Elements:
    tensor, read_only, place, capsule = _opened(x, name)
    number, dtype = _number_of(tensor), _dtype_of(tensor) if wide else None
    if number is None and dtype is None:
        raise InvalidTypeError("%s has elements of %s; %s" % (name, getattr(x, "dtype", "another type"), ACCEPTED))
    shape = tuple(tensor.shape[: tensor.ndim])
    if not _compact(tensor, shape):
        raise InvalidArgumentError("%s is not contiguous (in C order)" % name)
    if write and read_only:
        raise InvalidArgumentError("%s is read-only, and would be written to" % name)
    if dtype is not None:
        number, shape = OCTETS, (*shape, dtype.itemsize)
    count = 1
    for length in shape:
        count *= length
    return (tensor.data or 0) + tensor.byte_offset, count, number, shape, place, (capsule, x)


# ---- results -------------------------------------------------------------------------------------


def new(x: Any, shape: Any, number: int, device: Optional[Place]) -> Any:
    """An array of the kind and on the device of x: NumPy's unless x came by DLPack."""
    try:
        return _new(x, shape, number, device)
    except Error:
        raise
    except Exception as error:  # of too many elements, most likely
        raise NoMemoryError("no new array: %s" % " ".join(str(error).split())) from None


def _new(x: Any, shape: Any, number: int, device: Optional[Place]) -> Any:
    name = "uint8" if number == OCTETS else DTYPES[number]
    if type(x) is _ndarray or not hasattr(x, "__dlpack__") or isinstance(x, _ndarray):
        return numpy.empty(shape, numpy_dtype(number))
    if hasattr(x, "new_empty"):  # PyTorch
        return x.new_empty(shape, dtype=getattr(sys.modules["torch"], name))
    if hasattr(x, "__array_namespace__"):
        space = x.__array_namespace__()
        return space.empty(shape, dtype=getattr(space, name), device=x.device)
    if device is not None:
        raise InvalidArgumentError(
            "no new array can be made in %s from a %s: pass out=" % (_memory(device), type(x).__name__)
        )
    return numpy.empty(shape, numpy_dtype(number))


def new_octets(x: Any, count: int, device: Optional[Place]) -> Any:
    """As new(), for codes of so many bytes."""
    return new(x, count, OCTETS, device)


def _memory(device: Optional[Place]) -> str:
    return "host memory" if device is None else "memory of CUDA device %d" % device.device


def same_memory(one: Optional[Place], other: Optional[Place], name: str, other_name: str) -> None:
    """Raise unless the arguments of these names are in host memory, or on one device."""
    if _memory(one) != _memory(other):
        raise InvalidArgumentError(
            "%s is in %s, %s in %s; accepted: both in the same" % (name, _memory(one), other_name, _memory(other))
        )
