# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_bytes.py - tensors of any dtype, moved as bytes, and reductions that the library has not: integers,
bools, complex numbers, bitwise operations. They are moved, and reduced in the order of ranks by PyTorch.
"""
import functools
from typing import Any, Callable, Dict, List, Sequence

import torch
from torch.distributed import ReduceOp

NATIVE = (torch.float32, torch.float64, torch.bfloat16, torch.float16)  # what the library reduces
_BY_ALL = 1 << 16  # bytes of all ranks together up to which every rank gets all and reduces it

NAMES = {
    ReduceOp.SUM: "sum",
    ReduceOp.AVG: "average",
    ReduceOp.MAX: "max",
    ReduceOp.MIN: "min",
    ReduceOp.PRODUCT: "prod",
    ReduceOp.BAND: "band",
    ReduceOp.BOR: "bor",
    ReduceOp.BXOR: "bxor",
}


def name_of(op: Any) -> str:
    for known, name in NAMES.items():
        if op == known:
            return name
    raise RuntimeError("thinwire: ReduceOp %s; accepted: %s" % (op, ", ".join(name.upper() for name in NAMES.values())))


def compact(tensor: Any) -> Any:
    """Its elements as a vector, in its memory where that serves."""
    found = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return found.as_strided((found.numel(),), (1,))  # one element may have any stride


def store(tensor: Any, vector: Any) -> None:
    """A vector into a tensor, unless it is its memory already."""
    if tensor.numel() > 0 and (vector.data_ptr() != tensor.data_ptr() or not tensor.is_contiguous()):
        tensor.detach().copy_(vector.view(tensor.shape))


def room(tensor: Any, vector: Any, first: Any = None) -> Any:
    """A vector for what `tensor` gets when `vector` is sent, for store(): its own memory, unless that has gaps, or holds
    what is sent, elsewhere than from element `first` on, where the library has it in place."""
    begin, end = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
    apart = end <= vector.data_ptr() or vector.data_ptr() + vector.nbytes <= begin
    within = first is not None and vector.data_ptr() == begin + first * tensor.element_size()
    as_is = tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg() and tensor.dtype == vector.dtype
    return compact(tensor) if as_is and (apart or within) else vector.new_empty(tensor.numel())


def row(tensors: Sequence[Any]) -> Any:
    """A vector of the elements of several tensors, in their memory, where they lie there one behind the other; else
    None. As the chunks of one tensor do."""
    filled = [tensor for tensor in tensors if tensor.numel() > 0]
    if not filled:
        return None
    first, end = filled[0], filled[0].data_ptr()
    whole = first.untyped_storage().data_ptr()
    for tensor in filled:
        as_is = tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg() and tensor.dtype == first.dtype
        if not as_is or tensor.data_ptr() != end or tensor.untyped_storage().data_ptr() != whole:
            return None
        end += tensor.nbytes
    return first.detach().as_strided((sum(tensor.numel() for tensor in filled),), (1,))


def joined(tensors: Sequence[Any]) -> Any:
    """Their elements as one vector, in their memory where that serves."""
    found = row(tensors)
    return torch.cat([compact(tensor) for tensor in tensors]) if found is None else found


def room_of(tensors: Sequence[Any], vector: Any, first: Any = None) -> Any:
    """As room(), for what several get one behind the other; None: a new vector."""
    found = row(tensors)
    return None if found is None else room(found, vector, first)


# ---- reductions of what was moved -----------------------------------------------------------------


def _sum(rows: Any) -> Any:
    return rows.any(0) if rows.dtype == torch.bool else rows.sum(0, dtype=rows.dtype)


def _average(rows: Any) -> Any:
    total, ranks = _sum(rows), rows.shape[0]
    if total.is_floating_point() or total.is_complex():
        return total / ranks
    return total if total.dtype == torch.bool else total.div(ranks, rounding_mode="trunc")


def _product(rows: Any) -> Any:
    return rows.all(0) if rows.dtype == torch.bool else rows.prod(0, dtype=rows.dtype)


def _fold(operation: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda rows: functools.reduce(operation, list(rows))


_REDUCE: Dict[str, Callable[[Any], Any]] = {
    "sum": _sum,
    "average": _average,
    "max": lambda rows: rows.amax(0),
    "min": lambda rows: rows.amin(0),
    "prod": _product,
    "band": _fold(torch.bitwise_and),
    "bor": _fold(torch.bitwise_or),
    "bxor": _fold(torch.bitwise_xor),
}


def combined(tensors: Sequence[Any], op: str) -> Any:
    """Tensors of this process reduced, as one; for an average a part of it that the ranks' average completes."""
    mine = [tensor.detach() for tensor in tensors]
    return functools.reduce(torch.add, mine) if mine[0].is_sparse else _REDUCE[op](torch.stack(mine))


