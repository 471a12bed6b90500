# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_calls.py - the arguments of collectives: checked, and turned into what the library takes.

Each function gives (arguments from the communicator to `how`, what must live until the operation is complete,
result). Whatever is wrong is said here, on this rank, before anything is sent.
"""
import ctypes
from functools import lru_cache
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy

from thinwire import _c
from thinwire._bits import moved
from thinwire._buffers import (
    DTYPES,
    ITEM,
    MOST,
    OCTETS,
    RESIDUALS,
    Elements,
    Place,
    elements,
    integer,
    new,
    octets,
    same_memory,
    shown,
)
from thinwire._library import lib
from thinwire.codec import find
from thinwire.errors import InvalidArgumentError, InvalidTypeError

Call = Tuple[Tuple[Any, ...], Any, Any]


# ---- parts of a call -----------------------------------------------------------------------------


def _how(
    comm: Any,
    codec: Any,
    number: int,
    device: Optional[Place],
    algorithm: Optional[str],
    feedback: Any = None,
    flags: int = 0,
) -> Optional[int]:
    """The address of a tw_how_t; they are kept, since most calls are like the one before."""
    known: Dict[Any, Tuple[int, Any, Any]] = comm._hows if feedback is None else feedback._hows_of(comm)
    key = (codec, number, algorithm, device, flags)
    try:
        return known[key][0]
    except KeyError:
        pass
    except TypeError:  # not hashable
        raise InvalidTypeError(
            "codec is of type %s, algorithm of type %s; accepted: a spec or a Codec, a str"
            % (type(codec).__name__, type(algorithm).__name__)
        ) from None
    if algorithm not in _algorithms():
        raise InvalidArgumentError(
            "algorithm %r is unknown; accepted: %s" % (algorithm, ", ".join(name for name in _algorithms() if name))
        )
    if feedback is not None and feedback._number != RESIDUALS[number]:
        raise InvalidTypeError("x holds %s, feedback '%s' is of %s" % (DTYPES[number], feedback.name, feedback.dtype))
    run = None if device is None else _c.Exec(_c.MEMORY_CUDA, device.stream, 0)
    how = _c.How(
        find(codec, number),
        None if run is None else ctypes.addressof(run),
        None if feedback is None else feedback._pointer,
        _algorithms()[algorithm],
        flags,
    )
    known[key] = (ctypes.addressof(how), how, run)
    return known[key][0]


def _names(named: Any, first: int) -> Dict[str, int]:
    """What the library gives names to, from this number on."""
    names: Dict[str, int] = {}
    while True:
        name = named(first + len(names))
        if name is None:
            return names
        names[name.decode()] = first + len(names)


@lru_cache(maxsize=None)
def _reductions() -> Dict[str, int]:
    return _names(lib.tw_reduction_name, 0)


@lru_cache(maxsize=None)
def _algorithms() -> Dict[Optional[str], int]:
    return {None: _c.ALGORITHM_AUTO, **_names(lib.tw_algorithm_name, _c.ALGORITHM_AUTO + 1)}


def reduction(op: str) -> int:
    try:
        return _reductions()[op]
    except (KeyError, TypeError):
        accepted = ", ".join("'%s'" % name for name in _reductions())
        raise InvalidArgumentError("op is %r; accepted: %s" % (op, accepted)) from None


def _root(comm: Any, root: int) -> int:
    found = integer(root, "root")
    if not 0 <= found < comm.size:
        raise InvalidArgumentError("root %s is no rank of %d" % (shown(found), comm.size))
    return found


def _output(out: Any, x: Any, source: Elements, shape: Any, offset: int = 0) -> Tuple[Any, int, int, Any]:
    """Where the result goes, for input `source` of x: (out, address of input, address of output, anchor). Input that
    is `offset` elements behind the start of out is in place."""
    send, count, number, _, device, _ = source
    read = _octets if number == OCTETS else elements
    if out is None:
        out = new(x, shape, number, device)
        recv, _, _, _, _, anchor = read(out, "out", True)
        return out, send, recv, anchor
    recv, room, other, found, place, anchor = read(out, "out", True)
    if other != number:
        raise InvalidTypeError("x holds %s, out %s" % (DTYPES[number], DTYPES[other]))
    if found != shape:
        axes = -1 if number == OCTETS else None
        raise InvalidArgumentError("out has the shape %s; the result has %s" % (found[:axes], shape[:axes]))
    if device is not place:
        same_memory(device, place, "x", "out")
    item = 1 if number == OCTETS else ITEM[number]
    if count == 0 or room == 0:
        pass
    elif send == recv + offset * item:
        send = lib.IN_PLACE
    elif send < recv + room * item and recv < send + count * item:
        raise InvalidArgumentError("x and out overlap, and x is not where it would be in place")
    return out, send, recv, anchor


def _counts(comm: Any, counts: Iterable[int], name: str) -> List[int]:
    try:
        found = [integer(count, name) for count in counts]
    except TypeError:
        raise InvalidTypeError("%s is no list of numbers" % name) from None
    if len(found) != comm.size or not all(0 <= count <= MOST for count in found):
        raise InvalidArgumentError("%s must be %d numbers of elements, one for each rank" % (name, comm.size))
    return found


def _sizes(counts: Sequence[int], unit: int = 1) -> Any:
    return (ctypes.c_size_t * len(counts))(*(count * unit for count in counts))


def _agree(count: int, counts: List[int], name: str, unit: int = 1, rank: Optional[int] = None) -> None:
    """Raise unless x has as many elements as counts says, of all ranks or of one."""
    said = sum(counts) if rank is None else counts[rank]
    if count != said * unit:
        raise InvalidArgumentError("x has %d elements, %s says %d" % (count // unit, name, said))


def _share(comm: Any, count: int) -> int:
    if count % comm.size != 0:
        raise InvalidArgumentError("x has %d elements, which %d ranks cannot share equally" % (count, comm.size))
    share: int = count // comm.size
    return share


# ---- movement ------------------------------------------------------------------------------------


def _octets(x: Any, name: str, write: bool = False) -> Elements:
    return octets(x, name, write, True)


def _source(seen: Any, tail: Tuple[int, ...], write: bool = False) -> Tuple[Elements, int]:
    """What moved() made of x; and what the library counts of each of its elements: bytes, or itself."""
    return (_octets(seen, "x", write), tail[0]) if tail else (elements(seen, "x", write), 1)


def bcast(comm: Any, x: Any, codec: Any, root: int, same: bool, algorithm: Optional[str]) -> Call:
    root = _root(comm, root)
    seen, _, tail, _ = moved(x, None, codec)
    (address, count, number, _, device, anchor), _ = _source(seen, tail, same or comm.rank != root)
    how = _how(comm, codec, number, device, algorithm, None, _c.BCAST_SAME if same else 0)
    return (comm._pointer, address, count, root, how), (anchor, x), x


def allgather(comm: Any, x: Any, codec: Any, out: Any, algorithm: Optional[str]) -> Call:
    seen, into, tail, back = moved(x, out, codec)
    source, _ = _source(seen, tail)
    _, count, number, shape, device, anchor = source
    into, send, recv, kept = _output(into, seen, source, (comm.size,) + shape, comm.rank * count)
    how = _how(comm, codec, number, device, algorithm)
    return (comm._pointer, send, recv, count, how), (anchor, kept, x), back(into)


def allgatherv(comm: Any, x: Any, counts: Any, codec: Any, out: Any, algorithm: Optional[str]) -> Call:
    counts = _counts(comm, counts, "counts")
    seen, into, tail, back = moved(x, out, codec)
    source, unit = _source(seen, tail)
    _, count, number, _, device, anchor = source
    _agree(count, counts, "counts", unit, comm.rank)
    into, send, recv, kept = _output(into, seen, source, (sum(counts), *tail), unit * sum(counts[: comm.rank]))
    how = _how(comm, codec, number, device, algorithm)
    sizes = _sizes(counts, unit)
    return (comm._pointer, send, recv, ctypes.addressof(sizes), None, how), (anchor, kept, x, sizes), back(into)


def alltoall(comm: Any, x: Any, codec: Any, out: Any, algorithm: Optional[str]) -> Call:
    seen, into, tail, back = moved(x, out, codec)
    source, unit = _source(seen, tail)
    _, count, number, shape, device, anchor = source
    share = _share(comm, count // unit) * unit
    into, send, recv, kept = _output(into, seen, source, shape)
    how = _how(comm, codec, number, device, algorithm)
    return (comm._pointer, send, recv, share, how), (anchor, kept, x), back(into)


def alltoallv(comm: Any, x: Any, send_counts: Any, recv_counts: Any, codec: Any, out: Any) -> Call:
    send_counts = _counts(comm, send_counts, "send_counts")
    recv_counts = _counts(comm, recv_counts, "recv_counts")
    seen, into, tail, back = moved(x, out, codec)
    source, unit = _source(seen, tail)
    _, count, number, _, device, anchor = source
    _agree(count, send_counts, "send_counts", unit)
    into, send, recv, kept = _output(into, seen, source, (sum(recv_counts), *tail))
    if send == lib.IN_PLACE and send_counts != recv_counts:
        raise InvalidArgumentError("in place, send_counts and recv_counts must be equal")
    how = _how(comm, codec, number, device, None)
    sizes = (_sizes(send_counts, unit), _sizes(recv_counts, unit))
    first, second = (ctypes.addressof(size) for size in sizes)
    return (comm._pointer, send, first, None, recv, second, None, how), (anchor, kept, x, sizes), back(into)


def gather(comm: Any, x: Any, codec: Any, root: int, out: Any) -> Call:
    root = _root(comm, root)
    mine = comm.rank == root
    seen, into, tail, back = moved(x, out if mine else None, codec)
    source, _ = _source(seen, tail)
    send, count, number, shape, device, anchor = source
    how = _how(comm, codec, number, device, None)
    if not mine:
        return (comm._pointer, send, None, count, root, how), (anchor, x), None
    into, send, recv, kept = _output(into, seen, source, (comm.size,) + shape, root * count)
    return (comm._pointer, send, recv, count, root, how), (anchor, kept, x), back(into)


def gatherv(comm: Any, x: Any, counts: Any, codec: Any, root: int, out: Any) -> Call:
    root = _root(comm, root)
    mine = comm.rank == root
    seen, into, tail, back = moved(x, out if mine else None, codec)
    source, unit = _source(seen, tail)
    send, count, number, _, device, anchor = source
    how = _how(comm, codec, number, device, None)
    if not mine:
        return (comm._pointer, send, count, None, None, None, root, how), (anchor, x), None
    counts = _counts(comm, counts, "counts")
    _agree(count, counts, "counts", unit, root)
    into, send, recv, kept = _output(into, seen, source, (sum(counts), *tail), unit * sum(counts[:root]))
    sizes = _sizes(counts, unit)
    arguments = comm._pointer, send, count, recv, ctypes.addressof(sizes), None, root, how
    return arguments, (anchor, kept, x, sizes), back(into)


def _block(comm: Any, out: Any, codec: Any) -> Tuple[int, int, Optional[int], Any]:
    """What another rank than the root of a scatter receives: address, count, how, anchor."""
    if out is None:
        raise InvalidArgumentError("out is needed on other ranks than the root, which alone has x")
    seen, _, tail, _ = moved(out, None, codec)
    (recv, count, number, _, device, anchor), _ = _source(seen, tail, True)
    return recv, count, _how(comm, codec, number, device, None), (anchor, out)


def scatter(comm: Any, x: Any, codec: Any, root: int, out: Any) -> Call:
    """The block, out or a new array, is the input of gather(), x its output."""
    root = _root(comm, root)
    if comm.rank != root:
        recv, count, how, anchor = _block(comm, out, codec)
        return (comm._pointer, None, recv, count, root, how), anchor, out
    seen, into, tail, back = moved(x, out, codec)
    source, _ = _source(seen, tail)
    send, count, number, shape, device, anchor = source
    if len(shape) == len(tail) or shape[0] != comm.size:
        raise InvalidArgumentError("x must have a first axis of %d, a block for each rank" % comm.size)
    own = count // comm.size
    into, place, recv, kept = _output(into, seen, source, shape[1:], -root * own)
    how = _how(comm, codec, number, device, None)
    return (comm._pointer, send, _there(place, recv), own, root, how), (anchor, kept, x), back(into)


def scatterv(comm: Any, x: Any, counts: Any, codec: Any, root: int, out: Any) -> Call:
    root = _root(comm, root)
    if comm.rank != root:
        recv, count, how, anchor = _block(comm, out, codec)
        return (comm._pointer, None, None, None, recv, count, root, how), anchor, out
    counts = _counts(comm, counts, "counts")
    seen, into, tail, back = moved(x, out, codec)
    source, unit = _source(seen, tail)
    send, count, number, _, device, anchor = source
    _agree(count, counts, "counts", unit)
    into, place, recv, kept = _output(into, seen, source, (counts[root], *tail), -unit * sum(counts[:root]))
    how = _how(comm, codec, number, device, None)
    sizes = _sizes(counts, unit)
    own = unit * counts[root]
    arguments = comm._pointer, send, ctypes.addressof(sizes), None, _there(place, recv), own, root, how
    return arguments, (anchor, kept, x, sizes), back(into)


def _there(place: int, recv: int) -> int:
    """Where the root's own block of a scatter goes: it may stay where it is."""
    return lib.IN_PLACE if place == lib.IN_PLACE else recv


def message(comm: Any, x: Any, rank: int, tag: int, write: bool) -> Call:
    seen, _, tail, _ = moved(x, None, None)
    (address, count, number, _, device, anchor), _ = _source(seen, tail, write)
    if device is not None:
        raise InvalidArgumentError("x is in memory of CUDA device %d; accepted: host memory" % device.device)
    size = count * (1 if tail else ITEM[number])
    return (comm._pointer, address, size, integer(rank, "rank"), integer(tag, "tag")), (anchor, x), x


# ---- reductions ----------------------------------------------------------------------------------


def allreduce(
    comm: Any, x: Any, codec: Any, op: str, out: Any, algorithm: Optional[str], feedback: Any
) -> Call:
    source = elements(x, "x")
    _, count, number, shape, device, anchor = source
    out, send, recv, kept = _output(out, x, source, shape)
    how = _how(comm, codec, number, device, algorithm, feedback)
    return (comm._pointer, send, recv, count, reduction(op), how), (anchor, kept, x, feedback), out


def reduce(
    comm: Any, x: Any, codec: Any, op: str, root: int, out: Any, algorithm: Optional[str], feedback: Any
) -> Call:
    source = elements(x, "x")
    send, count, number, shape, device, anchor = source
    recv, kept, root = None, None, _root(comm, root)
    if comm.rank == root:
        out, send, recv, kept = _output(out, x, source, shape)
    else:
        out = None
    how = _how(comm, codec, number, device, algorithm, feedback)
    return (comm._pointer, send, recv, count, reduction(op), root, how), (anchor, kept, x, feedback), out


def reduce_scatter(
    comm: Any, x: Any, counts: Any, codec: Any, op: str, out: Any, algorithm: Optional[str], feedback: Any
) -> Call:
    source = elements(x, "x")
    _, count, number, _, device, anchor = source
    if counts is None:
        sizes, length = None, _share(comm, count)
        how_many = length
    else:
        counts = _counts(comm, counts, "counts")
        _agree(count, counts, "counts")
        sizes, length = _sizes(counts), counts[comm.rank]
        how_many = ctypes.addressof(sizes)
    if out is x:  # in place: the result is at the start of x
        out = _first(x, length)
    out, send, recv, kept = _output(out, x, source, (length,))
    how = _how(comm, codec, number, device, algorithm, feedback)
    return (comm._pointer, send, recv, how_many, reduction(op), how), (anchor, kept, x, sizes, feedback), out


def _first(x: Any, length: int) -> Any:
    """The first elements of x, as a view of one axis."""
    return (x if hasattr(x, "reshape") else numpy.asarray(memoryview(x))).reshape(-1)[:length]