def check(dtype: Any, op: str) -> None:
    """Raise where there is no such reduction, before anything is sent."""
    if dtype.is_complex and op in ("max", "min"):
        raise RuntimeError("thinwire: %s of %s; accepted: SUM, AVG, PRODUCT" % (op.upper(), dtype))
    if op in ("band", "bor", "bxor") and (dtype.is_complex or dtype.is_floating_point):
        raise RuntimeError("thinwire: %s of %s; accepted: integers and bool" % (op.upper(), dtype))


def shares(count: int, ranks: int) -> List[int]:
    """How many of so many elements each rank reduces."""
    return [count * (r + 1) // ranks - count * r // ranks for r in range(ranks)]


class Mover:
    """Movements of vectors of any dtype on a communicator; `wait` completes a request."""

    def __init__(self, comm: Any, wait: Callable[[Any], Any]) -> None:
        self.comm, self._wait = comm, wait

    def bcast(self, vector: Any, root: int) -> None:
        self._wait(self.comm.ibcast(vector, root=root))

    def allgather(self, vector: Any, codec: Any = None, out: Any = None) -> Any:
        """(ranks, elements): a row of each rank, in out, a vector, if there is one."""
        out = vector.new_empty(self.comm.size * vector.numel()) if out is None else out
        return self._wait(self.comm.iallgather(vector, codec, out=out.view(self.comm.size, vector.numel())))

    def allgatherv(self, vector: Any, counts: Sequence[int], out: Any = None) -> Any:
        out = vector.new_empty(sum(counts)) if out is None else out
        return self._wait(self.comm.iallgatherv(vector, counts, out=out))

    def alltoallv(self, vector: Any, sent: Sequence[int], received: Sequence[int], codec: Any = None, out: Any = None) -> Any:
        out = vector.new_empty(sum(received)) if out is None else out
        return self._wait(self.comm.ialltoallv(vector, sent, received, codec, out=out))

    def reduce_shares(self, vector: Any, counts: Sequence[int], op: str) -> Any:
        """Its counts[rank] elements behind those of the ranks before, reduced."""
        mine = counts[self.comm.rank]
        rows = self.alltoallv(vector, counts, [mine] * self.comm.size)
        return _REDUCE[op](rows.view(self.comm.size, mine))

    def allreduce(self, vector: Any, op: str) -> Any:
        if vector.numel() * vector.element_size() * self.comm.size <= _BY_ALL:
            return _REDUCE[op](self.allgather(vector))
        counts = shares(vector.numel(), self.comm.size)
        return self.allgatherv(self.reduce_shares(vector, counts, op), counts)

    def allreduce_sparse(self, tensor: Any) -> Any:
        """A new sparse tensor, the sum."""
        mine = tensor.detach().coalesce()
        counts = self.allgather(torch.tensor([mine._nnz()])).view(-1).tolist()
        lines, width = mine.indices().shape[0], mine.values().numel() // max(mine._nnz(), 1)
        width = int(self.allreduce(torch.tensor([width]), "max"))
        places = self.allgatherv(compact(mine.indices().t()), [n * lines for n in counts])
        values = self.allgatherv(compact(mine.values()), [n * width for n in counts])
        values = values.view((sum(counts),) + tuple(mine.values().shape[1:]))
        return torch.sparse_coo_tensor(places.view(-1, lines).t(), values, tensor.shape).coalesce()
